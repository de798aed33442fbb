"""One pass: due jobs are read, planned all at once, and moved each by its own compare-and-set (see `intents`).

Nothing is locked. Nodes that pass at the same moment plan the same jobs, and one of them moves each. A job that
was changed while it was planned stays due.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...core.jobstate import JobState, Key, UnreadableSchedule, by_job, contested_jobs
from ...core.model import Facts, Start, TickPlan, Trigger
from ...core.payload import UnreadableText
from ...core.schedule_pass import LONGEST_SLEEP
from ...core.slots import due_at
from ...core.states import RunState
from ..isolation import SET_ASIDE_SECONDS
from ..job_document import Document, JobDocument, fields, recorded
from ..records import MICRO, Lease, LeaseRequest, Planner, TickResult
from ..run_document import lease_of
from ..whole_scan import Scan, WokenJobs
from .base import Mongo
from .fleet import pause_state
from .intents import Effects, Intent, apply_all, commit
from .jobs import load, read_facts
from .lease import limited
from .runs import held_by, ids_of, new_run, waiting
from .workers import wake_held

_EARLIEST = -(1 << 62)  # a job that is never due has no number there


class ClaimQuery(NamedTuple):
    """Which node passes, and over what: so many due jobs, or those that are named."""

    node: str
    limit: int
    names: Sequence[str] | None = None
    reserve: LeaseRequest | None = None


async def tick(mongo: Mongo, planner: Planner, claim: ClaimQuery, claimed: list[str]) -> TickResult:
    """The pass. `claimed` tells the caller which jobs a refusal was about."""
    now, stands = await mongo.now(), await pause_state(mongo)
    if stands.paused:
        return TickResult(now)
    due = await _claimed(mongo, claim, now)
    if not due:
        return TickResult(now, next_due=await next_due(mongo))
    claimed += [job["_id"] for job in due]
    jobs = {job.name: job for job in await load(mongo, due)}
    facts = await read_facts(mongo, jobs, now)
    schedules = [schedule for job in jobs.values() for schedule in job.state.live.values()]
    plan = planner(now // MICRO, schedules, facts)
    contested = contested_jobs(plan.starts, await _taken(mongo, plan, facts))
    starts = [start for start in plan.starts if start.job not in contested]
    runs = await _start_documents(mongo, starts, jobs, claim, await mongo.now() if starts else now)
    parts = by_job(plan)
    intents = [
        _intent(job, parts.get(name, TickPlan()), runs.get(name, ()), now)
        for name, job in jobs.items() if name not in contested
    ]  # fmt: skip
    won = await commit(mongo, intents, now)
    held = [i.name for i in intents if i.name in won and i.fields["held"] and not jobs[i.name].state.held]
    if held:
        await wake_held(mongo, now)
    return await _result(mongo, claim, now, won, len(due), [r for job in won for r in runs.get(job, ())])


async def set_aside(mongo: Mongo, job: str, problem: str) -> int:
    """Put off a job whose plan could not be made or written, and record why (S20); the store's time."""
    now = await mongo.now()
    if document := await mongo.jobs.find_one({"_id": job}):
        broken = dict.fromkeys(document.get("names", ()), UnreadableSchedule(problem))
        effects = Effects(decisions=recorded(JobState(job, unreadable=broken)))
        await commit(mongo, [Intent(document, now // MICRO + SET_ASIDE_SECONDS, effects=effects)], now)
    return now


async def next_due(mongo: Mongo) -> int | None:
    """The earliest second at which a claim finds a job."""
    first = await mongo.jobs.find_one(_claimable({"$gte": _EARLIEST}), {"wake_at": 1}, sort=[("wake_at", 1)])
    return first["wake_at"] if first else None


async def wake_lost(mongo: Mongo, scan: Scan) -> WokenJobs:
    """Make jobs due that nothing would wake."""
    second = await mongo.now() // MICRO
    lost = await ids_of(mongo.jobs, {**_claimable(None), "idle": False})
    asleep = []
    if scan is Scan.AFTER_SET_BACK:
        asleep = await ids_of(mongo.jobs, {**_claimable({"$gt": second + LONGEST_SLEEP}), "waiting": True})
    if lost or asleep:
        await mongo.jobs.update_many({"_id": {"$in": [*lost, *asleep]}}, {"$set": {"wake_at": second}})
    return WokenJobs(lost, bool(lost or asleep))


def _claimable(wake_at: Document | None) -> Document:
    return {"wake_at": wake_at, "local": False}


async def _claimed(mongo: Mongo, claim: ClaimQuery, now: int) -> list[Document]:
    """Due jobs, the earliest first, or those that were named; intents that were left are applied before."""
    if claim.names is None:
        due = mongo.jobs.find(_claimable({"$lte": now // MICRO})).sort("wake_at").limit(claim.limit)
    else:
        due = mongo.jobs.find({"_id": {"$in": list(claim.names)}, "deleted_at": {"$exists": False}})
    found = await due.to_list()
    while await apply_all(mongo, found, now):  # again, if others have moved one meanwhile
        found = await mongo.jobs.find({"_id": {"$in": [job["_id"] for job in found]}}).to_list()
    return found


async def _taken(mongo: Mongo, plan: TickPlan, facts: Facts) -> set[Key]:
    """The lanes that are held, and the slots that starts ask for and that have a run."""
    taken: set[Key] = {("lane", job, holder.lane) for job, each in facts.jobs.items() for holder in each.holders}
    last = {name: each.last_slot_with_run for name, each in facts.schedules.items()}
    old = [s for s in plan.starts if (newest := last[s.schedule]) is not None and s.slot <= newest]
    if old:
        pairs = [{"schedule": start.schedule, "slot": start.slot} for start in old]
        async for run in mongo.runs.find({"$or": pairs}, {"schedule": 1, "slot": 1}):
            taken.add(("slot", run["schedule"], run["slot"]))
    return taken


async def _start_documents(
    mongo: Mongo, starts: Sequence[Start], jobs: Mapping[str, JobDocument], claim: ClaimQuery, now: int
) -> dict[str, list[Document]]:
    """The runs to insert, by job, with their ids; some may be leased to the node already."""
    await mongo.cache.read(jobs[start.job].document["definition"] for start in starts)
    reserve = await _reservable(mongo, claim.reserve, now) if starts and claim.reserve else None
    free = reserve.capacity if reserve else 0
    found: dict[str, list[Document]] = defaultdict(list)
    for id_, start in zip(await mongo.numbers(len(starts)), starts, strict=True):
        job = jobs[start.job]
        run = _start_document(id_, start, job, now) | {"claimed_by": claim.node}
        if free and reserve and _may_lease(mongo, job.document, reserve):
            free -= 1
            run |= held_by(reserve, now)
        found[start.job].append(run)
    return found


def _start_document(id_: int, start: Start, job: JobDocument, now: int) -> Document:
    document, schedule = job.document, job.state.schedules[start.schedule].schedule
    policy, live = schedule.definition.policy, start.trigger is Trigger.SCHEDULE
    return new_run(
        _id=id_, job=start.job, schedule=start.schedule, slot=start.slot, lane=start.lane,
        trigger=str(start.trigger), definition=document["definition"],
        times=job.entries[start.schedule]["definition"], queue=document["queue"],
        priority=document["priority"], requires=document["requires"], created_at=now,
        due_at=due_at(schedule, start.slot) * MICRO if live else now,
        expires_at=None if policy.expires is None else now + policy.expires * MICRO,
    )  # fmt: skip


async def _reservable(mongo: Mongo, reserve: LeaseRequest, now: int) -> LeaseRequest | None:
    """What may be leased at once: nothing while other runs wait, and nothing of a queue with a limit."""
    others = {**waiting(reserve.queues, now), "requires": {"$nin": mongo.unmet.beyond(reserve.offers)}}
    if not reserve.capacity or await mongo.runs.find_one(others, {"_id": 1}):
        return None
    limits = await limited(mongo, reserve.queues)
    return reserve._replace(queues=tuple(queue for queue in reserve.queues if queue not in limits))


def _may_lease(mongo: Mongo, job: Document, reserve: LeaseRequest) -> bool:
    if job["queue"] not in reserve.queues or not reserve.offers.allow(job["requires"]):
        return False
    try:
        return not mongo.cache.job(job["definition"], job["_id"]).at_most_once
    except UnreadableText:  # the worker that leases it will find that out
        return False


def _intent(job: JobDocument, plan: TickPlan, runs: Sequence[Document], now: int) -> Intent:
    """How a job's document changes by its part of the plan, and what follows from that."""
    state = job.state.commit(plan, now // MICRO)
    effects = Effects(runs, [int(cancel.run) for cancel in plan.cancels], decisions=recorded(state))
    new = fields(replace(job, state=state), now, {run["schedule"]: run["_id"] for run in runs})
    return Intent(job.document, state.wake_at(now // MICRO), new, effects)


async def _result(
    mongo: Mongo, claim: ClaimQuery, now: int, won: set[str], claimed: int, runs: Sequence[Document]
) -> TickResult:
    leased = sorted((run for run in runs if run["state"] == RunState.RUNNING), key=lambda run: int(run["_id"]))
    leases: tuple[Lease, ...] = tuple(lease_of(mongo.cache, run) for run in leased)
    if len(runs) > len(leases):
        await mongo.news.tell()
    more = len(won) < claimed or (claim.names is None and claimed == claim.limit)
    return TickResult(now, len(won), len(runs), leases, more, None if more else await next_due(mongo))
