"""Active runs and new runs: the statements that several moves share.

A run that holds a lane of its job, or runs, has a row in a narrow table. Its key holds the lane (S16). A read
of what runs begins there, because no index of all runs has the state in it: every end would have to be written
to that.
"""

from .statement import Delete, Returning, Statement, Update

RUNNING = "id IN (SELECT run_id FROM tickwise_active_runs WHERE running = TRUE) AND state = 'running'"
_INTO_ACTIVE = "INTO tickwise_active_runs (job_id, lane, run_id, running)"
ON_FIRST_LANE = Statement(f"""
    INSERT {_INTO_ACTIVE} SELECT job_id, 0, id, running
    FROM :made[id bigint, job_id bigint, running boolean] AS new
""")
_TAKEN = ":rows[job_id bigint, lane bigint, run_id bigint, running boolean] AS v"
ON_LANES = Returning(
    f"""
    {{insert_free}} {_INTO_ACTIVE} SELECT job_id, lane, run_id, running FROM {_TAKEN} WHERE TRUE {{if_free}}
    """,
    "run_id",
    found=f"""
    SELECT a.run_id FROM {_TAKEN} JOIN tickwise_active_runs a
        ON a.job_id = v.job_id AND a.lane = v.lane AND a.run_id = v.run_id
    """,
)
SET_RUNNING = Statement(f"""
    INSERT {_INTO_ACTIVE} SELECT job_id, coalesce(lane, -id), id, TRUE
    FROM :made[id bigint, job_id bigint, lane bigint] AS leased WHERE TRUE
    {{upsert job_id, lane: running}}
""")
SET_WAITING = Update(
    "tickwise_active_runs", ":rows[job_id bigint, lane bigint] AS again",
    {"job_id": "again.job_id", "lane": "again.lane"}, {"running": "FALSE"},
)  # fmt: skip
DELETE_ACTIVE = Delete(
    "tickwise_active_runs", ":made[id bigint, job_id bigint, lane bigint] AS ended",
    {"job_id": "ended.job_id", "lane": "coalesce(ended.lane, -ended.id)"},
)  # fmt: skip

_GIVEN = (
    "job_id", "schedule_id", "slot", "lane", "trigger_name", "definition_id", "schedule_definition_id",
    "queue", "priority", "requires", "due_at", "expires_at", "params",
)  # fmt: skip
FIRST_ATTEMPT = 1


def insert_runs(
    columns: str,
    *,
    or_ignored: bool = True,
    returned: str = "id, job_id, schedule_id, slot",
    **expressions: str,
) -> Returning:
    """Insert runs from a table of values with these columns, in the order of `n`; other columns by expressions.

    A run whose slot or key is taken is left out, and only the others are returned. To ask for that costs the
    database a third of the insert, so a caller that would rather fail as a whole does not.
    """
    values = ", ".join(expressions.get(name, name) for name in _GIVEN)
    insert, end = ("{insert_free}", "{if_free}") if or_ignored else ("INSERT", "")
    return Returning(
        f"""
        {insert} INTO tickwise_runs ({", ".join(_GIVEN)}, state, created_at, claimed_by, auto_remove, node, token,
            lease_until, attempt, failures, losses, cancelling, started_at)
        SELECT {values}, CASE WHEN leased THEN 'running' ELSE 'queued' END, (SELECT {{now}}), :claimer, FALSE,
            CASE WHEN leased THEN CAST(:node AS {{text}}) END, CASE WHEN leased THEN CAST(:token AS {{text}}) END,
            CASE WHEN leased THEN CAST(:lease_until AS {{bigint}}) END,
            CASE WHEN leased THEN {FIRST_ATTEMPT} ELSE 0 END, 0, 0, FALSE,
            CASE WHEN leased THEN (SELECT {{now}}) END
        FROM :rows[{columns}] AS v
        WHERE TRUE ORDER BY n {end}
        """,
        returned,
        table="tickwise_runs",
    )
