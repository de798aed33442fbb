"""The plain case of a pass: jobs that start a slot on time and nothing else, all moved by one operation.

A job is simple if it has one schedule about which nothing is special. Its document says that, so nothing is
remembered of it but its definitions: those are known by their digests. Its plan depends on the schedule's digest,
its cursor and the time only: equal ones are planned once in a pass. That is done before the facts are read, so
that the ids of the runs are fetched together with them.

Everything else goes the long way in `tick`, to the same documents: jobs with a run that holds a lane or without a
worker, with a second schedule, with a pause, a guard or a limit, and those whose plan is anything but one start on
time.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeAlias

from ...core.definition import ScheduleDefinition
from ...core.jobstate import is_simple
from ...core.model import Start, Trigger
from ...core.payload import UnreadableText
from ...core.requirements import LiveWorkers
from ..job_document import NUMBERS, Document, present
from ..records import Planner
from ..simple_plan import SimpleSchedule, plan_simple_schedules
from .base import Mongo
from .intents import Effects, Intent

_SPECIAL = ("deleted_at", "gone", "after", "held")  # fields of a document that say that more is to be done
_SPECIAL_ENTRY = ("rest", "deleted_at", "paused")
_PlanKey: TypeAlias = tuple[str, int]  # the digest of a schedule's definition, and its cursor


class SimpleMove(NamedTuple):
    """A job's document, its schedule, and what is started."""

    document: Document
    schedule: ScheduleDefinition
    slot: int
    wake_at: int | None

    @property
    def start(self) -> Start:
        return Start(self.document["_id"], self.schedule.name, self.slot, Trigger.SCHEDULE, 0)

    def intent(self, run: Document) -> Intent:
        """How the document changes, and the run that follows from that."""
        [entry] = self.document["schedules"]
        moved = {
            **entry, "cursor": self.slot, "last_seen_slot": self.slot, "last_slot": self.slot,
            "runs_made": entry["runs_made"] + 1, "last_run": run["_id"], "wake_at": self.wake_at,
        }  # fmt: skip
        return Intent(
            self.document, self.wake_at, {"schedules": [present(moved)], "waiting": False}, Effects([run])
        )


def plan_simple_jobs(
    mongo: Mongo, planner: Planner, documents: Sequence[Document], now: int, latest_pause: int
) -> list[SimpleMove]:
    """The jobs that simply start, if they have no holders and not too few workers; definitions have been read."""
    candidates = list[tuple[Document, SimpleSchedule, _PlanKey]]()
    for document in documents:
        schedule = _simple_schedule(mongo, document)
        if schedule is not None and document["pause_seen"] >= latest_pause:
            candidates.append((document, schedule, (document["schedules"][0]["definition"], schedule.cursor)))
    different = {key: schedule for _, schedule, key in candidates}
    planned = plan_simple_schedules(planner, different, now)
    return [
        SimpleMove(document, schedule.definition, *planned[key])
        for document, schedule, key in candidates if key in planned
    ]  # fmt: skip


def _simple_schedule(mongo: Mongo, document: Document) -> SimpleSchedule | None:
    """The only schedule of a job, if nothing about the two is special."""
    entries = document["schedules"]
    if len(entries) != 1 or any(name in document for name in _SPECIAL):
        return None
    [entry] = entries
    if any(name in entry for name in _SPECIAL_ENTRY) or not all(type(entry.get(name)) is int for name in NUMBERS):
        return None
    cursor = entry["cursor"]
    newest = max(
        entry["last_seen_slot"], entry["last_missed_slot"], entry.get("last_slot", cursor),
        document.get("last_manual", cursor),
    )  # fmt: skip
    if newest > cursor:
        return None
    try:
        definition = mongo.cache.schedule(entry["definition"], entry["name"], document["_id"])
    except UnreadableText:
        return None
    schedule = SimpleSchedule(definition, cursor, entry["edited_at"], entry["first_seen"])
    return schedule if is_simple(schedule.state) and not definition.policy.skip_if_successful else None


def free_moves(moves: Sequence[SimpleMove], busy: Collection[str], workers: LiveWorkers) -> list[SimpleMove]:
    """Those of jobs that have no run on a lane, and a worker that may execute them."""
    return [
        move for move in moves
        if (document := move.document)["_id"] not in busy
        and not workers.missing(document["queue"], document["requires"])
    ]  # fmt: skip
