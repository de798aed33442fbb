"""Runs under way: each that holds a lane of its job, and each that runs, has a row in a small table.

Lanes are held by the keys of that table (S16). Who looks for what runs begins there, because no index of all runs
tells it: an end would have to be written to that.
"""

from .statement import Statement

RUNNING = "id IN (SELECT run_id FROM tickwise_active_runs WHERE running) AND state = 'running'"
_INSERT_ACTIVE = "INSERT INTO tickwise_active_runs (job_id, lane, run_id, running)"
ON_LANE = Statement(f"""
    {_INSERT_ACTIVE} SELECT job_id, CAST(:lane AS bigint), id, running
    FROM :made[id bigint, job_id bigint, running boolean] AS new
""")
ON_LANES = Statement(f"""
    {_INSERT_ACTIVE} SELECT job_id, lane, run_id, running
    FROM :rows[job_id bigint, lane bigint, run_id bigint, running boolean] AS v WHERE TRUE
    ON CONFLICT DO NOTHING RETURNING run_id
""")
SET_RUNNING = Statement(f"""
    {_INSERT_ACTIVE} SELECT job_id, coalesce(lane, -id), id, TRUE
    FROM :made[id bigint, job_id bigint, lane bigint] AS leased WHERE TRUE
    ON CONFLICT (job_id, lane) DO UPDATE SET running = TRUE
""")
SET_WAITING = Statement("""
    UPDATE tickwise_active_runs SET running = FALSE WHERE (job_id, lane) IN (
        SELECT job_id, lane FROM :rows[job_id bigint, lane bigint] AS again)
""")
DELETE_ACTIVE = Statement("""
    DELETE FROM tickwise_active_runs WHERE (job_id, lane) IN (
        SELECT job_id, coalesce(lane, -id) FROM :made[id bigint, job_id bigint, lane bigint] AS ended)
""")


# How a new run is written: one statement's text, for runs that are all different and for runs that are alike.

_GIVEN = (
    "job_id", "schedule_id", "slot", "lane", "trigger_name", "definition_id", "schedule_definition_id",
    "queue", "priority", "function", "due_at", "expires_at",
)  # fmt: skip
FIRST_ATTEMPT = 1


def insert_runs(
    columns: str, leased: str = "leased", condition: str = "TRUE", conflict: str = "ON CONFLICT DO NOTHING",
    returned: str = "id, job_id, schedule_id, slot", **shared: str,
) -> Statement:  # fmt: skip
    """Insert runs from a table of values with these columns, in the order of `n`; what all share is given once.

    Who already has a run for the slot or in the lane gets no other: only the new ones come back. To be sure of
    that costs the database a third more than to insert them, so those who rather fail as a whole say so.
    """
    values = ", ".join(f"CAST(:{name} AS {shared[name]})" if name in shared else name for name in _GIVEN)
    return Statement(f"""
        INSERT INTO tickwise_runs ({", ".join(_GIVEN)}, state, created_at, claimed_by, auto_remove, node, token,
            lease_until, attempt, failures, losses, cancelling, started_at)
        SELECT {values}, CASE WHEN {leased} THEN 'running' ELSE 'queued' END, (SELECT {{now}}), :claimer, FALSE,
            CASE WHEN {leased} THEN CAST(:node AS text) END, CASE WHEN {leased} THEN CAST(:token AS text) END,
            CASE WHEN {leased} THEN CAST(:lease_until AS bigint) END,
            CASE WHEN {leased} THEN {FIRST_ATTEMPT} ELSE 0 END, 0, 0, FALSE,
            CASE WHEN {leased} THEN (SELECT {{now}}) END
        FROM :rows[{columns}] AS v
        WHERE {condition} ORDER BY n
        {conflict} RETURNING {returned}
    """)
