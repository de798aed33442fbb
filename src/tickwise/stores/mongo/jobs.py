"""A job and its schedules: one document, read whole and written back whole; and what runs tell about it.

`load` makes `JobState`s of documents and `fields` makes a document of one again. `read_facts` reads what else a
pass depends on. `with_lanes` takes lanes for runs that a person asks for, as a pass does: by a compare-and-set of
the job's document.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from ...core.change import TOMBSTONE_SECONDS
from ...core.codec import decode_rest, encode_rest
from ...core.definition import DEFAULT_QUEUE
from ...core.errors import ConflictError
from ...core.jobstate import JobState, ScheduleState, UnreadableSchedule, facts_of, successes_needed
from ...core.model import Facts, Holder, Schedule, Trigger
from ...core.payload import UnreadableText, clip
from ...core.requirements import LiveWorkers
from ..records import MICRO
from ..unreadable import log_unreadable
from ..validation import LONGEST_ERROR
from .base import WHOLE_ANSWER, Document, Mongo, present
from .definitions import digest_of
from .fleet import ended_pauses
from .intents import Effects, Intent, LostRaceError, apply_all, commit, persist

NUMBERS = ("cursor", "last_seen_slot", "last_missed_slot", "edited_at", "first_seen", "runs_made")
_MAX_REMEMBERED = 50  # schedules that were deleted
Holders: TypeAlias = Mapping[str, Sequence[Holder]]  # of lanes, by job


@dataclass(frozen=True, slots=True)
class JobDocument:
    """A job's document as it was read, and its state, which changes until it is written."""

    document: Document
    state: JobState
    entries: Mapping[str, Document] = field(default_factory=dict)  # its schedules as they were read
    least_seq: int = 0  # that its document is to have: beyond that of a job whose schedules it takes over

    @property
    def name(self) -> str:
        return self.state.name


async def load(mongo: Mongo, documents: Iterable[Document]) -> list[JobDocument]:
    """Jobs from their documents. Ends of pauses of everything reach their schedules here (S29)."""
    documents = list(documents)
    if not documents:
        return []
    definitions = mongo.cache.read(
        entry["definition"] for document in documents for entry in document["schedules"]
    )
    oldest = min(document["pause_seen"] for document in documents)
    _, pauses = await asyncio.gather(definitions, ended_pauses(mongo, oldest))
    return [
        JobDocument(
            document,
            _job_state(mongo, document).end_pauses(pauses),
            {entry["name"]: entry for entry in document["schedules"]},
        )
        for document in documents
    ]


def _job_state(mongo: Mongo, document: Document) -> JobState:
    schedules: dict[str, ScheduleState] = {}
    unreadable: dict[str, UnreadableSchedule] = {}
    for entry in document["schedules"]:
        last_slot = entry.get("last_slot")
        try:
            schedule = _schedule_from_entry(mongo, document["_id"], entry)
        except UnreadableText as error:
            unreadable[entry["name"]] = UnreadableSchedule(str(error), last_slot, "deleted_at" not in entry)
            if "deleted_at" not in entry:
                log_unreadable(entry["name"], str(error))
        else:
            schedules[schedule.name] = ScheduleState(schedule, entry.get("wake_at"), last_slot)
    return JobState(
        name=document["_id"],
        queue=document.get("queue", DEFAULT_QUEUE),
        requires=document.get("requires", ""),
        schedules=schedules,
        unreadable=unreadable,
        pauses_seen=document["pause_seen"],
        woken_at=document.get("wake_at"),
        last_manual_start=document.get("last_manual"),
        last_success=document.get("last_success"),
        history_from=document.get("history_from"),
    )


def _schedule_from_entry(mongo: Mongo, job: str, entry: Document) -> Schedule:
    definition = mongo.cache.schedule(entry["definition"], entry["name"], job)
    others = decode_rest(entry.get("rest"))
    numbers: dict[str, Any] = {name: _whole(entry, name) for name in NUMBERS}
    return Schedule(definition, **numbers, deleted_at=entry.get("deleted_at"), **others)


def _whole(entry: Document, name: str) -> int:
    if isinstance(number := entry.get(name), int):
        return number
    raise UnreadableText(f"the schedule {entry['name']} cannot be read: its {name} is no whole number")


