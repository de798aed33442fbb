"""Numbers for people: of what lives now, and of the last hour; what is older is not looked at."""

from collections import defaultdict

from ...core.states import RunState
from ..records import MICRO
from ..tallies import LATELY, NOT_RUN, Counts, MinuteRow
from .book import Book
from .fleet import clock
from .insights_runs import newest_old
from .live import RUNNING
from .state import JOBS
from .statement import Protocol, Statement

_COUNT_JOBS = Statement(f"""
    SELECT count(*), coalesce(sum(CASE WHEN a.wake_at < :second THEN 1 ELSE 0 END), 0),
        (SELECT count(*) FROM tickwise_schedules WHERE deleted IS NULL),
        (SELECT count(*) FROM tickwise_schedules WHERE deleted IS NULL AND paused),
        (SELECT count(*) FROM tickwise_nodes WHERE live_until > :now),
        (SELECT min(due_at) FROM tickwise_runs WHERE queued AND due_at <= :now)
    FROM {JOBS} WHERE j.deleted_at IS NULL
""")
_HELD = Statement(
    f"SELECT j.queue, count(*) FROM {JOBS} WHERE a.waiting AND j.deleted_at IS NULL GROUP BY j.queue"
)
_QUEUED = Statement("SELECT queue, count(*) FROM tickwise_runs WHERE queued GROUP BY queue")
_RUNNING = Statement(f"SELECT count(*) FROM tickwise_runs WHERE {RUNNING}")
_ENDED = Statement("""
    SELECT state, count(*) FROM tickwise_runs WHERE finished_at >= :since AND state NOT IN ('queued', 'running')
    GROUP BY state
""")
_MINUTES = {  # by job, or of all: what was made, what did not run, what failed
    by: Statement(f"""
        SELECT created_at / 60000000, {by}, count(*), 0, 0 FROM tickwise_runs AS r
        WHERE id > :older AND created_at >= :since GROUP BY 1, 2
        UNION ALL
        SELECT extended_at / 60000000, {by}, 0, CAST(sum(slots) AS bigint), 0 FROM tickwise_decisions AS d
        JOIN tickwise_schedules AS r ON r.id = d.schedule_id
        WHERE extended_at >= :since AND reason IN :reasons[text] GROUP BY 1, 2
        UNION ALL
        SELECT finished_at / 60000000, {by}, 0, 0, count(*) FROM tickwise_runs AS r
        WHERE finished_at >= :since AND state IN ('failed', 'lost') GROUP BY 1, 2
    """)
    for by in ("r.job_id", "0")
}


def counts() -> Protocol[Counts]:
    now = yield from clock()
    jobs, overdue, schedules, paused, nodes, oldest = (yield _COUNT_JOBS(second=now // MICRO, now=now))[0]
    waiting = dict((yield _QUEUED()))
    running = (yield _RUNNING())[0][0]
    ended = yield _ENDED(since=now - LATELY * MICRO)
    states = [(RunState.QUEUED, sum(waiting.values())), (RunState.RUNNING, running), *ended]
    runs = {RunState(state): number for state, number in states if number}
    return Counts(jobs, schedules, paused, runs, waiting, dict((yield _HELD())), oldest, overdue, nodes)


def minutes(book: Book, number: int, *, by_job: bool) -> Protocol[tuple[MinuteRow, ...]]:
    now = yield from clock()
    since = (now // MICRO // 60 - number + 1) * 60 * MICRO
    rows = yield _MINUTES["r.job_id" if by_job else "0"](
        since=since, older=(yield from newest_old(since)), reasons=[reason.code for reason in NOT_RUN]
    )
    yield from book.read_names({row[1] for row in rows if row[1]}, ())
    sums: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for minute, job, *values in rows:
        total = sums[minute * 60, book.job_names[job] if job else ""]
        total[:] = [one + more for one, more in zip(total, values, strict=True)]
    return tuple(MinuteRow(*key, *total) for key, total in sorted(sums.items()))
