"""Events: what an event job listens to, what a schedule keeps of them, and the slots that they make (S70, S71).

An event has a slot of its own, so that all that holds for slots holds for it: the unique key of its run, overlap,
lanes, pauses, catch-up, decisions. That is the second in which it came, or the next second that is free: a
thousand events of one second have a thousand slots, and all of them are due at once. With `coalesce` the slot of a
group is the second at which the group closes. Both depend on the times of the events alone.

`event_inbox` says how a schedule receives events and forgets them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

from .cron import Recurrence
from .cron.zone import Zone, zone
from .payload import decode, encode
from .timeparse import format_duration, iso

EVENTS_PARAM = "@events"  # where the params of a run hold its events; no param that people give can have this name
STEP_PARAM = "@step"  # where those of a step's own run hold what it knows of the run that waits for it (S74)
_RESERVED = frozenset({EVENTS_PARAM, STEP_PARAM})
MAX_WATCHED_JOBS = 50
DEFAULT_SETTLE = 5
DEFAULT_WINDOW = 600  # in which the same key is the same event


class HookHeaders(NamedTuple):
    """The headers of a service that signs its calls by HMAC-SHA256 over the body."""

    signature: str
    key: str


OWN_HEADERS = HookHeaders("x-tickwise-signature", "x-tickwise-key")
START_WINDOW = 366 * 86_400  # in which one start of a machine is one event
SENDERS = {
    "github": HookHeaders("x-hub-signature-256", "x-github-delivery"),
    "gitea": HookHeaders("x-gitea-signature", "x-gitea-delivery"),
}


@dataclass(frozen=True, slots=True)
class Coalesce:
    """One run for all events up to a quiet time after the last, or up to the longest time after the first."""

    quiet: int
    at_most: int


@dataclass(frozen=True, slots=True)
class Webhook:
    """Calls of `/hooks/NAME`, signed with a secret that the settings name."""

    secret: str
    sender: str = ""  # whose headers they have; none: Tickwise's own
    key: str = ""  # `header:NAME` or `json:PATH`; none: the sender's, else the digest of the body

    def __str__(self) -> str:
        return f"webhook of {self.sender}" if self.sender else "webhook"


@dataclass(frozen=True, slots=True)
class SettledFiles:
    """Files of a directory whose size and time of change have stayed the same for a while."""

    directory: str  # absolute
    names: str  # as in a shell: `*.csv`
    settle: int

    def __str__(self) -> str:
        return f"files {self.directory.rstrip('/')}/{self.names}"


class EndState(StrEnum):
    """Which ends of runs are events."""

    SUCCESS = "success"
    FAILURE = "failure"  # failed, lost or expired
    ANY = "any"


@dataclass(frozen=True, slots=True)
class JobEnds:
    """Ends of runs of jobs: each of them, or ends of so many of the jobs within a time of each other."""

    jobs: tuple[str, ...]
    state: EndState = EndState.SUCCESS
    at_least: int = 1
    within: int = 0  # only with `at_least` over 1

    def __str__(self) -> str:
        few = f"{self.at_least} of " if self.at_least > 1 else ""
        which = "end" if self.state is EndState.ANY else str(self.state)
        return f"{which} of {few}{', '.join(self.jobs)}"


@dataclass(frozen=True, slots=True)
class MachineStart:
    """The start of a machine, or of a container, on which a node serves the job's source."""

    def __str__(self) -> str:
        return "machine start"


EventSource: TypeAlias = Webhook | SettledFiles | JobEnds | MachineStart


@dataclass(frozen=True, slots=True)
class OnEvent(Recurrence):
    """Times that no calendar names: a slot is there when an event has come."""

    source: EventSource | None = None  # none: only what people and programs send
    coalesce: Coalesce | None = None  # none: each event has a run
    window: int = DEFAULT_WINDOW

    @property
    def zone(self) -> Zone:  # type: ignore[override]
        return zone("UTC")

    def after(self, second: int) -> int | None:  # noqa: ARG002
        return None

    def before(self, second: int) -> int | None:  # noqa: ARG002
        return None

    def count(self, after: int, until: int) -> int:  # noqa: ARG002
        return 0

    def explain(self) -> str:
        return f"On each event ({self.source or 'sent'})" if self.coalesce is None else self._explain_groups()

    def _explain_groups(self) -> str:
        groups = self.coalesce or Coalesce(0, 0)
        quiet, most = format_duration(groups.quiet), format_duration(groups.at_most)
        return f"Once for all events ({self.source or 'sent'}) up to {quiet} without one, or for {most} of them"

    @property
    def text(self) -> str:
        """As people read it in a list."""
        groups = self.coalesce and f", {format_duration(self.coalesce.quiet)} quiet"
        return f"on event ({self.source or 'sent'}{groups or ''})"

    def __str__(self) -> str:
        return self.text


def causes_of(times: Recurrence) -> tuple[str, ...]:
    """The jobs whose ends start it."""
    source = times.source if isinstance(times, OnEvent) else None
    return source.jobs if isinstance(source, JobEnds) else ()


class ReceivedEvent(NamedTuple):
    """An event that waits for its run, or for its decision."""

    key: str
    at: int  # when it came
    slot: int  # a second of its own
    source: str = ""  # webhook, sent …
    data: str = "null"  # as JSON text

    def describe(self, data: Any) -> dict[str, Any]:
        """As a run sees it; `data` is its data as a value."""
        return {"key": self.key, "at": iso(self.at), "source": self.source, "data": data}


