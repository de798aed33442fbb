"""The law as rules over one step of a world: each a small function, named by its numbers, that asserts.

`RULES` is all of them. A rule sees what a pass or a change found and what it left, and never how it was decided.
"""

from collections.abc import Iterable, Iterator
from functools import wraps
from itertools import count, islice
from typing import Any

from tickwise.core import planner
from tickwise.core.blackout import window_at
from tickwise.core.catchup import DEFAULT_GRACE
from tickwise.core.change import Reset, Updated
from tickwise.core.cron.recurrences import At
from tickwise.core.definition import Kind, Overlap
from tickwise.core.event_inbox import EventsReceived
from tickwise.core.events import OnEvent, groups_of
from tickwise.core.model import (
    DeadlineState,
    DeadlineWatch,
    Decision,
    Facts,
    Planned,
    Schedule,
    Start,
    TickPlan,
    Trigger,
)
from tickwise.core.reasons import Reason
from tickwise.core.slots import due_at, next_slot
from tickwise.core.states import RunState
from tickwise.core.time_limit import TimeLimit
from tickwise.core.timeparse import iso

from .timeline import Rule, Step, undecided

LATE = (Reason.LATE_START, Reason.LATE_FINISH)
EXCUSES = frozenset({
    Reason.PAUSED, Reason.SKIPPED_BY_HAND, Reason.RESCHEDULED, Reason.RESET, Reason.RESTORED, Reason.DELETED,
    Reason.CATCHUP_OFF, Reason.FINISHED, Reason.PAST_ONE_OFF, Reason.SHADOW, Reason.ALREADY_DONE,
    Reason.ALREADY_SUCCESSFUL,
    Reason.COALESCED, Reason.SUPERSEDED,
})  # fmt: skip
AWAITED = (Reason.WAITS_FOR_SUCCESS, Reason.NO_WORKER, Reason.WAITS_FOR_BUDGET)


def s1_no_slot_runs_twice(step: Step) -> None:
    for name, schedule in step.before.items():
        slots = [start.slot for start in step.starts(name)]
        assert len(slots) == len(set(slots)), f"{name} starts a slot twice"
        assert not step.runs[name] & set(slots), f"{name} starts a slot that has a run"
        assert not slots or schedule.definition.kind is not Kind.STOP, f"{name} stops, but starts"


def s2_a_new_schedule_has_no_past(step: Step) -> None:
    for name in step.after.keys() - step.before.keys():
        past = undecided(step.after[name], step.runs[name], step.now, step.start)
        assert not _too_old(step, name, past), f"{name} replays the past"


def s4_the_cursor_never_goes_back(step: Step) -> None:
    for name, before in step.before.items():
        cursor = step.after[name].cursor
        assert isinstance(step.change, Reset) or cursor >= before.cursor, f"the cursor of {name} goes back"
        assert cursor <= max(before.cursor, step.now), f"the cursor of {name} runs ahead"


def s6_a_pass_decides_in_bulk(step: Step) -> None:
    for name, schedule in step.before.items():
        most = schedule.definition.policy.max_catchup if schedule.definition.policy.after else 0
        told = [
            d for d in step.decisions(name) if d.reason not in {*LATE, Reason.BLACKOUT}
        ]  # one or more a window
        decisions, starts = len(told), sum(s.job == schedule.job for s in step.plan.starts)
        assert decisions <= 5 + starts + most, f"{name} got {decisions} decisions in one step"


def s7_every_slot_has_a_run_or_a_decision(step: Step) -> None:
    for name, (before, after) in step.open.items():
        if _times_changed(step, name):
            continue
        asked = step.after[name].moved
        new = {asked.to} if asked and asked != step.before[name].moved else set()
        again = set(step.change.missed) if isinstance(step.change, Updated) else set()
        if not isinstance(step.change, Reset):
            assert after <= before | new | again, f"{name} has slots again that were decided"
        assert {s.slot for s in step.starts(name) if s.trigger is not Trigger.BACKFILL} <= before, (
            f"{name} starts what is not pending"
        )
        _accounted_for(step, name)


