"""A world in which schedules are played through act by act, and which can tell its story afterwards.

Every pass and every change is a `Step`: what it found, what it left, what it decided. The rules of the world look
at each step; where one is broken, the error holds the whole story, a line for everything that happened.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, NoReturn, TypeAlias

from tickwise.core import planner
from tickwise.core.backfill import BackfillAsked, BackfillCancelled
from tickwise.core.blackout import Blackout
from tickwise.core.change import (
    Added,
    BlackoutsSet,
    Change,
    Deleted,
    Paused,
    Rescheduled,
    Reset,
    Restored,
    Resumed,
    SkipAsked,
    SkipTakenBack,
    Updated,
)
from tickwise.core.cron import Recurrence, parse
from tickwise.core.cron.calendar_days import OnCalendar, Roll
from tickwise.core.cron.day_set import DaySet
from tickwise.core.cron.recurrences import AnyOf, At, Window
from tickwise.core.cron.rule import Rule as CalendarRule
from tickwise.core.cron.zone import zone
from tickwise.core.definition import (
    JobDefinition,
    Kind,
    Overlap,
    Policy,
    RetryPolicy,
    ScheduleDefinition,
    StartBudget,
)
from tickwise.core.errors import ConflictError, InputError
from tickwise.core.event_inbox import EventsReceived
from tickwise.core.event_sources import NewEvent
from tickwise.core.events import Coalesce, OnEvent
from tickwise.core.model import Decision, Facts, Holder, Schedule, Start, TickPlan, Trigger
from tickwise.core.reasons import Reason
from tickwise.core.settle import Cancelled, Failed, LeaseExpired, Outcome, Snoozed, Succeeded
from tickwise.core.simulation.state import RecordedDecision, SimulatedStore, SimulatedStoredRun
from tickwise.core.slots import next_slot
from tickwise.core.states import RunState
from tickwise.core.timeparse import iso

HOUR, DAY = 3_600, 86_400
HORIZON = 9 * DAY  # no world lives longer
OUTCOMES: tuple[Outcome, ...] = (Succeeded(), Failed(), Snoozed(90), LeaseExpired(), Cancelled())


class Act(NamedTuple):
    """One thing that happens. `which` picks among what there is, `seconds` says how long or how far."""

    verb: str
    which: int = 0
    seconds: int = 0
    times: str = ""
    policy: Policy | None = None

    def __str__(self) -> str:
        said = [self.verb, f"#{self.which}" if self.which else "", f"{self.seconds} s" if self.seconds else ""]
        return " ".join(word for word in (*said, self.times, self.policy and written(self.policy)) if word)


class Spec(NamedTuple):
    """A schedule to be: its times as text, and a policy whose `until` counts from the world's start."""

    times: str
    policy: Policy = Policy()
    kind: Kind = Kind.START


Jobs: TypeAlias = Sequence[Sequence[Spec]]


