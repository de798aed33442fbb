"""What people write down: a job (what to do), its schedules (when), and the policies between the two.

All values are frozen. Durations and instants are whole seconds. `Policy.of` is where the defaults depend on each
other (S10, S11, S14); everything else is taken as given, checked by who reads it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from .cron import Recurrence
from .errors import InputError
from .events import causes_of, own_params
from .parameters import Parameters, ParamType, check_types
from .read_only_dict import ReadOnlyDict
from .time_limit import Deadline

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
DEFAULT_QUEUE = "default"
MAX_ITEMS = 1_000  # of a step with `foreach`
MAX_PRIORITY = 1_000  # of a job or a run; and as far below 0
_DAY = 86_400
_NOTHING: Mapping[str, Any] = ReadOnlyDict()


def check_name(name: str, what: str = "a name") -> str:
    """The name itself, if it can be one."""
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name[:60]!r} cannot be {what}: use 1 to 100 letters, digits, dots, dashes and underscores, "
            "beginning with a letter or a digit"
        )
    return name


class Kind(StrEnum):
    """What a schedule's slot does to its job (S21). In one second they go in this order."""

    STOP = "stop"
    RESTART = "restart"
    START = "start"


class Catchup(StrEnum):
    """What becomes of missed slots (S10)."""

    SKIP = "skip"
    ONCE = "once"
    ALL = "all"


class Overlap(StrEnum):
    """What becomes of a slot while its job is active (S14)."""

    SKIP = "skip"
    QUEUE = "queue"
    LATEST = "latest"
    ALLOW = "allow"
    REPLACE = "replace"


class Ticking(StrEnum):
    """What finds due slots: a claim in the store, or the index of this node."""

    STORE = "store"
    LOCAL = "local"


class BlackoutMode(StrEnum):
    """What becomes of slots in a blackout when it has ended (S62)."""

    PAUSE = "pause"  # as after a pause: by the catch-up
    SKIP = "skip"  # they are dropped


_ANY_OF_JOB = "job:"


def successes_of_job(job: str) -> str:
    """The name by which the successes of all runs of a job are kept."""
    return _ANY_OF_JOB + job


def jobs_needed(needed: Iterable[str]) -> list[str]:
    """The jobs among what successes are needed of."""
    return [name.removeprefix(_ANY_OF_JOB) for name in needed if name.startswith(_ANY_OF_JOB)]


@dataclass(frozen=True, slots=True)
class After:
    """A success of another schedule, or of any run of a job, that a slot needs (S35)."""

    schedule: str  # or nothing, with a job
    within: int
    job: str = ""

    @property
    def needed(self) -> str:
        """What successes are kept by: the schedule's name or, since no name has a colon, `job:` with the job's."""
        return self.schedule or successes_of_job(self.job)

    def __str__(self) -> str:
        return self.schedule or f"job {self.job}"


@dataclass(frozen=True, slots=True)
class StartBudget:
    """At most so many runs of slots in any time of so many seconds (S77)."""

    count: int
    per: int


@dataclass(frozen=True, slots=True)
class Policy:
    """How slots become runs. Made by `of`, which fills in what follows from what was given."""

    catchup: Catchup = Catchup.ONCE
    catchup_window: int = _DAY  # counts under `all` only
    max_catchup: int = 1_000
    overlap: Overlap = Overlap.SKIP
    max_active_runs: int = 1
    grace: int | None = None  # none: 60 s, but not past the next slot (S9)
    skip_if_successful: bool = False
    jitter: int = 0
    until: int | None = None
    max_runs: int | None = None
    max_starts: StartBudget | None = None
    after: tuple[After, ...] = ()
    wait_for: int = 0
    expires: int | None = None
    auto_remove: bool = False
    ticking: Ticking | None = None  # none: as the node is set
    pause_after: int | None = None  # so many failed runs in a row pause the schedule (S66)
    blackout: BlackoutMode = BlackoutMode.PAUSE
    deadline: Deadline | None = None
    shadow: bool = False  # its slots are decided and never run: another scheduler still starts the job

    @classmethod
    def of(
        cls,
        *,
        catchup: Catchup | None = None,
        catchup_window: int | None = None,
        overlap: Overlap | None = None,
        max_active_runs: int | None = None,
        **others: Any,
    ) -> "Policy":
        """Fill in what was not given from what was (S10, S11, S14), and refuse what contradicts itself."""
        if catchup_window == 0:
            if catchup not in (None, Catchup.SKIP):
                problem = f"catchup_window 0 means catchup: skip, but catchup is {catchup}"
                raise InputError(problem, field="catchup_window")
            catchup = Catchup.SKIP
        if catchup is None and (catchup_window or overlap is Overlap.QUEUE):
            catchup = Catchup.ALL
        if catchup_window and catchup is not Catchup.ALL:
            problem = f"a catchup_window goes with catchup: all, but catchup is {catchup}"
            raise InputError(problem, field="catchup_window")
        if overlap is None:
            overlap = Overlap.QUEUE if catchup is Catchup.ALL else Overlap.SKIP
        if overlap is Overlap.QUEUE and catchup is not Catchup.ALL:
            problem = f"overlap: queue keeps every slot, so it needs catchup: all and not {catchup}"
            raise InputError(problem, field="overlap")
        if overlap is Overlap.REPLACE and catchup is Catchup.ALL:
            problem = "overlap: replace keeps only the newest slot, so it cannot go with catchup: all"
            raise InputError(problem, field="overlap")
        if max_active_runs is None:
            max_active_runs = 16 if overlap is Overlap.ALLOW else 1
        elif max_active_runs != 1 and overlap is not Overlap.ALLOW:
            problem = f"max_active_runs above 1 needs overlap: allow, but overlap is {overlap}"
            raise InputError(problem, field="max_active_runs")
        return cls(
            catchup=catchup or Catchup.ONCE,
            catchup_window=catchup_window or _DAY,
            overlap=overlap,
            max_active_runs=max_active_runs,
            **others,
        )


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and when a failed attempt is tried again (S44)."""

    limit: int = 0
    interval: int = 10
    backoff: float = 2.0
    max_interval: int = 3_600
    jitter: float = 0.1  # a wait is longer by up to this share of it


@dataclass(frozen=True, slots=True)
class Keep:
    """How long finished runs are kept (S51): by age or number, or what keeps more; neither means for ever."""

    days: int | None = None
    runs: int | None = None

    def __bool__(self) -> bool:
        return self.days is not None or self.runs is not None


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments; no shell reads it."""

    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """A text for an interpreter, named by its #! line or sh."""

    text: str


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A function as `module:name`, called with the run's params."""

    target: str


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request; it succeeds with a status below 400."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    body: str | None = None


