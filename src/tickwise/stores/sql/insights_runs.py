"""Runs for people: a read costs as much as it shows, however many runs are stored.

A statement has only the conditions of its filter, so that the database finds an index for it. New runs have the
highest ids: runs created since an instant are looked for above the newest older run, with a margin for clocks that
were set back.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from ...core.handover import HandOver
from ...core.model import Trigger
from ...core.payload import UnreadableText, shown, shown_params
from ...core.states import RunState
from ..records import MICRO, Page, RunFilter, RunRow
from ..statistics import ERROR_LENGTH, ErrorGroup, RunGroup, RunGroups
from ..validation import is_number, like_pattern, run_number_in, star_pattern
from .definitions import DefinitionCache
from .handover import RECORD
from .runs import RUNNING
from .statement import Procedure, Statement

RUN_COLUMNS = f"""r.id, r.job_id, r.schedule_id, r.slot, r.trigger_name, r.schedule_definition_id, r.state,
    r.queue, r.priority, r.attempt, r.created_at, r.due_at, r.started_at, r.finished_at, r.node, r.claimed_by,
    r.lane, r.run_key, r.params, r.result, r.error, r.cancelling, r.failures, r.losses, r.lease_until,
    r.expires_at, r.requested_by, r.requires, {RECORD}"""
_RUN = Statement(f"SELECT {RUN_COLUMNS} FROM tickwise_runs r WHERE r.id = :run")
_CONDITIONS = {
    "after": "r.id < :after",
    "only": "r.job_id = :only",
    "job": "r.job_id = (SELECT id FROM tickwise_jobs WHERE name = :job)",
    "schedule": "(r.job_id, r.schedule_id) = (SELECT job_id, id FROM tickwise_schedules WHERE name = :schedule)",
    "queued": "r.queued = TRUE",
    "running": f"r.{RUNNING}",
    "states": "r.state IN :states[text]",
    "triggers": "r.trigger_name IN :triggers[text]",
    "slot": "r.slot = :slot",
    "queue": "r.queue = :queue",
    "key": "r.run_key = :key",
    "since": "r.created_at >= :since AND r.id > :older",
    "until": "r.created_at < :until",
    "jobs": "r.job_id IN (SELECT id FROM tickwise_jobs WHERE name IN :jobs[text])",
    "schedules": "r.schedule_id IN (SELECT id FROM tickwise_schedules WHERE name IN :schedules[text])",
    "error": "lower(r.error) LIKE :error ESCAPE '!'",
    "text": """(r.id = :id OR r.job_id IN (SELECT id FROM tickwise_jobs WHERE lower(name) LIKE :text ESCAPE '!')
        OR r.schedule_id IN (SELECT id FROM tickwise_schedules WHERE lower(name) LIKE :text ESCAPE '!'))""",
}
_WORD = """(lower(r.error) LIKE :{name} ESCAPE '!' OR r.id = :{name}_id
        OR r.job_id IN (SELECT id FROM tickwise_jobs WHERE lower(name) LIKE :{name} ESCAPE '!')
        OR r.schedule_id IN (SELECT id FROM tickwise_schedules WHERE lower(name) LIKE :{name} ESCAPE '!'))"""
_NAMED = Statement("""
    SELECT id FROM tickwise_jobs WHERE lower(name) LIKE :text ESCAPE '!'
    UNION SELECT job_id FROM tickwise_schedules WHERE lower(name) LIKE :text ESCAPE '!'
    UNION SELECT job_id FROM tickwise_runs WHERE id = :id LIMIT 2
