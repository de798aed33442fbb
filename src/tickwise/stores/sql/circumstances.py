"""What holds for a whole pass: who claims, and how things stand before the first job is claimed."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ...core.definition import JobDefinition, ScheduleDefinition
from ...core.model import Start
from ..records import MICRO, Lease, Reservation
from .fleet import queues_of
from .starts import FIRST_ATTEMPT
from .state import LATEST_PAUSE
from .statement import Protocol, Statement

_ASKED = Statement(f"""
    SELECT 'now' AS what, {{now}} AS number, NULL AS word
    UNION ALL SELECT 'paused', id, NULL FROM tickwise_pauses WHERE until IS NULL
    UNION ALL SELECT 'pause', {LATEST_PAUSE}, NULL
    UNION ALL SELECT 'serving', NULL, facts FROM tickwise_nodes WHERE worker AND live_until > {{now}}
    UNION ALL SELECT 'limited', NULL, name FROM tickwise_queues
    UNION ALL SELECT 'waiting', NULL, NULL WHERE EXISTS (SELECT 1 FROM tickwise_runs
        WHERE state = 'queued' AND queue IN :queues[text] AND due_at <= {{now}}
            AND (expires_at IS NULL OR attempt > 0 OR expires_at > {{now}}))
""")


class Claim(NamedTuple):
    """Who claims, and what: so many due jobs from a floor on, or those that are named."""

    node: str
    limit: int
    floor: int
    names: Sequence[str] | None = None
    reserve: Reservation | None = None

    @property
    def token(self) -> str | None:
        """Of runs that are handed over at once."""
        return f"{self.reserve.node}/{FIRST_ATTEMPT}" if self.reserve else None

    def lease(
        self, run: int, job: JobDefinition, start: Start, schedule: ScheduleDefinition, due_at: int, now: int
    ) -> Lease:
        """Of a run that is handed over at once."""
        return Lease(
            str(run), self.token or "", job, FIRST_ATTEMPT, start.trigger, start.schedule, start.slot,
            schedule.times, schedule.label, None, due_at, now,
        )  # fmt: skip

    def handed_over(self, now: int) -> dict[str, object]:
        """The values of a statement that inserts runs, some of them for the node that claims."""
        return {
            "claimer": self.node, "token": self.token, "node": self.reserve.node if self.reserve else None,
            "lease_until": now + self.reserve.seconds * MICRO if self.reserve else None,
        }  # fmt: skip


class Circumstances(NamedTuple):
    """None of it depends on the locks of jobs."""

    now: int
    paused: bool
    latest_pause: int
    served: frozenset[str]  # queues that a live worker serves (S47)
    limited: frozenset[str]  # queues on which the fleet has a limit
    waiting: bool  # others wait in the queues of who claims


def circumstances(reserve: Reservation | None) -> Protocol[Circumstances]:
    told: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for what, number, word in (yield _ASKED(queues=list(reserve.queues) if reserve else [])):
        told[what].append((number, word))
    return Circumstances(
        told["now"][0][0], bool(told["paused"]), told["pause"][0][0],
        queues_of([facts for _, facts in told["serving"]]), frozenset(name for _, name in told["limited"]),
        bool(told["waiting"]),
    )  # fmt: skip
