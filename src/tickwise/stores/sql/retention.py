"""Retention: remove the runs that their jobs do not keep any longer, with their steps, attempts and logs (S51)."""

from typing import Any

from ...core.definition import Keep
from ..records import MICRO
from .finish import FORGET, NOTE_SUCCESS
from .fleet import clock
from .jobs import JOBS
from .statement import Procedure, Statement

_DAY = 86_400 * MICRO
_HOUR = 3_600 * MICRO
_JOBS_PER_PASS = 50  # they are locked meanwhile
_JOBS = Statement(f"""
    SELECT j.id, j.keep_days, j.keep_runs FROM {JOBS} WHERE j.prune_at <= :now
    ORDER BY j.prune_at LIMIT {_JOBS_PER_PASS} {{lock_free}}
""")
_OLDEST = Statement("""
    SELECT finished_at FROM tickwise_runs WHERE job_id = :job AND finished_at IS NOT NULL ORDER BY id LIMIT 1
""")
_NEWEST_TO_GO = Statement("""
    SELECT id FROM tickwise_runs WHERE job_id = :job AND finished_at IS NOT NULL ORDER BY id DESC LIMIT 1
        OFFSET :kept
""")
_UNWANTED = Statement("""
    SELECT r.id, r.slot, CASE WHEN r.state = 'succeeded' THEN coalesce(r.slot, r.started_at {div} 1000000) END
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


def prune(most: int, keep: Keep) -> Procedure[int]:
    """Look at the jobs whose `prune_at` has come, and remove at most so many runs."""
    now = yield from clock()
    removed = 0
    for job, days, runs in (yield _JOBS(now=now)):
        if removed >= most:
            break
        own = Keep(days, runs)
        removed += yield from _prune_job(job, own or keep, most - removed, now, every=_HOUR if own else _DAY)
    return removed


def _prune_job(job: int, keep: Keep, most: int, now: int, *, every: int) -> Procedure[int]:
    """Remove runs of a job, and note when to look at it again: not before its oldest run can be removed."""
    kept_for = max(keep.days or 1, 1) * _DAY
    oldest = yield _OLDEST(job=job)
    may_go_at = (oldest[0][0] if oldest else now) + kept_for
    unwanted = []
    if keep and may_go_at < now:
        unwanted = yield from _find_unwanted(job, keep.runs, now - kept_for, most)
    if unwanted:
        for statement in FORGET:
            yield statement(ids=[run for run, *_ in unwanted])
    slots = [slot for _, slot, _ in unwanted if slot is not None]
    if successes := [reference for *_, reference in unwanted if reference is not None]:
        yield NOTE_SUCCESS(rows=[(job, max(successes))])
    again = now if len(unwanted) >= most else max(now + every, may_go_at)
    yield _NOTE(job=job, prune_at=again, history_from=max(slots) + 1 if slots else _NOTHING_BELOW)
    return len(unwanted)


def _find_unwanted(job: int, kept: int | None, before: int, most: int) -> Procedure[list[Any]]:
    newest = _ALL
    if kept is not None:
        rows = yield _NEWEST_TO_GO(job=job, kept=kept)
        newest = rows[0][0] if rows else _NOTHING_BELOW
    return list((yield _UNWANTED(job=job, newest=newest, before=before, most=most)))
