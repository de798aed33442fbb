"""One pass over the memory store: claim due jobs, plan them, and make the plan true.

Nobody else acts meanwhile, so only a planner can break a unique key. Its job then stays as it was, and due; the
others of the plan go on (S16).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...core.model import (
    Decision,
    Facts,
    Holder,
    JobFacts,
    Planned,
    Schedule,
    ScheduleFacts,
    Start,
    TickPlan,
    Trigger,
)
from ...core.slots import due_at
from ...core.states import RunState
from ..records import MICRO, LeaseRequest, Planner, TickResult
from .lease import hand_out, waits
from .state import JobEntry, MemoryState, RunEntry, ScheduleEntry


class _Held(NamedTuple):
    """A schedule in hand, as pauses of everything leave it, and what that decided."""

    entry: ScheduleEntry
    state: Schedule
    decisions: tuple[Decision, ...]


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
    held = {
        entry.state.name: _Held(entry, *memory.after_pauses(entry))
        for job in claimed
        for entry in job.live_schedules
    }
    states = [one.state for one in held.values()]
    plan = planner(now // MICRO, states, _facts(memory, claimed, states, now))
    kept_due = _in_conflict(memory, plan)
    made = _commit(memory, plan, held, kept_due, node, now)
    leases = hand_out(memory, reserve, _at_once(memory, made, reserve, now), now) if reserve else ()
    memory.news |= len(made) > len(leases)
    more = bool(kept_due) or (names is None and len(claimed) == limit)
    return TickResult(now, len(claimed) - len(kept_due), len(made), leases, more, memory.next_due)


def _claim(memory: MemoryState, second: int, limit: int, names: Sequence[str] | None) -> list[JobEntry]:
    """Due jobs, the earliest first; or those that were named."""
    if names is not None:
        return [job for name in dict.fromkeys(names) if (job := memory.jobs.get(name)) and job.deleted_at is None]
    claimable = (job for job in memory.live_jobs() if not job.local)
    due = [(wake, job.name) for job in claimable if (wake := job.wake_at) is not None and wake <= second]
    return [memory.jobs[name] for _, name in sorted(due)[:limit]]


def _facts(memory: MemoryState, jobs: Iterable[JobEntry], states: Iterable[Schedule], now: int) -> Facts:
    """What the verdicts depend on."""
    served = memory.served_queues(now)
    needed = {after.schedule for state in states for after in state.definition.policy.after}
    return Facts(
        jobs={job.name: _job_facts(job, served) for job in jobs},
        schedules={state.name: _schedule_facts(memory.schedules[state.name], state) for state in states},
        successes={
            name: memory.jobs[entry.state.job].successes_of(name)
            for name in needed if (entry := memory.schedules.get(name))
        },
    )  # fmt: skip


def _job_facts(job: JobEntry, served: set[str]) -> JobFacts:
    queue = job.definition.queue
    return JobFacts(
        tuple(Holder(run.id, lane, run.trigger, run.cancelling) for lane, run in sorted(job.lanes.items())),
        "" if queue in served else queue,
        job.last_manual_start,
        job.last_success,
    )


def _schedule_facts(entry: ScheduleEntry, state: Schedule) -> ScheduleFacts:
    newest = entry.last_slot
    asked = state.backfill or state.reopened or (newest is not None and newest > state.cursor)
    return ScheduleFacts(frozenset(entry.runs) if asked else frozenset(), newest)


def _in_conflict(memory: MemoryState, plan: TickPlan) -> set[str]:
    """Jobs of which a start asks for a slot that has a run, or for a lane that is held."""
    taken: set[tuple[str, int | str, int]] = set()
    jobs = set()
    for start in plan.starts:
        keys = {("slot", start.schedule, start.slot), ("lane", start.job, start.lane)}
        known = start.slot in memory.schedules[start.schedule].runs or start.lane in memory.jobs[start.job].lanes
        if known or taken & keys:
            jobs.add(start.job)
        taken |= keys
    return jobs


def _commit(
    memory: MemoryState, plan: TickPlan, held: dict[str, _Held], kept_due: set[str], node: str, now: int
) -> list[RunEntry]:
    """Runs, decisions and cursors, all of a job or none. Cancels come last: they wake who has begun to wait."""
    decided = {name: one for name, one in held.items() if one.state.job not in kept_due}
    for one in decided.values():
        memory.record(one.decisions, now)
        one.entry.pauses_seen = memory.pauses_ended
    memory.record((made for made in plan.decisions if made.schedule in decided), now)
    for planned in plan.schedules:
        if planned.schedule.name in decided:
            _decide(decided[planned.schedule.name].entry, planned, now // MICRO)
    starts = [start for start in plan.starts if start.schedule in decided]
    made = [_make(memory, start, decided[start.schedule].state, node, now) for start in starts]
    for cancel in plan.cancels:
        if cancel.schedule in decided and (run := memory.active.get(cancel.run)):
            memory.cancel(run, now)
    return made


def _decide(entry: ScheduleEntry, planned: Planned, second: int) -> None:
    entry.state = planned.schedule._replace(deleted_at=second) if planned.remove else planned.schedule
    entry.wake_at = None if planned.remove else planned.wake_at


def _make(memory: MemoryState, start: Start, state: Schedule, node: str, now: int) -> RunEntry:
    live, expires = start.trigger is Trigger.SCHEDULE, state.definition.policy.expires
    return memory.add(
        RunEntry(
            0, start.job, memory.jobs[start.job].definition, start.trigger, now,
            due_at=due_at(state, start.slot) * MICRO if live else now,
            times=state.definition, slot=start.slot, lane=start.lane, claimed_by=node,
            expires_at=None if expires is None else now + expires * MICRO,
        )
    )  # fmt: skip


def _at_once(memory: MemoryState, made: Sequence[RunEntry], reserve: LeaseRequest, now: int) -> list[RunEntry]:
    """New runs that may be leased in the pass that makes them: none while others wait."""
    new = {run.number for run in made}
    for run in memory.active.values():
        if waits(run, now) and run.definition.queue in reserve.queues and run.number not in new:
            return []
    free = (run for run in made if run.state is RunState.QUEUED and run.definition.queue not in memory.limits)
    return [run for run in free if not run.definition.at_most_once]
