"""A job and its schedules: one document, read whole and written back whole; and what runs tell about it.

`load` makes `JobState`s of documents (`job_document`). `read_facts` reads what else a
pass depends on. `with_lanes` takes lanes for runs that a person asks for, as a pass does: by a compare-and-set of
the job's document.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from ...core.definition import jobs_needed, successes_of_job
from ...core.errors import ConflictError
from ...core.facts_needed import failures_needed, progress_needed, successes_needed
from ...core.jobstate import JobState, facts_of
from ...core.model import Facts, Holder, RunProgress, Trigger
from ...core.requirements import LiveWorkers
from ...core.states import FAILURES, RunState
from ..compare_and_set import LostRaceError, persist
from ..job_document import Document, JobDocument, read_state
from ..records import MICRO
from ..run_document import progress_of
from .base import WHOLE_ANSWER, Mongo
from .fleet import ended_pauses
from .intents import Effects, Intent, commit, settle
from .runs import SHOWN

Holders: TypeAlias = Mapping[str, Sequence[Holder]]  # of lanes, by job


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
            read_state(mongo.cache, document["_id"], document).end_pauses(pauses),
            {entry["name"]: entry for entry in document["schedules"]},
        )
        for document in documents
    ]


async def read_facts(
    mongo: Mongo, jobs: Iterable[JobDocument], holders: Holders, workers: LiveWorkers, now: int
) -> Facts:
    """What the verdicts of a pass depend on, read after the jobs were; most often nothing is left to read."""
    states = [job.state for job in jobs]
    slots, successes, failures, progress = await asyncio.gather(
        _slots_with_run(mongo, states), _successes(mongo, states), _failures(mongo, states),
        _progress(mongo, states, now // MICRO),
    )  # fmt: skip
    return facts_of(states, holders, workers, slots, successes, failures, progress)


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
    names: dict[str, list[str]] = {job: [] for job in jobs_needed(needed.schedules)}
    names |= {owner["_id"]: owner["names"] for owner in owners}
    which = {"job": {"$in": list(names)}, "reference": {"$gt": needed.since}}
    found: dict[str, list[int]] = {name: [] for name in needed.schedules}
    async for run in mongo.runs.find(which, {"job": 1, "schedule": 1, "reference": 1}).sort("reference"):
        of_schedules = [run["schedule"]] if "schedule" in run else names[run["job"]]
        for name in (*of_schedules, successes_of_job(run["job"])):
            if name in found:
                found[name].append(run["reference"])
    return found


async def _failures(mongo: Mongo, jobs: Iterable[JobState]) -> dict[str, int]:
    """Of schedules that pause after failures, how many of their newest runs failed in a row (S66)."""
    found: dict[str, int] = {}
    for name, since in (item for job in jobs for item in failures_needed(job).items()):
        which: Document = {"schedule": name, "state": str(RunState.SUCCEEDED), "slot": {"$exists": True}}
        newest = await mongo.runs.find_one(which, {"slot": 1}, sort=[("slot", -1)])
        later = {"$gt": newest["slot"]} if newest else {"$exists": True}
        failed: Document = {
            "schedule": name, "slot": later, "state": {"$in": sorted(map(str, FAILURES))},
            "finished_at": {"$gt": since * MICRO},
        }  # fmt: skip
        found[name] = await mongo.runs.count_documents(failed)
    return found


async def _progress(mongo: Mongo, jobs: Iterable[JobState], second: int) -> dict[str, dict[int, RunProgress]]:
    """How far the runs have come of slots whose deadlines have come (S65)."""
    needed = [
        {"schedule": name, "slot": {"$in": slots}, **SHOWN}
        for job in jobs for name, slots in progress_needed(job, second).items()
    ]  # fmt: skip
    found: dict[str, dict[int, RunProgress]] = defaultdict(dict)
    if needed:
        fields = dict.fromkeys("schedule slot state attempt started_at finished_at".split(), 1)
        async for run in mongo.runs.find({"$or": needed}, fields):
            found[run["schedule"]][run["slot"]] = progress_of(run)
    return found


OnLanes: TypeAlias = Callable[[Sequence[int]], Effects]  # what is to be done, once the lanes are known


async def with_lanes(mongo: Mongo, job: str, count: int, effects: OnLanes, now: int) -> None:
    """Take the lowest free lanes of a job (S16, S30)."""
    await persist(partial(_take_lanes, mongo, job, count, effects, now))


async def _take_lanes(mongo: Mongo, job: str, count: int, effects: OnLanes, now: int) -> None:
    document = await mongo.jobs.find_one({"_id": job})
    if document is None or await settle(mongo, [document], now):
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
