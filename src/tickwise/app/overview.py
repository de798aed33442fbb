"""How things are: counts, what is wrong and what to do about it, and the last hour by minute."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from ..core.reasons import Reason
from ..core.requirements import LiveWorkers
from ..core.timeparse import iso, to_datetime
from ..stores.contract import Store
from ..stores.records import MICRO, DecisionFilter, Node, PauseInterval, Role
from ..stores.statistics import Counts
from .blackouts import BlackoutInfo, active_blackouts
from .explain_steps import by_whom
from .seen_counts import seen_counts
from .values import moment
from .worker_advice import is_live, start_advice, start_command, unserved_jobs, workers_without_room

_MINUTES = 60
_MAX_UNREADABLE = 20
_BROKEN_AGE = 180 * MICRO  # a schedule that cannot be read is tried every minute


@dataclass(frozen=True, slots=True)
class OverviewWarning:
    """Something that is wrong, and what to do about it."""

    text: str
    advice: str


@dataclass(frozen=True, slots=True)
class Minute:
    start: datetime
    fired: int = 0
    skipped: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts and minutes of the jobs that the caller sees."""

    now: datetime
    counts: Counts
    workers: int  # live ones
    tickers: int
    oldest_waiting_at: datetime | None  # since when the oldest queued run could have started
    paused: bool
    blackouts: tuple[BlackoutInfo, ...]  # that are on
    warnings: tuple[OverviewWarning, ...]
    minutes: tuple[Minute, ...]


async def overview(store: Store, sees: Callable[[str], bool] | None = None) -> Overview:
    """As of now; with `sees`, nothing of a job which the caller does not see, nor of the fleet's troubles."""
    now, insights = await store.now(), store.insights
    counts = await (insights.counts() if sees is None else seen_counts(store, now, sees))
    pauses = await insights.pauses()
    live = [node for node in await insights.nodes() if is_live(node, now)]
    workers = [node for node in live if Role.WORKER in node.roles]
    tickers = [node for node in live if Role.TICKER in node.roles]
    paused = next((pause for pause in pauses if pause.until is None), None)
    return Overview(
        now=to_datetime(now // MICRO), counts=counts, workers=len(workers), tickers=len(tickers),
        oldest_waiting_at=moment(counts.oldest_due), paused=paused is not None,
        blackouts=() if sees else await active_blackouts(store, now // MICRO),
        warnings=(
            *_warnings(counts, workers, tickers, paused), *await _unreadable(store, now, sees),
            *([] if sees else _problems(live, workers, tickers)),
        ),
        minutes=await _minutes(store, now // MICRO, sees),
    )  # fmt: skip


def _warnings(
    counts: Counts, workers: list[Node], tickers: list[Node], paused: PauseInterval | None
) -> Iterator[OverviewWarning]:
    if paused is not None:
        text = f"Everything is paused since {iso(paused.at)}{by_whom(paused)}."
        yield OverviewWarning(text, "Resume: tickwise resume.")
    if counts.schedules and not tickers:
        yield OverviewWarning(
            "No live ticker: no slot is decided.", "Start one: tickwise serve, or tickwise ticker."
        )
    elif counts.overdue:
        yield OverviewWarning(
            f"Jobs overdue: {counts.overdue}.", "Start another ticker, or see whether one is stuck."
        )
    for queue, number in unserved_queues(counts, workers):
        yield OverviewWarning(
            f"No live worker serves the queue {queue}, where runs wait: {number}.",
            f"Start one: {start_command(queue)}.",
        )
    live = LiveWorkers((node.queues, node.offers) for node in workers)
    for missing, number in unserved_jobs(counts, live):
        yield OverviewWarning(
            f"No live worker {missing.text}: jobs hold their slots ({number}).",
            f"{start_advice(missing)}; then they go on as after an outage. Which jobs: tickwise doctor.",
        )


def unserved_queues(counts: Counts, workers: Iterable[Node]) -> Iterator[tuple[str, int]]:
    """Queues that no live worker serves, and how many runs wait there."""
    served = {queue for node in workers for queue in node.queues}
    return ((queue, number) for queue, number in counts.waiting.items() if number and queue not in served)


async def _unreadable(store: Store, now: int, sees: Callable[[str], bool] | None) -> list[OverviewWarning]:
    """Schedules that the passes of the last minutes could not read: each of them records that, about no slot."""
    filters = DecisionFilter(reasons=frozenset({Reason.BROKEN}), until=1)
    found = []
    for each in (await store.insights.decisions(filters, limit=_MAX_UNREADABLE)).items:
        row = await store.insights.schedule(each.schedule) if each.extended_at > now - _BROKEN_AGE else None
        if row and row.unreadable and (sees is None or sees(row.schedule.job)):
            advice = "Change its schedule, or delete it."
            found.append(OverviewWarning(f"{each.schedule} cannot be read: {row.unreadable}", advice))
    return found


def _problems(nodes: list[Node], workers: list[Node], tickers: list[Node]) -> Iterator[OverviewWarning]:
    for node in tickers:
        if node.claims_fail:
            yield OverviewWarning(
                f"{node.host}: claims fail ({node.claims_fail}); due jobs are found in its own index.",
                "See what blocks them: tickwise store check.",
            )
    for _, problem in workers_without_room(workers):
        yield OverviewWarning(f"{problem}.", "See what runs there: tickwise runs list --state running.")
    for node in nodes:
        for problem in node.problems:
            yield OverviewWarning(f"{node.host}: {problem}", "Mend the definition; the others go on meanwhile.")
        for problem in node.undelivered:
            text = f"{node.host}: the last notification did not arrive over {problem}."
            yield OverviewWarning(text, "Mend the channel, and test it: tickwise notify test.")


async def _minutes(store: Store, second: int, sees: Callable[[str], bool] | None) -> tuple[Minute, ...]:
    sums: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in await store.insights.minute_stats(_MINUTES, by_job=sees is not None):
        if sees is None or sees(row.job):
            total = sums[row.minute]
            total[:] = [one + more for one, more in zip(total, row[2:], strict=True)]
    last = second // 60 * 60
    return tuple(Minute(to_datetime(m), *sums[m]) for m in range(last - (_MINUTES - 1) * 60, last + 60, 60))
