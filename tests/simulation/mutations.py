"""Mistakes that somebody could make in the planner, the store or the runtime, each with a seed that shows it.

One that no seed shows means that the world is too peaceful or the judge too kind. Each is a patch, made while a
history is lived through: `with MUTATIONS[name].made(): simulate(seed)`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tickwise.core import change, planner, policy, schedule_pass, settle
from tickwise.core.audit import Fault
from tickwise.core.definition import Catchup, RetryPolicy
from tickwise.core.jobstate import JobState, facts_of
from tickwise.core.model import Schedule
from tickwise.core.policy import Go
from tickwise.core.reasons import Reason
from tickwise.core.settle import LeaseExpired
from tickwise.core.states import RunState
from tickwise.runtime.heartbeat import Heartbeat
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.memory import lease, state, store, tick
from tickwise.stores.memory.state import MemoryState
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import MICRO, Expired, Node, Renewed

from . import engine_mistakes, event_mistakes, rule_mistakes
from .mutation import Mutation, Patches, now_and_then

# What a pass makes true.


def _cursors(moved: Callable[[int, int], int], every: int) -> tuple[Any, str, Any]:
    """Now and then a pass leaves the cursors elsewhere: `moved` is told where they were and where they are."""
    commit, slips = JobState.commit, now_and_then(every)

    def wrong(job: JobState, plan: Any, now: int) -> JobState:
        after = commit(job, plan, now)
        if not slips():
            return after
        schedules = {
            name: each._replace(
                schedule=each.schedule._replace(
                    cursor=moved(job.schedules[name].schedule.cursor, each.schedule.cursor)
                )
            )
            for name, each in after.schedules.items()
        }
        return after._replace(schedules=schedules)

    return JobState, "commit", wrong


def _slot_key() -> Patches:
    blind = (tick, "facts_of", lambda *given: replace(facts_of(*given), schedules={}))
    return [_no_conflict(), _cursors(lambda before, _after: before, 5), blind]


def _no_conflict() -> tuple[Any, str, Any]:
    return tick, "contested_jobs", lambda _starts, _taken: set()


def _lane_key() -> Patches:
    return [_no_conflict(), *_always_goes(0)]


def _always_goes(step: int) -> Patches:
    def goes(_schedule: Schedule, holders: Any, **_missed: bool) -> Go:
        return Go(len(holders) * step)

    return [
        (planner, "overlap", goes),
        (schedule_pass, "overlap", goes),
        (planner, "plan_simple", lambda *_facts: None),
    ]


def _overlap() -> Patches:
    return _always_goes(1)


def _cursor_early() -> Patches:
    return [_cursors(lambda _before, after: after + 60, 4)]


def _cursor_without_runs() -> Patches:
    commit, slips = tick._commit, now_and_then(6)

    def half(memory: Any, plan: Any, *rest: Any) -> Any:
        return commit(memory, plan._replace(starts=()) if plan.starts and slips() else plan, *rest)

    return [(tick, "_commit", half)]


def _decision_lost() -> Patches:
    record, slips = MemoryState.record, now_and_then(3)

    def forgetful(memory: MemoryState, decisions: Any, now: int) -> None:
        record(memory, [made for made in decisions if made.waits or not slips()], now)

    return [(MemoryState, "record", forgetful)]


def _past_again() -> Patches:
    beat = MemoryStore.beat

    async def restarting(self: MemoryStore, node: Any, *given: Any, **named: Any) -> Any:
        if node.id not in self._memory.nodes:
            for entry in self._memory.schedules.values():
                entry.state = entry.state._replace(cursor=entry.state.cursor - 120)
        return await beat(self, node, *given, **named)

    return [(MemoryStore, "beat", restarting)]


# What the planner and people decide.


def _pause_ignored() -> Patches:
    load = MemoryState.load

    def awake(memory: MemoryState, entry: Any) -> JobState:
        job = load(memory, entry)
        schedules = {
            name: each._replace(schedule=each.schedule._replace(manual_pause=None))
            for name, each in job.schedules.items()
        }
        return job._replace(schedules=schedules)

    return [(MemoryState, "load", awake)]


def _pause_of_everything_ignored() -> Patches:
    run_pass = tick.run_pass

    def awake(memory: Any, *rest: Any, **named: Any) -> Any:
        pauses = memory.pauses
        memory.pauses = [pause for pause in pauses if pause.until is not None]
        try:
            return run_pass(memory, *rest, **named)
        finally:
            memory.pauses = pauses

    return [(store, "run_pass", awake)]


def _pause_untold() -> Patches:
    return [(change, "summed_up", lambda *_slots: ())]


def _edit_forgets() -> Patches:
    return [(change, "_oldest_pending", lambda _schedule, _now: None)]


def _catchup_forgotten() -> Patches:
    return [(policy, "catchup_mode", lambda _schedule: Catchup.SKIP)]


def _catchup_doubled() -> Patches:
    discard = schedule_pass.SchedulePass._discard

    def kept(self: Any, unwanted: Any) -> None:
        cursor = self._work.cursor
        discard(self, unwanted)
        if unwanted.why.reason is Reason.COALESCED:
            self._work = self._work._replace(cursor=cursor)

    return [(schedule_pass.SchedulePass, "_discard", kept)]


def _window_short() -> Patches:
    catch_up = policy.catch_up

    def hasty(backlog: Any, now: int) -> Any:
        return catch_up(backlog, now + 60)

    return [(policy, "_SIEVES", (policy.too_many, hasty, policy.keep_newest))]


def _queue_keeps_newest() -> Patches:
    def newest(backlog: Any, _now: int) -> Any:
        last = backlog.last
        return last and policy.Unwanted(backlog.begin, last - 1, policy.Skip(Reason.SUPERSEDED))

    return [(policy, "_SIEVES", (policy.too_many, policy.catch_up, newest))]


# What becomes of runs.


def _finish_unfenced() -> Patches:
    def anybody(memory: MemoryState, run: str, _token: str) -> Any:
        found = memory.active.get(run)
        return found if found and found.state is RunState.RUNNING else None

    return [(MemoryState, "held", anybody)]


def _renew_unfenced() -> Patches:
    beat = MemoryStore.beat

    async def generous(self: MemoryStore, node: Node, held: Any = (), *given: Any, **named: Any) -> Renewed:
        known = {run: found.token for run in held if (found := self._memory.active.get(run)) and found.token}
        return await beat(self, node, known, *given, **named)

    return [(MemoryStore, "beat", generous)]


def _renew_in_vain() -> Patches:
    beat = MemoryStore.beat

    async def idle(self: MemoryStore, node: Node, held: Any = None, _lease: int = 0, **named: Any) -> Renewed:
        before = {run.id: run.lease_until for run in self._memory.active.values()}
        renewed = await beat(self, node, held, 0, **named)
        for run in self._memory.active.values():
            run.lease_until = before[run.id]
        return renewed

    return [(MemoryStore, "beat", idle)]


def _leased_twice() -> Patches:
    slips = now_and_then(20)

    def waits(run: Any, now: int) -> bool:
        return run.due_at <= now and (run.state is RunState.QUEUED or slips())

    return [(lease, "waits", waits)]


def _living_leases_expire() -> Patches:
    expire = MemoryStore.expire

    async def hasty(self: MemoryStore) -> Expired:
        for run in self._memory.active.values():
            run.lease_until = run.lease_until and run.lease_until - 25 * MICRO
        return await expire(self)

    return [(MemoryStore, "expire", hasty)]


def _leases_never_expire() -> Patches:
    async def never(_self: MemoryStore) -> Expired:
        return Expired()

    return [(MemoryStore, "expire", never)]


def _nobody_woken() -> Patches:
    wake = MemoryState.wake

    def deaf(memory: MemoryState, entry: Any, second: int) -> None:
        if entry.state.deferral is None:
            wake(memory, entry, second)

    return [(MemoryState, "wake", deaf)]


def _lane_kept() -> Patches:
    over, slips = MemoryState._over, now_and_then(4)

    def clinging(memory: MemoryState, run: Any, now: int) -> None:
        lane = run.lane
        over(memory, run, now)
        if lane is not None and slips():
            memory.jobs[run.job].lanes[lane] = run

    return [(MemoryState, "_over", clinging)]


def _limit_ignored() -> Patches:
    return [(lease, "_allowed", lambda memory, _queue, _now: len(memory.active))]


def _retry_forgotten() -> Patches:
    def final(run: settle.EndingRun, outcome: Any, now: int) -> Any:
        return settle.settle(replace(run, retry=RetryPolicy(0)), outcome, now)

    return [(state, "settle", final)]


def _once_is_twice() -> Patches:
    def again(run: settle.EndingRun, outcome: Any, now: int) -> Any:
        lost = isinstance(outcome, LeaseExpired)
        return settle.settle(replace(run, at_most_once=run.at_most_once and not lost), outcome, now)

    return [(state, "settle", again)]


def _renewal_imagined() -> Patches:
    renew = Heartbeat._renew

    async def careless(self: Heartbeat) -> None:
        try:
            await renew(self)
        except StoreUnavailableError:
            self._good_at = dict.fromkeys(self._good_at, self._looked_at)

    return [(Heartbeat, "_renew", careless)]


MUTATIONS: dict[str, Mutation] = {
    "the unique key of a slot is missing, and a cursor is lost": Mutation(
        _slot_key, 1, Fault.DOUBLED, "has 2 runs"
    ),
    "the unique key of a lane is missing, and overlap is not checked": Mutation(
        _lane_key, 1, Fault.OVERLAP, "began beside"
    ),
    "overlap is not checked, and lanes are unlimited": Mutation(_overlap, 1, Fault.OVERLAP, "began beside"),
    "the cursor moves too far": Mutation(_cursor_early, 1, Fault.MISSED, "without a run or a reason"),
    "the cursor moves without the runs": Mutation(
        _cursor_without_runs, 1, Fault.MISSED, "without a run or a reason"
    ),
    "a decision is lost": Mutation(_decision_lost, 1, Fault.MISSED, "without a run or a reason"),
    "a starting node plans the past again": Mutation(_past_again, 1, Fault.DOUBLED, "has a run and also a reason"),
    "a pause is ignored": Mutation(_pause_ignored, 1, Fault.EXTRA, "made in a pause"),
    "a pause of everything is ignored": Mutation(_pause_of_everything_ignored, 6, Fault.EXTRA, "made in a pause"),
    "slots dropped by a change are not recorded": Mutation(
        _pause_untold, 1, Fault.MISSED, "without a run or a reason"
    ),
    "an edit loses pending slots": Mutation(_edit_forgets, 8, Fault.MISSED, "without a run or a reason"),
    "catch-up does not happen": Mutation(_catchup_forgotten, 3, Fault.UNEXPLAINED, "missed is no reason"),
    "coalesced slots run too": Mutation(_catchup_doubled, 26, Fault.DOUBLED, "why there is none: coalesced"),
    "the catch-up window is a minute too short": Mutation(
        _window_short, 22, Fault.UNEXPLAINED, "too_old is no reason"
    ),
    "overlap: queue keeps only the newest slot": Mutation(
        _queue_keeps_newest, 3, Fault.UNEXPLAINED, "superseded is no reason"
    ),
    "an old token finishes a run": Mutation(_finish_unfenced, 1, Fault.FENCING, "was finished by"),
    "an old token renews a lease": Mutation(_renew_unfenced, 11, Fault.FENCING, "was renewed for"),
    "a renewal extends nothing": Mutation(_renew_in_vain, 1, Fault.FENCING, "was handed to"),
    "a run is leased twice": Mutation(_leased_twice, 1, Fault.FENCING, "was handed to"),
    "valid leases expire": Mutation(_living_leases_expire, 1, Fault.FENCING, "was handed to"),
    "leases never expire": Mutation(_leases_never_expire, 1, Fault.UNEXPLAINED, "is still running"),
    "a finished run wakes no waiting slot": Mutation(
        _nobody_woken, 13, Fault.UNEXPLAINED, "after nothing was in its way"
    ),
    "a finished run keeps its lane": Mutation(_lane_kept, 1, Fault.MISSED, "WAITS_FOR_LANE"),
    "the limit of a queue is ignored": Mutation(_limit_ignored, 13, Fault.OVERLAP, "of the queue narrow at once"),
    "a retry does not happen": Mutation(_retry_forgotten, 1, Fault.UNEXPLAINED, "was not tried again"),
    "an at_most_once attempt is repeated": Mutation(_once_is_twice, 6, Fault.DOUBLED, "began again (S43)"),
    "a failed renewal counts as a success": Mutation(_renewal_imagined, 9, Fault.OVERLAP, "went on at"),
    **engine_mistakes.MUTATIONS,
    **rule_mistakes.MUTATIONS,
    **event_mistakes.MUTATIONS,
}
