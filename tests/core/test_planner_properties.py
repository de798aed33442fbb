"""Whatever happens, the law holds: passes, outages, edits, pauses, slow runs, failures and clocks that jump.

Hypothesis looks for a world and a row of acts that break a rule of `law`; what it finds is told as a timeline.
That each rule can fail is shown by planners that are broken on purpose. `TICKWISE_EXAMPLES=3000` looks longer, and
elsewhere each time.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tickwise.core import planner
from tickwise.core.change import Change, ChangeResult, apply_change
from tickwise.core.cron import Every, parse
from tickwise.core.cron.zone import Zone
from tickwise.core.cron.zone import zone as named_zone
from tickwise.core.definition import (
    After,
    BlackoutMode,
    Catchup,
    Kind,
    Overlap,
    Policy,
    ScheduleDefinition,
    StartBudget,
)
from tickwise.core.errors import InputError
from tickwise.core.model import (
    Decision,
    Facts,
    JobFacts,
    Move,
    Planned,
    PlannedCancel,
    Schedule,
    TickPlan,
    Trigger,
)
from tickwise.core.reasons import Reason
from tickwise.core.simulation import state
from tickwise.core.slots import next_slot
from tickwise.core.time_limit import Deadline, TimeLimit

from .law import RULES
from .timeline import DAY, HOUR, Act, Jobs, Spec, World

EXAMPLES = int(os.environ.get("TICKWISE_EXAMPLES", "0"))
SPRING, AUTUMN = 1_774_735_200, 1_792_879_200  # 22:00 UTC, before Berlin's clocks change


def _possible_policies() -> Iterator[Policy]:
    for mode, window, overlap, lanes in product(
        (None, *Catchup), (None, 0, 600, 2 * HOUR), (None, *Overlap), (None, 1, 2)
    ):
        try:
            yield Policy.of(catchup=mode, catchup_window=window, overlap=overlap, max_active_runs=lanes)
        except InputError:
            continue


TIMES = (
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "@every 90s",
    "* 2 22 * * *",  # every second of a minute
    "CRON_TZ=Europe/Berlin 30 2 * * *",
    "CRON_TZ=Europe/Berlin */20 0-3 * * *",
    "*/10 * * * * | 5,10 * * * *",
    "CRON_TZ=Europe/Berlin 0 2 * * * | @every 40m",
    "*/5 * * * * from 3601",
    "@every 90s | 7 * * * * from 600",
    "FREQ=DAILY;INTERVAL=2;BYHOUR=0,2,23;BYMINUTE=0,5,30",
    "+300",
    "-120 -30 +3600 +90000",
    "*/20 * * * * days 0 2",
    "0 1,13 * * * roll 0 2 3",
)
WINDOWS = "*/25 * * * *"
DEADLINES = (
    Deadline(finish=TimeLimit(90)),
    Deadline(start=TimeLimit(30), finish=TimeLimit(2 * HOUR), cancel=True),
    Deadline(start=TimeLimit(600), finish=TimeLimit(clock=parse("30 2 * * *", "Europe/Berlin"))),
)
times = st.sampled_from(TIMES)
policies = st.builds(
    replace,
    st.sampled_from(sorted(set(_possible_policies()), key=str)),
    max_catchup=st.sampled_from((1_000, 3)),
    grace=st.sampled_from((None, 0, 30, 600)),
    jitter=st.sampled_from((0, 0, 50, 400)),
    until=st.sampled_from((None, None, 2 * HOUR, DAY)),
    max_runs=st.sampled_from((None, None, 2)),
    max_starts=st.sampled_from((None, None, StartBudget(2, 600), StartBudget(1, 2 * HOUR))),
    skip_if_successful=st.booleans(),
    after=st.sampled_from(((), (), (After("a.1", HOUR),), (After("", HOUR, "a"),))),
    wait_for=st.sampled_from((0, 600)),
    pause_after=st.sampled_from((None, None, 1, 2)),
    blackout=st.sampled_from(BlackoutMode),
    deadline=st.sampled_from((None, None, *DEADLINES)),
)
starts = st.builds(Spec, times, policies, st.just(Kind.START))
event_times = st.sampled_from(("events", "events 30 100", "events 5 5"))
on_events = st.builds(Spec, event_times, policies)
others = st.builds(Spec, times, policies, st.sampled_from((Kind.STOP, Kind.RESTART)))
jobs = st.lists(
    st.lists(on_events, min_size=1, max_size=2)
    | st.tuples(st.lists(starts, min_size=1, max_size=2), st.lists(others, max_size=1)).map(
        lambda two: two[0] + two[1]
    ),
    min_size=1,
    max_size=3,
)
event_jobs = st.lists(st.lists(on_events, min_size=1, max_size=2), min_size=1, max_size=2)
which = st.integers(0, 5)


def _act(
    verbs: str, which: st.SearchStrategy[int] = which, seconds: Sequence[int] = (0,), **others: Any
) -> st.SearchStrategy[Act]:
    details = {"times": st.just(""), "policy": st.none()} | others
    return st.builds(Act, st.sampled_from(verbs.split()), which, st.sampled_from(seconds), **details)


acts = st.lists(
    st.one_of(
        _act("wait", st.just(0), (1, 30, 60, 61, 300, 901, HOUR)),
        _act("sleep", st.just(0), (61, 601, HOUR, 7 * HOUR, DAY)),
        _act("pass finish_all", st.just(0)),
        _act("finish", seconds=range(5)),
        _act("trigger cancel crash workers_gone workers_back jump_back"),
        _act("pause", seconds=(0, 61, 601, HOUR)),
        _act("skip unskip", seconds=range(3)),
        _act("blackout", seconds=(61, 601, 902, HOUR, 7 * HOUR), times=st.sampled_from(("", WINDOWS))),
        _act("end_blackout", seconds=range(6)),
        _act("reset restored delete add cancel_backfill"),
        _act("resume", seconds=range(3)),
        _act("move", seconds=(0, -30, 61, 601, HOUR)),
        _act("backfill", seconds=(300, 601, HOUR, 2 * HOUR + 1, DAY)),
        _act("edit_times", times=times),
        _act("edit_times", times=event_times),
        _act("event", seconds=range(3)),
        _act("edit_policy", policy=policies),
    ),
    max_size=30,
)

event_acts = st.lists(
    st.one_of(
        _act("event", seconds=range(3)),
        _act("event", seconds=range(3)),
        _act("wait", st.just(0), (1, 4, 30, 61, 300)),
        _act("sleep", st.just(0), (4, 61, HOUR)),
        _act("pass finish_all reset delete add jump_back"),
        _act("pause", seconds=(0, 61)),
        _act("resume", seconds=range(3)),
        _act("skip", seconds=range(3)),
        _act("edit_times", times=event_times),
        _act("edit_policy", policy=policies),
    ),
    max_size=30,
)


@dataclass(frozen=True)
class Counted(Every):
    """Every second, with each question written down."""

    seconds: int = 1
    zone: Zone = field(default_factory=partial(named_zone, "UTC"))
    asked: list[int] = field(default_factory=list, compare=False)

    def after(self, second: int) -> int | None:
        self.asked.append(second)
        return second + 1

    def before(self, second: int) -> int | None:
        self.asked.append(second)
        return second - 1


LAST_ACTS = (Act("workers_back"), Act("pass"), Act("finish_all"), Act("wait", 0, 300))


@settings(max_examples=EXAMPLES or 300, derandomize=not EXAMPLES, database=None, print_blob=False)
@given(start=st.sampled_from((SPRING, AUTUMN)), jobs=jobs, acts=acts)
def test_the_law_holds_whatever_happens(start: int, jobs: Jobs, acts: list[Act]) -> None:
    """Any passes, outages, edits, pauses, slow runs, failures and clock jumps leave S1-S36, S65 and S71 whole."""
    World(start, jobs, RULES).play([*acts, *LAST_ACTS])


@settings(max_examples=EXAMPLES or 100, derandomize=not EXAMPLES, database=None, print_blob=False)
@given(jobs=event_jobs, acts=event_acts)
def test_the_law_holds_for_events_whenever_they_come(jobs: Jobs, acts: list[Act]) -> None:
    """S71: the same where nearly all that happens is about events."""
    World(SPRING, jobs, RULES).play([*acts, *LAST_ACTS])


@given(
    policy=policies,
    reopened=st.booleans(),
    down=st.sampled_from((HOUR, 30 * DAY, 3_650 * DAY)),
    moved=st.booleans(),
)
@settings(max_examples=100, derandomize=True, database=None)
def test_work_is_bounded_however_long_nothing_ran(policy: Policy, reopened: bool, down: int, moved: bool) -> None:
    """S6: a pass asks the times of a schedule that is due every second a few times per slot of max_catchup."""
    times = Counted()
    limited = replace(policy, max_catchup=20, max_active_runs=1, after=(), until=None, deadline=None)
    definition = ScheduleDefinition("a.1", "a", times, "every second", policy=limited)
    again = tuple(range(SPRING - 10, SPRING)) if reopened else ()
    move = Move(SPRING, SPRING + 100) if moved else None
    schedule = Schedule(definition, SPRING, SPRING, SPRING, SPRING, SPRING, reopened=again, moved=move)
    planner.plan(SPRING + down, [schedule], Facts())
    assert len(times.asked) <= 1_000


# What was found this way, each in its shortest form

EACH, MANY = "* * * * *", Policy.of(catchup=Catchup.ALL, overlap=Overlap.ALLOW)
ONE = replace(MANY, max_active_runs=1, catchup_window=600)
START, STOP = Spec(EACH, ONE), Spec(EACH, ONE, Kind.STOP)
PATIENT = Spec(EACH, replace(MANY, grace=600))
SLEEP, LONG, PASS, END = Act("sleep", 0, 601), Act("sleep", 0, DAY), Act("pass"), Act("finish_all")
MOVE, FIVE = Act("move"), Act("wait", 0, 300)
FOUND: dict[str, tuple[Jobs, Sequence[Act]]] = {
    "a stop beside the start it would cancel": ([[START, STOP]], [FIVE]),
    "a queued run that a pass cancels": ([[START, Spec("*/2 * * * *", ONE, Kind.STOP)]], [FIVE]),
    "catch-up of two schedules": ([[Spec(EACH, MANY), START]], [SLEEP, PASS, END, FIVE]),
    "live slots of two schedules": ([[PATIENT, PATIENT]], [Act("sleep", 0, 121), PASS]),
    "a backfill of a stop": ([[START, STOP]], [Act("backfill", 1, 300), PASS]),
    "two backfills in a job": ([[START, START]], [Act("backfill", 0, 300), Act("backfill", 1, 300), PASS]),
    "a backfill of what is caught up": (
        [[Spec(EACH, MANY)]],
        [Act("sleep", 0, 7 * HOUR), Act("backfill", 0, 2 * HOUR), Act("edit_times", times="0 * * * *"), PASS],
    ),
    "a move over a move that is due": (
        [[START]],
        [Act("wait", 0, 1), MOVE, Act("sleep", 0, 1), Act("move", 0, 61)],
    ),
    "a move over a move to a slot": ([[START]], [Act("sleep", 0, HOUR), MOVE, Act("wait", 0, 1), MOVE]),
    "the same move again": ([[START]], [FIVE, MOVE, MOVE, MOVE, END, FIVE]),
    "a move to now, and an outage": ([[START]], [FIVE, MOVE, LONG, PASS]),
    "a move, and an edit": ([[START]], [Act("move", 0, 601), SLEEP, Act("edit_times", times="0 * * * *"), PASS]),
    "a move in a pause": (
        [[Spec(EACH)]],
        [Act("move", 0, 601), Act("pause"), Act("sleep", 0, HOUR), Act("resume")],
    ),
    "a move, and a reset": ([[START]], [Act("move", 0, 61), Act("wait", 0, 60), Act("reset")]),
    "a moved slot that is too old": (
        [[START, START]],
        [Act("wait", 0, 61), END, Act("move", 1), SLEEP, PASS, END, FIVE],
    ),
    "a move past which a schedule ends": (
        [[Spec(EACH, replace(ONE, max_runs=2)), START]],
        [SLEEP, Act("wait", 0, 1), END, Act("move", 0, 61), LONG, PASS],
    ),
    "a move after the clock went back": (
        [[START]],
        [Act("sleep", 0, 61), Act("wait", 0, 1), Act("jump_back"), MOVE, PASS, END, FIVE],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_mended(name: str) -> None:
    """Stories that once broke S1, S7, S12, S15, S21, S31 or S32 no longer do."""
    jobs, acts = FOUND[name]
    World(SPRING, jobs, RULES).play(acts)


# Planners that are broken on purpose

QUEUE = Policy.of(overlap=Overlap.QUEUE)
SIDE_BY_SIDE = Policy.of(catchup=Catchup.ALL, overlap=Overlap.ALLOW, max_active_runs=3)
WORLD = (
    (Spec("* * * * *", QUEUE),),
    (Spec("* * * * *", SIDE_BY_SIDE),),
    (Spec("* * * * *", Policy.of(max_runs=2)), Spec("*/5 * * * *", kind=Kind.STOP)),
    (Spec("* * * * *", Policy.of(max_starts=StartBudget(1, HOUR))),),
)
STORY = (
    Act("wait", 0, 120),
    Act("finish_all"),
    Act("pause", 0),
    Act("move", 1, 150),
    Act("wait", 0, 61),
    Act("finish_all"),
    Act("wait", 0, 61),
    Act("finish_all"),
    Act("wait", 0, 61),
    Act("resume", 0, 1),
    Act("finish_all"),
    Act("sleep", 0, HOUR),
    Act("pass"),
    Act("wait", 0, 120),
    Act("delete", 1),
    Act("sleep", 0, 601),
    Act("add"),
    Act("finish_all"),
    Act("pass"),
    Act("edit_times", 3, times="* * * * *"),
    Act("wait", 0, 901),
)

Plan: TypeAlias = Callable[[int, Iterable[Schedule], Facts], TickPlan]
Mutant: TypeAlias = Callable[[Plan], Plan]


def _answers(change: Callable[[TickPlan, int], TickPlan]) -> Mutant:
    """A planner whose answers are changed."""
    return lambda plan: lambda now, due, facts: change(plan(now, due, facts), now)


def _leaves(**changes: Callable[[Planned, int], Any]) -> Mutant:
    """A planner that leaves its schedules otherwise."""

    def changed(planned: Planned, now: int) -> Planned:
        found = {name: change(planned, now) for name, change in changes.items()}
        if "cursor" in found:
            return planned._replace(schedule=planned.schedule._replace(**found))
        return planned._replace(**found)

    return _answers(lambda plan, now: plan._replace(schedules=tuple(changed(p, now) for p in plan.schedules)))


def _believes(change: Callable[[Schedule], Schedule]) -> Mutant:
    """A planner that takes its schedules for something else."""
    return lambda plan: lambda now, due, facts: plan(now, [change(schedule) for schedule in due], facts)


def _starts(**values: Any) -> Mutant:
    return _answers(lambda plan, _: plan._replace(starts=tuple(s._replace(**values) for s in plan.starts)))


def _decides(change: Callable[[TickPlan], Iterable[Decision]]) -> Mutant:
    return _answers(lambda plan, _: plan._replace(decisions=tuple(change(plan))))


def _next(planned: Planned, _now: int) -> int:
    schedule = planned.schedule
    return next_slot(schedule, schedule.cursor) or schedule.cursor


def _one_by_one(plan: TickPlan) -> Iterator[Decision]:
    return (d._replace(count=1) for d in plan.decisions for _ in range(d.count))


def _said_again(plan: TickPlan) -> Iterator[Decision]:
    yield from plan.decisions
    for name, waits in ((p.schedule.name, p.schedule.deferral) for p in plan.schedules):
        if waits:
            yield Decision(name, waits.reason, waits.slot, waits.slot)


def _idle(_plan: Plan) -> Plan:
    return lambda now, due, _: TickPlan(schedules=tuple(Planned(s, now + 60, now + 60) for s in due))


def _moody(plan: Plan) -> Plan:
    moods = iter(range(1_000_000))
    return lambda now, due, facts: TickPlan() if next(moods) % 2 else plan(now, due, facts)


def _forgetful(plan: Plan) -> Plan:
    def forgetful(now: int, due: Iterable[Schedule], facts: Facts) -> TickPlan:
        found = plan(now, due, facts)
        if isinstance(facts.jobs, dict):
            facts.jobs.clear()
        return found

    return forgetful


def _alone(plan: Plan) -> Plan:
    """A planner that ignores who holds lanes."""

    def alone(now: int, due: Iterable[Schedule], facts: Facts) -> TickPlan:
        jobs: Mapping[str, JobFacts] = {job: known._replace(holders=()) for job, known in facts.jobs.items()}
        return plan(now, due, replace(facts, jobs=jobs))

    return alone


def _spreading(plan: Plan) -> Plan:
    """A planner that gives each start a lane of its own, however many there may be."""
    return _answers(
        lambda found, _: found._replace(starts=tuple(s._replace(lane=i) for i, s in enumerate(found.starts)))
    )(_alone(plan))


MUTANTS: dict[str, tuple[str, Mutant]] = {
    "starts a slot twice": (
        "s1",
        _answers(lambda p, _: p._replace(starts=tuple(s for s in p.starts for _ in "12"))),
    ),
    "moves the cursor back": ("s4", _leaves(cursor=lambda p, _: p.schedule.cursor - 60)),
    "moves the cursor past now": ("s4", _leaves(cursor=lambda _, now: now + 1)),
    "records slot by slot": ("s6", _decides(_one_by_one)),
    "moves the cursor a slot further": ("s7_every", _leaves(cursor=_next)),
    "records nothing": ("s7_every", _decides(lambda _: ())),
    "counts wrong": ("s7_every", _decides(lambda p: (d._replace(count=d.count + 1) for d in p.decisions))),
    "counts from one again": ("s7_no_record", _decides(lambda p: (d._replace(count=1) for d in p.decisions))),
    "says again what waits": ("s7_waiting", _decides(_said_again)),
    "calls late slots live": ("s9", _starts(trigger=Trigger.SCHEDULE)),
    "starts the newest first": ("s12", _answers(lambda p, _: p._replace(starts=p.starts[::-1]))),
    "takes one lane for all": ("s14", _starts(lane=0)),
    "sees no active run": ("s14", _alone),
    "takes any lane": ("s14", _spreading),
    "sleeps for ever": ("s15_pending", _leaves(wake_at=lambda *_: None)),
    "oversleeps": ("s15_pending", _leaves(due_at=lambda p, _: p.due_at and p.due_at + 1)),
    "does nothing": ("s15_nothing", _idle),
    "breaks": ("s20", _decides(lambda p: (d._replace(reason=Reason.BROKEN) for d in p.decisions))),
    "cancels what is not": ("s21", _answers(lambda p, _: p._replace(cancels=(PlannedCancel("9", "a.1", 0),)))),
    "ignores pauses": ("s29", _believes(lambda s: s._replace(manual_pause=None))),
    "ignores moves": ("s31", _believes(lambda s: s._replace(moved=None))),
    "ignores max_runs": ("s34", _believes(lambda s: s._replace(runs_made=0))),
    "has moods": ("planning_again", _moody),
    "forgets what it has started": ("s77", _believes(lambda s: s._replace(recent_starts=()))),
    "changes what it reads": ("planning_again", _forgetful),
    "starts one run in all": ("planning_jobs_apart", _answers(lambda p, _: p._replace(starts=p.starts[:1]))),
}


def test_the_law_holds_for_the_story_of_the_mutants() -> None:
    """The planner as it is passes where its mutants fail."""
    World(SPRING, WORLD, RULES).play(STORY)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_planner_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule of the law fails for a planner that breaks it, and tells the story."""
    rule, mutant = MUTANTS[name]
    monkeypatch.setattr(planner, "plan", mutant(planner.plan))
    rules = [known for known in RULES if known.__name__.startswith(rule)]
    with pytest.raises(AssertionError, match=rf"(?s)^{rule}.*\n\na\.1: .*03-28T22:0"):
        World(SPRING, WORLD, rules).play(STORY)


