"""What changes, told to all who listen: one reader of the store for the whole process.

The reader asks the store what is new since a few seconds before its last look (`Insights.changed`), because a move
is seen a little after the instant that it carries, and passes over what it has told already. It looks when the
store has news, and now and then; without listeners it rests. An event's id is its instant in microseconds: who
comes back with the last one gets what has happened since, some of it twice, nothing never. A listener who does not
keep up is cut off, and comes back in the same way.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import structlog

from ..app.values import RunInfo, ScheduleInfo
from ..stores.contract import Store
from ..stores.records import MICRO, Changed, DecisionRow, RunRow
from .bodies.decisions import DecisionBody
from .bodies.schedules import ScheduleBody
from .shown import run_body

_log = structlog.get_logger("tickwise")
SLACK = 5 * MICRO  # how late a move may be seen
LONGEST = 3_600 * MICRO  # how far back somebody may come back
_POLL, _BREATH = 1.0, 0.1  # seconds: between looks without news, and at least between any two
_LIMIT, _QUEUE = 1_000, 2_000
GONE = "schedule_deleted"


class Event(NamedTuple):
    """Something that happened; equal keys are the same thing."""

    at: int
    kind: str
    job: str
    name: str
    data: str

    @property
    def key(self) -> tuple[int, str, str]:
        return self.at, self.kind, self.name


class Listener:
    """Somebody's queue; none in it means that they were cut off."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Event | None] = asyncio.Queue(_QUEUE + 1)

    def hear(self, event: Event) -> bool:
        """Whether there was room."""
        if self.queue.qsize() >= _QUEUE:
            self.queue.put_nowait(None)
            return False
        self.queue.put_nowait(event)
        return True


class News:
    """Reads, as long as somebody listens."""

    def __init__(self, store: Callable[[], Awaitable[Store]]) -> None:
        self._store = store
        self._listeners: set[Listener] = set()
        self._reader: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[Listener]:
        """A listener to all that happens from now on."""
        listener = Listener()
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

    async def since(self, instant: int) -> AsyncIterator[Event]:
        """What has happened since, oldest first, up to now."""
        look = _Look(instant - SLACK)
        while not look.caught_up:
            for event in await look.again(await self._store()):
                yield event

    async def _read(self, start: int) -> None:
        look = _Look(start)
        while True:
            try:
                store = await self._store()
                for event in await look.again(store):
                    self._listeners = {one for one in self._listeners if one.hear(event)}
                if look.caught_up:
                    await asyncio.sleep(_BREATH)
                    await store.wait(_POLL)
            except Exception as error:  # noqa: BLE001  (whoever listens waits for it to go on)
                _log.warning("events cannot be read", error=str(error))
                await asyncio.sleep(_POLL)


class _Look:
    """Looks again and again from a moving instant on."""

    def __init__(self, start: int) -> None:
        self._from = start
        self._limit = _LIMIT
        self._told: set[tuple[int, str, str]] = set()
        self._gone: set[str] = set()  # schedules whose end was told; nobody says when that was
        self.caught_up = False

    async def again(self, store: Store) -> list[Event]:
        """What was not told before."""
        now = await store.now()
        changed = await store.insights.changed(self._from, self._limit)
        found = await _events(store, changed, now)
        events = [event for event in found if event.key not in self._told and not self._is_old_end(event)]
        self._gone = {event.name for event in found if event.kind == GONE}
        kinds = {"run": changed.runs, "decision": changed.decisions, "schedule": changed.schedules}
        full = {kind for kind, rows in kinds.items() if len(rows) >= self._limit}
        self.caught_up = not full
        self._limit = self._limit * 2 if full and not events else _LIMIT  # more than fits bears one instant
        reached = [max((event.at for event in found if event.kind == kind), default=now) for kind in full]
        self._from = max(self._from, min(reached, default=now - SLACK))
        self._told = {key for key in (*self._told, *(event.key for event in events)) if key[0] >= self._from}
        return sorted(events)

    def _is_old_end(self, event: Event) -> bool:
        return event.kind == GONE and event.name in self._gone


async def _events(store: Store, changed: Changed, now: int) -> list[Event]:
    jobs: dict[str, str] = {}
    found = [
        Event(_instant(row), "run", row.job, f"{row.id} {row.state}", run_body(RunInfo.of(row)).model_dump_json())
        for row in changed.runs
    ]
    found += [await _of_schedule(store, name, now) for name in changed.schedules]
    for decision in changed.decisions:
        if decision.schedule not in jobs:
            row = await store.insights.schedule(decision.schedule)
            jobs[decision.schedule] = row.schedule.job if row else ""
        body = DecisionBody.of(decision).model_dump_json()
        name = f"{decision.schedule} {decision.reason.code} {decision.first}"
        found.append(Event(decision.extended_at, "decision", jobs[decision.schedule], name, body))
    return found


async def _of_schedule(store: Store, name: str, now: int) -> Event:
    row = await store.insights.schedule(name)
    if row is None:
        return Event(now, GONE, "", name, f'{{"name":"{name}"}}')
    body = ScheduleBody.model_validate(ScheduleInfo.of(row)).model_dump_json()
    return Event(row.updated_at, "schedule", row.schedule.job, name, body)


def _instant(row: RunRow | DecisionRow) -> int:
    if isinstance(row, DecisionRow):
        return row.extended_at
    return max(row.created_at, row.started_at or 0, row.finished_at or 0)