def _accounted_for(step: Step, name: str) -> None:
    decided, final = step.decided(name), [_news(step, d) for d in step.decisions(name) if d.is_final]
    counted = sum(d.count for d in final)
    assert counted == len(decided), f"{name}: {len(decided)} slots were decided, {counted} recorded"
    unsaid = [t for t in sorted(decided) if not any(d.first <= t <= d.last for d in final)]
    assert not unsaid, f"{name}: nothing is said of {[iso(t) for t in unsaid[:3]]}"
    assert all({d.first, d.last} <= decided for d in final), f"{name}: a record's range ends at no decided slot"


def _news(step: Step, told: Decision) -> Decision:
    """What a decision says that its record did not: from the very next slot on, if it extends one."""
    before = step.before[told.schedule]
    known = next((record for record in before.records if record.identity == told.identity), None)
    if known is None:
        return told
    first = before.definition.times.after(known.last) or known.last
    return told._replace(first=first, count=told.count - known.count)


def s7_no_record_loses_what_it_said(step: Step) -> None:
    for told in step.plan.decisions:
        kept = step.recorded.get(told.identity)
        if kept and not told.waits:
            assert told.last > kept.decision.last, (
                f"{told.schedule} says {told.reason.code} of the same slots again"
            )
            assert told.count > kept.decision.count, f"{told.schedule} forgets {told.reason.code} of older slots"


def s7_waiting_is_recorded_once(step: Step) -> None:
    for name, before in step.before.items():
        deferred = [d for d in step.decisions(name) if d.waits]
        known = before.deferral and (before.deferral.slot, before.deferral.reason)
        assert len(deferred) <= 1, f"{name} waits for several things"
        assert all((d.last, d.reason) != known for d in deferred), f"{name} is said to wait again"


def s9_what_is_met_late_is_no_live_run(step: Step) -> None:
    for start in step.plan.starts:
        schedule = step.before[start.schedule]
        if start.trigger is Trigger.SCHEDULE and schedule.last_seen_slot < start.slot:
            given = schedule.definition.policy.grace
            late = step.now - due_at(schedule, start.slot)
            assert late <= (DEFAULT_GRACE if given is None else given), f"{start.schedule} goes live {late} s late"


def s12_older_slots_of_a_job_go_first(step: Step) -> None:
    for job in step.jobs:
        starts = [s for s in step.plan.starts if s.job == job and s.trigger in (Trigger.SCHEDULE, Trigger.CATCHUP)]
        places = [(start.slot, start.schedule) for start in starts]
        assert places == sorted(places), f"the starts of {job} are out of order"
        waiting = [(slot, s.name) for s in step.of_job(job) for slot in _surely_due(step, s)]
        if places and waiting:
            assert min(waiting) > places[-1], f"{job} leaves {min(waiting)} behind"


def s14_s16_lanes_hold(step: Step) -> None:
    for job in step.jobs:
        held = {holder.lane for holder in step.holders(job)}
        starts = sorted((s for s in step.plan.starts if s.job == job), key=lambda s: s.lane)
        free = islice((lane for lane in count() if lane not in held), len(starts))
        assert [s.lane for s in starts] == list(free), f"{job} does not take its lowest free lanes"
        for active, start in enumerate(starts, len(held)):
            assert active < _lanes(step, start), f"{start.schedule} starts beside {active} others"


def s15_pending_slots_are_looked_at_within_a_minute(step: Step) -> None:
    for planned in step.plan.schedules:
        schedule = planned.schedule
        if any(_surely_due(step, schedule)):
            assert planned.wake_at is not None, f"{schedule.name} has pending slots, but sleeps for ever"
            assert planned.wake_at <= step.now + 60, f"{schedule.name} has pending slots, but sleeps"
        _wakes_in_time(step, planned)


