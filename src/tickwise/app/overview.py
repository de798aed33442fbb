"""How things are: counts, what is wrong and what to do about it, and the last hour by minute."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from ..core.instant import to_datetime
from ..core.reasons import Verdict
from ..core.states import RunState
from ..stores.contract import Store
from ..stores.records import MICRO, Counts, DecisionFilter, Node, PauseInterval, Role, RunFilter, RunRow
from .values import moment

_PAGE, _MOST = 1_000, 5_000  # rows that are looked at
_HOUR, _MINUTES = 3_600, 60
_QUEUED = RunFilter(states=frozenset({RunState.QUEUED}))
_FAILED = frozenset({RunState.FAILED, RunState.LOST})
_NOT_RUN = frozenset({Verdict.SKIPPED, Verdict.EXPIRED})


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that is not as it should be, and the way out."""

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
    """Numbers about everything; the minutes only about jobs that somebody sees."""

    now: datetime
    counts: Counts
    workers: int  # live ones
    tickers: int
    oldest_waiting_at: datetime | None  # since when the oldest queued run could have started
    paused: bool
    warnings: tuple[Warned, ...]
    minutes: tuple[Minute, ...]


async def overview(store: Store, sees: Callable[[str], bool] | None = None) -> Overview:
    """As of now; for who sees some jobs only, nothing that names another."""
    now, insights = await store.now(), store.insights
    counts, pauses = await insights.counts(), await insights.pauses()
    live = [node for node in await insights.nodes() if is_live(node, now)]
    workers = [node for node in live if Role.WORKER in node.roles]
    tickers = [node for node in live if Role.TICKER in node.roles]
    oldest = await oldest_waiting(store, now) if counts.waiting else None
    paused = next((pause for pause in pauses if pause.until is None), None)
    return Overview(
        to_datetime(now // MICRO), counts, len(workers), len(tickers), moment(oldest),
        paused is not None, (*_warnings(counts, workers, tickers, paused), *([] if sees else _problems(live))),
        await _minutes(store, now // MICRO, sees),
    )  # fmt: skip


async def oldest_waiting(store: Store, now: int) -> int | None:
    """Since when the oldest queued run could have started. Lists begin with the newest: it is found by halving."""
    page = await store.insights.runs(_QUEUED, limit=_PAGE)
    early, late = 0, now
    while page.after is not None and late - early > MICRO:
        middle = (early + late) // 2
        older = await store.insights.runs(replace(_QUEUED, until=middle), limit=_PAGE)
        early, late = (early, middle) if older.items else (middle, late)
        page = older if older.items else page
    return min((run.due_at for run in page.items if run.due_at <= now), default=None)


def is_live(node: Node, now: int) -> bool:
    return node.seen_at > now - node.seconds * MICRO


def _warnings(
    counts: Counts, workers: list[Node], tickers: list[Node], paused: PauseInterval | None
) -> Iterator[Warned]:
    if paused is not None:
        yield Warned("Everything is paused.", "Resume: tickwise resume.")
    if counts.schedules and not tickers:
        yield Warned("No live ticker: no slot is decided.", "Start one: tickwise serve, or tickwise ticker.")
    elif counts.overdue:
        yield Warned(f"{counts.overdue} jobs are overdue.", "Start another ticker, or see whether one is stuck.")
    served = {queue for node in workers for queue in node.queues}
    for queue, waiting in counts.waiting.items():
        if waiting and queue not in served:
            text = f"{waiting} runs wait in the queue {queue}, which no live worker serves."
            yield Warned(text, f"Start one: tickwise worker --queues {queue}.")


def _problems(nodes: list[Node]) -> Iterator[Warned]:
    for node in nodes:
        for problem in node.problems:
            yield Warned(f"{node.host}: {problem}", "Mend the definition; the others go on meanwhile.")


async def _newest(store: Store, wanted: RunFilter) -> list[RunRow]:
    found: list[RunRow] = []
    after: str | None = None
    while len(found) < _MOST:
        page = await store.insights.runs(wanted, after, _PAGE)
        found += page.items
        after = page.after
        if after is None:
            break
    return found


async def _minutes(store: Store, now: int, sees: Callable[[str], bool] | None) -> tuple[Minute, ...]:
    first = now // 60 - _MINUTES + 1
    runs = [
        run for run in await _newest(store, RunFilter(since=first * 60 * MICRO)) if sees is None or sees(run.job)
    ]
    fired = Counter(run.created_at // MICRO // 60 for run in runs)
    failed = Counter((run.finished_at or 0) // MICRO // 60 for run in runs if run.state in _FAILED)
    skipped: Counter[int] = Counter()
    page = await store.insights.decisions(DecisionFilter(since=now - _HOUR), limit=_PAGE)
    for decision in page.items:
        if decision.reason.verdict in _NOT_RUN:
            skipped[decision.extended_at // MICRO // 60] += decision.count
    minutes = range(first, first + _MINUTES)
    return tuple(Minute(to_datetime(m * 60), fired[m], skipped[m], failed[m]) for m in minutes)
