"""`/metrics`, for Prometheus.

Gauges are read from the store at each scrape. Counters and histograms begin with the first scrape and follow the
store's change feed: a scrape counts everything since the one before, whichever node did it. A run is in the feed
each time that it is made, starts or ends; what was counted of it is remembered as long as it can appear again.
Names of jobs and schedules are no labels, since there may be any number of them; only the last success of a
schedule has its name, and only of so many schedules. The store is read at most once a second.
"""

import asyncio
import collections
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping

from fastapi import Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ..app.records import MICRO, AccessRole, DecisionRow, Role, RunRow
from ..app.stores import Store, StoreUnavailableError
from ..app.worker_advice import is_live
from ..clock import monotonic
from ..core.model import Trigger
from ..core.reasons import Reason, Verdict
from ..core.states import FINAL, RunState
from ..runtime.change_feed import ChangeFeed
from .last_successes import LastSuccesses
from .routing import Router

router = Router("metrics")
_CACHE_SECONDS = 1.0
_MAX_POLLS = 50  # of the change feed in one scrape; the rest comes with the next
_MAX_GAP = 600 * MICRO  # between scrapes: what happened in a longer one is not counted
_MAX_RECORDS = 10_000
_NOT_RUN = frozenset({Verdict.SKIPPED, Verdict.COALESCED, Verdict.SUPERSEDED, Verdict.EXPIRED})
_DELAYS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600)
_DURATIONS = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400)


@router.get("/metrics", AccessRole.VIEWER, whole=True, include_in_schema=False)
async def scrape(request: Request) -> Response:
    """Metrics in Prometheus' text format."""
    metrics: Metrics = request.app.state.metrics
    return Response(await metrics.text(), media_type=CONTENT_TYPE_LATEST)