def _wakes_in_time(step: Step, planned: Planned) -> None:
    schedule, most = planned.schedule, planned.schedule.definition.policy.max_runs
    coming = next_slot(schedule, max(step.now, schedule.cursor))
    awake = not _rests_at(schedule, step.now) and (most is None or schedule.runs_made < most)
    if awake and coming is not None and coming not in step.runs[schedule.name]:
        due = due_at(schedule, coming)
        assert planned.due_at is not None, f"{schedule.name} sleeps for ever, but {iso(due)} is due"
        assert planned.due_at <= due, f"{schedule.name} sleeps past {iso(due)}"


def s15_nothing_waits_for_nothing(step: Step) -> None:
    for job in step.jobs:
        reasons = [s.deferral.reason for s in step.of_job(job) if s.deferral]
        active = step.holders(job) or any(start.job == job for start in step.plan.starts)
        pending = [s.name for s in step.of_job(job) if any(_surely_due(step, s))]
        assert not pending or active or any(r in AWAITED for r in reasons), f"{pending} wait for nothing"


def s20_nothing_breaks(step: Step) -> None:
    broken = [d.detail for d in step.plan.decisions if d.reason is Reason.BROKEN]
    assert not broken, f"the planner broke: {broken}"


def s21_only_active_runs_are_cancelled(step: Step) -> None:
    for cancel in step.plan.cancels:
        job = step.before[cancel.schedule].job
        assert cancel.run in {h.run for h in step.holders(job)}, f"{cancel.schedule} cancels {cancel.run}, no run"


def s22_no_start_is_caught_up_after_its_stop(step: Step) -> None:
    for start in step.plan.starts if step.change is None else ():
        if start.trigger is Trigger.CATCHUP:
            passed = [slot for slot in _stops(step, start.job) if slot > start.slot]
            assert not passed, (
                f"{start.schedule} catches up {iso(start.slot)} in spite of the stop {iso(passed[0])}"
            )
    for told in step.plan.decisions:
        if told.reason is Reason.STOPPED_SINCE:
            stops = _stops(step, step.before[told.schedule].job)
            assert told.last < max(stops, default=0), f"{told.schedule} was stopped by no stop"


def _stops(step: Step, job: str) -> list[int]:
    """Stops that have surely passed: pending ones without jitter, and those recorded since their last edit."""
    found = []
    for name, stop in step.before.items():
        if stop.job == job and stop.definition.kind is Kind.STOP and not _rests_at(stop, step.now):
            found += [t for t in undecided(stop, set(), step.now, step.start) if due_at(stop, t) <= step.now]
            kept = [told.decision for told in step.recorded.values() if told.decision.schedule == name]
            found += [d.last for d in kept if d.last > stop.edited_at and d.last <= step.now]
    return found


def s24_an_edit_of_times_invents_no_past(step: Step) -> None:
    for name, (before, after) in step.open.items():
        if _times_changed(step, name):
            past = after - set(step.after[name].reopened)
            oldest = min(before, default=step.now + 1)
            assert not _too_old(step, name, {t for t in past if t < oldest}), f"{name} has a past that it had not"


def s29_what_rests_decides_nothing(step: Step) -> None:
    for name, before in step.before.items():
        if step.change is None and _rests(before, step.now):
            assert not step.starts(name), f"{name} rests, but starts"
            assert not step.decided(name), f"{name} rests, but decides"


def s62_nothing_starts_in_a_window(step: Step) -> None:
    for start in step.plan.starts:
        found = window_at(step.before[start.schedule].blackouts, step.now)
        assert not found, f"{start.schedule} starts in the blackout {found}"


def s62_only_slots_of_windows_are_dropped(step: Step) -> None:
    for name, before in step.before.items():
        told = [_news(step, d) for d in step.decisions(name) if d.reason is Reason.BLACKOUT]
        decided = {t for t in step.decided(name) for d in told if d.first <= t <= d.last}
        covered = {t for t in decided if window_at(before.blackouts, t)}
        assert sum(d.count for d in told) <= len(covered), f"{name}: slots outside of windows are dropped"


