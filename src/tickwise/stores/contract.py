"""What a store promises. Each operation is one atomic move: it happens as a whole or not at all.

The flow of one slot, as moves of a `Store`:

    define   a job and its schedules, or change them       (a source; a person)
    tick     due jobs -> plan -> runs, cursors, decisions  (a ticker)
    lease    queued run -> running, held by a token        (a worker)
    renew    the lease goes on                             (the worker, from a thread of its own)
    finish   running -> what `settle` says; wakes who waited for it
    expire   leases that ran out, runs that waited too long (any node)

The planner is passed into `tick`, because where it runs is the store's own affair: inside a transaction that
holds the jobs' rows, in the one thread that writes, or between a read and a compare-and-set. Whatever the way,
these hold:

- at most one run per (schedule, slot) and per (job, lane), by unique keys of the store;
- a cursor moves only together with the runs and decisions that it stands for;
- two nodes never plan one job at once, and a job that one of them could not decide stays due;
- a finish, a report or a renewal with an old token changes nothing (S42);
- time is the store's (S5). No operation takes an instant that its caller read from a clock.

Reads for people are `Insights`: a snapshot each, paged by keys that stay put while rows come and go. `Access` is
what a server needs to let people in, `Schema` is for who installs and upgrades. `ConflictError` and `InputError`
say no and change nothing; `StoreUnavailableError` means that the store did not answer, and that whether the move
was made is unknown.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.change import Change
from ..core.definition import JobDefinition
from ..core.errors import TickwiseError
from ..core.model import Pause, Schedule
from ..core.settle import Settled
from ..core.states import RunState
from .records import (
    ALL_DECISIONS,
    ALL_RUNS,
    ALL_SCHEDULES,
    AttemptRow,
    AuditEntry,
    AuditRow,
    Changes,
    DecisionFilter,
    DecisionRow,
    Enqueue,
    Enqueued,
    Expired,
    Finish,
    IdempotencyClaim,
    JobRow,
    Lease,
    LeaseRequest,
    LogPart,
    Node,
    Page,
    PauseInterval,
    Planner,
    QueueLimit,
    Renewed,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
    StepReport,
    TickResult,
    Token,
)
from .statistics import Counts, HourlyStats, MinuteStats, Recent


class StoreUnavailableError(TickwiseError):
    """The store did not answer; trying again later is right, and safe."""

    http_status = 503


class Store(ABC):
    """The moves. Everything else is built from them."""

    insights: "Insights"
    access: "Access"
    schema: "Schema"

    @abstractmethod
    async def now(self) -> int:
        """The store's time, in microseconds since the epoch."""

    @abstractmethod
    async def define(self, job: JobDefinition, source: str, *, over: int | None = None) -> tuple[Schedule, ...]:
        """Write a job as its source has it now: its schedules are added or updated, those it lacks deleted.

        Refused if another source owns it (S50), and if its version is not the one that it is written over, if that
        is given: 0 stands for a job that is not there. The same definition again changes nothing (S28). Returns
        the schedules that changed. What it depends on (`after`) must exist and must not lead back to it (S35).
        """

    @abstractmethod
    async def remove(self, job: str, source: str) -> None:
        """Delete a job and its schedules: queued runs are cancelled, running ones go on (S23)."""

    @abstractmethod
    async def change(self, schedule: str, change: Change) -> Schedule:
        """A person's word on one schedule: pause, resume, move, reset, backfill (S29-S32)."""

    @abstractmethod
    async def pause(self, pause: Pause | None) -> None:
        """Pause everything, or resume: no job is claimed meanwhile, and the interval is kept (S29)."""

    @abstractmethod
    async def tick(
        self,
        planner: Planner,
        node: str,
        *,
        limit: int = 200,
        jobs: Sequence[str] | None = None,
        reserve: LeaseRequest | None = None,
    ) -> TickResult:
        """Take due jobs that no other node holds, plan them, and make the plan true.

        With `jobs`, those are looked at and no others (local ticking). With `reserve`, runs that the node could
        lease next anyway are made as leased to it. A job whose runs did not all come to be stays due.
        """

    @abstractmethod
    async def enqueue(self, asked: Sequence[Enqueue], connection: Any = None) -> tuple[Enqueued, ...]:
        """Queue runs, all or none; a taken key gives the run that has it (S48). By hand takes a lane (S30).

        With a connection of the caller's own, the runs exist exactly if the caller commits.
        """

    @abstractmethod
    async def cancel(self, run: str) -> RunState:
        """A queued run ends at once; a running one is asked to, and its worker hears of it."""

    @abstractmethod
    async def retry(self, run: str) -> None:
        """Queue a failed, lost or cancelled run again: another attempt, on a lane if it had one (S41)."""

    @abstractmethod
    async def lease(self, wanted: LeaseRequest) -> tuple[Lease, ...]:
        """Hand queued runs to a worker: by priority, then age, within the fleet's limits on their queues."""

    @abstractmethod
    async def renew(self, node: str, held: Mapping[str, str], seconds: int) -> Renewed:
        """Extend the leases of these runs (id to token), and say which of them still are the node's."""

    @abstractmethod
    async def report(
        self, run: str, token: str, steps: Sequence[StepReport] = (), log: Sequence[LogPart] = ()
    ) -> bool:
        """Keep step states and log text of a running attempt; false, and nothing kept, if its token is old."""

    @abstractmethod
    async def finish(self, ended: Sequence[Finish]) -> tuple[Settled | None, ...]:
        """End attempts. None stands for one whose token is old: its result is refused (S42).

        A run that is over frees its lane and wakes the slots that wait for it (S15) or for its success (S35).
        """

    @abstractmethod
    async def expire(self) -> Expired:
        """Take back what vanished workers hold (S42, S44), and end what waited too long (S47)."""

    @abstractmethod
    async def beat(self, node: Node, *, passed: bool = False) -> frozenset[str]:
        """Say that a node is alive, and what it serves; `passed`: its ticker has just completed a pass.

        Returns which of its runs were asked to end.
        """

    @abstractmethod
    async def leave(self, node: str) -> None:
        """A node ends."""

    @abstractmethod
    async def limit(self, limit: QueueLimit) -> None:
        """Set the fleet's limits on a queue; both none lifts them."""

    @abstractmethod
    async def prune(self, most: int = 1_000) -> int:
        """Remove runs that their jobs do not keep any longer (S51), at most so many; how many were removed."""

    @abstractmethod
    async def wait(self, seconds: float) -> bool:
        """Wait for news: a run to lease, a job to look at sooner. False if there was none in that time.

        News may be lost and may be false; who waits looks for himself.
        """

    @abstractmethod
    async def close(self) -> None: ...


