"""What a pass begins with: who claims, how things stand, and the jobs that are due, locked. One statement for all.

How things stand does not depend on the locks, so it may be as old as the claim. What does is read by later ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...core.definition import JobDefinition, ScheduleDefinition
from ...core.model import Start
from ...core.payload import UnreadableText
from ..records import MICRO, Lease, Reservation
from .book import Book
from .fleet import queues_of
from .starts import FIRST_ATTEMPT
from .state import COLUMNS, LATEST_PAUSE, JobRow
from .statement import Protocol, Rows, Statement, as_wide_as

UNPAUSED = "NOT EXISTS (SELECT 1 FROM tickwise_pauses WHERE until IS NULL)"
_NOW = "(SELECT now FROM instant)"
_NEXT_DUE = """SELECT wake_at, count(*) > CAST(:most AS bigint) AS crowd FROM (
    SELECT wake_at FROM tickwise_jobs
    WHERE wake_at = (SELECT min(wake_at) FROM tickwise_jobs WHERE NOT local) AND NOT local
    LIMIT CAST(:most AS bigint) + 1) AS first GROUP BY wake_at"""


def _told(number: str = "NULL", word: str = "NULL") -> str:
    return as_wide_as(COLUMNS, number, word)


def _claiming(wanted: str, order: str) -> Statement:
    """Lock the jobs that are wanted, unless everything is paused. If there are none: when the next is due."""
    return Statement(f"""
        WITH instant AS MATERIALIZED (SELECT {{now}} AS now),
        claimed AS MATERIALIZED (
            SELECT {COLUMNS} FROM tickwise_jobs
            WHERE {wanted} AND {UNPAUSED}
            {order} FOR UPDATE SKIP LOCKED)
        SELECT 'job' AS what, {COLUMNS} FROM claimed
        UNION ALL SELECT 'now', {_told("now")} FROM instant
        UNION ALL SELECT 'paused', {_told()} FROM tickwise_pauses WHERE until IS NULL
        UNION ALL SELECT 'pause', {_told(LATEST_PAUSE)}
        UNION ALL SELECT 'serving', {_told(word="facts")} FROM tickwise_nodes WHERE worker AND live_until > {_NOW}
        UNION ALL SELECT 'limited', {_told(word="name")} FROM tickwise_queues
        UNION ALL SELECT 'waiting', {_told()} WHERE EXISTS (SELECT 1 FROM tickwise_runs
            WHERE state = 'queued' AND queue IN :queues[text] AND due_at <= {_NOW}
                AND (expires_at IS NULL OR attempt > 0 OR expires_at > {_NOW}))
        UNION ALL SELECT 'next', {_told("wake_at", "CASE WHEN crowd THEN 'crowd' END")} FROM ({_NEXT_DUE}) AS next
            WHERE NOT EXISTS (SELECT 1 FROM claimed)
    """)


_DUE = _claiming(
    f"wake_at <= coalesce(CAST(:ahead AS bigint), {_NOW} / {MICRO}) AND wake_at >= :floor AND NOT local",
    "ORDER BY wake_at LIMIT :most",
)
_NAMED = _claiming("name IN :names[text] AND deleted_at IS NULL", "ORDER BY id")
_NEXT = Statement(_NEXT_DUE)


class Claim(NamedTuple):
    """Who claims, and what: so many due jobs from a floor on, or those that are named; maybe ahead of a second."""

    node: str
    limit: int
    floor: int
    names: Sequence[str] | None = None
    reserve: Reservation | None = None
    ahead: int | None = None

    def lead(self, now: int) -> int:
        """The microseconds that are left until the second that it is ahead of; none, if it is not."""
        return 0 if self.ahead is None else max(0, self.ahead * MICRO - now)

    @property
    def token(self) -> str | None:
        """Of runs that are handed over at once."""
        return f"{self.reserve.node}/{FIRST_ATTEMPT}" if self.reserve else None

    def may_have(self, job: JobRow, book: Book) -> bool:
        """Whether a run of a job whose definition has been read may be handed over at once."""
        if not self.reserve or (job.function is not None and job.function not in self.reserve.functions):
            return False
        try:
            return not book.job(job.definition_id, job.name).at_most_once
        except UnreadableText:  # who leases it will find that out
            return False

    def leases(
        self, runs: Iterable[tuple[int, JobDefinition, str]], start: Start, schedule: ScheduleDefinition,
        due_at: int, now: int,
    ) -> list[Lease]:  # fmt: skip
        """Of runs that are handed over at once: their ids, jobs and schedules; the rest they have in common."""
        token = self.token or ""
        return [
            Lease(
                str(run), token, job, FIRST_ATTEMPT, start.trigger, name, start.slot, schedule.times,
                schedule.label, None, due_at, now,
            )
            for run, job, name in runs
        ]  # fmt: skip

    def handed_over(self, now: int) -> dict[str, object]:
        """The values of a statement that inserts runs, some of them for the node that claims."""
        return {
            "claimer": self.node, "token": self.token, "node": self.reserve.node if self.reserve else None,
            "lease_until": now + self.reserve.seconds * MICRO if self.reserve else None,
        }  # fmt: skip


class NextDue(NamedTuple):
    """When the next job must be looked at, and whether there are then more than a pass takes."""

    at: int | None = None
    crowd: bool = False


class Circumstances(NamedTuple):
    """None of it depends on the locks of jobs."""

    now: int
    latest_pause: int
    served: frozenset[str]  # queues that a live worker serves (S47)
    limited: frozenset[str]  # queues on which the fleet has a limit
    waiting: bool  # others wait in the queues of who claims
    next_due: NextDue  # known if no job could be claimed, unless everything is paused


def claimed_jobs(claim: Claim) -> Protocol[tuple[list[JobRow], Circumstances]]:
    """Jobs, locked until the transaction ends, and how things stand."""
    queues = list(claim.reserve.queues) if claim.reserve else []
    told: dict[str, list[Any]] = defaultdict(list)
    jobs = []
    for what, *columns in (
        yield _DUE(queues=queues, floor=claim.floor, most=claim.limit, ahead=claim.ahead)
        if claim.names is None
        else _NAMED(queues=queues, names=claim.names, most=claim.limit)
    ):
        if what == "job":
            jobs.append(JobRow._make(columns))
        else:
            told[what].append(columns)
    return jobs, Circumstances(
        told["now"][0][0], told["pause"][0][0], queues_of([facts for _, facts, *_ in told["serving"]]),
        frozenset(name for _, name, *_ in told["limited"]), bool(told["waiting"]),
        NextDue() if told["paused"] else _next(told["next"]),
    )  # fmt: skip


def next_due(claim: Claim) -> Protocol[NextDue]:
    return _next((yield _NEXT(most=claim.limit)))


def _next(rows: Rows) -> NextDue:
    return NextDue(rows[0][0], bool(rows[0][1])) if rows else NextDue()