def s31_a_move_passes_over_what_is_before_it(step: Step) -> None:
    for start in step.plan.starts:
        moved = step.before[start.schedule].moved
        over = moved and moved.asked_at < start.slot < moved.to and start.trigger is not Trigger.BACKFILL
        assert not over, f"{start.schedule} starts a slot that was moved"
    for name, before in step.before.items() if step.change is None else ():
        moved, after = before.moved, step.after[name]
        done = moved and (moved.to <= after.cursor or moved.to in step.open[name][0] - step.open[name][1])
        assert not moved or after.moved or done, f"{name} forgets where it was moved"


def s34_limits_end_a_schedule(step: Step) -> None:
    for name, schedule in step.before.items():
        limits = schedule.definition.policy
        starts = [s for s in step.starts(name) if s.trigger not in (Trigger.BACKFILL, Trigger.RESTART)]
        assert limits.until is None or all(s.slot <= limits.until for s in starts), f"{name} goes past its end"
        made = step.made.get(name, 0) + len(starts)
        assert not starts or limits.max_runs is None or made <= limits.max_runs, f"{name} makes too many runs"


def s77_starts_stay_within_the_budget(step: Step) -> None:
    for planned in step.plan.schedules if step.change is None else ():
        name, budget = planned.schedule.name, planned.schedule.definition.policy.max_starts
        if budget is None:
            assert not planned.schedule.recent_starts, f"{name} remembers starts without a budget"
            continue
        new = [start for start in step.starts(name) if start.trigger is not Trigger.BACKFILL]
        earlier = step.before[name].recent_starts
        counted = [start for start in earlier if start + budget.per > step.now]
        truly = [start for start in step.started.get(name, ()) if start + budget.per > step.now]
        room = max(0, budget.count - len(truly))
        assert len(new) <= room or planned.schedule.definition.kind is not Kind.START, (
            f"{name} overruns its budget"
        )
        remembered = planned.schedule.recent_starts
        assert len(remembered) <= budget.count, f"{name} remembers too many starts"
        assert remembered[len(remembered) - len(new) :] == (step.now,) * len(new), f"{name} forgets its starts"
        for told in (d for d in step.decisions(name) if d.reason in (Reason.BUDGET, Reason.WAITS_FOR_BUDGET)):
            assert len(counted) + len(new) >= budget.count, f"{name}: {told.reason.code}, but there is room"


def s65_each_deadline_is_judged_once(step: Step) -> None:
    for planned in step.plan.schedules:
        name, after = planned.schedule.name, planned.schedule
        deadline, told = (
            after.definition.policy.deadline,
            [d for d in step.decisions(after.name) if d.reason in LATE],
        )
        if deadline is None or after.definition.kind is Kind.STOP:
            assert not told, f"{name} has no deadline, and misses one"
            continue
        for reason, kind in zip(LATE, ("start", "finish"), strict=True):
            if limit := getattr(deadline, kind):
                was = getattr(step.before[name].deadlines or DeadlineState(), kind)
                missed = [_news(step, d) for d in told if d.reason is reason]
                _judged_once(step, name, limit, was, getattr(after.deadlines, kind), missed)


def _judged_once(
    step: Step, name: str, limit: TimeLimit, was: DeadlineWatch | None, now: DeadlineWatch, missed: list[Decision]
) -> None:
    before, runs = step.before[name], step.facts.schedules[name].progress
    was = was or DeadlineWatch(before.cursor)
    judged = set(was.owed) - set(now.owed)
    slot = next_slot(before._replace(dropped=()), was.judged_to)
    while slot is not None and slot <= now.judged_to:
        judged.add(slot)
        slot = next_slot(before._replace(dropped=()), slot)
    said = {slot for slot in judged if any(d.first <= slot <= d.last for d in missed)}
    assert sum(d.count for d in missed) == len(said), f"{name} misses a deadline of a slot that is not judged"
    assert now.judged_to >= was.judged_to, f"{name} judges slots again"
    assert all(limit.instant(slot) <= step.now for slot in judged), f"{name} judges a slot before its deadline"
    assert judged & step.runs[name] <= runs.keys(), f"{name} judges slots without looking at their runs"
    excuses = [
        d for d in (*(r.decision for r in step.recorded.values()), *step.plan.decisions) if d.schedule == name
    ]
    for slot in judged:
        excused = any(d.reason in EXCUSES and d.first <= slot <= d.last for d in excuses)
        ended = runs[slot].finished_at if slot in runs else None
        if slot in runs and runs[slot].state is RunState.SUCCEEDED and ended is not None:
            assert (slot in said) is (ended > limit.instant(slot)) or slot not in said, (
                f"{name}: {iso(slot)} was in time"
            )
        assert slot in said or slot in runs or excused, f"{name}: nothing is said of the deadline of {iso(slot)}"


