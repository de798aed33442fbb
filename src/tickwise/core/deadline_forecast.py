"""A forecast of a deadline: how likely a slot misses it, and why; and what it is made from (S65, ADR 90)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from .cron.zone import Zone
from .definition import JobDefinition
from .model import Schedule, Trigger
from .reasons import Reason
from .simulation.run_times import RunTimes
from .states import RunState

HORIZON = 86_400  # seconds within which deadlines are forecast


class CauseKind(StrEnum):
    """What made a slot miss its deadline."""

    OWN_RUN = "own_run"  # its run takes long
    OWN_FAILURE = "own_failure"  # its run fails
    DEPENDENCY = "dependency"  # a run that it needs is late
    DEPENDENCY_FAILURE = "dependency_failure"  # or fails
    RUN_IN_THE_WAY = "run_in_the_way"  # a run holds its lane
    NO_RUN = "no_run"  # it is skipped, or waits for something else: `name` is the reason's code


class ForecastCause(NamedTuple):
    """A cause of misses, and the share of them that it has."""

    kind: CauseKind
    name: str  # of a schedule or job, or a reason
    share: float

    @property
    def text(self) -> str:
        return _CAUSES[self.kind].format(name=self.name)


_CAUSES = {
    CauseKind.OWN_RUN: "its run takes long",
    CauseKind.OWN_FAILURE: "its run fails",
    CauseKind.DEPENDENCY: "{name} runs late",
    CauseKind.DEPENDENCY_FAILURE: "{name} fails",
    CauseKind.RUN_IN_THE_WAY: "a run of {name} is in its way",
    CauseKind.NO_RUN: "it gets no run in time ({name})",
}


@dataclass(frozen=True, slots=True)
class DeadlineForecast:
    """How likely a slot misses a deadline."""

    schedule: str
    job: str
    slot: int
    reason: Reason  # LATE_START or LATE_FINISH
    at: int  # when the deadline is
    limit: str  # as people write it
    zone: Zone  # of the times of the schedule
    warn: float | None  # tell beforehand, if it is missed at least so probably
    probability: float | None  # none: unknown
    causes: tuple[ForecastCause, ...] = ()  # the most frequent first
    unknown: str = ""  # why it is not known

    @property
    def is_warning(self) -> bool:
        return self.warn is not None and self.probability is not None and self.probability >= self.warn

    @property
    def text(self) -> str:
        """Goes on after the name of the schedule."""
        what = "will not have begun by" if self.reason is Reason.LATE_START else "will miss"
        if self.probability is None:
            return f"may miss {self.limit}: unknown, {self.unknown}"
        cause = f", because {self.causes[0].text}" if self.causes else ""
        return f"{what} {self.limit} with probability {self.probability:.2g}{cause}"


class ForecastRun(NamedTuple):
    """A run that has not ended, or ended a short time ago."""

    job: str
    schedule: str | None
    slot: int | None
    trigger: Trigger
    lane: int | None
    state: RunState
    created_at: int
    started_at: int | None = None
    finished_at: int | None = None
    cancelling: bool = False


@dataclass(frozen=True, slots=True)
class ForecastFacts:
    """What a store says now of jobs that have deadlines, and of those that they depend on."""

    now: int
    jobs: Mapping[str, JobDefinition]
    schedules: Mapping[str, Schedule]
    run_times: Mapping[str, RunTimes]  # by job
    runs: Sequence[ForecastRun] = ()  # active ones, and the newest of those that have ended
    successes: Mapping[str, Sequence[int]] = field(default_factory=dict)  # by schedule, in order
    last_slots: Mapping[str, int] = field(default_factory=dict)  # the newest slot with a run
    unserved: frozenset[str] = frozenset()  # jobs that no live worker may execute
