"""The state that the planner reads and writes: schedules with their cursors, runs, decisions, plans.

All values are frozen, named tuples where a pass makes many of them; instants are whole UTC seconds. What people
define is in `definition`.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from .blackout import Blackout
from .definition import Overlap, ScheduleDefinition, Ticking
from .events import EventInbox, ReceivedEvent
from .reasons import Reason, Verdict
from .states import RunState


class Trigger(StrEnum):
    """What made a run."""

    SCHEDULE = "schedule"  # a slot on time
    CATCHUP = "catchup"  # a missed slot
    RESTART = "restart"  # a restart slot
    BACKFILL = "backfill"  # a slot of the past that somebody asked for
    MANUAL = "manual"  # a person, now
    ENQUEUE = "enqueue"  # code, now or later
    STEP = "step"  # a step of another run, which waits for it (S74)

    @classmethod
    def of(cls, text: str) -> "Trigger":
        """As it is kept. One that only a newer version knows is passed on as it stands, and is none of these."""
        if text in _TRIGGERS:
            return _TRIGGERS[text]
        unknown = str.__new__(cls, text)
        unknown._name_ = unknown._value_ = text
        return unknown

    @property
    def takes_lane(self) -> bool:
        """Whether a run that is asked for takes a lane of its job, or is refused (S16, S30)."""
        return self in (Trigger.MANUAL, Trigger.STEP)


_TRIGGERS = {str(trigger): trigger for trigger in Trigger}


@dataclass(frozen=True, slots=True)
class Pause:
    """Since when, by whom and why no slot is decided."""

    at: int
    by: str = ""
    reason: str = ""
    until: int | None = None  # it ends by itself (S66); none: a person ends it

    def over(self, second: int) -> bool:
        """Whether it has ended by itself."""
        return self.until is not None and self.until <= second


@dataclass(frozen=True, slots=True)
class SlotSkip:
    """A slot to come that a person does not want, by whom and why (S66)."""

    slot: int
    by: str = ""
    reason: str = ""

    @property
    def detail(self) -> str:
        return ", ".join(word for word in (self.reason, self.by and f"by {self.by}") if word) or "no reason given"


@dataclass(frozen=True, slots=True)
class Disabled:
    """Since when the definition has `enabled: false`, and whether a person has resumed it since (S28)."""

    at: int
    overruled: bool = False


@dataclass(frozen=True, slots=True)
class Move:
    """The next fire, moved by hand: at `to`, and at nothing the expression names between then and `asked_at`."""

    asked_at: int
    to: int


@dataclass(frozen=True, slots=True)
class Backfill:
    """Slots of the past still to enqueue: from `cursor` (exclusive) to `end` (exclusive)."""

    cursor: int
    end: int
    overlap: Overlap = Overlap.QUEUE
    most: int = 1_000  # how many runs it may still start


class DeadlineWatch(NamedTuple):
    """How far a schedule's slots have been judged by one of its deadlines (S65)."""

    judged_to: int  # every slot up to here has been judged
    owed: tuple[int, ...] = ()  # but for these


class Relief(NamedTuple):
    """Slots of (after, until] that miss no deadline for want of a run: a newer slot's counts, or none needs to."""

    after: int
    until: int
    slot: int | None = None


class DeadlineState(NamedTuple):
    """How far each deadline of a schedule has been judged, and what that depends on."""

    start: DeadlineWatch | None = None
    finish: DeadlineWatch | None = None
    reliefs: tuple[Relief, ...] = ()


@dataclass(frozen=True, slots=True)
class Deferral:
    """What the oldest pending slot waits for; recorded when it begins."""

    slot: int
    reason: Reason
    since: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SeenFire:
    """That another scheduler started the job. Fires of one key are the same."""

    at: int
    key: str


@dataclass(frozen=True, slots=True)
class Shadow:
    """What is known of the other scheduler of a schedule in shadow, and whether it has been replaced."""

    since: int  # of the times as they are now
    fires: tuple[SeenFire, ...] = ()  # the newest, in order
    adopted_at: int | None = None  # when a person let Tickwise take over: goes before its definition
    adopted_by: str = ""
    ours_until: int = 0  # slots up to here are Tickwise's: an adoption was taken back then