def s71_every_event_ends_in_one_run_or_one_decision(step: Step) -> None:
    for name, before in step.before.items():
        waited, waits = _waiting(before), _waiting(step.after[name])
        ran = [event.key for start in step.starts(name) for event in start.events]
        assert len(ran) == len(set(ran)), f"{name} runs an event twice"
        assert waited.keys() >= set(ran), f"{name} runs events that did not wait"
        came = {event.key for event in step.change.events} if isinstance(step.change, EventsReceived) else set()
        assert waits.keys() - waited.keys() <= came, f"{name} has events again that were decided"
        for key in waited.keys() - waits.keys():
            told = any(d.is_final and d.first <= waited[key] <= d.last for d in step.decisions(name))
            assert told is not (key in ran), f"{name}: {key} has {'a run and a reason' if told else 'no end'}"
        assert not set(ran) & waits.keys(), f"{name} runs events that still wait"


def s71_a_group_depends_on_the_times_of_events_only(step: Step) -> None:
    for start in step.plan.starts:
        schedule = step.before[start.schedule]
        times = schedule.definition.times
        if isinstance(times, OnEvent) and times.coalesce and start.trigger is not Trigger.BACKFILL:
            first, last = start.events[0].at, start.events[-1].at
            closes = min(last + times.coalesce.quiet, first + times.coalesce.at_most)
            assert start.slot == closes, f"{start.schedule} closes a group at another time"
            assert closes <= step.now, f"{start.schedule} runs an open group"
            during = [event for event in schedule.inbox.pending if first <= event.at < closes]
            assert list(start.events) == during, f"{start.schedule} leaves events of a group out"


def _waiting(schedule: Schedule) -> dict[str, int]:
    """The slots of the events that are not decided, by their keys."""
    times = schedule.definition.times
    groups = groups_of(times, schedule.inbox.pending) if isinstance(times, OnEvent) else []
    return {
        event.key: group.slot
        for group in groups
        for event in group.events
        if group.slot > schedule.cursor and not any(a < group.slot <= b for a, b in schedule.dropped)
    }


def planning_again_gives_the_same(step: Step) -> None:
    if step.change is None:
        known = _frozen(step.facts)
        again = planner.plan(step.now, list(step.before.values()), step.facts)
        assert again == step.plan, "planning twice gives two answers"
        assert _frozen(step.facts) == known, "planning changes what it reads"


def planning_jobs_apart_gives_the_union(step: Step) -> None:
    if step.change is None:
        backwards = list(step.before.values())[::-1]
        apart = [
            planner.plan(step.now, [s for s in backwards if s.job == job], step.facts) for job in sorted(step.jobs)
        ]
        assert _by_schedule(apart) == _by_schedule([step.plan]), "planning jobs apart gives something else"


def _of_times(rule: Rule) -> Rule:
    """A rule about what times name: slots of events are not known before they come."""

    @wraps(rule)
    def told(step: Step) -> None:
        rule(step.timed)

    return told