""")
_ERROR = f"substr(coalesce(r.error, ''), 1, {ERROR_LENGTH}) AS said"
_GROUPS = {  # columns of a run, a further condition, columns of a group, and what is said of it besides its size
    "runs": (
        "r.job_id, r.schedule_id, r.state, r.trigger_name, r.queue", "",
        "job_id, schedule_id, state, trigger_name, queue", "",
    ),
    "errors": (
        f"r.id, r.job_id, {_ERROR}, coalesce(r.finished_at, r.created_at) AS ended",
        " AND r.state IN ('failed', 'lost')",
        "job_id, said", ", min(ended), max(ended), max(id)",
    ),
}  # fmt: skip
_BESIDE = frozenset({"id", "older"})  # values that belong to a condition with another name
_LIVE = {frozenset({state}): str(state) for state in (RunState.QUEUED, RunState.RUNNING)}  # with few, and an index
_NEWEST_OLD = Statement("SELECT id FROM tickwise_runs WHERE created_at < :instant ORDER BY id DESC LIMIT 1")
_CLOCK_MARGIN = 600 * MICRO
_UNDER_WAY = " UNION ALL ".join(
    f"""SELECT * FROM (SELECT id, {at} AS at, {lives} AS lives FROM tickwise_runs
        WHERE {which} AND started_at < :end ORDER BY 2 DESC, 1 DESC LIMIT :most) AS k"""
    for lives, at, which in (
        (1, "started_at", RUNNING),
        (1, "started_at", "queued = TRUE"),  # it waits for another attempt
        (0, "finished_at", "finished_at >= :start"),
    )
)
_TIMELINE = Statement(f"""
    SELECT {RUN_COLUMNS} FROM ({_UNDER_WAY}) AS seen JOIN tickwise_runs r ON r.id = seen.id
    ORDER BY seen.lives DESC, seen.at DESC, seen.id DESC LIMIT :most
""")


def run(cache: DefinitionCache, id_: int) -> Procedure[RunRow | None]:
    rows = yield from run_rows(cache, (yield _RUN(run=id_)))
    return rows[0] if rows else None


def runs(cache: DefinitionCache, wanted: RunFilter, after: int | None, limit: int) -> Procedure[Page[RunRow]]:
    """Newest first. The text of a filter may be the id of a run."""
    values = yield from _values(wanted, after)
    if values is None:
        return Page(())
    conditions = [name for name in values if name not in _BESIDE and not name.endswith("_id")]
    rows = yield _select_runs(*conditions)(**values, most=limit + 1)
    found = yield from run_rows(cache, rows[:limit])
    return Page(tuple(found), found[-1].id if len(rows) > limit else None)


def run_groups(cache: DefinitionCache, wanted: RunFilter, limit: int) -> Procedure[RunGroups]:
    """Counted by the database, over the newest runs that match."""
    values = yield from _values(wanted, None)
    if values is None:
        return RunGroups()
    conditions = [name for name in values if name not in _BESIDE and not name.endswith("_id")]
    groups = yield _group_runs("runs", *conditions)(**values, most=limit + 1)
    errors = yield _group_runs("errors", *conditions)(**values, most=limit + 1)
    jobs = {row[0] for row in (*groups, *errors)}
    yield from cache.read_names(jobs, {row[1] for row in groups if row[1] is not None})
    return RunGroups(
        tuple(
            RunGroup(cache.job_names[job], None if schedule is None else cache.schedule_names[schedule],
                     RunState(state), Trigger.of(trigger), queue, number)
            for job, schedule, state, trigger, queue, number in groups
        ),
        tuple(
            ErrorGroup(cache.job_names[job], error, number, first, last, str(run))
            for job, error, number, first, last, run in errors
        ),
        sum(row[-1] for row in groups) > limit,
    )  # fmt: skip


def _values(wanted: RunFilter, after: int | None) -> Procedure[dict[str, Any] | None]:
    """The values of a filter's conditions and those beside them; none if no run can match."""
    id_ = run_number_in(wanted)
    values = dict(_conditions(wanted, after))
    if "text" in values:
        jobs = yield _NAMED(text=values["text"], id=id_)
        if not jobs:
            return None
        if len(jobs) == 1:
            values["only"] = jobs[0][0]
    older = 0 if wanted.since is None else (yield from newest_old(wanted.since - _CLOCK_MARGIN))
    ids = {f"{name}_id": int(word) if is_number(word) else -1 for name, word in _named_words(wanted)}
    return {**values, **ids, "id": id_, "older": older}


def _named_words(wanted: RunFilter) -> Iterator[tuple[str, str]]:
    """Each word with a name for its value, which is made of letters."""
    return ((f"word_{'x' * (number + 1)}", word) for number, word in enumerate(wanted.words))


