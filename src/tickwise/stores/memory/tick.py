"""One pass over the memory store: claim due jobs, plan them, and commit the plan.

Nothing else acts meanwhile, so only a faulty planner can ask for a slot or a lane that is taken. Its job then
stays as it was, and due; the others of the plan go on (S16).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from ...core.definition import jobs_needed, successes_of_job
from ...core.events import run_params
from ...core.facts_needed import failures_needed, progress_needed, successes_needed
from ...core.jobstate import JobState, Key, by_job, contested_jobs, facts_of
from ...core.model import Facts, Holder, RunProgress, Schedule, Start, TickPlan, Trigger
from ...core.slots import due_at
from ...core.states import FAILURES, RunState
from ..records import MICRO, LeaseRequest, Planner, TickResult
from ..run_document import run_progress
from .entries import JobEntry, RunEntry, ScheduleEntry
from .lease import hand_out, waits
from .state import MemoryState


def run_pass(
    memory: MemoryState,
    planner: Planner,
    node: str,
    *,
    limit: int,
    names: Sequence[str] | None,
    reserve: LeaseRequest | None,
) -> TickResult:
    now = memory.clock()
    if memory.paused:
        return TickResult(now)
    claimed = _claim(memory, now // MICRO, limit, names)
    jobs = {entry.name: memory.load(entry) for entry in claimed}
    schedules = [schedule for job in jobs.values() for schedule in job.live.values()]
    plan = planner(now // MICRO, schedules, _facts(memory, jobs.values(), now))
    contested = contested_jobs(plan.starts, _taken(memory, plan.starts))
    others_wait = reserve is None or _others_wait(memory, reserve, now)  # before the plan ends any of them
    made = _commit(memory, plan, {name: job for name, job in jobs.items() if name not in contested}, node, now)
    leases = () if others_wait or reserve is None else hand_out(memory, reserve, _leasable(memory, made), now)
    memory.news |= len(made) > len(leases)
    more = bool(contested) or (names is None and len(claimed) == limit)
    return TickResult(now, len(claimed) - len(contested), len(made), leases, more, memory.next_due)


def _claim(memory: MemoryState, second: int, limit: int, names: Sequence[str] | None) -> list[JobEntry]:
    """Due jobs, the earliest first; or those that were named."""
    if names is not None:
        return [job for name in dict.fromkeys(names) if (job := memory.jobs.get(name)) and job.deleted_at is None]
    claimable = (job for job in memory.live_jobs() if not job.local)
    due = [(wake, job.name) for job in claimable if (wake := job.wake_at) is not None and wake <= second]
    return [memory.jobs[name] for _, name in sorted(due)[:limit]]


def _facts(memory: MemoryState, jobs: Collection[JobState], now: int) -> Facts:
    """What the verdicts depend on."""
    needed = successes_needed(jobs)
    names = needed.schedules if needed else []
    known = [name for name in names if name in memory.schedules]
    known_jobs = [name for name in jobs_needed(names) if name in memory.jobs]
    return facts_of(
        jobs,
        {job.name: _holders(memory.jobs[job.name]) for job in jobs},
        memory.live_workers(now),
        {name: frozenset(memory.schedules[name].runs) for job in jobs for name in job.slots_needed()},
        {name: memory.jobs[memory.schedules[name].state.job].successes_of(name) for name in known}
        | {successes_of_job(name): memory.jobs[name].all_successes for name in known_jobs},
        {
            name: _failures(memory.schedules[name], since)
            for job in jobs for name, since in failures_needed(job).items()
        },
        {
            name: _progress_of(memory.schedules[name], slots)
            for job in jobs for name, slots in progress_needed(job, now // MICRO).items()
        },
    )  # fmt: skip


def _failures(schedule: ScheduleEntry, since: int) -> int:
    """How many of its newest runs failed in a row (S66)."""
    newest = (schedule.runs[slot] for slot in sorted(schedule.runs, reverse=True))
    failed = takewhile(lambda run: run.state is not RunState.SUCCEEDED, newest)
    return sum(run.state in FAILURES and (run.finished_at or 0) > since * MICRO for run in failed)


def _progress_of(schedule: ScheduleEntry, slots: Iterable[int]) -> dict[int, RunProgress]:
    """How far the runs of slots have come (S65)."""
    runs = {slot: schedule.runs[slot] for slot in slots if slot in schedule.runs}
    return {
        slot: run_progress(run.id, run.state, run.attempt, run.started_at, run.finished_at)
        for slot, run in runs.items()
    }


def _holders(job: JobEntry) -> list[Holder]:
    return [Holder(run.id, lane, run.trigger, run.cancelling) for lane, run in sorted(job.lanes.items())]


def _taken(memory: MemoryState, starts: Iterable[Start]) -> Iterator[Key]:
    """The slots and lanes that starts ask for and that a run has."""
    for start in starts:
        if start.slot in memory.schedules[start.schedule].runs:
            yield "slot", start.schedule, start.slot
        if start.lane in memory.jobs[start.job].lanes:
            yield "lane", start.job, start.lane


def _commit(
    memory: MemoryState, plan: TickPlan, jobs: Mapping[str, JobState], node: str, now: int
) -> list[RunEntry]:
    """Runs, decisions and cursors. Cancels come last: they wake what has begun to wait."""
    parts, made = by_job(plan), list[RunEntry]()
    for name, job in jobs.items():
        memory.save(memory.jobs[name], job.commit(parts.get(name, TickPlan()), now // MICRO), now)
    for start in plan.starts:
        if start.job in jobs:
            made.append(_make(memory, start, jobs[start.job].schedules[start.schedule].schedule, node, now))
    for cancel in (cancel for name in jobs if name in parts for cancel in parts[name].cancels):
        if run := memory.active.get(cancel.run):
            memory.cancel(run, now, cancel.error)
    return made


def _make(memory: MemoryState, start: Start, state: Schedule, node: str, now: int) -> RunEntry:
    live, expires = start.trigger is Trigger.SCHEDULE, state.definition.policy.expires
    return memory.add(
        RunEntry(
            0, start.job, memory.jobs[start.job].definition, memory.jobs[start.job].requires, start.trigger, now,
            due_at=due_at(state, start.slot) * MICRO if live else now,
            times=state.definition, slot=start.slot, lane=start.lane, claimed_by=node,
            expires_at=None if expires is None else now + expires * MICRO, params=run_params(start.events),
        )
    )  # fmt: skip


def _others_wait(memory: MemoryState, reserve: LeaseRequest, now: int) -> bool:
    """Whether runs wait that the node could lease: they go before those that a pass makes."""
    return any(
        waits(run, now) and run.queue in reserve.queues and reserve.offers.allow(run.requires)
        for run in memory.active.values()
    )


def _leasable(memory: MemoryState, made: Sequence[RunEntry]) -> list[RunEntry]:
    """New runs that may be leased in the pass that makes them."""
    free = (run for run in made if run.state is RunState.QUEUED and run.queue not in memory.limits)
    return [run for run in free if not run.definition.at_most_once]
