"""How a schedule receives events, and forgets those that are decided (S70).

The inbox is state of the schedule: an event is in it when its change is committed, under the lock of the job that
a pass takes too. Its size is bounded. What does not fit is refused, with the time after which it may.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from .cron import Recurrence
from .errors import ConflictError, InputError
from .event_sources import Found, NewEvent, begin_taking, take
from .events import DecidedEvent, EventInbox, OnEvent, ReceivedEvent, groups_of, restamped
from .model import Schedule
from .payload import check_text, decode, encode

MAX_EVENTS = 2_000  # that wait, or were decided within the window: so no key of the window is forgotten
MAX_PENDING = 1_000
MAX_BYTES = 262_144  # of the data of events that wait
MAX_DATA = 65_536  # of one event
MAX_KEY = 80  # of a longer key its digest is kept
MAX_SECONDS_AHEAD = 3_600  # of a slot before its event: the rate that `each` can take is one a second


@dataclass(frozen=True, slots=True)
class EventsReceived:
    """Events have come. `slots_to`: the newest slot with a run, after which new ones have theirs."""

    events: tuple[NewEvent, ...]
    slots_to: int = 0
    found: Found | None = None  # what a node has found at the source of the schedule


class InboxFullError(ConflictError):
    """The schedule takes no more events for now."""

    http_status = 429

    def __init__(self, text: str, retry_after: int) -> None:
        super().__init__(text)
        self.retry_after = retry_after  # seconds


def short_key(key: str) -> str:
    """A key as it is kept: itself, or its digest if it is long or not plain."""
    if len(key) <= MAX_KEY and key.isascii() and key.isprintable():
        return key
    return f"sha256:{sha256(key.encode()).hexdigest()[:48]}"


def new_inbox(times: Recurrence, now: int) -> EventInbox:
    """The inbox of a new schedule."""
    taken = begin_taking(times.source, now) if isinstance(times, OnEvent) else None
    return EventInbox(taken=taken) if taken else EventInbox()


def redefined_inbox(schedule: Schedule, times: Recurrence, now: int) -> EventInbox:
    """The inbox with other times: what waits has its slots after the cursor, and another source begins anew.

    What was dropped, and has not been looked at since, is decided by the times before.
    """
    old, inbox = schedule.definition.times, with_decided(schedule, now)
    inbox = inbox._replace(pending=restamped(inbox.pending, schedule.cursor))
    if isinstance(times, OnEvent) and isinstance(old, OnEvent) and times.source == old.source:
        return inbox
    return inbox._replace(taken=new_inbox(times, now).taken)


def check_new_events(events: Sequence[NewEvent]) -> None:
    """Refuse what cannot be kept."""
    for key, source, data, _ in events:
        if not key or short_key(key) != key:
            raise InputError(f"the key of an event has 1 to {MAX_KEY} plain characters")
        check_text(source, "the source of an event", MAX_KEY)
        size = len(data.encode())
        if size > MAX_DATA:
            raise InputError(f"the data of an event has {size:,} bytes, and at most {MAX_DATA:,} are kept")
        encode(decode(data), "the data of an event")


def receive(schedule: Schedule, received: EventsReceived, now: int) -> Schedule:
    """The schedule with the events that it does not know yet; refused if they do not fit."""
    times = schedule.definition.times
    if not isinstance(times, OnEvent):
        raise ConflictError(f"{schedule.name} runs at times and not on events: give its job an on_event")
    taken = take(times.source, schedule.inbox, received.found) if received.found else None
    if taken:
        schedule = schedule._replace(inbox=schedule.inbox._replace(taken=taken.taken))
    events = received.events + (taken.events if taken else ())
    inbox = _remembered(schedule.inbox, now - times.window)
    known = {event.key for event in inbox.known if event.at > now - times.window}
    new = {event.key: event for event in reversed(events) if event.key not in known}
    if not new:
        return schedule
    pending = _with_slots(schedule, times, inbox.pending, list(reversed(new.values())), received.slots_to, now)
    full = inbox._replace(pending=pending)
    _check_room(schedule, full, now)
    return schedule._replace(inbox=full)


def _with_slots(
    schedule: Schedule, times: OnEvent, waiting: tuple[ReceivedEvent, ...], new: Sequence[NewEvent],
    slots_to: int, now: int,
) -> tuple[ReceivedEvent, ...]:  # fmt: skip
    """Those that wait and the new ones, each with a second that is after all that is decided."""
    pending, decided_to = list(waiting), max(schedule.cursor, slots_to)
    floor = max((decided_to, *(event.slot for event in waiting[-1:])))
    for event in new:
        came = now if event.at is None else min(event.at, now)
        closed = 0 if times.coalesce is None else decided_to
        at = max((came, closed, *(one.at for one in pending[-1:])))
        floor = max(at if times.coalesce else came, floor + 1)
        pending.append(ReceivedEvent(event.key, at, floor, event.source, event.data))
    return tuple(pending)


def _check_room(schedule: Schedule, inbox: EventInbox, now: int) -> None:
    times = schedule.definition.times
    waiting, newest = len(inbox.pending), inbox.pending[-1]
    if waiting > MAX_PENDING or sum(len(event.data.encode()) for event in inbox.pending) > MAX_BYTES:
        raise InboxFullError(
            f"{waiting - 1} events wait for {schedule.name}, and no more fit: see why they wait with "
            f"tickwise why {schedule.name}, or let it coalesce",
            retry_after=60,
        )
    if newest.slot - now > MAX_SECONDS_AHEAD:
        raise InboxFullError(
            f"{schedule.name} has more than one event a second: let it coalesce",
            retry_after=newest.slot - now - MAX_SECONDS_AHEAD,
        )
    if waiting + len(inbox.decided) > MAX_EVENTS and isinstance(times, OnEvent):
        raise InboxFullError(
            f"{schedule.name} remembers {len(inbox.decided)} keys of its window, and no more fit: "
            "shorten the window of its on_event",
            retry_after=max(1, inbox.decided[0].at + times.window - now),
        )


def with_decided(schedule: Schedule, now: int) -> EventInbox:
    """The inbox as a pass leaves it: what lies behind the cursor or in a hole is decided, and forgotten later."""
    times = schedule.definition.times
    if not isinstance(times, OnEvent) or not any(schedule.inbox):
        return schedule.inbox
    pending, decided = list[ReceivedEvent](), list(schedule.inbox.decided)
    for group in groups_of(times, schedule.inbox.pending):
        if group.slot > schedule.cursor and not any(begin < group.slot <= end for begin, end in schedule.dropped):
            pending += group.events
        else:
            decided += [DecidedEvent(event.key, event.at, group.slot, event.source) for event in group.events]
    left = schedule.inbox._replace(pending=tuple(pending), decided=tuple(decided))
    return _remembered(left, now - times.window)


def _remembered(inbox: EventInbox, since: int) -> EventInbox:
    return inbox._replace(decided=tuple(event for event in inbox.decided if event.at > since))


def events_of(schedule: Schedule, slot: int) -> tuple[ReceivedEvent, ...]:
    """The events that a slot stands for."""
    times = schedule.definition.times
    if not isinstance(times, OnEvent):
        return ()
    return next((group.events for group in groups_of(times, schedule.inbox.pending) if group.slot == slot), ())


def find_event(schedule: Schedule, key: str) -> ReceivedEvent | DecidedEvent | None:
    """The newest event with a key that is remembered."""
    return next((event for event in reversed(schedule.inbox.known) if event.key == key), None)