def _conditions(wanted: RunFilter, after: int | None) -> Iterator[tuple[str, Any]]:
    """The names of conditions in `_CONDITIONS`, with their values."""
    states = _LIVE.get(wanted.states, "states")
    given = {
        "after": after, "job": wanted.job, "schedule": wanted.schedule, states: sorted(map(str, wanted.states)),
        "triggers": sorted(map(str, wanted.triggers)), "slot": wanted.slot, "queue": wanted.queue,
        "key": wanted.key, "since": wanted.since, "until": wanted.until, "text": like_pattern(wanted.text),
        "jobs": None if wanted.jobs is None else [*sorted(wanted.jobs), ""],
        "schedules": None if wanted.schedules is None else [*sorted(wanted.schedules), ""],
        "error": star_pattern(wanted.error),
        **{name: star_pattern(word) for name, word in _named_words(wanted)},
    }  # fmt: skip
    return ((name, value) for name, value in given.items() if value not in (None, []))


@lru_cache
def _select_runs(*conditions: str) -> Statement:
    """In order of their ids. Where another index finds fewer rows, `+` keeps the database from walking the ids."""
    which = _where(conditions)
    order = "+r.id" if {*_LIVE.values()} & {*conditions} else "r.id"
    return Statement(f"SELECT {RUN_COLUMNS} FROM tickwise_runs r WHERE {which} ORDER BY {order} DESC LIMIT :most")


@lru_cache
def _group_runs(what: str, *conditions: str) -> Statement:
    """Groups of the newest runs that match: by what all runs have, or of those that failed by their errors."""
    columns, also, groups, counts = _GROUPS[what]
    return Statement(f"""
        SELECT {groups}, count(*){counts} FROM (
            SELECT {columns} FROM tickwise_runs r WHERE {_where(conditions)}{also} ORDER BY r.id DESC LIMIT :most
        ) AS k GROUP BY {groups} ORDER BY {groups}
    """)


def _where(conditions: Sequence[str]) -> str:
    return " AND ".join(_CONDITIONS.get(name) or _WORD.format(name=name) for name in conditions) or "TRUE"


def newest_old(instant: int) -> Procedure[int]:
    """The id of the newest run created before an instant; the cost grows with the runs after it."""
    found = yield _NEWEST_OLD(instant=instant)
    return int(found[0][0]) if found else 0


def timeline(cache: DefinitionCache, start: int, end: int, limit: int) -> Procedure[tuple[RunRow, ...]]:
    found = yield from run_rows(cache, (yield _TIMELINE(start=start, end=end, most=limit)))
    return tuple(sorted(found, key=lambda row: (row.started_at or 0, int(row.id))))


def run_rows(cache: DefinitionCache, rows: Sequence[Any]) -> Procedure[list[RunRow]]:
    yield from cache.read(row[5] for row in rows if row[5] is not None)
    yield from cache.read_names({row[1] for row in rows}, {row[2] for row in rows if row[2] is not None})
    return [_run_row(cache, row) for row in rows]


def _run_row(cache: DefinitionCache, row: Sequence[Any]) -> RunRow:
    (
        id_, job, schedule, slot, trigger, times, state, queue, priority, attempt, created_at, due_at, started_at,
        finished_at, node, claimed_by, lane, key, params, result, error, cancelling, failures, losses, lease_until,
        expires_at, by, requires, hand_over,
    ) = row  # fmt: skip
    schedule = None if schedule is None else cache.schedule_names[schedule]
    return RunRow(
        id=str(id_), job=cache.job_names[job], schedule=schedule, slot=slot, trigger=Trigger.of(trigger),
        label=_label(cache, times, schedule), state=RunState(state), queue=queue, priority=priority,
        attempt=attempt, created_at=created_at, due_at=due_at, started_at=started_at, finished_at=finished_at,
        node=node, claimed_by=claimed_by, lane=None if finished_at else lane, key=key,
        params=shown_params(params), result=shown(result), error=error or "", cancelling=bool(cancelling),
        failures=failures, losses=losses, lease_until=lease_until, expires_at=expires_at, by=by or "",
        requires=requires, hand_over=None if hand_over is None else HandOver.from_text(hand_over),
    )  # fmt: skip


def _label(cache: DefinitionCache, times: int | None, schedule: str | None) -> str:
    if times is None or schedule is None:
        return ""
    try:
        return cache.schedule(times, schedule, "").label
    except UnreadableText:
        return ""
