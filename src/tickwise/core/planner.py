"""One pass: from due schedules and facts to a plan. Every verdict about every slot is made here, and only here.

A job is the unit: the slots of its schedules are decided together, in time order (S12). For each job

1. the backlog of each schedule is found and filtered: what has a run already, what is too much, too old or too
   late, what a newer slot stands for (`catchup`, `policy`);
2. the slots still wanted are judged in order. One that starts counts as active for those behind it, one that
   waits makes those behind it wait;
3. the verdicts become starts, cancels, decisions, moved cursors, and the time to look again (`schedule_pass`).

Most passes over most jobs find one slot on time, or none. For those `plan_simple` is a fast path to the same plan.

Nothing here reads a clock, waits or uses chance: the same schedules and facts give the same plan, and planning
jobs apart gives the same as planning them together.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from heapq import merge
from operator import attrgetter
from typing import TypeAlias

from .catchup import DEFAULT_GRACE, Pending
from .definition import Kind
from .jobstate import is_simple
from .journal import Journal
from .model import (
    Decision,
    Deferral,
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
from .policy import Go, Ruling, Skip, Wait, dependencies, guard, held, last_stop, overlap, stop
from .reasons import Reason
from .schedule_pass import LONGEST_SLEEP, SchedulePass
from .slots import next_slot
from .start_budget import over_budget
from .timeparse import iso

_SHORTEST_BACK_OFF, _LONGEST_BACK_OFF = 5, 600
_BEHIND_LIVE = {Trigger.CATCHUP: 1, Trigger.BACKFILL: 2}
_NO_JOB_FACTS, _NO_FACTS = JobFacts(), ScheduleFacts()


def plan(now: int, due: Iterable[Schedule], facts: Facts) -> TickPlan:
    """Decide what is pending. `due` holds all schedules of each job that was claimed."""
    jobs: dict[str, list[Schedule]] = defaultdict(list)
    for schedule in due:
        jobs[schedule.definition.job].append(schedule)
    return _merge([planned for job in sorted(jobs) for planned in _plan_job(now, jobs[job], facts)])


def _merge(plans: Sequence[TickPlan]) -> TickPlan:
    return TickPlan(
        starts=starts_in_order([start for each in plans for start in each.starts]),
        cancels=tuple([cancel for each in plans for cancel in each.cancels]),
        decisions=tuple([decision for each in plans for decision in each.decisions]),
        schedules=tuple([planned for each in plans for planned in each.schedules]),
    )


def starts_in_order(starts: Sequence[Start]) -> tuple[Start, ...]:
    """Backlogs behind the live slots of other jobs, but a job's own slots in time order (S12), backfills last."""
    in_time = sorted(starts, key=attrgetter("slot", "schedule"))
    if all(start.trigger is Trigger.SCHEDULE for start in starts):
        return tuple(in_time)
    ranks: dict[str, int] = defaultdict(int)
    ranked = []
    for start in sorted(in_time, key=lambda start: start.trigger is Trigger.BACKFILL):
        ranks[start.job] = max(ranks[start.job], _BEHIND_LIVE.get(start.trigger, 0))
        ranked.append((ranks[start.job], start))
    return tuple(start for _, start in sorted(ranked, key=lambda pair: pair[0]))


def _plan_job(now: int, schedules: Sequence[Schedule], facts: Facts) -> list[TickPlan]:
    """The schedules of a job, decided. One that cannot be planned never holds up the others (S20)."""
    job = facts.jobs.get(schedules[0].definition.job, _NO_JOB_FACTS)
    try:
        if len(schedules) == 1:
            own = facts.schedules.get(schedules[0].definition.name, _NO_FACTS)
            if short := plan_simple(now, schedules[0], job, own):
                return [short]
        return _JobPass(now, schedules, job, facts).plan()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is this schedule's own)
        bad = {s.name: problem for s in schedules if (problem := _problem(now, s, job, facts))}
        bad = bad or {s.name: _error_text(error) for s in schedules}
        aside = [_set_aside(now, s, bad[s.name]) for s in schedules if s.name in bad]
        sound = [s for s in schedules if s.name not in bad]
        return [*aside, *(_plan_job(now, sound, facts) if sound else ())]


