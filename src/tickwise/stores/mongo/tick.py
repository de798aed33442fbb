"""One pass: due jobs are read, planned all at once, and moved each by its own compare-and-set (see `intents`).

Nothing is locked. Nodes that pass at the same moment plan the same jobs, and one of them moves each. A job that
was changed while it was planned stays due.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import NamedTuple

from bson import ObjectId

from ...core.definition import Policy
from ...core.events import run_params_text
from ...core.jobstate import JobState, Key, UnreadableSchedule, by_job, contested_jobs
from ...core.model import Facts, Start, TickPlan, Trigger
from ...core.payload import UnreadableText
from ...core.planner import starts_in_order
from ...core.requirements import LiveWorkers
from ...core.schedule_pass import LONGEST_SLEEP
from ...core.slots import due_at
from ...core.states import RunState
from ..isolation import SET_ASIDE_SECONDS
from ..job_document import Document, JobDocument, fields, recorded
from ..records import MICRO, Lease, LeaseRequest, Planner, TickResult
from ..run_document import lease_of
from ..whole_scan import Scan, WokenJobs
from .base import WHOLE_ANSWER, Mongo
from .batch import SimpleMove, free_moves, plan_simple_jobs
from .fleet import pause_state
from .intents import Effects, Intent, commit, settle
from .jobs import Holders, load, read_facts, read_holders
from .lease import limited
from .runs import held_by, ids_of, new_run, waiting
from .workers import live_workers, wake_held

_NO_PLAN = TickPlan()
_EARLIEST = -(1 << 62)  # a job that is never due has no number there


class ClaimQuery(NamedTuple):
    """Which node passes, and over what: so many due jobs, or those that are named."""

    node: str
    limit: int
    names: Sequence[str] | None = None
    reserve: LeaseRequest | None = None


async def tick(mongo: Mongo, planner: Planner, claim: ClaimQuery, names: list[str]) -> TickResult:
    """The pass. `names` tells the caller which jobs a refusal was about.

    Two round trips if nothing is due, six if runs start: what needs no other's answer is asked for at once.
    """
    now, pauses = await asyncio.gather(mongo.now(), pause_state(mongo))
    if pauses.paused:
        return TickResult(now)
    async with _claims(mongo, claim, now) as (claimed, following):
        if not claimed:
            return TickResult(now, next_due=following)
        names += [job["_id"] for job in claimed]
        moved = await _move_claimed(mongo, planner, claim, claimed, _Moment(now, pauses.ended))
        return await _result(mongo, claim, TickResult(now, next_due=following), len(claimed), moved)


class _Moment(NamedTuple):
    """The time at which a pass begins, and the number of the last pause of everything that has ended by then."""

    now: int
    latest_pause: int


async def _move_claimed(
    mongo: Mongo, planner: Planner, claim: ClaimQuery, claimed: Sequence[Document], moment: _Moment
) -> list[Intent]:
    """Plan the jobs and move them; the moves that were made."""
    now = moment.now
    await _read_definitions(mongo, claim, claimed)
    candidates = plan_simple_jobs(mongo, planner, claimed, *moment)
    context = await _read_context(mongo, claim, claimed, len(candidates), now)
    simple = free_moves(candidates, context.holders, context.workers)
    names = {move.document["_id"] for move in simple}
    jobs = {job.name: job for job in await load(mongo, (each for each in claimed if each["_id"] not in names))}
    facts = await read_facts(mongo, jobs.values(), context.holders, context.workers, now)
    schedules = [schedule for job in jobs.values() for schedule in job.state.live.values()]
    plan = planner(now // MICRO, schedules, facts) if schedules else _NO_PLAN
    contested = contested_jobs(plan.starts, await _taken(mongo, plan, facts))
    starts = [_planned_run(jobs[start.job], start) for start in plan.starts if start.job not in contested]
    runs = await _run_documents(mongo, claim, context, [*map(_simple_run, simple), *starts])
    parts = by_job(plan)
    intents = [
        _intent(job, parts.get(name, _NO_PLAN), runs.get(name, ()), now)
        for name, job in jobs.items() if name not in contested
    ]  # fmt: skip
    alike = [move.intent(runs[move.document["_id"]][0]) for move in simple]
    won = await commit(mongo, intents, now, alike)
    if any(i.name in won and i.fields["held"] and not jobs[i.name].state.held for i in intents):
        await wake_held(mongo, now)
    return [intent for intent in (*alike, *intents) if intent.name in won]


class _PassContext(NamedTuple):
    """What a pass has to know beside its jobs, read after them; `now` is the time as of then."""

    holders: Holders
    workers: LiveWorkers
    now: int
    ids: list[int]  # for so many runs as are most likely started
    reserve: LeaseRequest | None  # what may be leased at once


async def _read_context(
    mongo: Mongo, claim: ClaimQuery, claimed: Sequence[Document], likely: int, now: int
) -> _PassContext:
    return _PassContext(
        *await asyncio.gather(
            read_holders(mongo, [job["_id"] for job in claimed]),
            live_workers(mongo, now),
            mongo.now(),
            mongo.numbers(likely),
            _reservable(mongo, claim.reserve, now),
        )
    )


async def _read_definitions(mongo: Mongo, claim: ClaimQuery, claimed: Sequence[Document]) -> None:
    """Those of schedules, and of jobs if their runs may be leased; most often all of them are known."""
    digests = [entry["definition"] for job in claimed for entry in job["schedules"]]
    if claim.reserve:
        digests += [job["definition"] for job in claimed]
    await mongo.cache.read(digests)


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
    return await _first_due(mongo, {"$gte": _EARLIEST})


async def _following(mongo: Mongo, claim: ClaimQuery, now: int) -> int | None:
    """The second at which the next job is due, if all that are due now have been claimed."""
    return await _first_due(mongo, {"$gt": now // MICRO} if claim.names is None else {"$gte": _EARLIEST})


async def _first_due(mongo: Mongo, wake_at: Document) -> int | None:
    first = await mongo.jobs.find_one(_claimable(wake_at), {"wake_at": 1}, sort=[("wake_at", 1)])
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


@asynccontextmanager
async def _claims(
    mongo: Mongo, claim: ClaimQuery, now: int
) -> AsyncIterator[tuple[Sequence[Document], int | None]]:
    """Jobs to pass over, and when the next one is due. Another pass of this process takes others meanwhile."""
    names: list[str] = []
    try:
        async with mongo.claiming:
            found, following = await asyncio.gather(_due(mongo, claim, now), _following(mongo, claim, now))
            names = [job["_id"] for job in found.jobs]
            mongo.claimed.update(names)
        yield await _settled(mongo, found, now), following
    finally:
        mongo.claimed.difference_update(names)


class _Found(NamedTuple):
    """Jobs as they were read, and then the moves that were in the log."""

    jobs: list[Document]
    open_moves: set[ObjectId]


async def _due(mongo: Mongo, claim: ClaimQuery, now: int) -> _Found:
    """Due jobs, the earliest first, or those that were named.

    The log is read by the same command: the server comes to it when it has found all jobs.
    """
    if claim.names is None:
        wanted = _claimable({"$lte": now // MICRO})
        if mongo.claimed:
            wanted["_id"] = {"$nin": list(mongo.claimed)}
        due: list[Document] = [{"$match": wanted}, {"$sort": {"wake_at": 1}}, {"$limit": claim.limit}]
    else:
        due = [{"$match": {"_id": {"$in": list(claim.names)}, "deleted_at": {"$exists": False}}}]
    log = {"coll": mongo.intents.name, "pipeline": [{"$project": {"_id": 1}}]}
    found = await mongo.jobs.aggregate([*due, {"$unionWith": log}], batchSize=WHOLE_ANSWER)
    rows = await found.to_list()
    jobs = [row for row in rows if "schedules" in row]
    return _Found(jobs, {row["_id"] for row in rows[len(jobs) :]})


async def _settled(mongo: Mongo, found: _Found, now: int) -> list[Document]:
    """Jobs as they are when the plans that others have left are applied; again, if others move one meanwhile."""
    jobs = found.jobs
    if any(job.get("move") in found.open_moves for job in jobs):
        while await settle(mongo, jobs, now):
            again = {"_id": {"$in": [job["_id"] for job in jobs]}}
            jobs = await mongo.jobs.find(again, batch_size=WHOLE_ANSWER).to_list()
    return jobs


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


class _NewRun(NamedTuple):
    """A start with all that its document needs."""

    start: Start
    job: Document
    times: str  # the digest of its schedule's definition
    policy: Policy
    due_at: int | None  # in microseconds; none if it is due when it is made


def _simple_run(move: SimpleMove) -> _NewRun:
    times = move.document["schedules"][0]["definition"]
    return _NewRun(move.start, move.document, times, move.schedule.policy, move.slot * MICRO)


def _planned_run(job: JobDocument, start: Start) -> _NewRun:
    schedule = job.state.schedules[start.schedule].schedule
    due = due_at(schedule, start.slot) * MICRO if start.trigger is Trigger.SCHEDULE else None
    times = job.entries[start.schedule]["definition"]
    return _NewRun(start, job.document, times, schedule.definition.policy, due)


async def _run_documents(
    mongo: Mongo, claim: ClaimQuery, context: _PassContext, new: Sequence[_NewRun]
) -> dict[str, list[Document]]:
    """The runs to insert, by job, with their ids; some may be leased to the node already."""
    ids = [*context.ids, *await mongo.numbers(max(0, len(new) - len(context.ids)))]
    by_start = {each.start: each for each in new}
    made = [
        (by_start[start].job, _run_document(id_, by_start[start], context.now) | {"claimed_by": claim.node})
        for id_, start in zip(ids, starts_in_order(list(by_start)), strict=False)
    ]
    if context.reserve:
        for run in _next_to_lease(mongo, context.reserve, made):
            run.update(held_by(context.reserve, context.now))
    found: dict[str, list[Document]] = defaultdict(list)
    for job, run in made:
        found[job["_id"]].append(run)
    return found


def _next_to_lease(
    mongo: Mongo, reserve: LeaseRequest, made: Sequence[tuple[Document, Document]]
) -> list[Document]:
    """The new runs that are leased when they are made, chosen as a lease would."""
    rank = {queue: n for n, queue in enumerate(dict.fromkeys(reserve.queues))}
    wanted = [run for job, run in made if _may_lease(mongo, job, reserve)]
    wanted.sort(key=lambda run: (rank[run["queue"]], -run["priority"], run["due_at"], run["_id"]))
    return wanted[: reserve.capacity]


def _run_document(id_: int, new: _NewRun, now: int) -> Document:
    start, job, times, policy, due = new
    return new_run(
        _id=id_, job=start.job, schedule=start.schedule, slot=start.slot, lane=start.lane,
        trigger=str(start.trigger), definition=job["definition"], times=times, queue=job["queue"],
        priority=job["priority"], requires=job["requires"], created_at=now,
        params=run_params_text(start.events),
        due_at=now if due is None else due,
        expires_at=None if policy.expires is None else now + policy.expires * MICRO,
    )  # fmt: skip


async def _reservable(mongo: Mongo, reserve: LeaseRequest | None, now: int) -> LeaseRequest | None:
    """What may be leased at once: nothing while other runs wait, and nothing of a queue with a limit."""
    if reserve is None or not reserve.capacity:
        return None
    others = {**waiting(reserve.queues, now), "requires": {"$nin": mongo.unmet.beyond(reserve.offers)}}
    waits, limits = await asyncio.gather(mongo.runs.find_one(others, {"_id": 1}), limited(mongo, reserve.queues))
    if waits:
        return None
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
    overdue = [{"run": int(cancel.run), "error": cancel.error} for cancel in plan.cancels if cancel.error]
    effects = Effects(runs, [int(cancel.run) for cancel in plan.cancels], overdue, decisions=recorded(state))
    new = fields(replace(job, state=state), now, {run["schedule"]: run["_id"] for run in runs})
    return Intent(job.document, state.wake_at(now // MICRO), new, effects)


async def _result(
    mongo: Mongo, claim: ClaimQuery, before: TickResult, claimed: int, moved: Sequence[Intent]
) -> TickResult:
    """What came of the pass; `before` says when the next of the jobs is due that were not claimed."""
    runs = [run for intent in moved for run in intent.effects.runs]
    leased = sorted((run for run in runs if run["state"] == RunState.RUNNING), key=lambda run: int(run["_id"]))
    leases: tuple[Lease, ...] = tuple(lease_of(mongo.cache, run) for run in leased)
    more = len(moved) < claimed or (claim.names is None and claimed == claim.limit)
    following = None
    if claim.names is not None and not more:
        following = await next_due(mongo)
    elif not more:
        due = [before.next_due, *(intent.wake_at for intent in moved)]
        following = min((second for second in due if second is not None), default=None)
    return before._replace(jobs=len(moved), runs=len(runs), leases=leases, more=more, next_due=following)
