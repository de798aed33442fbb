"""The change feed: what is new since an instant, found without reading old rows.

New runs have the highest ids, so the search for the newest old one ends soon. Running runs, and those that wait
for another attempt, have small indexes; finished ones are found by `finished_at`. A run counts by its last
instant: finished, else started, else created.
"""

from ..records import Changes
from .definitions import DefinitionCache
from .insights import DECISION_COLUMNS, decision_row
from .insights_runs import RUN_COLUMNS, newest_old, run_rows
from .runs import RUNNING
from .statement import Procedure, Statement

_LATEST = "coalesce(finished_at, started_at, created_at)"
_NEW = " UNION ".join(
    f"SELECT * FROM (SELECT id, {_LATEST} AS at FROM tickwise_runs WHERE {which} ORDER BY 2, 1 LIMIT :most) AS k"
    for which in (
        "id > :newest_old AND created_at >= :since",
        f"{RUNNING} AND started_at >= :since",
        "queued = TRUE AND started_at >= :since",
        "finished_at >= :since",
    )
)
_RUNS = Statement(f"""
    SELECT {RUN_COLUMNS} FROM ({_NEW}) AS new JOIN tickwise_runs r ON r.id = new.id
    ORDER BY new.at, new.id LIMIT :most
""")
_DECISIONS = Statement(f"""
    SELECT {DECISION_COLUMNS}
    FROM tickwise_decisions d JOIN tickwise_schedules s ON s.id = d.schedule_id WHERE d.extended_at >= :since
    ORDER BY d.extended_at, d.first_slot DESC, s.name, d.reason LIMIT :most
""")
_SCHEDULES = Statement("""
    SELECT name FROM tickwise_schedules WHERE updated_at >= :since ORDER BY updated_at, name LIMIT :most
""")


def changes_since(cache: DefinitionCache, since: int, limit: int) -> Procedure[Changes]:
    runs = yield _RUNS(since=since, newest_old=(yield from newest_old(since)), most=limit)
    decisions = yield _DECISIONS(since=since, most=limit)
    schedules = yield _SCHEDULES(since=since, most=limit)
    return Changes(
        tuple((yield from run_rows(cache, runs))),
        tuple(map(decision_row, decisions)),
        tuple(name for (name,) in schedules),
    )
