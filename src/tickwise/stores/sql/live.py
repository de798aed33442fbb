"""Runs under way: each that holds a lane of its job, and each that runs, has a row in a small table.

Lanes are held by the keys of that table (S16). Who looks for what runs begins there, because no index of all runs
tells it: an end would have to be written to that.
"""

from .statement import Statement

RUNNING = "id IN (SELECT run_id FROM tickwise_live WHERE running) AND state = 'running'"
_INSERT = "INSERT INTO tickwise_live (job_id, lane, run_id, running)"
ON_LANE = Statement(f"""
    {_INSERT} SELECT job_id, CAST(:lane AS bigint), id, running
    FROM :made[id bigint, job_id bigint, running boolean] AS new
""")
ON_LANES = Statement(f"""
    {_INSERT} SELECT job_id, lane, run_id, running
    FROM :rows[job_id bigint, lane bigint, run_id bigint, running boolean] AS v WHERE TRUE
    ON CONFLICT DO NOTHING RETURNING run_id
""")
RUN = Statement(f"""
    {_INSERT} SELECT job_id, coalesce(lane, -id), id, TRUE
    FROM :made[id bigint, job_id bigint, lane bigint] AS leased WHERE TRUE
    ON CONFLICT (job_id, lane) DO UPDATE SET running = TRUE
""")
WAIT = Statement("""
    UPDATE tickwise_live SET running = FALSE WHERE (job_id, lane) IN (
        SELECT job_id, lane FROM :rows[job_id bigint, lane bigint] AS again)
""")
OVER = Statement("""
    DELETE FROM tickwise_live WHERE (job_id, lane) IN (
        SELECT job_id, coalesce(lane, -id) FROM :made[id bigint, job_id bigint, lane bigint] AS ended)
""")
