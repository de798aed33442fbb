"""What the last hours were like, by schedule and hour, from runs and decisions."""

from collections import defaultdict
from collections.abc import Sequence

from ...core.reasons import Reason
from ...core.states import RunState
from ..records import MICRO, HourRow
from .fleet import clock
from .statement import Protocol, Statement

_HOURS_OF_RUNS = Statement("""
    SELECT s.name, r.slot / 3600 * 3600, r.state, count(*), CAST(sum(r.created_at - r.due_at) AS bigint),
        CAST(sum(r.started_at - r.due_at) AS bigint), count(r.started_at),
        CAST(sum(r.finished_at - r.started_at) AS bigint), count(r.finished_at - r.started_at)
    FROM tickwise_runs r JOIN tickwise_schedules s ON s.id = r.schedule_id
    WHERE r.slot >= :since AND (CAST(:schedule AS text) IS NULL OR s.name = :schedule)
    GROUP BY s.name, r.slot / 3600 * 3600, r.state
""")
_HOURS_OF_DECISIONS = Statement("""
    SELECT s.name, d.first_slot / 3600 * 3600, d.reason, CAST(sum(d.slots) AS bigint)
    FROM tickwise_decisions d JOIN tickwise_schedules s ON s.id = d.schedule_id
    WHERE d.last_slot >= :since AND (CAST(:schedule AS text) IS NULL OR s.name = :schedule)
    GROUP BY s.name, d.first_slot / 3600 * 3600, d.reason
""")


def hours(number: int, schedule: str | None) -> Protocol[tuple[HourRow, ...]]:
    now = yield from clock()
    since = (now // MICRO // 3_600 - number + 1) * 3_600
    runs: dict[tuple[str, int], dict[RunState, int]] = defaultdict(dict)
    sums: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0] * 6)
    for name, hour, state, count, claim, late, started, ran, finished in (
        yield _HOURS_OF_RUNS(since=since, schedule=schedule)
    ):
        runs[name, hour][RunState(state)] = count
        for place, value in enumerate((claim, count, late, started, ran, finished)):
            sums[name, hour][place] += value or 0
    decided: dict[tuple[str, int], dict[Reason, int]] = defaultdict(dict)
    for name, hour, reason, count in (yield _HOURS_OF_DECISIONS(since=since, schedule=schedule)):
        decided[name, hour][Reason.of(reason)] = count
    return tuple(
        HourRow(name, hour, runs[name, hour], *_means(sums[name, hour]), decided[name, hour])
        for name, hour in sorted({*runs, *decided})
    )


def _means(sums: Sequence[int]) -> tuple[float | None, float | None, float | None]:
    """Means in milliseconds, of what there was any of."""
    claims, claimed, late, started, ran, finished = sums
    return _mean(claims, claimed), _mean(late, started), _mean(ran, finished)


def _mean(total: int, number: int) -> float | None:
    return total / number / 1_000 if number else None
