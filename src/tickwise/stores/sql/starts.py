"""How a new run is written: one statement's text, for runs that are all different and for runs that are alike."""

from .statement import Statement

_GIVEN = (
    "job_id", "schedule_id", "slot", "lane", "trigger_name", "definition_id", "times_id", "queue", "priority",
    "function", "due_at", "expires_at",
)  # fmt: skip
FIRST_ATTEMPT = 1


def inserting(
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
