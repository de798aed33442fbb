"""What a pass begins with: who claims, how things stand, and the jobs that are due, locked. One statement for all.

How things stand does not depend on the locks, so it may be as old as the claim. What does is read by later ones.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...core.definition import JobDefinition, ScheduleDefinition
from ...core.model import Start
from ..records import MICRO, Lease, LeaseRequest
from .fleet import queues_of
from .jobs import LATEST_PAUSE
from .runs import FIRST_ATTEMPT
from .statement import Procedure, Rows, Statement, as_wide_as

UNPAUSED = "NOT EXISTS (SELECT 1 FROM tickwise_pauses WHERE until IS NULL)"
_NOW = "(SELECT now FROM instant)"
_NEXT_DUE = """SELECT wake_at, count(*) > CAST(:most AS bigint) AS crowd FROM (
    SELECT wake_at FROM tickwise_job_state
    WHERE wake_at = (SELECT min(wake_at) FROM tickwise_job_state WHERE NOT local) AND NOT local
    LIMIT CAST(:most AS bigint) + 1) AS first GROUP BY wake_at"""
_ROW = "job_id, revision, pause_seen, last_manual, cursor"


def _columns_of(number: str = "NULL", word: str = "NULL") -> str:
    return f"{as_wide_as(_ROW, number)}, {word}"


def _claiming(wanted: str, order: str) -> Statement:
    """Lock the jobs that are wanted, unless everything is paused. If there are none: when the next is due."""
    return Statement(f"""
        WITH instant AS MATERIALIZED (SELECT {{now}} AS now),
        claimed AS MATERIALIZED (
            SELECT {_ROW}, ctid AS place FROM tickwise_job_state
            WHERE {wanted} AND {UNPAUSED}
            {order} FOR UPDATE SKIP LOCKED)
        SELECT {_ROW}, CAST(place AS text) AS word, CAST(NULL AS text) AS what FROM claimed
        UNION ALL SELECT {_columns_of("now")}, 'now' FROM instant
        UNION ALL SELECT {_columns_of()}, 'paused' FROM tickwise_pauses WHERE until IS NULL
        UNION ALL SELECT {_columns_of(LATEST_PAUSE)}, 'pause'
        UNION ALL SELECT {_columns_of(word="facts")}, 'serving' FROM tickwise_nodes
            WHERE worker AND live_until > {_NOW}
        UNION ALL SELECT {_columns_of(word="name")}, 'limited' FROM tickwise_queues
        UNION ALL SELECT {_columns_of()}, 'waiting' WHERE EXISTS (SELECT 1 FROM tickwise_runs
            WHERE queued AND queue IN :queues[text] AND due_at <= {_NOW}
                AND (expires_at IS NULL OR attempt > 0 OR expires_at > {_NOW}))
        UNION ALL SELECT {_columns_of("wake_at", "CASE WHEN crowd THEN 'crowd' END")}, 'next'
            FROM ({_NEXT_DUE}) AS next
            WHERE NOT EXISTS (SELECT 1 FROM claimed)
    """)


_DUE = _claiming(
    f"wake_at <= coalesce(CAST(:ahead AS bigint), {_NOW} / {MICRO}) AND wake_at >= :floor AND NOT local",
    "ORDER BY wake_at LIMIT :most",
)
_NAMED = _claiming(
    "job_id IN (SELECT id FROM tickwise_jobs WHERE name IN :names[text] AND deleted_at IS NULL)", "ORDER BY job_id"
)
_NEXT = Statement(_NEXT_DUE)


# A job that was claimed, as the database tells it: its id; its revision, as long as which all that is known of it
# holds; the last pause that has reached it; its last run by hand; how far its only schedule has come, if that is
# further than its own row says; and the place of its row, which stays while the row is locked.
Due: TypeAlias = Sequence[Any]


class ClaimRequest(NamedTuple):
    """Who claims, and what: so many due jobs from a floor on, or those that are named; maybe ahead of a second."""

    node: str
    limit: int
    floor: int
    names: Sequence[str] | None = None
    reserve: LeaseRequest | None = None
    ahead: int | None = None

    def lead(self, now: int) -> int:
        """The microseconds that are left until the second that it is ahead of; none, if it is not."""
        return 0 if self.ahead is None else max(0, self.ahead * MICRO - now)

    @property
    def token(self) -> str | None:
        """Of runs that are handed over at once."""
        return f"{self.reserve.node}/{FIRST_ATTEMPT}" if self.reserve else None

    def knows(self, function: str | None) -> bool:
        """Whether the node that claims can execute it, and wants runs at all."""
        return self.reserve is not None and (function is None or function in self.reserve.functions)

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


class PassContext(NamedTuple):
    """None of it depends on the locks of jobs."""

    now: int
    latest_pause: int
    served: frozenset[str]  # queues that a live worker serves (S47)
    limited: frozenset[str]  # queues on which the fleet has a limit
    waiting: bool  # others wait in the queues of who claims
    next_due: NextDue  # known if no job could be claimed, unless everything is paused


def claimed_jobs(claim: ClaimRequest) -> Procedure[tuple[list[Due], PassContext]]:
    """Jobs, locked until the transaction ends, and how things stand."""
    queues = list(claim.reserve.queues) if claim.reserve else []
    told: dict[str, list[Any]] = defaultdict(list)
    due = []
    for row in (
        yield _DUE(queues=queues, floor=claim.floor, most=claim.limit, ahead=claim.ahead)
        if claim.names is None
        else _NAMED(queues=queues, names=claim.names, most=claim.limit)
    ):
        if (what := row[-1]) is None:
            due.append(row)
        else:
            told[what].append((row[0], row[-2]))
    return due, PassContext(
        told["now"][0][0], told["pause"][0][0], queues_of([facts for _, facts in told["serving"]]),
        frozenset(name for _, name in told["limited"]), bool(told["waiting"]),
        NextDue() if told["paused"] else _next(told["next"]),
    )  # fmt: skip


def next_due(claim: ClaimRequest) -> Procedure[NextDue]:
    return _next((yield _NEXT(most=claim.limit)))


def _next(rows: Rows) -> NextDue:
    return NextDue(rows[0][0], bool(rows[0][1])) if rows else NextDue()
