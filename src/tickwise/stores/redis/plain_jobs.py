"""The plain case of a pass: jobs that start a slot on time and nothing else.

A job is plain if it has one schedule about which nothing is special, and one lane. The node remembers such a job
with the number of its document (`rev`). A claim returns only that number and how far the job has moved since
(`moved`), as long as nothing holds its lane. So neither its document is read nor written: `commit` notes how far
it has moved, and whoever reads the document next applies that. Equal schedules are planned once in a pass.

Everything else goes the long way, to the same keys.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...core.definition import MAX_PRIORITY, ScheduleDefinition
from ...core.jobstate import is_simple
from ...core.payload import UnreadableText
from ...core.requirements import LiveWorkers
from ..digest_cache import DigestCache
from ..job_document import Document, JobDocument
from ..records import MICRO, Planner
from ..simple_plan import SimpleSchedule, plan_simple_schedules

_MAX_ENTRIES = 200_000


class PlainJob(NamedTuple):
    """A plain job, as its document of this number has it."""

    rev: int
    schedule: ScheduleDefinition
    cursor: int
    runs_made: int
    edited_at: int
    first_seen: int
    pause_seen: int
    queue: str
    requires: str
    rank: str  # of its runs in their queue: the beginning of their place there
    start: tuple[Any, ...]  # what all its runs have in common, as `commit` takes it

    def plan_key(self, moved: "Moved") -> tuple[str, int]:
        """Equal for jobs whose schedules are planned alike."""
        return self.start[1], moved.slot

    def schedule_at(self, moved: "Moved") -> SimpleSchedule:
        return SimpleSchedule(self.schedule, moved.slot, self.edited_at, self.first_seen)


class Moved(NamedTuple):
    """How far a plain job has moved since its document was written."""

    slot: int
    wake_at: int
    runs: int  # made since

    @classmethod
    def of(cls, text: str) -> "Moved":
        return cls(*map(int, text.split()))


def apply_moved(document: Document, text: str) -> None:
    """Bring a document up to date: its only schedule has moved."""
    moved, (name,) = Moved.of(text), document["names"]
    entry = next(entry for entry in document["schedules"] if entry["name"] == name)
    entry.update(
        cursor=moved.slot, last_seen_slot=moved.slot, last_slot=moved.slot, wake_at=moved.wake_at,
        runs_made=entry["runs_made"] + moved.runs,
    )  # fmt: skip


def plain_job(cache: DigestCache, job: JobDocument, document: Document, rev: int) -> PlainJob | None:
    """A job as it was written, if it is plain."""
    state = job.state
    if len(document["schedules"]) != 1 or state.unreadable or document["local"] or document["lanes"] != 1:
        return None
    [(schedule, wake_at, last_slot)] = state.schedules.values()
    newest = max(schedule.last_seen_slot, schedule.last_missed_slot, last_slot or schedule.cursor)
    policy, [entry] = schedule.definition.policy, document["schedules"]
    if newest > schedule.cursor or "rest" in entry or wake_at is None or policy.skip_if_successful:
        return None
    if not is_simple(schedule) or "deleted_at" in document:
        return None
    try:
        once = cache.job(document["definition"], job.name).at_most_once
    except UnreadableText:
        return None
    start = (
        document["definition"], entry["definition"], document["queue"], str(document["priority"]),
        document["requires"], policy.expires or 0, int(once),
    )  # fmt: skip
    return PlainJob(
        rev, schedule.definition, schedule.cursor, schedule.runs_made, schedule.edited_at, schedule.first_seen,
        document["pause_seen"], document["queue"], document["requires"],
        f"{MAX_PRIORITY - document['priority']:04d}", start,
    )  # fmt: skip


class PlainJobs:
    """The plain jobs that a node remembers."""

    def __init__(self) -> None:
        self._known: dict[str, PlainJob] = {}

    def remember(self, jobs: Mapping[str, PlainJob | None]) -> None:
        """What has just been written."""
        if len(self._known) >= _MAX_ENTRIES:  # what is needed again is read again
            self._known.clear()
        for name, job in jobs.items():
            if job is None:
                self._known.pop(name, None)
            else:
                self._known[name] = job

    def plan(
        self, planner: Planner, claimed: Iterable[Sequence[Any]], pauses: int, workers: LiveWorkers, now: int
    ) -> tuple[list[list[Any]], list[str]]:
        """Starts as `commit` takes them, in the order of their slots, and the names of all other jobs."""
        candidates, others = list[tuple[PlainJob, int, Moved]](), list[str]()
        for name, seq, rev, moved_text, last_manual in claimed:
            job = self._known.get(name)
            is_current = job is not None and job.rev == rev and job.pause_seen == pauses
            if job is None or not is_current or workers.missing(job.queue, job.requires):
                others.append(name)
                continue
            moved = Moved.of(moved_text) if moved_text else Moved(job.cursor, 0, 0)
            if last_manual > moved.slot:
                others.append(name)
            else:
                candidates.append((job, seq, moved))
        different = {job.plan_key(moved): job.schedule_at(moved) for job, _, moved in candidates}
        planned, starts = plan_simple_schedules(planner, different, now), list[list[Any]]()
        for job, seq, moved in candidates:
            following = planned.get(job.plan_key(moved))
            if following is None or following.wake_at is None:
                others.append(job.schedule.job)
            else:
                starts.append(_start_order(job, seq, Moved(following.slot, following.wake_at, moved.runs + 1)))
        starts.sort(key=_in_time)
        return starts, others


def _start_order(job: PlainJob, seq: int, moved: Moved) -> list[Any]:
    """All numbers are texts: so the script need not write them."""
    slot, wake_at, _ = words = [str(number) for number in moved]
    own = (job.schedule.job, str(seq), job.schedule.name, slot, wake_at, " ".join(words))
    return [*own, *job.start, str(seq + 1), f"{job.rank}{moved.slot * MICRO:016d}"]


def _in_time(start: Sequence[Any]) -> tuple[int, str]:
    return int(start[3]), start[2]
