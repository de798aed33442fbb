"""Counts and statistics that a store gives to people."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core.model import Trigger
from ..core.reasons import Reason, Verdict
from ..core.slot_history import RunCount, SlotRun
from ..core.states import RunState
from .records import DecisionRow

LATELY = 3_600  # seconds for which runs that have ended are counted
AILING = frozenset(
    {RunState.FAILED, RunState.LOST, RunState.SKIPPED, RunState.EXPIRED}
)  # ends without the work done
NOT_FINAL = frozenset(reason for reason in Reason if not reason.verdict.is_final)
ERRORS_GROUPED = 2_000  # runs that failed, the newest, whose errors are grouped
MOST_FREQUENT = 20  # jobs and schedules that are counted one by one
ERROR_LENGTH = 300  # characters of an error in short
NOT_RUN = frozenset(reason for reason in Reason if reason.verdict in {Verdict.SKIPPED, Verdict.EXPIRED})


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of live jobs, schedules, runs and nodes."""

    jobs: int = 0
    schedules: int = 0
    paused: int = 0
    runs: Mapping[RunState, int] = field(default_factory=dict)  # queued and running, and ended in the last hour
    waiting: Mapping[str, int] = field(default_factory=dict)  # queued runs by queue
    unserved: Mapping[tuple[str, str], int] = field(default_factory=dict)  # held jobs, by queue and requirements
    oldest_due: int | None = None  # when the oldest queued run could have started
    overdue: int = 0  # jobs whose second has passed without a look
    nodes: int = 0

    @property
    def held(self) -> dict[str, int]:
        """Jobs whose slots are held for want of a worker (S47), by queue."""
        found: Counter[str] = Counter()
        for (queue, _), number in self.unserved.items():
            found[queue] += number
        return dict(found)


class MinuteStats(NamedTuple):
    """One minute of one job, or of all."""

    minute: int  # its first second
    job: str  # empty for all
    fired: int = 0  # runs that were made
    skipped: int = 0  # slots that got none
    failed: int = 0  # runs that failed or were lost


@dataclass(frozen=True, slots=True)
class HourlyStats:
    """An hour of one schedule: what ran, how late and how long, and which slots did not run, and why."""

    schedule: str
    hour: int  # its first second
    runs: Mapping[RunState, int]
    claim_ms: float | None = None  # means: from due to claimed
    late_ms: float | None = None  # from due to started
    run_ms: float | None = None  # from started to finished
    decided: Mapping[Reason, int] = field(default_factory=dict)
    triggers: Mapping[Trigger, int] = field(default_factory=dict)  # of the runs


class RunKind(NamedTuple):
    """How many runs are of one kind."""

    state: RunState
    trigger: Trigger
    queue: str
    runs: int


class ErrorGroup(NamedTuple):
    """How many runs of a job failed with one error."""

    job: str
    error: str  # its beginning
    runs: int
    first_at: int  # when they ended, in microseconds
    last_at: int
    run: str  # the newest of them


class RunGroups(NamedTuple):
    """Runs that match a filter, in groups."""

    kinds: tuple[RunKind, ...] = ()
    jobs: Mapping[str, int] = {}  # the most frequent
    schedules: Mapping[str, int] = {}  # likewise
    errors: tuple[ErrorGroup, ...] = ()
    more: bool = False  # there may be more than were counted


class RecentSlots(NamedTuple):
    """The newest slots of a schedule that are recorded, in order of the slots."""

    runs: tuple[SlotRun, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()  # that are final


class SlotCounts(NamedTuple):
    """The slots of a schedule in bins."""

    runs: tuple[RunCount, ...] = ()
    again: tuple[int, ...] = ()  # slots, at least of these decisions, with a run that may have followed one
    decisions: tuple[DecisionRow, ...] = ()  # that are final, about any slot of the bins
