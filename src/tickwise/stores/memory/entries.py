"""What the memory store holds of a run, a schedule and a job: entries that change in place."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.definition import JobDefinition, ScheduleDefinition
from ...core.errors import ConflictError
from ...core.handover import HandOver
from ...core.model import Schedule, Trigger
from ...core.states import ACTIVE, RunState
from ..records import MICRO, AttemptRow, Lease, LogPart, StepReport

_KEEPS_KEY = ACTIVE | {RunState.SUCCEEDED}  # S48


@dataclass(slots=True)
class RunEntry:
    """A run as it stands."""

    number: int
    job: str
    definition: JobDefinition  # as it was when the run was made (S23)
    requires: str  # what a worker must offer (S46)
    trigger: Trigger
    created_at: int
    due_at: int
    times: ScheduleDefinition | None = None  # of its schedule, as it was then
    slot: int | None = None
    lane: int | None = None
    key: str | None = None
    params: Mapping[str, Any] | None = None
    by: str = ""
    traceparent: str = ""
    auto_remove: bool = False
    key_ttl: int | None = None
    own_queue: str | None = None  # instead of the job's
    own_priority: int | None = None  # the same
    claimed_by: str | None = None
    expires_at: int | None = None
    state: RunState = RunState.QUEUED
    attempt: int = 0
    failures: int = 0
    losses: int = 0
    hand_over: HandOver | None = None
    cancelling: bool = False
    token: str | None = None
    node: str | None = None
    lease_until: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    result: Any = None
    error: str = ""
    waits_for: str = ""  # while it is queued and needs no worker (S74)
    attempts: list[AttemptRow] = field(default_factory=list)
    steps: dict[str, StepReport] = field(default_factory=dict)
    log: dict[int, tuple[int, LogPart]] = field(default_factory=dict)  # by number: the place in its step's text
    log_ends: dict[str, int] = field(default_factory=dict)  # how much each step has printed
    parts: int = 0  # of the log, so far

    @property
    def id(self) -> str:
        return str(self.number)

    @property
    def schedule(self) -> str | None:
        return self.times.name if self.times else None

    @property
    def queue(self) -> str:
        return self.own_queue or self.definition.queue

    @property
    def priority(self) -> int:
        return self.definition.priority if self.own_priority is None else self.own_priority

    def holds_key(self, now: int) -> bool:
        """Whether its key is taken: a success gives it up after `key_ttl` (S48)."""
        if self.state is not RunState.SUCCEEDED or self.key_ttl is None:
            return self.state in _KEEPS_KEY
        return self.finished_at is None or now < self.finished_at + self.key_ttl * MICRO

    @property
    def given_up_at(self) -> int | None:
        """When its lease is over for good: other watchers have the patience of a hand-over to adopt it (S54)."""
        if self.lease_until is None:
            return None
        return self.lease_until + (self.hand_over.patience * MICRO if self.hand_over else 0)

    def expired(self, now: int) -> bool:
        """Whether it has waited too long; once it has started, it may wait for its next attempt (S47)."""
        return not self.attempt and self.expires_at is not None and self.expires_at <= now

    @property
    def lease(self) -> Lease:
        """The run as its worker sees it."""
        times, label = (self.times.times, self.times.label) if self.times else (None, "")
        return Lease(
            self.id, self.token or "", self.definition, self.attempt, self.trigger, self.schedule, self.slot,
            times, label, self.params, self.due_at, self.started_at or 0, self.failures, self.hand_over,
        )  # fmt: skip


@dataclass(slots=True)
class ScheduleEntry:
    """A schedule, its runs by slot, and when it must be looked at."""

    state: Schedule
    created_at: int
    updated_at: int
    wake_at: int | None = None
    runs: dict[int, RunEntry] = field(default_factory=dict)
    last_slot: int | None = None  # with a run, whatever retention has removed
    last_run: RunEntry | None = None  # the newest made

    @property
    def live(self) -> bool:
        return self.state.deleted_at is None


@dataclass(slots=True)
class JobEntry:
    """A job, its schedules (deleted ones too), and the runs that have its lanes and keys."""

    definition: JobDefinition  # without its schedules
    text: str  # of the definition
    source: str
    created_at: int
    updated_at: int
    requires: str = ""  # what a worker must offer (S46)
    version: int = 0
    deleted_at: int | None = None
    history_from: int | None = None
    local: bool = False  # nodes tick all of it from their own index, and no claim finds it
    pauses_seen: int = 0  # how many pauses of everything have ended for its schedules
    lane_count: int = 1
    schedules: dict[str, ScheduleEntry] = field(default_factory=dict)
    lanes: dict[int, RunEntry] = field(default_factory=dict)
    keys: dict[str, RunEntry] = field(default_factory=dict)
    successes: dict[str | None, list[int]] = field(default_factory=lambda: defaultdict(list))  # by schedule
    last_manual_start: int | None = None
    last_success: int | None = None

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def live_schedules(self) -> list[ScheduleEntry]:
        return [entry for entry in self.schedules.values() if entry.live]

    @property
    def wake_at(self) -> int | None:
        wakes = (entry.wake_at for entry in self.live_schedules)
        return min((wake for wake in wakes if wake is not None), default=None)

    def holder(self, key: str | None, now: int) -> RunEntry | None:
        """The run that has a key (S48)."""
        run = None if key is None else self.keys.get(key)
        return run if run and run.holds_key(now) else None

    def free_lane(self) -> int:
        """The lowest lane that no run holds (S16, S30)."""
        free = next((lane for lane in range(self.lane_count) if lane not in self.lanes), None)
        if free is None:
            held = ", ".join(run.id for run in self.lanes.values())
            raise ConflictError(
                f"{self.name} is active: run {held} is in the way; wait for it, cancel it, or ask to run beside it"
            )
        return free

    def successes_of(self, schedule: str) -> tuple[int, ...]:
        """Those of its slots, and those of runs for no slot, which count for every schedule of the job (S35)."""
        return tuple(sorted(self.successes[schedule] + self.successes[None]))

    @property
    def all_successes(self) -> tuple[int, ...]:
        return tuple(sorted(reference for references in self.successes.values() for reference in references))