@pytest.mark.parametrize("rule", ["s2", "s24"])
def test_a_change_that_invents_a_past_is_found(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S2 and S24 fail for a change that leaves the cursor in the past."""

    def wrong(schedule: Schedule | None, change: Change, now: int) -> ChangeResult:
        done = apply_change(schedule, change, now)
        return replace(done, schedules=tuple(s._replace(cursor=now - DAY) for s in done.schedules))

    rules = [known for known in RULES if known.__name__.startswith(f"{rule}_")]
    world = World(SPRING, WORLD, rules)
    monkeypatch.setattr(state, "apply_change", wrong)
    with pytest.raises(AssertionError, match=rule):
        world.play(STORY)


def test_a_planner_that_ignores_stops_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """S22 fails where a missed start is caught up although its stop has passed, or where no stop has."""
    rules = [known for known in RULES if known.__name__.startswith("s22_")]
    jobs = [[Spec(EACH, Policy.of(catchup=Catchup.ALL)), Spec("*/5 * * * *", kind=Kind.STOP)]]
    World(SPRING, jobs, rules).play([Act("sleep", 0, 780), PASS])
    for wrong in (None, SPRING + DAY):
        monkeypatch.setattr(planner, "last_stop", lambda *_, wrong=wrong: wrong)
        with pytest.raises(AssertionError, match="s22_no_start"):
            World(SPRING, jobs, rules).play([Act("sleep", 0, 780), PASS])


def _never_told(plan: Plan) -> Plan:
    """A planner whose runs do not see what they are for."""
    return _starts(events=())(plan)


EVENT_MUTANTS: dict[str, tuple[str, Mutant]] = {
    "runs without events": ("s71_every", _never_told),
    "runs all events in each run": (
        "s71_every",
        _answers(
            lambda p, _: p._replace(
                starts=tuple(one._replace(events=sum((s.events for s in p.starts), ())) for one in p.starts)
            )
        ),
    ),
    "records nothing of events": ("s71_every", _decides(lambda _: ())),
    "closes a group late": (
        "s71_a_group",
        _answers(lambda p, _: p._replace(starts=tuple(s._replace(slot=s.slot + 1) for s in p.starts))),
    ),
    "leaves the newest event of a group out": (
        "s71_a_group",
        _answers(lambda p, _: p._replace(starts=tuple(s._replace(events=s.events[:1]) for s in p.starts))),
    ),
}
EVENT_JOBS = ((Spec("events 30 100", MANY),), (Spec("events", replace(MANY, overlap=Overlap.SKIP)),))
EVENT_STORY = (
    *(Act("event", which, 2) for which in (0, 1)),
    Act("wait", 0, 10),
    Act("event", 0),
    Act("event", 0, 1),
    Act("event", 1, 2),
    Act("wait", 0, 300),
    *(Act("event", 0), Act("sleep", 0, 50), Act("event", 0), Act("sleep", 0, 50), Act("wait", 0, 61)),
    Act("finish_all"),
    Act("wait", 0, 61),
)


def test_the_law_holds_for_events() -> None:
    """The planner as it is passes where its mutants fail, and makes runs of groups and of single events."""
    world = World(SPRING, EVENT_JOBS, RULES)
    world.play(EVENT_STORY)
    assert [len(world.slots[name]) for name in ("a.1", "b.1")] == [3, 1]


@pytest.mark.parametrize("name", EVENT_MUTANTS)
def test_a_planner_that_mistreats_events_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S71 fails for it, and tells the story."""
    rule, mutant = EVENT_MUTANTS[name]
    monkeypatch.setattr(planner, "plan", mutant(planner.plan))
    rules = [known for known in RULES if known.__name__.startswith(rule)]
    with pytest.raises(AssertionError, match=rf"(?s)^{rule}.*\n\na\.1: .*03-28T22:0"):
        World(SPRING, EVENT_JOBS, rules).play(EVENT_STORY)


def test_every_rule_has_a_mutant() -> None:
    """No rule of the law goes unproven."""
    mutants = (MUTANTS | EVENT_MUTANTS).values()
    proven = (*(rule for rule, _ in mutants), "s2_", "s22_", "s24_")
    assert not [rule.__name__ for rule in RULES if not rule.__name__.startswith(proven)]
