"""Events of schedules: sending them, concurrent callers by one move, and what became of each (S70, S71)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import uuid4

from ..core.errors import ConflictError
from ..core.event_inbox import EventsReceived, find_event, short_key
from ..core.event_sources import NewEvent
from ..core.events import DecidedEvent, OnEvent, ReceivedEvent, events_of_params, groups_of
from ..core.model import Schedule
from ..core.payload import decode, encode
from ..core.timeparse import iso, to_datetime
from ..stores.contract import Store
from ..stores.records import MICRO, RunFilter, RunRow, ScheduleRow
from .explain import schedule_row
from .group_commit import GroupCommit
from .slots import SlotInfo, SlotReader

SENT = "sent"  # the source of an event that a person or a program sends
DEFAULT_LISTED = 100
MAX_LISTED = 1_000
_LAST = to_datetime(1 << 33)


class AcceptedEvent(NamedTuple):
    """The answer to an event: the same, however often it is sent."""

    schedule: str
    key: str
    received_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EventInfo:
    """An event, and what became of it."""

    key: str
    received_at: datetime
    source: str
    slot: datetime | None  # of its run or decision; none: its group is still open
    state: str  # collecting, or as the state of a slot: waiting, running, ran, failed, skipped …
    reason: str | None = None
    text: str = ""
    run: str | None = None
    data: Any = None  # of one that waits or has a run


class EventGate:
    """Events on their way into a store. Those of one schedule go together, as far as they come together."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._groups: dict[str, GroupCommit[NewEvent, AcceptedEvent]] = {}

    async def add(self, schedule: str, event: NewEvent) -> AcceptedEvent:
        """Store an event, or find it stored; refused if the schedule is not there or takes no more."""
        if schedule not in self._groups:
            self._groups[schedule] = GroupCommit(partial(self._commit, schedule))
        return await self._groups[schedule].add(event)

    async def _commit(self, schedule: str, events: Sequence[NewEvent]) -> list[AcceptedEvent]:
        state = await self._store.change(schedule, EventsReceived(tuple(events)))
        return [_accepted(state, event.key) for event in events]


def _accepted(state: Schedule, key: str) -> AcceptedEvent:
    known = find_event(state, key)
    if known is None:
        raise ConflictError(f"{state.name} does not have the event {key} that was just stored")
    return AcceptedEvent(state.name, key, to_datetime(known.at))


def new_event(key: str | None, data: Any, source: str = SENT) -> NewEvent:
    """An event as it is sent; without a key it is one of its own."""
    return NewEvent(
        short_key(key) if key else f"{source}-{uuid4().hex}", source, encode(data, "the data of an event")
    )


def digest_key(body: bytes) -> str:
    """The key of an event that has none."""
    return f"sha256:{sha256(body).hexdigest()[:48]}"


class Events:
    """Events by schedule."""

    def __init__(self, store: Callable[[], Awaitable[Store]], gate: Callable[[], Awaitable[EventGate]]) -> None:
        self._store = store
        self._gate = gate

    async def send(self, name: str, data: Any = None, *, key: str | None = None) -> AcceptedEvent:
        """Send an event to a schedule. The same key within its window is the same event (S70)."""
        return await (await self._gate()).add(name, new_event(key, data))

    async def list(self, name: str, limit: int = DEFAULT_LISTED) -> list[EventInfo]:
        """The newest events of a schedule, and what became of each; older ones as far as they had a run."""
        store = await self._store()
        return await list_events(store, await schedule_row(store, name), limit)


async def list_events(store: Store, row: ScheduleRow, limit: int) -> list[EventInfo]:
    """The newest first."""
    state, limit = row.schedule, min(limit, MAX_LISTED)
    times = state.definition.times
    if not isinstance(times, OnEvent):
        raise ConflictError(f"{state.name} runs at times and not on events")
    page = await store.insights.runs(RunFilter(schedule=state.name), limit=limit)
    slots, now = await _slots_by_second(store, row, limit), await store.now() // MICRO
    listed = [_of_run(run, event, slots) for run in page.items for event in _readable_events(run)]
    listed += [_of_decided(event, slots) for event in state.inbox.decided]
    for group in groups_of(times, state.inbox.pending):
        is_open = times.coalesce is not None and group.slot > now
        listed += [_of_pending(event, group.slot, slots, is_open=is_open) for event in group.events]
    found: dict[tuple[str, datetime], EventInfo] = {}
    for info in listed:
        found.setdefault((info.key, info.received_at), info)
    newest = sorted(found.values(), key=lambda info: (info.received_at, info.slot or _LAST), reverse=True)
    return newest[:limit]


async def _slots_by_second(store: Store, row: ScheduleRow, limit: int) -> Mapping[int, SlotInfo]:
    name, now = row.schedule.name, await store.now() // MICRO
    until = max((now, *(event.slot for event in row.schedule.inbox.known))) + 1
    recent = (await store.insights.recent([name], limit + 1, until)).get(name)
    if recent is None:
        return {}
    reader = SlotReader(now, await store.insights.pauses())
    return {one.slot: SlotInfo.of(one, late=False) for one in reader.newest(row, recent, 0, until, limit + 1)}


def _readable_events(run: RunRow) -> list[Mapping[str, Any]]:
    """Those that say when they came: a person may have given a run any events."""
    found = []
    for event in events_of_params(run.params or {}):
        with suppress(ValueError):
            if datetime.fromisoformat(str(event.get("at"))).tzinfo is not None:
                found.append(event)
    return found


def _of_run(run: RunRow, event: Mapping[str, Any], slots: Mapping[int, SlotInfo]) -> EventInfo:
    slot = None if run.slot is None else slots.get(run.slot)
    return EventInfo(
        key=str(event.get("key")), received_at=datetime.fromisoformat(str(event["at"])),
        source=str(event.get("source")), slot=None if run.slot is None else to_datetime(run.slot),
        state=slot.state if slot else str(run.state), reason=slot.reason if slot else None,
        text=slot.text if slot else "", run=run.id, data=event.get("data"),
    )  # fmt: skip


def _of_decided(event: DecidedEvent, slots: Mapping[int, SlotInfo]) -> EventInfo:
    known = slots.get(event.slot) or SlotInfo(slot=to_datetime(event.slot), state="decided")
    return EventInfo(
        key=event.key, received_at=to_datetime(event.at), source=event.source, slot=known.slot, state=known.state,
        reason=known.reason, text=known.text, run=known.run,
    )  # fmt: skip


def _of_pending(event: ReceivedEvent, slot: int, slots: Mapping[int, SlotInfo], *, is_open: bool) -> EventInfo:
    known = slots.get(slot) or SlotInfo(slot=to_datetime(slot), state="waiting")
    if is_open:
        known = SlotInfo(slot=known.slot, state="collecting", text=f"its group closes at {iso(slot)}, or later")
    return EventInfo(
        key=event.key, received_at=to_datetime(event.at), source=event.source,
        slot=None if is_open else known.slot, state=known.state, reason=known.reason, text=known.text,
        run=known.run, data=decode(event.data),
    )  # fmt: skip