_OF_TIMES: tuple[Rule, ...] = (
    s2_a_new_schedule_has_no_past,
    s4_the_cursor_never_goes_back,
    s6_a_pass_decides_in_bulk,
    s7_every_slot_has_a_run_or_a_decision,
    s7_no_record_loses_what_it_said,
    s7_waiting_is_recorded_once,
    s9_what_is_met_late_is_no_live_run,
    s12_older_slots_of_a_job_go_first,
    s15_pending_slots_are_looked_at_within_a_minute,
    s15_nothing_waits_for_nothing,
    s22_no_start_is_caught_up_after_its_stop,
    s24_an_edit_of_times_invents_no_past,
    s29_what_rests_decides_nothing,
    s62_only_slots_of_windows_are_dropped,
    s31_a_move_passes_over_what_is_before_it,
    s65_each_deadline_is_judged_once,
    s77_starts_stay_within_the_budget,
)
RULES: tuple[Rule, ...] = (
    *map(_of_times, _OF_TIMES),
    s1_no_slot_runs_twice,
    s14_s16_lanes_hold,
    s20_nothing_breaks,
    s21_only_active_runs_are_cancelled,
    s62_nothing_starts_in_a_window,
    s34_limits_end_a_schedule,
    s71_every_event_ends_in_one_run_or_one_decision,
    s71_a_group_depends_on_the_times_of_events_only,
    planning_again_gives_the_same,
    planning_jobs_apart_gives_the_union,
)


def _rests(schedule: Schedule, now: int = 0) -> bool:
    """Whether no slot of it is decided; a person's pause may have ended by itself (S66)."""
    over = schedule.resumes_at is not None and schedule.resumes_at <= now and schedule.disabled_pause is None
    return (schedule.paused is not None and not over) or schedule.deleted_at is not None


def _rests_at(schedule: Schedule, now: int) -> bool:
    return _rests(schedule, now) or window_at(schedule.blackouts, now) is not None


def _times_changed(step: Step, name: str) -> bool:
    before, after = step.before[name].definition, step.after[name].definition
    return (before.times, before.policy.until) != (after.times, after.policy.until)


def _too_old(step: Step, name: str, slots: set[int]) -> set[int]:
    """All of them; of one-offs, those beyond grace (S33)."""
    definition = step.after[name].definition
    given = definition.policy.grace
    grace = DEFAULT_GRACE if given is None else given
    return {t for t in slots if not isinstance(definition.times, At) or t < step.now - grace}


def _surely_due(step: Step, schedule: Schedule) -> Iterator[int]:
    """The slots that a pass leaves pending; none where nothing can be decided or only stop and restart remain."""
    if _rests_at(schedule, step.now) or schedule.definition.kind is not Kind.START:
        return
    hidden = schedule.moved
    for slot in step.open[schedule.name][1]:
        moved_over = hidden is not None and hidden.asked_at < slot < hidden.to
        if not moved_over and slot + schedule.definition.policy.jitter <= step.now:
            yield slot


def _lanes(step: Step, start: Start) -> int:
    schedule = step.before[start.schedule]
    asked = schedule.backfill if start.trigger is Trigger.BACKFILL else None
    overlap = asked.overlap if asked else schedule.definition.policy.overlap
    side_by_side = overlap is Overlap.ALLOW and schedule.definition.kind is Kind.START
    return schedule.definition.policy.max_active_runs if side_by_side else 1


def _frozen(facts: Facts) -> tuple[object, ...]:
    taken = {
        name: (frozenset(own.slots_with_run), own.last_slot_with_run, dict(own.progress))
        for name, own in facts.schedules.items()
    }
    return dict(facts.jobs), taken, dict(facts.successes)


def _by_schedule(plans: Iterable[TickPlan]) -> tuple[list[Any], ...]:
    plans = list(plans)
    return (
        sorted((s for p in plans for s in p.starts), key=lambda s: (s.schedule, s.slot)),
        sorted((c for p in plans for c in p.cancels), key=lambda c: (c.schedule, c.slot, c.run)),
        sorted((d for p in plans for d in p.decisions), key=lambda d: d.schedule),
        sorted((s for p in plans for s in p.schedules), key=lambda s: s.schedule.name),
    )
