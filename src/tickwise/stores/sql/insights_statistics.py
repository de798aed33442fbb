"""Statistics: hours by schedule, minutes by job, and counts of what is live now or ended in the last hour.

Older rows are not read for the counts and the minutes.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.states import RunState
from ..records import MICRO
from ..statistics import LATELY, NOT_RUN, Counts, HourlyStats, MinuteStats
from .definitions import DefinitionCache
from .fleet import clock
from .insights_runs import newest_old
from .jobs import JOBS
from .runs import RUNNING
from .statement import Procedure, Statement

_OF_ONE = "s.id = (SELECT id FROM tickwise_schedules WHERE name = :schedule)"
_OF_RUNS, _OF_DECISIONS = (
    {which: Statement(text.format(which=which)) for which in ("TRUE", _OF_ONE)}
    for text in (
        """
            SELECT s.name, r.slot {{div}} 3600 * 3600, r.state, r.trigger_name, count(*),
                CAST(sum(r.created_at - r.due_at) AS {{bigint}}),
                CAST(sum(r.started_at - r.due_at) AS {{bigint}}), count(r.started_at),
                CAST(sum(r.finished_at - r.started_at) AS {{bigint}}), count(r.finished_at - r.started_at)
            FROM tickwise_runs r JOIN tickwise_schedules s ON s.id = r.schedule_id
            WHERE r.slot >= :since AND {which} GROUP BY s.name, r.slot {{div}} 3600 * 3600, r.state, r.trigger_name
        """,
        """
            SELECT s.name, d.first_slot {{div}} 3600 * 3600, d.reason, CAST(sum(d.slots) AS {{bigint}})
            FROM tickwise_decisions d JOIN tickwise_schedules s ON s.id = d.schedule_id
            WHERE d.last_slot >= :since AND {which} GROUP BY s.name, d.first_slot {{div}} 3600 * 3600, d.reason
        """,
    )
)


def hourly_stats(number: int, schedule: str | None) -> Procedure[tuple[HourlyStats, ...]]:
    now, which = (yield from clock()), "TRUE" if schedule is None else _OF_ONE
    since = (now // MICRO // 3_600 - number + 1) * 3_600
    runs: dict[tuple[str, int], Counter[RunState]] = defaultdict(Counter)
    triggers: dict[tuple[str, int], Counter[Trigger]] = defaultdict(Counter)
    sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0] * 6)
    for name, hour, state, trigger, count, claim, late, started, ran, finished in (
        yield _OF_RUNS[which](since=since, schedule=schedule)
    ):
        runs[name, hour][RunState(state)] += count
        triggers[name, hour][Trigger(trigger)] += count
        for place, value in enumerate((claim, count, late, started, ran, finished)):
            sums[name, hour][place] += value or 0
    decided: dict[tuple[str, int], dict[Reason, int]] = defaultdict(dict)
    for name, hour, reason, count in (yield _OF_DECISIONS[which](since=since, schedule=schedule)):
        decided[name, hour][Reason.of(reason)] = count
    return tuple(
        HourlyStats(*key, dict(runs[key]), *_means(sums[key]), decided[key], dict(triggers[key]))
        for key in sorted({*runs, *decided})
    )


def _means(sums: Sequence[int]) -> tuple[float | None, float | None, float | None]:
    """Means in milliseconds, of what there was any of."""
    claims, claimed, late, started, ran, finished = sums
    return _mean(claims, claimed), _mean(late, started), _mean(ran, finished)


def _mean(total: int, number: int) -> float | None:
    return total / number / 1_000 if number else None


_COUNT_JOBS = Statement(f"""
    SELECT count(*), count(CASE WHEN a.wake_at < :second THEN 1 END),
        (SELECT count(*) FROM tickwise_schedules WHERE deleted IS NULL),
        (SELECT count(*) FROM tickwise_schedules WHERE deleted IS NULL AND paused),
        (SELECT count(*) FROM tickwise_nodes WHERE live_until > :now),
        (SELECT min(due_at) FROM tickwise_runs WHERE queued = TRUE AND due_at <= :now)
    FROM {JOBS} WHERE j.deleted_at IS NULL
""")
_HELD = Statement(
    f"SELECT j.queue, j.requires, count(*) FROM {JOBS} WHERE a.held = TRUE AND j.deleted_at IS NULL GROUP BY 1, 2"
)
_QUEUED = Statement("SELECT queue, count(*) FROM tickwise_runs WHERE queued = TRUE GROUP BY queue")
_RUNNING = Statement(f"SELECT count(*) FROM tickwise_runs WHERE {RUNNING}")
_ENDED = Statement("""
    SELECT state, count(*) FROM tickwise_runs WHERE finished_at >= :since AND state NOT IN ('queued', 'running')
    GROUP BY state
""")
_MINUTES = {  # by job, or of all: what was made, what did not run, what failed
    by: Statement(f"""
        SELECT created_at {{div}} 60000000, {by}, count(*), 0, 0 FROM tickwise_runs AS r
        WHERE id > :older AND created_at >= :since GROUP BY 1, 2
        UNION ALL
        SELECT extended_at {{div}} 60000000, {by}, 0, CAST(sum(slots) AS {{bigint}}), 0
        FROM tickwise_decisions AS d JOIN tickwise_schedules AS r ON r.id = d.schedule_id
        WHERE extended_at >= :since AND reason IN :reasons[text] GROUP BY 1, 2
        UNION ALL
        SELECT finished_at {{div}} 60000000, {by}, 0, 0, count(*) FROM tickwise_runs AS r
        WHERE finished_at >= :since AND state IN ('failed', 'lost') GROUP BY 1, 2
    """)
    for by in ("r.job_id", "0")
}


def counts() -> Procedure[Counts]:
    now = yield from clock()
    jobs, overdue, schedules, paused, nodes, oldest = (yield _COUNT_JOBS(second=now // MICRO, now=now))[0]
    waiting = dict((yield _QUEUED()))
    running = (yield _RUNNING())[0][0]
    ended = yield _ENDED(since=now - LATELY * MICRO)
    states = [(RunState.QUEUED, sum(waiting.values())), (RunState.RUNNING, running), *ended]
    runs = {RunState(state): number for state, number in states if number}
    return Counts(
        jobs=jobs, schedules=schedules, paused=paused, runs=runs, waiting=waiting,
        unserved={(queue, requires): number for queue, requires, number in (yield _HELD())},
        oldest_due=oldest, overdue=overdue, nodes=nodes,
    )  # fmt: skip


def minute_stats(cache: DefinitionCache, number: int, *, by_job: bool) -> Procedure[tuple[MinuteStats, ...]]:
    now = yield from clock()
    since = (now // MICRO // 60 - number + 1) * 60 * MICRO
    rows = yield _MINUTES["r.job_id" if by_job else "0"](
        since=since, older=(yield from newest_old(since)), reasons=[reason.code for reason in NOT_RUN]
    )
    yield from cache.read_names({row[1] for row in rows if row[1]}, ())
    sums: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for minute, job, *values in rows:
        total = sums[minute * 60, cache.job_names[job] if job else ""]
        total[:] = [one + more for one, more in zip(total, values, strict=True)]
    return tuple(MinuteStats(*key, *total) for key, total in sorted(sums.items()))