def fields(job: JobDocument, now: int, last_runs: Mapping[str, int] | None = None) -> Document:
    """What a job's document says of its schedules; `last_runs` are new ones, the newest of each schedule."""
    state, runs = job.state, last_runs or {}
    live, gone = state.live, _remembered(state, now // MICRO)
    names = [*live, *(name for name, each in state.unreadable.items() if each.live)]
    entries = [_entry(job, name, runs.get(name), now) for name in (*live, *gone)]
    return {
        "schedules": [*entries, *(job.entries[name] for name in state.unreadable)],
        "names": sorted(names) or None,
        "gone": sorted(gone) or None,
        "after": state.needs or None,
        "lanes": state.lanes,
        "paused": sum(schedule.paused is not None for schedule in live.values()),
        "waiting": state.waiting,
        "held": True if state.held else None,
        "local": state.is_local,
        "pause_seen": state.pauses_seen,
    }


def _remembered(job: JobState, second: int) -> list[str]:
    """Deleted schedules whose state is kept: for a while (S23), and some for longer."""
    found = [(at, name) for name, each in job.schedules.items() if (at := each.schedule.deleted_at) is not None]
    newest = sorted(found, key=lambda one: -one[0])
    young = (name for at, name in newest[_MAX_REMEMBERED:] if second - at <= TOMBSTONE_SECONDS)
    return [*(name for _, name in newest[:_MAX_REMEMBERED]), *young]


def _entry(job: JobDocument, name: str, last_run: int | None, now: int) -> Document:
    schedule, wake_at, last_slot = job.state.schedules[name]
    before = job.entries.get(name, {"created_at": now})
    if name in job.state.changed:
        before = {**before, "definition": digest_of(schedule.definition), "updated_at": now}
    return present({
        "name": name, "definition": before["definition"], "cursor": schedule.cursor,
        "last_seen_slot": schedule.last_seen_slot, "last_missed_slot": schedule.last_missed_slot,
        "edited_at": schedule.edited_at, "first_seen": schedule.first_seen, "runs_made": schedule.runs_made,
        "deleted_at": schedule.deleted_at, "paused": True if schedule.paused else None,
        "rest": encode_rest(schedule), "last_slot": last_slot, "last_run": last_run or before.get("last_run"),
        "wake_at": wake_at, "created_at": before["created_at"], "updated_at": before["updated_at"],
    })  # fmt: skip


def recorded(job: JobState) -> list[Document]:
    """Decisions as an intent carries them."""
    return [
        {"schedule": made.schedule, "reason": made.reason.code, "first": made.first, "last": made.last,
         "count": made.count, "detail": clip(made.detail, LONGEST_ERROR)}
        for made in job.recorded
    ]  # fmt: skip


async def read_facts(mongo: Mongo, jobs: Iterable[JobDocument], holders: Holders, workers: LiveWorkers) -> Facts:
    """What the verdicts of a pass depend on, read after the jobs were; most often nothing is left to read."""
    states = [job.state for job in jobs]
    slots, successes = await asyncio.gather(_slots_with_run(mongo, states), _successes(mongo, states))
    return facts_of(states, holders, workers, slots, successes)


async def read_holders(mongo: Mongo, jobs: Iterable[str]) -> Holders:
    """The runs that hold lanes of jobs, in the order of lanes."""
    which = {"job": {"$in": list(jobs)}, "lane": {"$exists": True}}
    runs = mongo.runs.find(which, {"job": 1, "lane": 1, "trigger": 1, "cancelling": 1}, batch_size=WHOLE_ANSWER)
    found: dict[str, list[Holder]] = defaultdict(list)
    async for run in runs.sort([("job", 1), ("lane", 1)]):
        holder = Holder(str(run["_id"]), run["lane"], Trigger.of(run["trigger"]), run["cancelling"])
        found[run["job"]].append(holder)
    return found


async def _slots_with_run(mongo: Mongo, jobs: Iterable[JobState]) -> dict[str, set[int]]:
    needed = [
        {"schedule": name, "slot": {"$gt": since}} for job in jobs for name, since in job.slots_needed().items()
    ]
    found: dict[str, set[int]] = defaultdict(set)
    if needed:
        async for run in mongo.runs.find({"$or": needed}, {"schedule": 1, "slot": 1}):
            found[run["schedule"]].add(run["slot"])
    return found


async def _successes(mongo: Mongo, jobs: Iterable[JobState]) -> dict[str, list[int]]:
    """Successes of schedules that others wait for (S35). A run without a schedule counts for all of its job."""
    needed = successes_needed(jobs)
    if needed is None:
        return {}
    owners = await mongo.jobs.find({"names": {"$in": needed.schedules}}, {"names": 1}).to_list()
    names = {owner["_id"]: owner["names"] for owner in owners}
    which = {"job": {"$in": list(names)}, "reference": {"$gt": needed.since}}
    found: dict[str, list[int]] = {name: [] for name in needed.schedules}
    async for run in mongo.runs.find(which, {"job": 1, "schedule": 1, "reference": 1}).sort("reference"):
        for name in [run["schedule"]] if "schedule" in run else names[run["job"]]:
            if name in found:
                found[name].append(run["reference"])
    return found


OnLanes: TypeAlias = Callable[[Sequence[int]], Effects]  # what is to be done, once the lanes are known


async def with_lanes(mongo: Mongo, job: str, count: int, effects: OnLanes, now: int) -> None:
    """Take the lowest free lanes of a job (S16, S30)."""
    await persist(partial(_take_lanes, mongo, job, count, effects, now))


async def _take_lanes(mongo: Mongo, job: str, count: int, effects: OnLanes, now: int) -> None:
    document = await mongo.jobs.find_one({"_id": job})
    if document is None or await apply_all(mongo, [document], now):
        raise LostRaceError
    holders = (await read_holders(mongo, [job])).get(job, [])
    taken = {holder.lane for holder in holders}
    free = [lane for lane in range(document["lanes"]) if lane not in taken][:count]
    if len(free) < count:
        others = f"run {', '.join(holder.run for holder in holders)}" if holders else "another that you ask for"
        raise ConflictError(
            f"{job} is active: {others} is in the way; wait for it, cancel it, or ask to run beside it"
        )
    if not await commit(mongo, [Intent(document, document.get("wake_at"), effects=effects(free))], now):
        raise LostRaceError