class Insights(ABC):
    """Reads for people. Nothing here changes anything."""

    @abstractmethod
    async def next_due(self) -> int | None:
        """The earliest second at which a job must be looked at; none while everything is paused."""

    @abstractmethod
    async def job(self, name: str) -> JobRow | None: ...

    @abstractmethod
    async def jobs(self, after: str | None = None, limit: int = 100) -> Page[JobRow]:
        """In order of their names."""

    async def as_written(self, jobs: Sequence[JobDefinition], source: str) -> frozenset[str]:
        """The names of those that `define` would leave as they are (S28). A store that cannot tell names none."""
        del jobs, source
        return frozenset()

    @abstractmethod
    async def schedule(self, name: str) -> ScheduleRow | None: ...

    @abstractmethod
    async def schedules(
        self, wanted: ScheduleFilter = ALL_SCHEDULES, after: str | None = None, limit: int = 100
    ) -> Page[ScheduleRow]:
        """In order of their names."""

    @abstractmethod
    async def run(self, run: str) -> RunRow | None: ...

    @abstractmethod
    async def runs(self, wanted: RunFilter = ALL_RUNS, after: str | None = None, limit: int = 100) -> Page[RunRow]:
        """Newest first."""

    @abstractmethod
    async def attempts(self, run: str) -> tuple[AttemptRow, ...]:
        """The attempts before the last, in order."""

    @abstractmethod
    async def steps(self, run: str) -> tuple[StepReport, ...]: ...

    @abstractmethod
    async def log(self, run: str, after: str | None = None, limit: int = 1_000) -> Page[LogPart]:
        """What the run printed, in order."""

    @abstractmethod
    async def decisions(
        self, wanted: DecisionFilter = ALL_DECISIONS, after: str | None = None, limit: int = 100
    ) -> Page[DecisionRow]:
        """Newest slots first."""

    @abstractmethod
    async def nodes(self) -> tuple[Node, ...]:
        """Live ones and those last seen within a day."""

    @abstractmethod
    async def limits(self) -> tuple[QueueLimit, ...]: ...

    @abstractmethod
    async def pauses(self) -> tuple[PauseInterval, ...]:
        """Pauses of everything, newest first."""

    @abstractmethod
    async def counts(self) -> Counts:
        """How much there is of what is alive; it costs as much as that is, and what ended in the last hour."""

    @abstractmethod
    async def minute_stats(self, minutes: int = 60, *, by_job: bool = False) -> tuple[MinuteStats, ...]:
        """What the last minutes were like, in order; of a minute in which nothing happened there is no row."""

    @abstractmethod
    async def timeline(self, start: int, end: int, limit: int = 5_000) -> tuple[RunRow, ...]:
        """Runs that were under way between two instants (microseconds), in order of their start.

        Of too many, those that are under way still, and those that ended last.
        """

    @abstractmethod
    async def recent(self, schedules: Sequence[str], limit: int = 12) -> Mapping[str, tuple[Recent, ...]]:
        """The runs of the newest slots of each of these schedules, in order of the slots."""

    @abstractmethod
    async def hourly_stats(self, hours: int = 24, schedule: str | None = None) -> tuple[HourlyStats, ...]:
        """What the last hours were like, by schedule and hour, from runs and decisions."""

    @abstractmethod
    async def changes_since(self, since: int, limit: int = 1_000) -> Changes:
        """What is new since an instant (microseconds), at most so much of each kind; it costs as much as that is.

        A move is seen when it is committed, a little after the instant that it carries. Who follows along asks
        again from some seconds before the time of the last answer, and passes over what he knows.
        """