@dataclass(frozen=True, slots=True)
class JobCall:
    """A run of another job, which the step waits for without a worker (S74)."""

    job: str
    params: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


class ApprovalAnswer(StrEnum):
    """What a person may say to a step that waits for it (S75)."""

    APPROVE = "approve"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Approval:
    """A yes or no of a person, which the step waits for without a worker (S75)."""

    role: str = "operator"  # what whoever answers is at least
    timeout: int | None = None  # none: it waits until somebody answers
    on_timeout: ApprovalAnswer = ApprovalAnswer.REJECT


Action: TypeAlias = Command | Script | PythonCall | HttpCall | JobCall | Approval


class Outcome(StrEnum):
    """How a step or a run can have ended, where others ask for it."""

    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Precondition:
    """Met if the action succeeds and, where a text is expected, prints it."""

    action: Command | PythonCall
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class ForEach:
    """The items for each of which a step is executed (S73): as given, or those that a reference names."""

    items: tuple[Any, ...] = ()
    reference: str = ""  # such as `steps.list.outputs.files`
    max_parallel: int = 4


@dataclass(frozen=True, slots=True)
class Step:
    """One node of a pipeline."""

    name: str
    action: Action
    depends: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    dir: str | None = None
    timeout: int | None = None
    retry: RetryPolicy = RetryPolicy()
    continue_on: tuple[Outcome, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    foreach: ForEach | None = None  # none: it is executed once


@dataclass(frozen=True, slots=True)
class Handlers:
    """What to do after a run, by how it ended; `exit` after any."""

    success: Action | None = None
    failure: Action | None = None
    exit: Action | None = None


@dataclass(frozen=True, slots=True)
class ScheduleDefinition:
    """When a job is due, and how its slots become runs."""

    name: str
    job: str
    times: Recurrence
    label: str  # the times as written, for people
    kind: Kind = Kind.START
    policy: Policy = Policy()
    source: str = ""  # who wrote it, and who alone may change it (S50): a folder, an app, the API


@dataclass(frozen=True, slots=True)
class EngineUse:
    """Which engine executes a job, and what the job says for it."""

    name: str  # in the settings
    options: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    target: str = ""  # `module:name` of a job that is a function: the other side imports it


@dataclass(frozen=True, slots=True)
class JobDefinition:
    """What to do, with its schedules."""

    name: str
    steps: tuple[Step, ...] = ()  # none: a function that a worker knows by the job's name
    schedules: tuple[ScheduleDefinition, ...] = ()
    description: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    enabled: bool = True
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    params: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    param_types: Mapping[str, ParamType] = field(default_factory=lambda: _NOTHING)  # of steps, as far as declared
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    env_file: str | None = None  # a file of variables on the worker; `env` goes before it
    dir: str | None = None  # the folder of steps that name none; none: the worker's
    preconditions: tuple[Precondition, ...] = ()
    retry: RetryPolicy = RetryPolicy()
    timeout: int | None = None
    at_most_once: bool = False
    on: Handlers = Handlers()
    keep: Keep = Keep()
    engine: EngineUse | None = None  # none: a worker executes it
    parameters: Parameters | None = None  # of a function; none: not known, or it has steps

    @property
    def known_parameters(self) -> Parameters | None:
        """The params that its runs may be given: with steps, those that the definition declares."""
        if not self.steps:
            return self.parameters
        required = tuple(name for name in self.param_types if name not in self.params)
        return Parameters((*self.params, *required), required)

    def check_params(self, given: Mapping[str, Any]) -> None:
        """Refuse params that a run of this job does not take, and a run without one that it needs (S30)."""
        if known := self.known_parameters:
            params = {**self.params, **own_params(given)}
            known.check(f"the job {self.name}", params)
            check_types(f"the job {self.name}", self.param_types, params)


def jobs_called(job: JobDefinition) -> tuple[str, ...]:
    """The jobs of which it has runs as steps (S74)."""
    return tuple(step.action.job for step in job.steps if isinstance(step.action, JobCall))


def jobs_listened_to(job: JobDefinition) -> tuple[str, ...]:
    """The jobs whose ends start it (S70)."""
    return tuple(dict.fromkeys(cause for schedule in job.schedules for cause in causes_of(schedule.times)))


def may_wait(job: JobDefinition) -> bool:
    """Whether a step of the job waits for what others do (S74, S75)."""
    return any(isinstance(step.action, JobCall | Approval) for step in job.steps)
