"""When each schedule last succeeded, as a metric: what an alert about silence needs.

A series for each schedule could overwhelm Prometheus, so the first `MAX_SCHEDULES` by name have one; how many have
none is a metric too. Successes are read from the store when a schedule is first seen, then from the change feed.
"""

from prometheus_client import CollectorRegistry, Gauge

from ..app.records import MICRO, RunFilter, RunRow, ScheduleFilter
from ..app.stores import Store
from ..core.states import RunState

MAX_SCHEDULES = 1_000
_READ_EVERY = 60.0  # seconds between two reads of the names
_MAX_GAP = 300.0  # after which all is read again, since the change feed begins anew
_NEWEST = 5_000  # successes that are read together; of what is not among them each is asked for
_SUCCEEDED = frozenset({RunState.SUCCEEDED})


class LastSuccesses:
    """The metric, and the schedules that it names."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gauge = Gauge(
            "tickwise_schedule_last_success_timestamp_seconds",
            "When the newest run that succeeded ended; absent if none did.", ["schedule"], registry=registry,
        )  # fmt: skip
        self._unnamed = Gauge(
            "tickwise_schedules_without_last_success", "Schedules beyond the number that is named.",
            registry=registry,
        )  # fmt: skip
        self._names: set[str] = set()
        self._ended: dict[str, int] = {}
        self._read_at = float("-inf")

    async def read_schedules(self, store: Store, now: float) -> None:
        """Read which schedules there are, now and then, and the last successes of new ones."""
        if now - self._read_at < _READ_EVERY:
            return
        if now - self._read_at > _MAX_GAP:
            self._names = set()
        rows = (await store.insights.schedules(ScheduleFilter(), limit=MAX_SCHEDULES)).items
        known, self._names = self._names, {row.schedule.name for row in rows}
        for name in self._ended.keys() - self._names:
            del self._ended[name]
            self._gauge.remove(name)
        if new := {row.schedule.name for row in rows if row.last_run_id is not None} - known:
            await self._read_successes(store, new)
        self._unnamed.set(max(0, (await store.insights.counts()).schedules - len(rows)))
        self._read_at = now

    async def _read_successes(self, store: Store, names: set[str]) -> None:
        newest = (await store.insights.runs(RunFilter(states=_SUCCEEDED), limit=_NEWEST)).items
        for run in newest:
            if run.schedule in names:
                self._set(run)
        for name in names - self._ended.keys():
            for run in (await store.insights.runs(RunFilter(schedule=name, states=_SUCCEEDED), limit=1)).items:
                self._set(run)

    def note(self, run: RunRow) -> None:
        """A run of the change feed."""
        if run.state is RunState.SUCCEEDED and run.schedule in self._names:
            self._set(run)

    def _set(self, run: RunRow) -> None:
        if run.schedule is not None and run.finished_at is not None:
            self._ended[run.schedule] = max(run.finished_at, self._ended.get(run.schedule, 0))
            self._gauge.labels(run.schedule).set(self._ended[run.schedule] / MICRO)
