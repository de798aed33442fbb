"""Server-sent events: one reader of the store for the whole process, and a queue for each subscriber."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from ..app.records import MICRO, Changes
from ..app.stores import Store
from ..app.values import RunInfo, ScheduleInfo
from ..log import get_logger
from ..runtime.change_feed import OVERLAP, ChangeFeed, moved_at
from .schemas.decisions import DecisionResponse
from .schemas.runs import run_response
from .schemas.schedules import ScheduleResponse

_log = get_logger()


LONGEST = 3_600 * MICRO  # how far back somebody may come back


_QUEUE = 2_000


GONE = "schedule_deleted"


class StreamEvent(NamedTuple):
    """Something that happened; equal keys are the same thing."""

    at: int
    kind: str
    job: str
    name: str
    data: str

    @property
    def key(self) -> tuple[int, str, str]:
        return self.at, self.kind, self.name


class Subscriber:
    """Somebody's queue; none in it means that they were cut off."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[StreamEvent | None] = asyncio.Queue(_QUEUE + 1)

    def hear(self, event: StreamEvent) -> bool:
        """Whether there was room."""
        if self.queue.qsize() >= _QUEUE:
            self.queue.put_nowait(None)
            return False
        self.queue.put_nowait(event)
        return True


class EventBroadcaster:
    """Reads, as long as somebody listens."""

    def __init__(self, store: Callable[[], Awaitable[Store]]) -> None:
        self._store = store
        self._listeners: set[Subscriber] = set()
        self._reader: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[Subscriber]:
        """A listener to all that happens from now on."""
        listener = Subscriber()
        start = await (await self._store()).now()
        self._listeners.add(listener)
        if self._reader is None:
            self._reader = asyncio.create_task(self._read(start))
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._reader is not None:
                self._reader.cancel()
                self._reader = None

    async def since(self, instant: int) -> AsyncIterator[StreamEvent]:
        """What has happened since, oldest first, up to now."""
        store = await self._store()
        following = ChangeFeed(store, instant - OVERLAP, schedules=True)
        while not following.caught_up:
            for event in await _events(store, await following.poll()):
                yield event

    async def _read(self, start: int) -> None:
        store = await self._store()
        following = ChangeFeed(store, start, schedules=True)
        while True:
            try:
                for event in await _events(store, await following.poll()):
                    self._listeners = {one for one in self._listeners if one.hear(event)}
                if following.caught_up:
                    await asyncio.sleep(_BREATH)
                    await store.wait(_POLL)
            except Exception as error:  # noqa: BLE001  (whoever listens waits for it to go on)
                _log.warning("events cannot be read", error=str(error))
                await asyncio.sleep(_POLL)


async def _events(store: Store, changed: Changes) -> list[StreamEvent]:
    jobs: dict[str, str] = {}
    found = [
        StreamEvent(
            moved_at(row), "run", row.job, f"{row.id} {row.state}", run_response(RunInfo.of(row)).model_dump_json()
        )
        for row in changed.runs
    ]
    found += [await _of_schedule(store, name) for name in changed.schedules]
    for decision in changed.decisions:
        if decision.schedule not in jobs:
            row = await store.insights.schedule(decision.schedule)
            jobs[decision.schedule] = row.schedule.job if row else ""
        body = DecisionResponse.of(decision).model_dump_json()
        name = f"{decision.schedule} {decision.reason.code} {decision.first}"
        found.append(StreamEvent(decision.extended_at, "decision", jobs[decision.schedule], name, body))
    return sorted(found)


async def _of_schedule(store: Store, name: str) -> StreamEvent:
    row = await store.insights.schedule(name)
    if row is None:
        return StreamEvent(await store.now(), GONE, "", name, f'{{"name":"{name}"}}')
    body = ScheduleResponse.model_validate(ScheduleInfo.of(row)).model_dump_json()
    return StreamEvent(row.updated_at, "schedule", row.schedule.job, name, body)


_POLL, _BREATH = 1.0, 0.1  # seconds: between looks without news, and at least between any two