@cache
def times_of(text: str, start: int) -> Recurrence:
    """Cron, or `|` between the parts of a union; `+60 +3600` are one-offs, counted from the start.

    `… from 600` has no slot before so many seconds after the start (S63), `… days 0 2` only slots of these days,
    and `… roll 0 2` those of other days on the next of these (S61). `events` have a run each, `events 30 100` one
    in groups (S71).
    """
    if text.startswith("events"):
        rule = [int(word) for word in text.split()[1:]]
        return OnEvent(coalesce=Coalesce(*rule) if rule else None, window=HORIZON)
    for word, roll in ((" days ", None), (" roll ", Roll.FORWARD)):
        text, _, days = text.partition(word)
        if days:
            fits = DaySet.of((start // DAY + int(day) for day in days.split()), start // DAY - 10, 30)
            return OnCalendar(times_of(text, start), "office", roll=roll, version="1", days=fits)
    text, _, first = text.partition(" from ")
    if first:
        return Window(times_of(text, start), start + int(first))
    if text.startswith("FREQ="):
        return CalendarRule(text, zone("Europe/Berlin"), start - DAY)
    if text[0] in "+-":
        return At(tuple(start + int(word) for word in text.split()), zone("UTC"))
    parts = tuple(parse(part.strip()) for part in text.split("|"))
    return parts[0] if len(parts) == 1 else AnyOf(parts)


@cache
def named(times: Recurrence, start: int) -> tuple[int, ...]:
    """Every slot that can matter to a world."""
    found, slot = [], times.after(start - 2 * DAY)
    while slot is not None and slot < start + HORIZON:
        found.append(slot)
        slot = times.after(slot)
    return tuple(found)


def undecided(schedule: Schedule, runs: AbstractSet[int], until: int, start: int) -> set[int]:
    """The slots up to an instant that still owe a run or a decision, by the schedule's state alone.

    What a move by hand passes over owes a decision until the new time has been met (S31).
    """
    times, moved = schedule.definition.times, schedule.moved
    if _finished(schedule):
        return set(schedule.reopened) - runs
    last = schedule.definition.policy.until
    until = until if last is None else min(until, last)
    slots = named(times, start)
    found = set(slots[bisect_right(slots, schedule.cursor) : bisect_right(slots, until)])
    found -= {t for t in found if any(first < t <= end for first, end in schedule.dropped)}
    if moved and schedule.last_seen_slot >= moved.to:
        found -= {t for t in found if moved.asked_at < t < moved.to}
    if moved and schedule.cursor < moved.to <= until:
        found.add(moved.to)
    return (found | set(schedule.reopened)) - runs


def _finished(schedule: Schedule) -> bool:
    """Whether max_runs has ended it, and nothing waits any more (S34)."""
    most = schedule.definition.policy.max_runs
    return most is not None and schedule.runs_made >= most and schedule.deferral is None


@dataclass(frozen=True)
class Step:
    """A pass, or a change: what it found and what it left."""

    start: int
    now: int
    before: Mapping[str, Schedule]
    after: Mapping[str, Schedule]
    plan: TickPlan
    runs: Mapping[str, AbstractSet[int]]  # slots with a run, as found
    made: Mapping[str, int] = field(default_factory=dict)  # runs of each schedule against max_runs, as found
    started: Mapping[str, list[int]] = field(default_factory=dict)  # when, of each under its max_starts, as found
    facts: Facts = field(default_factory=Facts)
    change: Change | None = None
    recorded: Mapping[tuple[str, Reason, int], RecordedDecision] = field(default_factory=dict)  # as found

    @cached_property
    def timed(self) -> "Step":
        """Without the schedules that run on events."""
        timed = {name for name, found in self.after.items() if not is_of_events(found)}
        plan = self.plan._replace(
            starts=tuple(one for one in self.plan.starts if one.schedule in timed),
            cancels=tuple(one for one in self.plan.cancels if one.schedule in timed),
            decisions=tuple(one for one in self.plan.decisions if one.schedule in timed),
            schedules=tuple(one for one in self.plan.schedules if one.schedule.name in timed),
        )
        before, after = (
            {name: schedule for name, schedule in known.items() if name in timed}
            for known in (self.before, self.after)
        )
        return replace(self, before=before, after=after, plan=plan)

    @cached_property
    def open(self) -> dict[str, tuple[set[int], set[int]]]:
        """By schedule: what was undecided before and what is after, up to wherever a cursor has come."""
        return {name: self._open(name) for name in self.after if name in self.before}

    def _open(self, name: str) -> tuple[set[int], set[int]]:
        before, after, runs = self.before[name], self.after[name], self.runs[name]
        until = max(self.now, before.cursor, after.cursor)
        made = runs | {start.slot for start in self.starts(name)}
        found = undecided(before, runs, until, self.start)
        if (
            before.moved and before.moved.to > after.last_seen_slot and _finished(after)
        ):  # it will never come there
            found -= {t for t in found if before.moved.asked_at < t < before.moved.to}
        return found, undecided(after, made, until, self.start)

    def decided(self, name: str) -> set[int]:
        """The slots that this step has taken off the list without a run; one recorded may be backfilled."""
        before, after = self.open[name]
        return before - after - {s.slot for s in self.starts(name) if s.trigger is not Trigger.BACKFILL}

    def starts(self, name: str) -> list[Start]:
        return [start for start in self.plan.starts if start.schedule == name]

    def decisions(self, name: str) -> list[Decision]:
        return [decision for decision in self.plan.decisions if decision.schedule == name]

    def holders(self, job: str) -> tuple[Holder, ...]:
        return self.facts.jobs[job].holders if job in self.facts.jobs else ()

    def of_job(self, job: str) -> list[Schedule]:
        return [schedule for schedule in self.after.values() if schedule.job == job]

    @property
    def jobs(self) -> set[str]:
        """What a pass planned; none for a change."""
        return {planned.schedule.job for planned in self.plan.schedules}


Rule: TypeAlias = Callable[[Step], None]


def is_of_events(schedule: Schedule) -> bool:
    return isinstance(schedule.definition.times, OnEvent)


class World:
    """The reference ledger, a clock that may jump, and a story."""

    def __init__(self, start: int, jobs: Jobs, rules: Iterable[Rule]) -> None:
        self.start = self.now = start
        self.rules = tuple(rules)
        self.sent = 0  # events
        self.ledger = SimulatedStore()
        self.story: list[str] = []
        self.slots: dict[str, set[int]] = defaultdict(set)  # with a run
        self.made: dict[str, int] = defaultdict(int)
        self.started: dict[str, list[int]] = defaultdict(list)
        self.missed: dict[str, set[int]] = defaultdict(set)  # recorded as missed
        self.gone: list[ScheduleDefinition] = []
        for letter, specs in zip("abcd", jobs, strict=False):
            own = tuple(self._definition(letter, place, spec) for place, spec in enumerate(specs, 1))
            retry = RetryPolicy(limit=len(specs) - 1)
            self.ledger.define(JobDefinition(letter, schedules=own, queue=letter, retry=retry), start)
            self.story += [f"{d.name}: {d.kind} {d.label}  {written(d.policy)}" for d in own]

    def _definition(self, job: str, place: int, spec: Spec) -> ScheduleDefinition:
        name = f"{job}.{place}" if spec.kind is Kind.START else f"{job}.{place}.{spec.kind}"
        times = times_of(spec.times, self.start)
        return ScheduleDefinition(name, job, times, spec.times, spec.kind, self._policy(name, spec.policy))

    def _policy(self, name: str, policy: Policy) -> Policy:
        until = None if policy.until is None else self.start + policy.until
        jitter = 0 if policy.max_runs else policy.jitter  # so that the last run leaves no slot half due
        after = () if name.startswith("a") else policy.after
        return replace(policy, until=until, jitter=jitter, after=after)

    def play(self, acts: Iterable[Act]) -> None:
        for act in acts:
            if self.now + act.seconds < self.start + HORIZON - DAY:
                self.tell(f"- {act}")
                getattr(self, f"do_{act.verb}")(act)

    def tell(self, line: str) -> None:
        self.story.append(f"{iso(self.now)[5:-1]}  {line}")

    def check(self, step: Step) -> None:
        for rule in self.rules:
            try:
                rule(step)
            except AssertionError as broken:
                said = str(broken).partition("\n")[0]
                raise AssertionError(f"{rule.__name__}: {said}\n\n" + "\n".join(self.story)) from broken

    # what can happen

    def do_wait(self, act: Act) -> None:
        end = self.now + act.seconds
        while (wake := self.ledger.next_wake()) is not None and wake <= end:
            self.now = max(self.now, wake)
            self.make_pass()
        self.now = end

    def do_sleep(self, act: Act) -> None:
        self.now += act.seconds

    def do_jump_back(self, _act: Act) -> None:
        self.now = max(self.start, self.now - HOUR)

    def do_pass(self, _act: Act) -> None:
        self._wake_all()
        self.make_pass()

    def do_crash(self, act: Act) -> None:
        """A pass is planned and never committed; the one after it must come to the same (S1, S7)."""
        self._wake_all()
        due = self.ledger.claim(self.now)
        found = planner.plan(self.now, due, self.ledger.facts(due))
        self._wake_all()
        if self.make_pass() != found:
            self._fail(f"{act}: the pass after a crash decides otherwise")

    def do_finish(self, act: Act) -> None:
        active = [run for run in self.ledger.runs.values() if run.active]
        if active:
            self.end(active[act.which % len(active)], OUTCOMES[act.seconds % len(OUTCOMES)])

    def do_finish_all(self, _act: Act) -> None:
        for run in list(self.ledger.runs.values()):
            if run.active:
                self.end(run, Succeeded())

    def end(self, run: SimulatedStoredRun, outcome: Outcome) -> None:
        if run.state is RunState.QUEUED:
            self.ledger.lease(run.id, self.now)
        self.ledger.finish(run.id, Cancelled() if run.cancelling else outcome, self.now)
        self.tell(f"  run {run.id} ({run.schedule or run.job}) is {run.state}")
        self._check_woken_by(run)

    def _check_woken_by(self, run: SimulatedStoredRun) -> None:
        """When a run ends, what waits for its job is looked at at once (S15)."""
        waiting = [s.name for s in self.ledger.schedules.values() if s.job == run.job and s.deferral]
        wake = self.ledger.next_wake()
        if not run.active and waiting and (wake is None or wake > self.now):
            self._fail(f"s15: the end of run {run.id} does not wake {waiting}")

    def _fail(self, said: str) -> NoReturn:
        raise AssertionError(f"{said}\n\n" + "\n".join(self.story))

    def do_cancel(self, act: Act) -> None:
        active = [run for run in self.ledger.runs.values() if run.active]
        if active:
            self.ledger.cancel(active[act.which % len(active)].id, self.now)

    def do_trigger(self, act: Act) -> None:
        jobs = list(self.ledger.jobs)
        try:
            run = self.ledger.trigger(jobs[act.which % len(jobs)], self.now)
        except ConflictError as refusal:
            self.tell(f"  refused: {refusal}")
        else:
            self.ledger.lease(run.id, self.now)

    def do_workers_gone(self, act: Act) -> None:
        jobs = list(self.ledger.jobs)
        self.ledger.served_queues = frozenset(jobs) - {jobs[act.which % len(jobs)]}

    def do_workers_back(self, _act: Act) -> None:
        self.ledger.served_queues = None

    def do_event(self, act: Act) -> None:
        """One or more come; the newest may come again."""
        there = [s for s in self.ledger.schedules.values() if is_of_events(s) and s.deleted_at is None]
        if there:
            name, first = there[act.which % len(there)].name, self.sent - (act.seconds == 1)
            self.sent += (1, 1, 3)[act.seconds]
            events = tuple(NewEvent(f"k{number}") for number in range(max(0, first), self.sent))
            newest = self.ledger._newest.get(("slot", name), 0)
            self.make_change(name, EventsReceived(events, newest))

    def do_edit_times(self, act: Act) -> None:
        if definition := self._one(act):
            times = times_of(act.times, self.start)
            if isinstance(times, OnEvent) is not isinstance(definition.times, OnEvent):
                return
            self.make_change(definition.name, Updated(replace(definition, times=times, label=act.times)))

    def do_edit_policy(self, act: Act) -> None:
        if (definition := self._one(act)) and act.policy:
            new = replace(definition, policy=self._policy(definition.name, act.policy))
            missed = sorted(self.missed[definition.name] - self.slots[definition.name])
            self.make_change(definition.name, Updated(new, tuple(missed)))

    def do_pause(self, act: Act) -> None:
        self._change_one(act, Paused("ann", "a test", self.now + act.seconds if act.seconds else None))

    def do_skip(self, act: Act) -> None:
        """Mark one of the next slots (S66)."""
        if definition := self._one(act):
            slot: int | None = self.now
            for _ in range(1 + act.seconds % 3):
                slot = slot and next_slot(self.ledger.schedules[definition.name], slot)
            if slot is not None:
                self.make_change(definition.name, SkipAsked(slot, "ann", "a test"))

    def do_blackout(self, act: Act) -> None:
        """A window more, once or again and again; from now, or soon (S62)."""
        if definition := self._one(act):
            known = self.ledger.schedules[definition.name].blackouts
            begin = self.now + (0, 61, 601)[act.seconds % 3]
            once = At((begin,), zone("UTC"))
            opens = times_of(act.times, self.start) if act.times else once
            new = Blackout(f"b{len(known)}", opens, act.seconds, ("*",), since=self.now)
            self.make_change(definition.name, BlackoutsSet((*known, new)))

    def do_end_blackout(self, act: Act) -> None:
        if definition := self._one(act):
            known = self.ledger.schedules[definition.name].blackouts
            self.make_change(definition.name, BlackoutsSet(known[act.seconds % 2 :][: act.seconds % 3]))

    def do_unskip(self, act: Act) -> None:
        definition = self._one(act)
        marks = self.ledger.schedules[definition.name].skips if definition else ()
        if definition and marks:
            self.make_change(definition.name, SkipTakenBack(marks[act.seconds % len(marks)].slot))

    def do_resume(self, act: Act) -> None:
        self._change_one(act, Resumed((None, True, False)[act.seconds % 3]))

    def do_move(self, act: Act) -> None:
        self._change_one(act, Rescheduled(self.now + act.seconds))

    def do_reset(self, act: Act) -> None:
        self._change_one(act, Reset())

    def do_restored(self, act: Act) -> None:
        self._change_one(act, Restored(self.now - act.seconds))

    def do_backfill(self, act: Act) -> None:
        overlap, most = (Overlap.QUEUE, Overlap.ALLOW)[act.seconds % 2], (2, 1_000)[act.seconds % 3 % 2]
        self._change_one(act, BackfillAsked(self.now - act.seconds, self.now - act.seconds // 4, overlap, most))

    def do_cancel_backfill(self, act: Act) -> None:
        self._change_one(act, BackfillCancelled())

    def do_delete(self, act: Act) -> None:
        if definition := self._one(act):
            self.gone.append(definition)
            self.make_change(definition.name, Deleted())

    def do_add(self, _act: Act) -> None:
        if self.gone:
            definition = self.gone.pop()
            self.make_change(definition.name, Added(definition))

    def _one(self, act: Act) -> ScheduleDefinition | None:
        there = [s.definition for s in self.ledger.schedules.values() if s.deleted_at is None]
        return there[act.which % len(there)] if there else None

    def _change_one(self, act: Act, change: Change) -> None:
        if definition := self._one(act):
            self.make_change(definition.name, change)

    def _wake_all(self) -> None:
        for name in self.ledger.schedules:
            self.ledger._wake(name, self.now)

    # the two kinds of step

    def make_change(self, name: str, change: Change) -> None:
        before = {n: s for n, s in self.ledger.schedules.items() if n == name}
        recorded = dict(self.ledger.decisions)
        try:
            changed = self.ledger.change(name, change, self.now)
        except (InputError, ConflictError) as refusal:
            self.tell(f"  refused: {refusal}")
            return
        after = {schedule.name: schedule for schedule in changed.schedules}
        if before and after[name].first_seen != before[name].first_seen:
            before, self.made[name] = {}, 0
        if not before or _budget(before[name]) != _budget(after[name]):
            self.started[name] = []
        plan = TickPlan(decisions=changed.decisions)
        step = Step(self.start, self.now, before, after, plan, self.slots, change=change, recorded=recorded)
        self._tell_of(step, name)
        self.check(step)

    def make_pass(self) -> TickPlan:
        due = self.ledger.claim(self.now)
        facts = self.ledger.facts(due)
        plan = planner.plan(self.now, due, facts)
        before = {schedule.name: schedule for schedule in due}
        after = {planned.schedule.name: planned.schedule for planned in plan.schedules}
        known = self.ledger.decisions
        step = Step(
            self.start, self.now, before, after, plan, self.slots, self.made, self.started, facts, recorded=known
        )  # fmt: skip
        self._tell_of(step, "pass")
        self.check(step)
        for told in plan.decisions:
            slots = step.decided(told.schedule) if told.reason is Reason.MISSED else ()
            self.missed[told.schedule].update(t for t in slots if told.first <= t <= told.last)
        self.ledger.commit(plan, self.now)
        for cancel in plan.cancels:
            self._check_woken_by(self.ledger.runs[cancel.run])
        for start in plan.starts:
            self.slots[start.schedule].add(start.slot)
            if start.trigger is not Trigger.BACKFILL:
                self.made[start.schedule] += 1
                self.started[start.schedule].append(self.now)
        return plan

    def _tell_of(self, step: Step, what: str) -> None:
        said = [f"start {s.schedule}@{iso(s.slot)[5:-1]} {s.trigger} lane {s.lane}" for s in step.plan.starts]
        said += [f"cancel run {cancel.run}" for cancel in step.plan.cancels]
        said += [
            f"{d.schedule} {d.reason.code} {iso(d.first)[5:-1]}..{iso(d.last)[5:-1]} x{d.count} {d.detail}"
            for d in step.plan.decisions
        ]
        for name, after in step.after.items():
            if name in step.before and step.before[name].cursor != after.cursor:
                said.append(f"cursor of {name} {iso(step.before[name].cursor)[5:-1]} -> {iso(after.cursor)[5:-1]}")
        if said:
            self.tell(f"  {what}: " + "; ".join(said))


def _budget(schedule: Schedule) -> StartBudget | None:
    return schedule.definition.policy.max_starts


def written(value: Any) -> str:
    """A policy by what differs from the default."""
    given = [(f.name, getattr(value, f.name)) for f in fields(value) if getattr(value, f.name) != f.default]
    return "{" + ", ".join(f"{name}: {said}" for name, said in given) + "}"
