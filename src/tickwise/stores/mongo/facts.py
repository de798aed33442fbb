"""What the verdicts of a pass depend on besides the schedules: a few queries, made after the jobs were read."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ...core.model import Facts, Holder, JobFacts, ScheduleFacts, Trigger
from .base import Document, Mongo
from .fleet import served_queues
from .jobs import JobDocument, ScheduleDocument


async def read_facts(mongo: Mongo, jobs: Mapping[str, JobDocument], now: int) -> Facts:
    holders = await holders_of(mongo, jobs)
    served = await served_queues(mongo, now)
    slots = await _slots_with_run(mongo, [held for job in jobs.values() for held in job.live])
    return Facts(
        jobs={name: _job_facts(job.document, holders.get(name, []), served) for name, job in jobs.items()},
        schedules={
            held.state.name: ScheduleFacts(slots.get(held.state.name, frozenset()), held.last_slot)
            for job in jobs.values() for held in job.live
        },
        successes=await _successes(mongo, jobs.values()),
    )  # fmt: skip


async def holders_of(mongo: Mongo, jobs: Iterable[str]) -> dict[str, list[Holder]]:
    """Who holds the lanes of jobs, in their order."""
    which = {"job": {"$in": list(jobs)}, "lane": {"$exists": True}}
    held = mongo.runs.find(which, {"job": 1, "lane": 1, "trigger": 1, "cancelling": 1})
    found: dict[str, list[Holder]] = defaultdict(list)
    async for run in held.sort([("job", 1), ("lane", 1)]):
        holder = Holder(str(run["_id"]), run["lane"], Trigger.of(run["trigger"]), run["cancelling"])
        found[run["job"]].append(holder)
    return found


def _job_facts(job: Document, holders: list[Holder], served: frozenset[str]) -> JobFacts:
    unserved = "" if job["queue"] in served else job["queue"]
    return JobFacts(tuple(holders), unserved, job.get("last_manual"), job.get("last_success"))


async def _slots_with_run(mongo: Mongo, schedules: Iterable[ScheduleDocument]) -> dict[str, set[int]]:
    """Slots that may be pending although they have a run; in the common case none, and nothing is asked."""
    since = [
        {"schedule": held.state.name, "slot": {"$gt": from_}}
        for held in schedules
        if held.last_slot is not None and held.last_slot > (from_ := undecided_from(held))
    ]
    found: dict[str, set[int]] = defaultdict(set)
    if since:
        async for run in mongo.runs.find({"$or": since}, {"schedule": 1, "slot": 1}):
            found[run["schedule"]].add(run["slot"])
    return found


def undecided_from(held: ScheduleDocument) -> int:
    """Slots up to here will not be pending again."""
    state = held.state
    from_ = state.reopened[0] - 1 if state.reopened else state.cursor
    return min(from_, state.backfill.cursor) if state.backfill else from_


async def _successes(mongo: Mongo, jobs: Iterable[JobDocument]) -> dict[str, tuple[int, ...]]:
    """Successes of schedules that others wait for (S35). A run without a schedule counts for all of its job."""
    schedules = [held for job in jobs for held in job.live]
    needed = [after for held in schedules for after in held.state.definition.policy.after]
    if not needed:
        return {}
    oldest = min(map(undecided_from, schedules)) - max(after.within for after in needed)
    wanted = sorted({after.schedule for after in needed})
    owners = await mongo.jobs.find({"names": {"$in": wanted}}, {"names": 1}).to_list()
    found: dict[str, list[int]] = defaultdict(list)
    which = {"job": {"$in": [owner["_id"] for owner in owners]}, "reference": {"$gt": oldest}}
    names = {owner["_id"]: owner["names"] for owner in owners}
    async for run in mongo.runs.find(which, {"job": 1, "schedule": 1, "reference": 1}).sort("reference"):
        for name in [run["schedule"]] if "schedule" in run else names[run["job"]]:
            found[name].append(run["reference"])
    return {name: tuple(found[name]) for name in wanted}
