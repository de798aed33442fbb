"""What a pass begins with: one statement locks the jobs that are due and reads what holds for all of them.

Only what does not depend on the locks may be read there, because it is as old as the claim. What does depend on
them is read by later statements.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from ...core.definition import JobDefinition, ScheduleDefinition
from ...core.model import Trigger
from ...core.requirements import LiveWorkers
from ..records import MICRO, Lease, LeaseRequest
from .definitions import DefinitionCache
from .jobs import LATEST_PAUSE
from .runs import FIRST_ATTEMPT
from .statement import Procedure, Statement, as_wide_as
from .workers import live_workers

UNPAUSED = "NOT EXISTS (SELECT 1 FROM tickwise_pauses WHERE until IS NULL)"
_NOW = "{instant}"
_ROW = 'job_id, revision, pause_seen, last_manual, "cursor"'


def _columns_of(number: str = "NULL", word: str = "NULL") -> str:
    return f"{as_wide_as(_ROW, number)}, {word}"


def _claiming(wanted: str, order: str) -> Statement:
    """Lock these jobs, unless everything is paused. They are named once: MariaDB would find them once more."""
    return Statement(f"""
        WITH instant AS {{materialized}} (SELECT {{now}} AS now),
        claimed AS {{materialized}} (
            SELECT {_ROW}, {{row_id}} AS place FROM tickwise_job_state
            WHERE {wanted} AND {UNPAUSED}
            {order} {{lock_free}})
        SELECT {_ROW}, CAST(place AS {{text}}) AS word, CAST(NULL AS {{text}}) AS what FROM claimed
        UNION ALL SELECT {_columns_of("now")}, 'now' FROM instant
        UNION ALL SELECT {_columns_of()}, 'paused' FROM tickwise_pauses WHERE until IS NULL
        UNION ALL SELECT {_columns_of(LATEST_PAUSE)}, 'pause'
        UNION ALL SELECT {_columns_of(word="serves")}, 'serving' FROM (
            SELECT DISTINCT serves FROM tickwise_nodes WHERE worker AND live_until > {_NOW}) AS workers
        UNION ALL SELECT {_columns_of(word="name")}, 'limited' FROM tickwise_queues
        UNION ALL SELECT {_columns_of()}, 'waiting' WHERE EXISTS (SELECT 1 FROM tickwise_runs
            WHERE queued = TRUE AND queue IN :queues[text] AND due_at <= {_NOW} AND NOT requires IN :unmet[text]
                AND (expires_at IS NULL OR attempt > 0 OR expires_at > {_NOW}))
    """)


_DUE = _claiming(
    f"wake_at <= {_NOW} {{div}} {MICRO} AND wake_at >= :floor AND local = FALSE",
    "ORDER BY wake_at LIMIT :most",
)
_NAMED = _claiming(
    "job_id IN (SELECT id FROM tickwise_jobs WHERE name IN :names[text] AND deleted_at IS NULL)", "ORDER BY job_id"
)
_NEXT_DUE = Statement("SELECT min(wake_at) FROM tickwise_job_state WHERE local = FALSE")


# A row of a claimed job: its id; its revision; the last pause of everything whose end it knows; its last run by
# hand; the cursor of its only schedule, if that has moved since the schedule's row was written; and where the row
# of state is, which does not change while that is locked.
Due: TypeAlias = Sequence[Any]


class ClaimRequest(NamedTuple):
    """The node that claims, and what: so many due jobs from a floor on, or those that are named."""

    node: str
    limit: int
    floor: int
    names: Sequence[str] | None = None
    reserve: LeaseRequest | None = None

    @property
    def token(self) -> str | None:
        """Of runs that are made for the claimer."""
        return f"{self.reserve.node}/{FIRST_ATTEMPT}" if self.reserve else None

    def allows(self, requires: str) -> bool:
        """Whether the claimer may execute it, and wants runs at all."""
        return self.reserve is not None and self.reserve.offers.allow(requires)

    def lease(
        self, run: int, job: JobDefinition, schedule: ScheduleDefinition, slot: int, trigger: Trigger, due_at: int,
        now: int,
    ) -> Lease:  # fmt: skip
        """Of a run that was made for the claimer."""
        return Lease(
            id=str(run), token=self.token or "", job=job, attempt=FIRST_ATTEMPT, trigger=trigger,
            schedule=schedule.name, slot=slot, times=schedule.times, label=schedule.label, due_at=due_at,
            started_at=now,
        )  # fmt: skip

    def handed_over(self, now: int) -> dict[str, object]:
        """The values of a statement that inserts runs, some of them for the claimer."""
        return {
            "claimer": self.node, "token": self.token, "node": self.reserve.node if self.reserve else None,
            "lease_until": now + self.reserve.seconds * MICRO if self.reserve else None,
        }  # fmt: skip


class PassContext(NamedTuple):
    """What holds for all jobs of a pass. None of it depends on the locks of jobs."""

    now: int
    latest_pause: int
    workers: LiveWorkers  # S47
    limited: frozenset[str]  # queues on which the fleet has a limit
    waiting: bool  # runs that the claimer may execute wait in its queues
    paused: bool  # everything, so no job was claimed


def claim_jobs(cache: DefinitionCache, claim: ClaimRequest) -> Procedure[tuple[list[Due], PassContext]]:
    """Jobs, locked until the transaction ends, and what holds for all of them."""
    queues, unmet = list[str](), list[str]()
    if claim.reserve:
        queues, unmet = list(claim.reserve.queues), cache.unmet.beyond(claim.reserve.offers)
    rows = yield (
        _DUE(queues=queues, unmet=unmet, floor=claim.floor, most=claim.limit)
        if claim.names is None
        else _NAMED(queues=queues, unmet=unmet, names=claim.names)
    )
    values: dict[str, list[Any]] = defaultdict(list)
    due = []
    for row in rows:
        if (what := row[-1]) is None:
            due.append(row)
        else:
            values[what].append((row[0], row[-2]))
    workers = yield from live_workers(cache, sorted(serves for _, serves in values["serving"]))
    return due, PassContext(
        now=values["now"][0][0],
        latest_pause=values["pause"][0][0],
        workers=workers,
        limited=frozenset(name for _, name in values["limited"]),
        waiting=bool(values["waiting"]),
        paused=bool(values["paused"]),
    )


def next_due() -> Procedure[int | None]:
    """When a pass must look at a job next."""
    second: int | None = (yield _NEXT_DUE())[0][0]
    return second
