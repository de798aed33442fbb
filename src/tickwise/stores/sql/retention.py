"""Retention: remove the runs that their jobs do not keep any longer, with their steps, attempts and logs (S51)."""

from ..records import MICRO
from .finish import FORGET, NOTE_SUCCESS
from .fleet import clock
from .jobs import JOBS
from .statement import Procedure, Statement

_DAY = 86_400 * MICRO
_AGAIN = 3_600 * MICRO  # a job without anything to remove is looked at again after so long
_JOBS = Statement(f"""
    SELECT j.id, j.keep_days, j.keep_runs FROM {JOBS} WHERE j.prune_at <= :now
    ORDER BY j.prune_at LIMIT 50 {{lock_free}}
""")
_NEWEST_TO_GO = Statement("""
    SELECT id FROM tickwise_runs WHERE job_id = :job AND finished_at IS NOT NULL ORDER BY id DESC LIMIT 1
        OFFSET :kept
""")
_UNWANTED = Statement("""
    SELECT r.id, r.slot, CASE WHEN r.state = 'succeeded' THEN coalesce(r.slot, r.started_at / 1000000) END
    FROM tickwise_runs r LEFT JOIN tickwise_schedule_state s ON s.id = r.schedule_id
    WHERE r.job_id = :job AND r.id <= :newest AND r.finished_at < :before
        AND (r.slot IS NULL OR r.slot <= s.cursor)
        AND r.id NOT IN (
            SELECT k.id FROM tickwise_runs k JOIN (
                SELECT schedule_id, max(slot) AS slot FROM tickwise_runs
                WHERE job_id = :job AND slot IS NOT NULL GROUP BY schedule_id
                UNION
                SELECT schedule_id, max(slot) AS slot FROM tickwise_runs
                WHERE job_id = :job AND slot IS NOT NULL AND state = 'succeeded' GROUP BY schedule_id
            ) AS newest ON k.schedule_id = newest.schedule_id AND k.slot = newest.slot)
    ORDER BY r.id LIMIT :most
""")
_NOTE = Statement("""
    UPDATE tickwise_jobs SET prune_at = :prune_at,
        history_from = CASE WHEN coalesce(history_from, 0) < :history_from THEN :history_from ELSE history_from END
    WHERE id = :job
""")
_NOTHING_BELOW = -(1 << 62)
_ALL = 1 << 62


def prune(most: int) -> Procedure[int]:
    """Look at the jobs whose `prune_at` has come, and remove at most so many runs."""
    now = yield from clock()
    removed = 0
    for job, days, kept in (yield _JOBS(now=now)):
        if removed >= most:
            break
        newest = _ALL
        if kept is not None:
            rows = yield _NEWEST_TO_GO(job=job, kept=kept)
            newest = rows[0][0] if rows else _NOTHING_BELOW
        before = now - max(days or 1, 1) * _DAY
        unwanted = yield _UNWANTED(job=job, newest=newest, before=before, most=most - removed)
        if unwanted:
            for statement in FORGET:
                yield statement(ids=[run for run, *_ in unwanted])
        removed += len(unwanted)
        slots = [slot for _, slot, _ in unwanted if slot is not None]
        if successes := [reference for *_, reference in unwanted if reference is not None]:
            yield NOTE_SUCCESS(rows=[(job, max(successes))])
        again = now if removed >= most else now + _AGAIN
        yield _NOTE(job=job, prune_at=again, history_from=max(slots) + 1 if slots else _NOTHING_BELOW)
    return removed
