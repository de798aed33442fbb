"""One pass: due jobs are read, planned all at once, and moved by one script, each by its own compare-and-set.

Nothing is locked. Nodes that pass at the same moment plan the same jobs, and one of them moves each. A job that
was changed while it was planned stays due.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from ...core.events import run_params_text
from ...core.jobstate import by_job
from ...core.model import Start, TickPlan, Trigger
from ...core.payload import UnreadableText, clip
from ...core.reasons import Reason
from ...core.requirements import NOTHING, LiveWorkers
from ...core.schedule_pass import LONGEST_SLEEP
from ...core.slots import due_at
from ..isolation import SET_ASIDE_SECONDS
from ..job_document import Document, JobDocument, present
from ..records import MICRO, Planner, TickRequest, TickResult
from ..validation import LONGEST_ERROR
from ..whole_scan import Scan, WokenJobs
from .base import RedisServer
from .finish import readable_leases
from .jobs import JobMove, JobSnapshots, job_move, load, read_facts, read_jobs
from .lease import call_with_offers, live_workers, request_of
from .runs import run_of

_NO_PLAN = TickPlan()


async def tick(server: RedisServer, planner: Planner, request: TickRequest, named: list[str]) -> TickResult:
    """The pass. `named` tells the caller which jobs a refusal was about."""
    async with _claims(server, request) as answer:
        named += _names(answer)
        return await _move_claimed(server, planner, request, answer)


@asynccontextmanager
async def _claims(server: RedisServer, request: TickRequest) -> AsyncIterator[Document]:
    """Jobs to pass over. Another pass of this process takes others meanwhile."""
    names: list[str] = []
    try:
        async with server.claiming:
            if request.jobs is None:
                answer = await server.call("claim", limit=request.limit, claimed=list(server.claimed))
            else:
                answer = await server.call("claim", names=list(dict.fromkeys(request.jobs)))
            names = _names(answer)
            server.claimed.update(names)
        yield answer
    finally:
        server.claimed.difference_update(names)


def _names(answer: Document) -> list[str]:
    return [job[0] for job in answer["plain"]] + [job["name"] for job in answer["jobs"]]


async def _move_claimed(
    server: RedisServer, planner: Planner, request: TickRequest, answer: Document
) -> TickResult:
    """Plan the jobs and move them."""
    node, limit, names, reserve = request
    claimed, now = JobSnapshots(answer), answer["now"]
    due = len(claimed.jobs) + len(answer["plain"])
    if not due:
        return TickResult(now, next_due=None if claimed.paused else answer["next_due"])
    workers = await live_workers(server, answer["workers"])
    starts, others = server.plain_jobs.plan(planner, answer["plain"], claimed.pauses, workers, now)
    if others:
        read = (await read_jobs(server, others)).jobs
        claimed.jobs |= {name: job for name, job in read.items() if job.live}
    given = {"reserve": request_of(server, reserve)} if reserve and reserve.capacity > 0 else {}
    moves, runs = await _plan_others(server, planner, claimed, workers, node)
    done = await call_with_offers(
        server, "commit", reserve.offers if reserve else NOTHING, node=node, seen=answer["seen"], starts=starts,
        jobs=[move.order for move in moves.values()], runs=runs, **{"pass": True}, **given,
    )  # fmt: skip
    server.plain_jobs.remember({name: moves[name].plain for name in done["won"]})
    leases = await readable_leases(server, [run_of(run) for run in done["leases"]])
    decided = len(done["won"]) + done["moved"]
    more = decided < due or (names is None and due == limit)
    return TickResult(now, decided, done["made"], leases, more, None if more else done["next_due"])


async def _plan_others(
    server: RedisServer, planner: Planner, claimed: JobSnapshots, workers: LiveWorkers, node: str
) -> tuple[dict[str, JobMove], list[Document]]:
    """The long way: how each job changes, and the runs that they start."""
    if not claimed.jobs:
        return {}, []
    now, jobs = claimed.now, await load(server, claimed.jobs.values(), claimed.pauses)
    facts = await read_facts(server, jobs, claimed, workers)
    schedules = [schedule for job in jobs.values() for schedule in job.state.live.values()]
    plan = planner(now // MICRO, schedules, facts)
    await server.cache.read({job.document["definition"] for job in jobs.values()})
    runs = [_start_document(server, start, jobs[start.job], node) for start in plan.starts]
    return _moves(server, claimed, jobs, plan), runs


def _moves(
    server: RedisServer, claimed: JobSnapshots, jobs: Mapping[str, JobDocument], plan: TickPlan
) -> dict[str, JobMove]:
    """How each job changes by its part of the plan."""
    parts, moves, now = by_job(plan), dict[str, JobMove](), claimed.now
    for name, job in jobs.items():
        part = parts.get(name, _NO_PLAN)
        after = replace(job, state=job.state.commit(part, now // MICRO))
        moves[name] = job_move(server, claimed.jobs[name], after, now)
        if part.cancels:
            moves[name].order["cancels"] = [cancel.run for cancel in part.cancels]
            moves[name].order["failures"] = {cancel.run: cancel.error for cancel in part.cancels}
    return moves


def _start_document(server: RedisServer, start: Start, job: JobDocument, node: str) -> Document:
    document, schedule = job.document, job.state.schedules[start.schedule].schedule
    live = start.trigger is Trigger.SCHEDULE
    return present({
        "job": start.job, "schedule": start.schedule, "slot": start.slot, "lane": start.lane,
        "trigger": str(start.trigger), "definition": document["definition"],
        "times": job.entries[start.schedule]["definition"], "queue": document["queue"],
        "priority": document["priority"], "requires": document["requires"], "claimed_by": node,
        "due_at": due_at(schedule, start.slot) * MICRO if live else None,
        "params": run_params_text(start.events),
        "expires": schedule.definition.policy.expires, "once": _is_once(server, start.job, document) or None,
    })  # fmt: skip


def _is_once(server: RedisServer, job: str, document: Document) -> bool:
    """Whether a run may not be leased in the pass that makes it (S43)."""
    try:
        return server.cache.job(document["definition"], job).at_most_once
    except UnreadableText:  # the worker that leases it will find that out
        return True


async def set_aside(server: RedisServer, job: str, problem: str) -> int:
    """Put off a job whose plan could not be made or written, and record why (S20); the store's time."""
    answer = await server.call(
        "set_aside", name=job, seconds=SET_ASIDE_SECONDS, reason=Reason.BROKEN.code,
        problem=clip(problem, LONGEST_ERROR),
    )  # fmt: skip
    return int(answer["now"])


async def wake_lost(server: RedisServer, scan: Scan) -> WokenJobs:
    """Make jobs due that nothing would wake."""
    given = {"latest": LONGEST_SLEEP} if scan is Scan.AFTER_SET_BACK else {}
    found = await server.call("scan", **given)
    return WokenJobs(list(found["lost"]), bool(found["woken"]))