class Metrics:
    """The metrics of one process."""

    def __init__(self, store: Callable[[], Awaitable[Store]], clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._lock = asyncio.Lock()
        self._read_at = float("-inf")
        self._text = b""
        self._registry = CollectorRegistry()
        self._gauges = _Gauges()
        self._registry.register(self._gauges)
        self._counters = _ChangeCounters(self._registry)
        self._successes = LastSuccesses(self._registry)
        self._counters.on_run.append(self._successes.note)
        self._errors = Counter(
            "tickwise_store_errors", "Scrapes that the store did not answer.", registry=self._registry
        )

    async def text(self) -> bytes:
        """As Prometheus reads it."""
        async with self._lock:
            if self._clock() - self._read_at >= _CACHE_SECONDS:
                await self._read_store()
                self._text = generate_latest(self._registry)
                self._read_at = self._clock()
            return self._text

    async def _read_store(self) -> None:
        self._gauges.families = []
        try:
            store = await self._store()
            await self._successes.read_schedules(store, self._clock())
            await self._counters.follow(store)
            self._gauges.families = [family async for family in _read_gauges(store)]
        except StoreUnavailableError:
            self._errors.inc()


class _Gauges(Collector):
    """The gauges of the last read; none if the store did not answer."""

    def __init__(self) -> None:
        self.families: list[GaugeMetricFamily] = []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self.families


async def _read_gauges(store: Store) -> AsyncIterator[GaugeMetricFamily]:
    now, insights = await store.now(), store.insights
    counts = await insights.counts()
    live = [node for node in await insights.nodes() if is_live(node, now)]
    nodes = collections.Counter(role for node in live for role in node.roles)
    oldest = counts.oldest_due
    for name, about, value in (
        ("schedules", "Schedules there are.", counts.schedules),
        ("schedules_paused", "Schedules that are paused.", counts.paused),
        ("jobs_overdue", "Jobs that a ticker should have looked at.", counts.overdue),
        ("runs_running", "Runs under way.", counts.runs.get(RunState.RUNNING, 0)),
        ("oldest_waiting_seconds", "How long the oldest queued run could have started.",
         0 if oldest is None else (now - oldest) / MICRO),
        ("tickers_fallen_back", "Tickers whose claims fail, and that find due jobs in their own index.",
         sum(bool(node.claims_fail) for node in live)),
    ):  # fmt: skip
        yield GaugeMetricFamily(f"tickwise_{name}", about, value=value)
    yield _labelled("queue_depth", "Queued runs.", "queue", counts.waiting)
    yield _labelled("nodes", "Live processes.", "role", {str(role): nodes[role] for role in Role})


def _labelled(name: str, about: str, label: str, values: Mapping[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"tickwise_{name}", about, labels=[label])
    for word, value in values.items():
        family.add_metric([word], value)
    return family


class _ChangeCounters:
    """Counts the changes of the store, each once."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, about: str, label: str, words: Iterable[str]) -> Counter:
            made = Counter(f"tickwise_{name}", about, [label], registry=registry)
            for word in words:
                made.labels(word)  # what has not happened yet is zero, not absent
            return made

        def histogram(name: str, about: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"tickwise_{name}_seconds", about, buckets=buckets, registry=registry)

        unrun = [reason.code for reason in Reason if reason.verdict in _NOT_RUN]
        self._fired = counter("runs_fired", "Runs made.", "trigger", map(str, Trigger))
        self._finished = counter("runs_finished", "Runs ended.", "outcome", sorted(FINAL))
        self._skipped = counter("slots_skipped", "Slots that got no run.", "reason", unrun)
        self._claim = histogram("claim_latency", "From a slot's time to its run.", _DELAYS)
        self._lateness = histogram("lateness", "From when a run could start to its start.", _DELAYS)
        self._duration = histogram("run_duration", "From a run's last start to its end.", _DURATIONS)
        self.on_run: list[Callable[[RunRow], None]] = []
        self._feed: ChangeFeed | None = None
        self._start = 0
        self._counted: set[tuple[int, str, str]] = set()
        self._slots: dict[tuple[str, Reason, int], int] = {}  # of records: how many slots of them were counted

    async def follow(self, store: Store) -> None:
        """Count what has happened since the last time."""
        now = await store.now()
        if self._feed is None or self._feed.since < now - _MAX_GAP:
            self._start, self._feed = now, ChangeFeed(store, now)
        for _ in range(_MAX_POLLS):
            since, new = self._feed.since, await self._feed.poll()
            for run in new.runs:
                self._count_run(run, since)
                for callback in self.on_run:
                    callback(run)
            for row in new.decisions:
                self._count_slots(row)
            self._counted = {mark for mark in self._counted if mark[0] >= self._feed.since}
            if self._feed.caught_up:
                break

    def _count_run(self, run: RunRow, since: int) -> None:
        if self._is_new(run, "made", run.created_at, since):
            self._fired.labels(str(run.trigger)).inc()
            if run.trigger is Trigger.SCHEDULE:
                _observe(self._claim, run.due_at, run.created_at)
        if self._is_new(run, "started", run.started_at, since):
            _observe(self._lateness, run.due_at, run.started_at)
        if run.state in FINAL and self._is_new(run, "ended", run.finished_at, since):
            self._finished.labels(str(run.state)).inc()
            _observe(self._duration, run.started_at, run.finished_at)

    def _is_new(self, run: RunRow, move: str, at: int | None, since: int) -> bool:
        """Whether it has not been counted; what is older than this poll was counted by an earlier one."""
        mark = at or 0, run.id, move
        if mark[0] < since or mark in self._counted:
            return False
        self._counted.add(mark)
        return True

    def _count_slots(self, row: DecisionRow) -> None:
        if row.reason.verdict not in _NOT_RUN:
            return
        record = row.schedule, row.reason, row.first
        before = 0 if row.made_at >= self._start else row.count - 1  # of an older one only the newest is known
        self._skipped.labels(row.reason.code).inc(max(0, row.count - self._slots.pop(record, before)))
        self._slots[record] = row.count
        if len(self._slots) > _MAX_RECORDS:
            del self._slots[next(iter(self._slots))]


def _observe(histogram: Histogram, start: int | None, end: int | None) -> None:
    """Skips a run that was put off since: then its times are those of the next attempt."""
    if start is not None and end is not None and end >= start:
        histogram.observe((end - start) / MICRO)