class Decision(NamedTuple):
    """A recorded verdict on a slot, or on a range of slots in a row with the same one.

    A store keeps one record of each identity: a later decision with the same replaces last, count and detail.
    """

    schedule: str
    reason: Reason
    first: int
    last: int
    count: int = 1  # type: ignore[assignment]  # (hides tuple.count, which nobody asks of a decision)
    detail: str = ""

    @property
    def identity(self) -> tuple[str, Reason, int]:
        return self.schedule, self.reason, self.first

    @property
    def waits(self) -> bool:
        """Whether it says that a slot waits, and not how it ended."""
        return self.reason.verdict is Verdict.DEFERRED

    @property
    def is_final(self) -> bool:
        """Whether it says how its slots ended."""
        return self.reason.verdict.is_final


class Schedule(NamedTuple):
    """A schedule and how far it has been decided."""

    definition: ScheduleDefinition
    cursor: int  # every slot up to here has been decided
    last_seen_slot: int  # the newest slot that a pass has seen (S9)
    last_missed_slot: int  # the newest slot found missed (S9)
    edited_at: int  # since when its times are as they are (S18)
    first_seen: int  # when it was added (S2, S33)
    manual_pause: Pause | None = None  # by a person; `paused` says whether it is paused at all
    disabled: Disabled | None = None
    moved: Move | None = None
    backfill: Backfill | None = None
    reopened: tuple[int, ...] = ()  # slots at or before the cursor that are pending again (S25)
    dropped: tuple[tuple[int, int], ...] = ()  # (from, to]: slots after the cursor decided already (S29)
    runs_made: int = 0  # for slots, against max_runs (S34)
    deferral: Deferral | None = None
    deleted_at: int | None = None  # kept a while, so that remove-and-create keeps the cursor (S23)
    records: tuple[Decision, ...] = ()  # those that an equal verdict in a row extends (S7)
    ticking: Ticking | None = None  # who finds its slots, if a person has said so: goes before its definition
    skips: tuple[SlotSkip, ...] = ()  # slots to come that are not to run, in order (S66)
    blackouts: tuple[Blackout, ...] = ()  # that are for its job, as far as they are not over (S62)
    failures_from: int = 0  # failed runs that ended before do not count for `pause_after` (S66)
    inbox: EventInbox = EventInbox()  # events that wait for a run, or were decided a short time ago (S70)
    deadlines: DeadlineState | None = None  # none: the first pass begins at the cursor
    recent_starts: tuple[int, ...] = ()  # when the newest runs of slots were made, as many as its budget has (S77)
    shadow: Shadow | None = None  # of one that is or was in shadow, or whose other scheduler was heard

    @property
    def ticked_locally(self) -> bool:
        """Whether no claim finds it, only nodes that tick it from their own index."""
        return (self.ticking or self.definition.policy.ticking) is Ticking.LOCAL

    @property
    def in_shadow(self) -> bool:
        """Whether its slots are decided and never run: its definition says so, and nobody has adopted it."""
        return self.definition.policy.shadow and (self.shadow is None or self.shadow.adopted_at is None)

    def is_shadowed(self, slot: int) -> bool:
        """Whether this slot is the other scheduler's to start."""
        return self.in_shadow and (self.shadow is None or slot > self.shadow.ours_until)

    @property
    def asks_for_warnings(self) -> bool:
        """Whether somebody is to be told before a deadline is probably missed (S65)."""
        deadline = self.definition.policy.deadline
        return deadline is not None and deadline.warn is not None

    @property
    def paused(self) -> Pause | None:
        """Why no slot is decided: a person's pause, or else the definition's `enabled: false` (S28, S29)."""
        return self.manual_pause or self.disabled_pause

    @property
    def resumes_at(self) -> int | None:
        """When a pause ends by itself, if it is a person's and has an end (S66)."""
        return self.manual_pause.until if self.manual_pause and self.deleted_at is None else None

    def skip_of(self, slot: int) -> SlotSkip | None:
        """The mark of a slot that a person does not want."""
        return next((mark for mark in self.skips if mark.slot == slot), None)

    @property
    def rests(self) -> bool:
        """Whether no slot of it is decided: it is paused or deleted."""
        by_definition = self.disabled is not None and not self.disabled.overruled
        return by_definition or self.manual_pause is not None or self.deleted_at is not None

    @property
    def disabled_pause(self) -> Pause | None:
        """The pause that `enabled: false` means, unless a person has overruled it."""
        if self.disabled is None or self.disabled.overruled:
            return None
        return Pause(self.disabled.at, self.definition.source, "enabled: false")

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def job(self) -> str:
        return self.definition.job

    @property
    def held_for_worker(self) -> bool:
        """Whether its slots wait until a live worker may execute the job (S47)."""
        return self.deferral is not None and self.deferral.reason is Reason.NO_WORKER

    @property
    def finished(self) -> bool:
        """Whether max_runs has ended it (S34); what waited then is still to be decided."""
        most = self.definition.policy.max_runs
        return most is not None and self.runs_made >= most and self.deferral is None