class Access(ABC):
    """Who may use the API, what they did, and who was first.

    Names that are taken and keys that are claimed are unique keys of the store: of two processes that come at the
    same moment, one is first.
    """

    @abstractmethod
    async def issue(self, token: Token, digest: str) -> Token:
        """Let a new token in, found by the digest of its secret; `created_at` is the store's now.

        Refused if a token that is not revoked has its name.
        """

    @abstractmethod
    async def token(self, digest: str) -> Token | None:
        """The token as it stands, revoked and expired ones too: the caller judges. Notes its use once a minute."""

    @abstractmethod
    async def tokens(self) -> tuple[Token, ...]:
        """All that were ever issued, in the order they were."""

    @abstractmethod
    async def revoke(self, token: str) -> Token:
        """Revoke the token of an id, for good; to do it again changes nothing."""

    @abstractmethod
    async def record(self, entries: Sequence[AuditEntry]) -> None:
        """Keep what was done. Of a value that is too large, or no JSON, only a note is kept."""

    @abstractmethod
    async def audit(
        self, subject: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[AuditRow]:
        """Newest first; of one subject, if that is given."""

    @abstractmethod
    async def claim(self, key: str, mark: str, seconds: int) -> IdempotencyClaim | None:
        """First come, first served. None: the key is the caller's now; else the claim of who has it.

        Who leaves a claim unanswered for `seconds` has lost it to the next who asks. A claim is forgotten a day
        after it was made.
        """

    @abstractmethod
    async def answer(self, key: str, answer: str) -> None:
        """Keep what has come of a claim, for all who claim the key after; the first answer stays."""


class Schema(ABC):
    """For who installs and upgrades."""

    @abstractmethod
    async def upgrade(self) -> tuple[str, ...]:
        """Bring the store to this version, under a lock; the names of the migrations that were applied."""

    @abstractmethod
    async def check(self, *, thorough: bool = True) -> tuple[str, ...]:
        """What is wrong with it, in sentences; nothing if all is well.

        Thorough is to read all that is kept, where a file may be damaged: it takes as long as that is.
        """
