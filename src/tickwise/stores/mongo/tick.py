"""One pass: due jobs are read, planned all at once, and moved each by its own compare-and-set (see `plans`).

Nothing is locked. Nodes that pass at the same moment plan the same jobs, and one of them moves each. A job that
was changed while it was planned stays due.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...core.model import Facts, Planned, Start, TickPlan, Trigger
from ...core.payload import UnreadableText
from ...core.slots import due_at
from ...core.states import RunState
from ..records import MICRO, Lease, LeaseRequest, Planner, TickResult
from .base import Document, Mongo
from .facts import read_facts
from .fleet import pause_state
from .intents import Effects, Intent, apply_all, commit
from .jobs import JobDocument, ScheduleDocument, load, recorded
from .limits import limited
from .runs import held_by, lease_of, new_run, waiting


class ClaimQuery(NamedTuple):
    """Who passes, and over what: so many due jobs, or those that are named."""

    node: str
    limit: int
    names: Sequence[str] | None = None
    reserve: LeaseRequest | None = None


async def tick(mongo: Mongo, planner: Planner, claim: ClaimQuery) -> TickResult:
    now, stands = await mongo.now(), await pause_state(mongo)
    if stands.paused:
        return TickResult(now)
    claimed = await _claimed(mongo, claim, now)
    if not claimed:
        return TickResult(now, next_due=await next_due(mongo))
    jobs = {job.name: job for job in await load(mongo, claimed)}
    facts = await read_facts(mongo, jobs, now)
    plan = planner(now // MICRO, [state for job in jobs.values() for state in job.states], facts)
    contested = await _contested(mongo, plan, jobs, facts)
    starts = [start for start in plan.starts if start.job not in contested]
    runs = await _runs(mongo, starts, jobs, claim, await mongo.now() if starts else now)
    _decide(plan, jobs, runs, now // MICRO)
    intents = _intents(plan, [job for name, job in jobs.items() if name not in contested], runs, now)
    won = await commit(mongo, intents, now)
    return await _ticked(mongo, claim, now, won, len(claimed), [r for job in won for r in runs.get(job, ())])


async def next_due(mongo: Mongo) -> int | None:
    """The earliest second at which a claim finds a job."""
    first = await mongo.jobs.find_one(_claimable({"$exists": True}), {"wake_at": 1}, sort=[("wake_at", 1)])
    return first["wake_at"] if first else None


def _claimable(wake_at: Document) -> Document:
    return {"wake_at": wake_at, "local": False}


async def _claimed(mongo: Mongo, claim: ClaimQuery, now: int) -> list[Document]:
    """Due jobs, the earliest first, or those that were named; plans that somebody left are fulfilled before."""
    if claim.names is None:
        due = mongo.jobs.find(_claimable({"$lte": now // MICRO})).sort("wake_at").limit(claim.limit)
    else:
        due = mongo.jobs.find({"_id": {"$in": list(claim.names)}, "deleted_at": {"$exists": False}})
    found = await due.to_list()
    while await apply_all(mongo, found, now):  # again, if others have moved one meanwhile
        found = await mongo.jobs.find({"_id": {"$in": [job["_id"] for job in found]}}).to_list()
    return found


async def _contested(mongo: Mongo, plan: TickPlan, jobs: Mapping[str, JobDocument], facts: Facts) -> set[str]:
    """Jobs of which a start asks for a slot that has a run, or for a lane that is held. They stay as they are."""
    taken = {("lane", job, holder.lane) for job, each in facts.jobs.items() for holder in each.holders}
    last = {name: held.last_slot for job in jobs.values() for name, held in job.schedules.items()}
    old = [s for s in plan.starts if (newest := last[s.schedule]) is not None and s.slot <= newest]
    if old:
        pairs = [{"schedule": start.schedule, "slot": start.slot} for start in old]
        async for run in mongo.runs.find({"$or": pairs}, {"schedule": 1, "slot": 1}):
            taken.add(("slot", run["schedule"], run["slot"]))
    contested = set()
    for start in plan.starts:
        keys = {("lane", start.job, start.lane), ("slot", start.schedule, start.slot)}
        if keys & taken:
            contested.add(start.job)
        taken |= keys
    return contested


async def _runs(
    mongo: Mongo, starts: Sequence[Start], jobs: Mapping[str, JobDocument], claim: ClaimQuery, now: int
) -> dict[str, list[Document]]:
    """The runs to insert, by job, with their ids; some may be in the hands of the node already."""
    await mongo.book.read(jobs[start.job].document["definition"] for start in starts)
    reserve = await _reserved(mongo, claim.reserve, now) if starts and claim.reserve else None
    free = reserve.capacity if reserve else 0
    found: dict[str, list[Document]] = defaultdict(list)
    for id_, start in zip(await mongo.numbers(len(starts)), starts, strict=True):
        job = jobs[start.job]
        run = _run(id_, start, job, job.schedules[start.schedule], now) | {"claimed_by": claim.node}
        if free and reserve and _may_lease(mongo, job.document, reserve):
            free -= 1
            run |= held_by(reserve, now)
        found[start.job].append(run)
    return found


def _run(id_: int, start: Start, job: JobDocument, held: ScheduleDocument, now: int) -> Document:
    policy, live = held.state.definition.policy, start.trigger is Trigger.SCHEDULE
    document = job.document
    return new_run(
        _id=id_, job=start.job, schedule=start.schedule, slot=start.slot, lane=start.lane,
        trigger=str(start.trigger), definition=document["definition"], times=held.digest, queue=document["queue"],
        priority=document["priority"], function=document.get("function"), created_at=now,
        due_at=due_at(held.state, start.slot) * MICRO if live else now,
        expires_at=None if policy.expires is None else now + policy.expires * MICRO,
    )  # fmt: skip


async def _reserved(mongo: Mongo, reserve: LeaseRequest, now: int) -> LeaseRequest | None:
    """What may be handed out at once: nothing while others wait, and nothing of a queue with a limit."""
    if not reserve.capacity or await mongo.runs.find_one(waiting(reserve.queues, now), {"_id": 1}):
        return None
    limits = await limited(mongo, reserve.queues)
    return reserve._replace(queues=tuple(queue for queue in reserve.queues if queue not in limits))


def _may_lease(mongo: Mongo, job: Document, reserve: LeaseRequest) -> bool:
    function = job.get("function")
    if job["queue"] not in reserve.queues or not (function is None or function in reserve.functions):
        return False
    try:
        return not mongo.book.job(job["definition"], job["_id"]).at_most_once
    except UnreadableText:  # who leases it will find that out
        return False


def _decide(
    plan: TickPlan, jobs: Mapping[str, JobDocument], runs: Mapping[str, Sequence[Document]], second: int
) -> None:
    """Put the plan into the jobs in hand."""
    for planned in plan.schedules:
        held = jobs[planned.schedule.job].schedules[planned.schedule.name]
        held.state = planned.schedule._replace(deleted_at=second) if planned.remove else planned.schedule
        held.wake_at = _wake_at(planned)
    for run in (run for made in runs.values() for run in made):
        held = jobs[run["job"]].schedules[run["schedule"]]
        held.last_run = run["_id"]
        held.last_slot = run["slot"] if held.last_slot is None else max(run["slot"], held.last_slot)


def _wake_at(planned: Planned) -> int | None:
    return None if planned.remove else planned.wake_at


def _intents(
    plan: TickPlan, jobs: Iterable[JobDocument], runs: Mapping[str, Sequence[Document]], now: int
) -> list[Intent]:
    job_of = {planned.schedule.name: planned.schedule.job for planned in plan.schedules}
    cancels, decisions = defaultdict(list), defaultdict(list)
    for cancel in plan.cancels:
        cancels[job_of[cancel.schedule]].append(int(cancel.run))
    for decision in plan.decisions:
        decisions[job_of[decision.schedule]].append(decision)
    return [
        Intent(
            job.document, job.wake_at(now // MICRO), job.fields(now // MICRO),
            Effects(runs.get(job.name, ()), cancels[job.name], decisions=recorded(job, decisions[job.name])),
        )
        for job in jobs
    ]  # fmt: skip


async def _ticked(
    mongo: Mongo, claim: ClaimQuery, now: int, won: set[str], claimed: int, runs: Sequence[Document]
) -> TickResult:
    leased = sorted((run for run in runs if run["state"] == RunState.RUNNING), key=lambda run: int(run["_id"]))
    leases: tuple[Lease, ...] = tuple(lease_of(mongo.book, run) for run in leased)
    if len(runs) > len(leases):
        await mongo.news.tell()
    more = len(won) < claimed or (claim.names is None and claimed == claim.limit)
    return TickResult(now, len(won), len(runs), leases, more, None if more else await next_due(mongo))