class Holder(NamedTuple):
    """A run that holds a lane of its job."""

    run: str
    lane: int
    trigger: Trigger
    cancelling: bool = False


class JobFacts(NamedTuple):
    """What the verdicts on a job's slots depend on besides its schedules."""

    holders: tuple[Holder, ...] = ()  # of lanes
    no_worker: str = ""  # what no live worker does, if none may execute the job (S47)
    last_manual_start: int | None = None  # of a run by hand (S17)
    last_success: int | None = None  # the slot of the newest success, or its start if by hand (S18)
    unreadable: str = ""  # why the facts could not be read, if so (S20)


class RunProgress(NamedTuple):
    """How far the run of a slot has come; instants are rounded up."""

    run: str
    state: RunState
    attempt: int
    started_at: int | None = None
    finished_at: int | None = None


class ScheduleFacts(NamedTuple):
    """What exists already for a schedule."""

    slots_with_run: AbstractSet[int] = frozenset()  # at least those that may be pending or backfilled
    last_slot_with_run: int | None = None  # S17
    failures: int = 0  # of its newest runs in a row, if they count (S66)
    progress: Mapping[int, RunProgress] = MappingProxyType({})  # of the runs of slots that are to be judged (S65)


@dataclass(frozen=True, slots=True)
class Facts:
    """A snapshot, read after the schedules were claimed."""

    jobs: Mapping[str, JobFacts] = field(default_factory=dict)
    schedules: Mapping[str, ScheduleFacts] = field(default_factory=dict)
    successes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # by schedule, in order (S35)


class Start(NamedTuple):
    """A run to make, under the unique keys (schedule, slot) and (job, lane)."""

    job: str
    schedule: str
    slot: int
    trigger: Trigger
    lane: int
    events: tuple[ReceivedEvent, ...] = ()  # that the slot stands for (S71)


class PlannedCancel(NamedTuple):
    """An active run that is asked to end, and which slot asks."""

    run: str
    schedule: str
    slot: int
    error: str = ""  # why it ends as failed, if it is to


class Planned(NamedTuple):
    """A schedule as a pass leaves it, and when it must be looked at next; none means never.

    `wake_at` is never more than a minute away while slots are pending, whatever wake-up was lost; `due_at` is
    when something is due that no event will announce.
    """

    schedule: Schedule
    wake_at: int | None
    due_at: int | None
    remove: bool = False  # it is finished, and was to be removed then (S33)


class TickPlan(NamedTuple):
    """What one pass decides. It is committed as a whole, job by job, or not at all."""

    starts: tuple[Start, ...] = ()
    cancels: tuple[PlannedCancel, ...] = ()
    decisions: tuple[Decision, ...] = ()
    schedules: tuple[Planned, ...] = ()
