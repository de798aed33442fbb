"""What the last hours were like, by schedule and hour, from runs and decisions."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.states import RunState
from ..records import MICRO
from ..tallies import HourRow
from .fleet import clock
from .statement import Protocol, Statement

_OF_ONE = "s.id = (SELECT id FROM tickwise_schedules WHERE name = :schedule)"
_OF_RUNS, _OF_DECISIONS = (
    {which: Statement(text.format(which=which)) for which in ("TRUE", _OF_ONE)}
    for text in (
        """
            SELECT s.name, r.slot / 3600 * 3600, r.state, r.trigger_name, count(*),
                CAST(sum(r.created_at - r.due_at) AS bigint),
                CAST(sum(r.started_at - r.due_at) AS bigint), count(r.started_at),
                CAST(sum(r.finished_at - r.started_at) AS bigint), count(r.finished_at - r.started_at)
            FROM tickwise_runs r JOIN tickwise_schedules s ON s.id = r.schedule_id
            WHERE r.slot >= :since AND {which} GROUP BY s.name, r.slot / 3600 * 3600, r.state, r.trigger_name
        """,
        """
            SELECT s.name, d.first_slot / 3600 * 3600, d.reason, CAST(sum(d.slots) AS bigint)
            FROM tickwise_decisions d JOIN tickwise_schedules s ON s.id = d.schedule_id
            WHERE d.last_slot >= :since AND {which} GROUP BY s.name, d.first_slot / 3600 * 3600, d.reason
        """,
    )
)


def hours(number: int, schedule: str | None) -> Protocol[tuple[HourRow, ...]]:
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
        HourRow(*key, dict(runs[key]), *_means(sums[key]), decided[key], dict(triggers[key]))
        for key in sorted({*runs, *decided})
    )


def _means(sums: Sequence[int]) -> tuple[float | None, float | None, float | None]:
    """Means in milliseconds, of what there was any of."""
    claims, claimed, late, started, ran, finished = sums
    return _mean(claims, claimed), _mean(late, started), _mean(ran, finished)


def _mean(total: int, number: int) -> float | None:
    return total / number / 1_000 if number else None