def _problem(now: int, schedule: Schedule, job: JobFacts, facts: Facts) -> str:
    """Why a schedule cannot be planned, even alone."""
    try:
        _JobPass(now, [schedule], job, facts).plan()
    except Exception as error:  # noqa: BLE001  (as above)
        return _error_text(error)
    return ""


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _set_aside(now: int, schedule: Schedule, problem: str) -> TickPlan:
    """A schedule that could not be planned: an error, recorded once, and a back-off of its own (S20)."""
    journal, began, cursor = Journal(schedule), schedule.deferral, schedule.cursor
    if began is None or began.reason is not Reason.BROKEN:
        began = Deferral(cursor, Reason.BROKEN, now, problem)
        journal.tell(Decision(schedule.name, Reason.BROKEN, cursor, cursor, 1, problem))
    wait = min(max(now - began.since, _SHORTEST_BACK_OFF), _LONGEST_BACK_OFF)
    after = schedule._replace(deferral=began, records=journal.open)
    return TickPlan(decisions=tuple(journal.decisions), schedules=(Planned(after, now + wait, now + wait),))


_Judged: TypeAlias = tuple[SchedulePass, Pending, Ruling]


class _JobPass:
    """The pass over one job: a pass over each of its schedules, and the holders of its lanes as it goes on."""

    def __init__(self, now: int, schedules: Sequence[Schedule], job: JobFacts, facts: Facts) -> None:
        self.now = now
        self.facts = facts
        self.job = job
        self.passes = [
            SchedulePass(now, s, facts.schedules.get(s.name, _NO_FACTS))
            for s in sorted(schedules, key=lambda s: s.name)
        ]

    def plan(self) -> list[TickPlan]:
        stop = last_stop((each.schedule for each in self.passes), self.now)
        for each in self.passes:
            each.filter_backlog(held(each.schedule, self.job, self.now + LONGEST_SLEEP), stop)
        verdicts, holders = self._verdicts()
        for each, pending, verdict in verdicts:
            each.apply(pending, verdict)
        for each in self.passes:
            each.continue_backfill(holders)
        return [each.plan() for each in self.passes]

    def _verdicts(self) -> tuple[list[_Judged], list[Holder]]:
        """All verdicts, in time order. Catch-up under way holds stop and restart back (S22)."""
        others = [each for each in self.passes if each.kind is not Kind.START and any(each.pending())]
        if not others:
            return self._judge(self.passes)
        verdicts, holders = self._judge([each for each in self.passes if each.kind is Kind.START])
        if any(pending.missed and not isinstance(verdict, Skip) for _, pending, verdict in verdicts):
            back = Skip(Reason.CATCHUP_GOES_FIRST)
            return verdicts + [(each, pending, back) for each in others for pending in each.pending()], holders
        return self._judge(self.passes)

    def _judge(self, passes: Sequence[SchedulePass]) -> tuple[list[_Judged], list[Holder]]:
        """Judge slot by slot, until each schedule has none left or one that waits."""
        holders, verdicts = list(self.job.holders), list[_Judged]()
        made = {each.schedule.name: each.schedule.runs_made for each in passes}
        first_waiting: Pending | None = None
        rows = [each.entries() for each in passes]
        for _, pending, each in rows[0] if len(rows) == 1 else merge(*rows):
            if first_waiting and each.kind is Kind.START and not each.schedule.is_shadowed(pending.slot):
                verdict: Ruling = Wait(Reason.WAITS_BEHIND, iso(first_waiting.slot))
            else:
                verdict = self._possible(self._verdict(each, pending, holders, made[each.schedule.name]), holders)
            verdicts.append((each, pending, verdict))
            if isinstance(verdict, Go):
                made[each.schedule.name] += 1
                holders.append(Holder(each.run_name(pending.slot), verdict.lane, each.trigger(pending)))
            elif verdict.cancel:
                holders = [h._replace(cancelling=True) if h.run in verdict.cancel else h for h in holders]
            if isinstance(verdict, Wait):
                each.waits = True
                if each.kind is Kind.START:
                    first_waiting = first_waiting or pending
        return verdicts, holders

    def _verdict(self, each: SchedulePass, pending: Pending, holders: list[Holder], made: int) -> Ruling:
        schedule, policy = each.schedule, each.schedule.definition.policy
        if policy.shadow and schedule.is_shadowed(pending.slot):
            return Skip(Reason.SHADOW)
        if each.kind is Kind.STOP:
            return stop(holders)
        if each.kind is Kind.START:
            if policy.max_runs is not None and made >= policy.max_runs:
                return Skip(Reason.FINISHED, str(policy.max_runs))
            if done := guard(schedule, pending, self.job, each.own):
                return done
            if policy.after:
                following = next_slot(schedule, pending.slot)
                held_up = dependencies(schedule, pending, following, self.facts.successes, self.now)
                if held_up:
                    return held_up
            budget = policy.max_starts
            if budget and (spent := over_budget(schedule, budget, made - schedule.runs_made, self.now)):
                return spent
        return overlap(schedule, holders, missed=pending.missed)

    def _possible(self, verdict: Ruling, holders: list[Holder]) -> Ruling:
        """What this pass starts has no id yet: a slot that would cancel it waits for the next pass."""
        if isinstance(verdict, Go) or not verdict.cancel:
            return verdict
        new = next((h.run for h in holders[len(self.job.holders) :] if h.run in verdict.cancel), None)
        return verdict if new is None else Wait(Reason.WAITS_BEHIND, new, until=self.now)


