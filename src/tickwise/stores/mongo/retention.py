"""Retention: runs that their job does not keep any longer go, with all that hangs on them (S51).

Where history begins is written before anything is removed, by a write that no backfill asked for meanwhile
misses.
"""

from collections.abc import Sequence

from ...core.definition import Keep
from ..job_document import Document
from ..records import MICRO
from .base import Mongo
from .jobs import load
from .lease import numbered, steps_of
from .runs import FORGOTTEN, ids_of

_HOUR = 3_600 * MICRO
_DAY = 24 * _HOUR
_JOBS_PER_PASS, _RUNS_PER_BATCH = 50, 100


async def prune(mongo: Mongo, most: int, keep: Keep) -> int:
    """Look at jobs whose turn it is, and remove at most so many runs."""
    now, removed = await mongo.now(), 0
    await _remove(mongo, await ids_of(mongo.runs, {"state": FORGOTTEN, "finished_at": {"$lt": now - _HOUR}}, most))
    for job in await mongo.jobs.find({"prune_at": {"$lte": now}}).sort("prune_at").limit(_JOBS_PER_PASS).to_list():
        if removed >= most:
            break
        own = Keep(job.get("keep_days"), job.get("keep_runs"))
        removed += await _prune_job(mongo, job, own or keep, most - removed, now, every=_HOUR if own else _DAY)
    return removed


async def _prune_job(mongo: Mongo, job: Document, keep: Keep, most: int, now: int, *, every: int) -> int:
    """Remove runs of a job, and note when to look at it again: not before its oldest run can be removed."""
    finished = {"job": job["_id"], "finished_at": {"$exists": True}}
    oldest = await mongo.runs.find_one(finished, {"finished_at": 1}, sort=[("_id", 1)])
    may_go_at = (oldest["finished_at"] if oldest else now) + max(keep.days or 1, 1) * _DAY
    unwanted = await _unwanted(mongo, job, keep, most, now) if keep and may_go_at < now else []
    again = now if len(unwanted) >= most else max(now + every, may_go_at)
    slots = [run["slot"] for run in unwanted if "slot" in run]
    noted: Document = {"$set": {"prune_at": again}}
    if slots:
        noted |= {"$max": {"history_from": max(slots) + 1}, "$inc": {"seq": 1}}
    await mongo.jobs.update_one({"_id": job["_id"]}, noted)
    await _remove(mongo, [run["_id"] for run in unwanted])
    return len(unwanted)


async def _unwanted(mongo: Mongo, job: Document, keep: Keep, most: int, now: int) -> list[Document]:
    """Finished runs that are too old or too many; but the newest run and success of each schedule stay."""
    finished = {"job": job["_id"], "finished_at": {"$lt": now - max(keep.days or 1, 1) * _DAY}}
    if keep.runs is not None:
        ended = mongo.runs.find({"job": job["_id"], "finished_at": {"$exists": True}}, {"_id": 1})
        newest = await ended.sort("_id", -1).skip(keep.runs).limit(1).to_list()
        finished["_id"] = {"$lte": newest[0]["_id"] if newest else 0}
    (loaded,) = await load(mongo, [job])
    passed = {name: each.undecided_from for name, each in loaded.state.schedules.items()}
    spared = await _spared(mongo, job["_id"]) | {entry.get("last_run") for entry in job["schedules"]}
    unwanted: list[Document] = []
    async for run in mongo.runs.find(finished, {"schedule": 1, "slot": 1}).sort("_id"):
        is_passed = "slot" not in run or run["slot"] <= passed.get(run["schedule"], run["slot"])
        if is_passed and run["_id"] not in spared:
            unwanted.append(run)
        if len(unwanted) == most:
            break
    return unwanted


async def _spared(mongo: Mongo, job: str) -> set[int | None]:
    """The newest run and the newest success of each schedule, which guards ask for."""
    with_slot, newest = {"job": job, "slot": {"$exists": True}}, {"_id": "$schedule", "slot": {"$max": "$slot"}}
    pairs = []
    for which in (with_slot, {**with_slot, "reference": {"$exists": True}}):
        groups = await mongo.runs.aggregate([{"$match": which}, {"$group": newest}])
        pairs += [{"schedule": group["_id"], "slot": group["slot"]} async for group in groups]
    return set(await ids_of(mongo.runs, {"$or": pairs})) if pairs else set()


async def _remove(mongo: Mongo, runs: Sequence[int]) -> None:
    """What hangs on a run goes first, so that nothing is left without its run."""
    for first in range(0, len(runs), _RUNS_PER_BATCH):
        some = runs[first : first + _RUNS_PER_BATCH]
        await mongo.logs.delete_many({"$or": [{"_id": numbered(run)} for run in some]})
        await mongo.steps.delete_many({"$or": [{"_id": steps_of(run)} for run in some]})
        await mongo.runs.delete_many({"_id": {"$in": list(some)}})
