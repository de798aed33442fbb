"""What goes into a store and comes out of it, besides the planner's own values.

Slots and planned times are whole UTC seconds. What really happened (`created_at` …) is in microseconds since the
epoch, because lateness is measured in milliseconds. The id of a run is a number, written as text.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from ..core.cron import Recurrence
from ..core.definition import JobDefinition
from ..core.handover import HandOver
from ..core.model import Facts, Pause, Schedule, TickPlan, Trigger
from ..core.reasons import Reason
from ..core.requirements import EVERYTHING, Offers
from ..core.settle import Outcome
from ..core.states import Event, RunState

T = TypeVar("T")
MICRO = 1_000_000  # microseconds of a second
LOG_HEAD, LOG_TAIL = 65_536, 196_608  # characters of a step that are kept, however much it prints

Planner: TypeAlias = Callable[[int, Iterable[Schedule], Facts], TickPlan]


class LeaseRequest(NamedTuple):
    """What a worker can take: how many runs, of which queues, for how long."""

    node: str
    capacity: int
    queues: tuple[str, ...] = ("default",)
    offers: Offers = EVERYTHING  # what it may execute (S46)
    seconds: int = 30  # how long a lease lasts


class Lease(NamedTuple):
    """A run that a worker holds."""

    id: str
    token: str  # of this attempt; an older one finishes nothing (S42)
    job: JobDefinition  # as it was when the run was enqueued (S23)
    attempt: int
    trigger: Trigger
    schedule: str | None = None
    slot: int | None = None
    times: Recurrence | None = None  # of the schedule
    label: str = ""  # the times as written
    params: Mapping[str, Any] | None = None  # given for this run, over the job's own
    due_at: int = 0  # when it could have started, in microseconds
    started_at: int = 0
    failures: int = 0  # attempts that failed before
    hand_over: HandOver | None = None  # of this attempt to an engine, as it stands (S52)

    @property
    def previous_slot(self) -> int | None:
        return None if self.times is None or self.slot is None else self.times.before(self.slot)


class TickRequest(NamedTuple):
    """What a pass may do: which jobs it claims, and for whom it may lease."""

    node: str
    limit: int
    jobs: tuple[str, ...] | None = None  # only these, due or not
    reserve: LeaseRequest | None = None


class TickResult(NamedTuple):
    """What one pass did."""

    now: int  # the store's, in microseconds; 0 if it was turned away
    jobs: int = 0  # decided
    runs: int = 0  # made
    leases: tuple[Lease, ...] = ()  # of those, the ones leased to the node at once
    more: bool = False  # more jobs may be due: the limit was reached, or it was turned away
    next_due: int | None = None  # second at which a job must be looked at
    held: int = 0  # jobs whose slots have begun to wait for a worker (S47)
    turned_away: str = ""  # why no job was claimed, if the store let the node not even look: this was no pass


@dataclass(frozen=True, slots=True)
class Enqueue:
    """A run asked for by code or by hand."""

    job: str
    trigger: Trigger = Trigger.ENQUEUE
    params: Mapping[str, Any] | None = None
    at: int | None = None  # not before this second
    key: str | None = None  # unique among the job's queued, running and succeeded runs (S48)
    allow_overlap: bool = False  # by hand, although no lane is free (S30)
    by: str = ""
    auto_remove: bool = False  # remove the run once it has succeeded
    key_ttl: int | None = None  # seconds after its success when the key is free again; none: never
    queue: str | None = None  # of this run, instead of the job's
    priority: int | None = None  # the same
    traceparent: str = ""  # of the caller (W3C), for those who trace its attempts


class Enqueued(NamedTuple):
    """The run that an enqueue gave. Of one that exists already, or only when its caller commits, nothing else."""

    id: str
    new: bool  # false: it is the run that has the key already
    created_at: int = 0
    queue: str = ""
    priority: int = 0


class Finish(NamedTuple):
    """The end of an attempt."""

    run: str
    token: str
    outcome: Outcome
    result: Any = None
    error: str = ""


class Renewed(NamedTuple):
    """What a node still holds after a renewal."""

    held: frozenset[str]  # run ids
    cancel: frozenset[str]  # of those, the ones that were asked to end
    unknown: tuple[Lease, ...] = ()  # leased to the node, which does not know: the answer to a commit was lost
    seen_at: int = 0  # the store's time of this beat
    seen_before: int = 0  # that of the last beat which the store knows of; 0 if it knows of none


class StepReport(NamedTuple):
    """The state of a step of a run."""

    name: str
    state: str
    started_at: int | None = None
    finished_at: int | None = None
    attempt: int = 1
    error: str = ""
    outputs: str = ""  # what it hands on: JSON, or empty (S72)
    waits_for: str = ""  # a child or an answer: JSON, or empty (S74)


class LogPart(NamedTuple):
    """A piece of what a step printed."""

    step: str
    stream: str
    text: str
    at: int


class Role(StrEnum):
    """What a process does for the fleet."""

    TICKER = "ticker"
    WORKER = "worker"
    API = "api"


@dataclass(frozen=True, slots=True)
class Node:
    """A process as the others see it."""

    id: str
    roles: tuple[Role, ...]
    host: str = ""
    pid: int = 0
    version: str = ""
    queues: tuple[str, ...] = ()
    capacity: int = 0
    busy: int = 0
    problems: tuple[str, ...] = ()  # what its sources could not read
    sources: tuple[str, ...] = ()  # folders and apps whose definitions it writes
    orphans: tuple[str, ...] = ()  # jobs that its app has once written, and does not declare any more (S50)
    undelivered: tuple[str, ...] = ()  # its notification channels whose last send failed, and why
    seconds: int = 30  # how long it counts as live after it was seen
    started_at: int = 0
    seen_at: int = 0
    passed_at: int | None = None  # when its ticker last completed a pass
    offers: Offers = EVERYTHING  # what its worker may execute (S46)
    full_seconds: int = 0  # for how long its worker has had no room, and none was freed
    set_back: tuple[int, ...] = ()  # from when to when the store forgot what it had confirmed to the node (S78)
    claims_fail: str = ""  # why the claims of its ticker fail for a while now, if they do


class QueueLimit(NamedTuple):
    """How much of a queue may run at once, and start in a second, in the whole fleet; and whether it is paused."""

    queue: str
    concurrency: int | None = None
    starts_per_second: float | None = None
    pause: Pause | None = None

    def paused_at(self, second: int) -> Pause | None:
        """The pause that is in force: one with an end is over then (S66)."""
        return None if self.pause is None or self.pause.over(second) else self.pause


class Expired(NamedTuple):
    """What the reaper found: attempts whose lease had run out, runs that had waited too long."""

    leases: int = 0
    runs: int = 0


class PauseInterval(NamedTuple):
    """A pause of everything."""

    at: int
    by: str
    reason: str
    until: int | None
    resumes_at: int | None = None  # when it ends by itself, if it is open and does (S66)


class Page(NamedTuple, Generic[T]):
    """Some of the rows; `after` is the key of the next page, or none at the end."""

    items: tuple[T, ...]
    after: str | None = None


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job as people see it."""

    definition: JobDefinition
    version: int
    source: str
    schedules: tuple[str, ...]
    created_at: int
    updated_at: int
    history_from: int | None = None  # slots before it may have lost their runs to retention (S51)
    unreadable: str = ""  # why its definition cannot be read, if so


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A schedule as people see it."""

    schedule: Schedule
    next_slot: int | None  # none while paused without an end, and when finished
    wake_at: int | None
    created_at: int
    updated_at: int
    last_run_id: str | None = None
    last_run_at: int | None = None  # its real start
    last_enqueued_at: int | None = None
    last_state: RunState | None = None
    unreadable: str = ""  # why it cannot be read, if so: then its definition and state are not known


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as people see it."""

    id: str
    job: str
    schedule: str | None
    slot: int | None
    trigger: Trigger
    label: str
    state: RunState
    queue: str
    priority: int
    attempt: int
    created_at: int
    due_at: int  # when it may start, or might have
    started_at: int | None = None
    finished_at: int | None = None
    node: str | None = None
    claimed_by: str | None = None  # the ticker that made it
    lane: int | None = None
    key: str | None = None
    params: Mapping[str, Any] | None = None
    result: Any = None
    error: str = ""
    cancelling: bool = False
    failures: int = 0
    losses: int = 0
    lease_until: int | None = None
    expires_at: int | None = None
    by: str = ""
    requires: str = ""  # what a worker must offer to execute it (S46)
    hand_over: HandOver | None = None  # of its last attempt to an engine (S52)
    waits_for: str = ""  # what its steps wait for, while it needs no worker (S74)
    traceparent: str = ""  # of the caller that asked for it (W3C)


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt before the last one of a run."""

    number: int
    event: Event
    started_at: int | None
    finished_at: int
    node: str | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A recorded verdict as people see it."""

    schedule: str
    reason: Reason
    first: int
    last: int
    count: int
    detail: str
    made_at: int
    extended_at: int

    @property
    def is_final(self) -> bool:
        """Whether it says how its slots ended."""
        return self.reason.verdict.is_final


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs; a field that is not given matches all."""

    job: str | None = None
    schedule: str | None = None
    states: frozenset[RunState] = frozenset()
    triggers: frozenset[Trigger] = frozenset()
    queue: str | None = None
    key: str | None = None
    slot: int | None = None
    since: int | None = None  # created at or after, in microseconds
    until: int | None = None  # created before
    text: str | None = None  # part of the job's or the schedule's name in any case, or the id itself
    jobs: frozenset[str] | None = None  # of one of these
    schedules: frozenset[str] | None = None  # the same
    error: str | None = None  # a pattern that is part of the error in any case; `*` stands for any text
    words: tuple[str, ...] = ()  # patterns, each part of a name or the error, or the id itself
    waits: bool = False  # only queued ones whose steps wait for what others do (S74, S75)


@dataclass(frozen=True, slots=True)
class ScheduleFilter:
    """Which schedules; a field that is not given matches all."""

    job: str | None = None
    text: str | None = None  # part of the schedule's or the job's name, in any case
    paused: bool | None = None
    due_before: int | None = None  # the second before which it must be looked at, for a new or a waiting slot
    label: str | None = None  # of the job: `key`, or `key=value`
    source: str | None = None
    local: bool = False  # only of jobs that are planned by local tickers
    names: frozenset[str] | None = None  # one of these
    deadline: bool = False  # only those that have deadlines, once a pass has looked at them


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """Which decisions; a field that is not given matches all."""

    schedule: str | None = None
    reasons: frozenset[Reason] = frozenset()
    slot: int | None = None  # whose range holds this slot
    since: int | None = None  # about slots at or after
    until: int | None = None  # about slots before


class DecisionKey(NamedTuple):
    """Where a page of decisions ended: at this slot, schedule and code of a reason."""

    first: int
    schedule: str  # its name, or the number that the store has for it
    reason: str


ALL_RUNS, ALL_SCHEDULES, ALL_DECISIONS = RunFilter(), ScheduleFilter(), DecisionFilter()


class Changes(NamedTuple):
    """What is new since an instant; of each kind the oldest first."""

    runs: tuple[RunRow, ...]  # by when they were last created, started or finished
    decisions: tuple[DecisionRow, ...]  # by when they were made or extended
    schedules: tuple[str, ...]  # names of those that were defined, changed or deleted