# The fast path: one simple start schedule of a job, and no slot to decide or one that is on time.
#
# What a pass decides is defined by `_JobPass`. Where the fast path answers, it answers the same; what it does not
# cover it leaves to `_JobPass`, by returning None.


def plan_simple(now: int, schedule: Schedule, job: JobFacts, own: ScheduleFacts) -> TickPlan | None:
    """The plan for a job with this one schedule, if nothing about it is special."""
    if not is_simple(schedule) or job.unreadable or job.no_worker:
        return None
    times, taken = schedule.definition.times, own.slots_with_run
    slot = times.after(schedule.cursor)
    if slot is None or slot > now:
        idle = schedule if schedule.deferral is None else schedule._replace(deferral=None)
        return None if slot in taken else TickPlan(schedules=(_with_slot_decided(idle, slot),))
    following = times.after(slot)
    if (following is not None and following <= now) or slot in taken or following in taken:
        return None
    if not _is_on_time(now, schedule, slot):
        return None
    verdict = guard(schedule, Pending(slot, missed=False), job, own) or overlap(schedule, job.holders)
    if isinstance(verdict, Wait):
        return None
    name, met = schedule.definition.name, max(schedule.last_seen_slot, slot)
    if isinstance(verdict, Go):
        start = Start(schedule.definition.job, name, slot, Trigger.SCHEDULE, verdict.lane)
        done = schedule._replace(
            cursor=slot, last_seen_slot=met, runs_made=schedule.runs_made + 1, deferral=None, records=()
        )
        return TickPlan((start,), schedules=(_with_slot_decided(done, following),))
    journal = Journal(schedule)
    journal.tell(Decision(name, verdict.reason, slot, slot, 1, verdict.detail))
    done = schedule._replace(cursor=slot, last_seen_slot=met, deferral=None, records=journal.open)
    return TickPlan(decisions=tuple(journal.decisions), schedules=(_with_slot_decided(done, following),))


def _is_on_time(now: int, schedule: Schedule, slot: int) -> bool:
    """Whether a slot without a following one by now was met in time, now or before (S9)."""
    given = schedule.definition.policy.grace
    in_time = now - slot <= (DEFAULT_GRACE if given is None else given) or slot <= schedule.last_seen_slot
    return in_time and slot > schedule.last_missed_slot


def _with_slot_decided(schedule: Schedule, due_at: int | None) -> Planned:
    over = due_at is None and schedule.definition.policy.auto_remove
    return Planned(schedule, due_at, due_at, remove=over)