class DecidedEvent(NamedTuple):
    """An event that has had its run or its decision, remembered for its window."""

    key: str
    at: int
    slot: int  # of its run or its decision
    source: str = ""


class JobEnd(NamedTuple):
    """A run that has ended."""

    job: str
    run: str
    attempt: int
    state: str
    at: int  # microseconds
    slot: int | None = None

    @property
    def key(self) -> str:
        """A run that is retried after its end ends again."""
        return f"run:{self.run}:{self.attempt}"

    @property
    def mark(self) -> str:
        """As it is kept among those that were taken."""
        return f"{self.at}:{self.run}:{self.attempt}"

    def describe(self) -> dict[str, Any]:
        """As the run that it causes sees it."""
        ended = iso(self.at // 1_000_000)
        known = {"job": self.job, "run": self.run, "attempt": self.attempt, "state": self.state, "ended_at": ended}
        return known if self.slot is None else {**known, "slot": iso(self.slot)}


class TakenEvents(NamedTuple):
    """How far a schedule has read its source, so that a second look makes no second event."""

    read_from: int = 0  # microseconds: every end before this has been taken
    keys: tuple[str, ...] = ()  # of ends since then, and of files; the newest last
    ends: tuple[JobEnd, ...] = ()  # that wait for those of other jobs


class EventInbox(NamedTuple):
    """The events of a schedule, each row in the order in which they came."""

    pending: tuple[ReceivedEvent, ...] = ()
    decided: tuple[DecidedEvent, ...] = ()
    taken: TakenEvents | None = None  # none: nothing has been read of its source

    @property
    def known(self) -> list[ReceivedEvent | DecidedEvent]:
        """All of them, the newest last."""
        return [*self.decided, *self.pending]


class EventGroup(NamedTuple):
    """The events of one slot."""

    slot: int
    events: tuple[ReceivedEvent, ...]


@dataclass(frozen=True, slots=True)
class EventSlots:
    """Slots that events have made, in order; a part of what a recurrence can do."""

    slots: Sequence[int]

    def after(self, second: int) -> int | None:
        place = bisect_right(self.slots, second)
        return self.slots[place] if place < len(self.slots) else None

    def before(self, second: int) -> int | None:
        place = bisect_left(self.slots, second)
        return self.slots[place - 1] if place else None

    def count(self, after: int, until: int) -> int:
        return max(0, bisect_right(self.slots, until) - bisect_right(self.slots, after))


def groups_of(times: OnEvent, events: Iterable[ReceivedEvent]) -> list[EventGroup]:
    """The events by slot: a function of their times, whenever it is asked."""
    rule = times.coalesce
    if rule is None:
        return [EventGroup(event.slot, (event,)) for event in events]
    groups: list[list[ReceivedEvent]] = []
    closes = 0
    for event in events:
        if not groups or event.at >= closes:
            groups.append([])
        groups[-1].append(event)
        closes = min(event.at + rule.quiet, groups[-1][0].at + rule.at_most)
    return [_closed(rule, group) for group in groups]


def _closed(rule: Coalesce, events: Sequence[ReceivedEvent]) -> EventGroup:
    return EventGroup(min(events[-1].at + rule.quiet, events[0].at + rule.at_most), tuple(events))


def pending_slots(times: OnEvent, inbox: EventInbox) -> EventSlots:
    if times.coalesce is None:
        return EventSlots([event.slot for event in inbox.pending])
    return EventSlots([group.slot for group in groups_of(times, inbox.pending)])


def known_slots(times: OnEvent, inbox: EventInbox) -> EventSlots:
    """Those of decided events too, as far as they are remembered."""
    return EventSlots(sorted({*(event.slot for event in inbox.decided), *pending_slots(times, inbox).slots}))


def is_due_at_once(times: OnEvent) -> bool:
    """Whether an event is due when it comes, although its slot may lie ahead."""
    return times.coalesce is None


def restamped(events: Sequence[ReceivedEvent], after: int) -> tuple[ReceivedEvent, ...]:
    """The same events with slots after a second, for other rules: none of them is lost behind the cursor."""
    slots = list(accumulate((event.slot for event in events), lambda last, own: max(last + 1, own), initial=after))
    return tuple(
        event._replace(at=max(event.at, after), slot=slot) for event, slot in zip(events, slots[1:], strict=True)
    )


def run_params(events: Sequence[ReceivedEvent]) -> dict[str, Any] | None:
    """The params of a run of these events, as they are stored; none if there are none."""
    return {EVENTS_PARAM: [event.describe(decode(event.data)) for event in events]} if events else None


def run_params_text(events: Sequence[ReceivedEvent]) -> str | None:
    """The same as JSON text."""
    params = run_params(events)
    return None if params is None else encode(params, "events")


def events_of_params(params: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The events that the stored params of a run hold."""
    found = params.get(EVENTS_PARAM)
    return tuple(event for event in found if isinstance(event, dict)) if isinstance(found, list) else ()


def own_params(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The stored params of a run without what is no param: its events, and what a step inherits."""
    if _RESERVED.isdisjoint(params):
        return params
    return {name: value for name, value in params.items() if name not in _RESERVED}
