"""Server-sent events: one reader of the store for the whole process, and a queue for each subscriber."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from ..app.records import MICRO, Changes, DecisionRow, RunRow
from ..app.stores import Store
from ..app.values import RunInfo, ScheduleInfo
from ..log import get_logger
from ..runtime.change_feed import OVERLAP, ChangeFeed, moved_at
from .schemas.decisions import DecisionResponse
from .schemas.runs import run_response
from .schemas.schedules import ScheduleResponse

_log = get_logger()
MAX_REPLAY = 3_600 * MICRO  # how far back a client may resume
_QUEUE_SIZE = 2_000
_DELETED = "schedule_deleted"
_POLL_SECONDS, _PAUSE_SECONDS = 1.0, 0.1  # between reads without a notification, and at least between any two


class StreamEvent(NamedTuple):
    """An event; two with equal keys are the same."""

    at: int
    kind: str
    job: str
    name: str
    data: str

    @property
    def key(self) -> tuple[int, str, str]:
        return self.at, self.kind, self.name


class Subscriber:
    """The queue of one client; none in it means that the client was too slow and is cut off."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[StreamEvent | None] = asyncio.Queue(_QUEUE_SIZE + 1)

    def push(self, event: StreamEvent) -> bool:
        """Whether there was room."""
        if self.queue.qsize() >= _QUEUE_SIZE:
            self.queue.put_nowait(None)
            return False
        self.queue.put_nowait(event)
        return True


class EventBroadcaster:
    """Reads the store while there are subscribers, and gives each event to all of them."""

    def __init__(self, store: Callable[[], Awaitable[Store]]) -> None:
        self._store = store
        self._subscribers: set[Subscriber] = set()
        self._reader: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def subscribe(self) -> AsyncIterator[Subscriber]:
        """A subscriber to all events from now on."""
        subscriber = Subscriber()
        start = await (await self._store()).now()
        self._subscribers.add(subscriber)
        if self._reader is None:
            self._reader = asyncio.create_task(self._read_store(start))
        try:
            yield subscriber
        finally:
            self._subscribers.discard(subscriber)
            if not self._subscribers and self._reader is not None:
                self._reader.cancel()
                self._reader = None

    async def since(self, instant: int) -> AsyncIterator[StreamEvent]:
        """Events since an instant (microseconds), oldest first, up to now."""
        store = await self._store()
        feed = ChangeFeed(store, instant - OVERLAP, schedules=True)
        while not feed.caught_up:
            for event in await _events(store, await feed.poll()):
                yield event

    async def _read_store(self, start: int) -> None:
        store = await self._store()
        feed = ChangeFeed(store, start, schedules=True)
        while True:
            try:
                for event in await _events(store, await feed.poll()):
                    self._subscribers = {one for one in self._subscribers if one.push(event)}
                if feed.caught_up:
                    await asyncio.sleep(_PAUSE_SECONDS)
                    await store.wait(_POLL_SECONDS)
            except Exception as error:  # noqa: BLE001  (subscribers wait until it goes on)
                _log.warning("events cannot be read", error=str(error))
                await asyncio.sleep(_POLL_SECONDS)


async def _events(store: Store, changed: Changes) -> list[StreamEvent]:
    jobs: dict[str, str] = {}  # by schedule
    found = [_run_event(row) for row in changed.runs]
    found += [await _schedule_event(store, name) for name in changed.schedules]
    for decision in changed.decisions:
        if decision.schedule not in jobs:
            row = await store.insights.schedule(decision.schedule)
            jobs[decision.schedule] = row.schedule.job if row else ""
        found.append(_decision_event(decision, jobs[decision.schedule]))
    return sorted(found)


def _run_event(row: RunRow) -> StreamEvent:
    data = run_response(RunInfo.of(row)).model_dump_json()
    return StreamEvent(at=moved_at(row), kind="run", job=row.job, name=f"{row.id} {row.state}", data=data)


def _decision_event(row: DecisionRow, job: str) -> StreamEvent:
    name = f"{row.schedule} {row.reason.code} {row.first}"
    data = DecisionResponse.of(row).model_dump_json()
    return StreamEvent(at=row.extended_at, kind="decision", job=job, name=name, data=data)


async def _schedule_event(store: Store, name: str) -> StreamEvent:
    row = await store.insights.schedule(name)
    if row is None:
        data = json.dumps({"name": name}, separators=(",", ":"))
        return StreamEvent(at=await store.now(), kind=_DELETED, job="", name=name, data=data)
    data = ScheduleResponse.model_validate(ScheduleInfo.of(row)).model_dump_json()
    return StreamEvent(at=row.updated_at, kind="schedule", job=row.schedule.job, name=name, data=data)
