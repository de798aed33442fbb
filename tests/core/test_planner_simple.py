"""The short way of the planner: wherever it answers, it answers as the long way does, which is the definition."""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tickwise.core import advance_requests, planner, schedule_pass, slots
from tickwise.core.definition import After, Catchup, Kind, Overlap, Policy, ScheduleDefinition
from tickwise.core.model import (
    Backfill,
    Decision,
    Deferral,
    Disabled,
    Facts,
    Holder,
    JobFacts,
    Move,
    Pause,
    Schedule,
    ScheduleFacts,
    TickPlan,
    Trigger,
)
from tickwise.core.planner import plan_simple
from tickwise.core.reasons import Reason

from .timeline import times_of

NOON = 1_792_929_600  # of the day on which Berlin's clocks go back
TIMES = (
    "* * * * *",
    "* * * * * *",
    "0 * * * *",
    "@every 90s",
    "@every 20s",
    "CRON_TZ=Europe/Berlin 30 2 * * *",
    "*/10 * * * * | 5,10 * * * *",
    "+0",
    "-40 +0 +20",
)
NEAR = (-3_600, -61, -60, -20, -1, 0, 1, 20, 60, 90)  # seconds from the slot
LATE = (-1, 0, 0, 0, 1, 19, 20, 29, 30, 31, 59, 60, 61, 89, 90, 599, 600, 601)
RUN = Holder("17", 0, Trigger.SCHEDULE)
HOLDERS = (
    (),
    (),
    (RUN,),
    (RUN._replace(lane=1),),
    (RUN._replace(trigger=Trigger.BACKFILL),),
    (RUN, RUN._replace(lane=1)),
)
POLICIES = (
    Policy(),
    Policy.of(catchup=Catchup.SKIP),
    Policy.of(catchup=Catchup.ALL),
    Policy.of(overlap=Overlap.LATEST),
    Policy.of(overlap=Overlap.REPLACE),
    Policy.of(overlap=Overlap.ALLOW, max_active_runs=2),
    Policy.of(catchup=Catchup.ALL, overlap=Overlap.SKIP),
)
TWISTS: tuple[dict[str, Any], ...] = (
    {"kind": Kind.STOP},
    {"kind": Kind.RESTART},
    {"jitter": 40},
    {"until": NOON},
    {"max_runs": 3},
    {"after": (After("other", 600),), "wait_for": 600},
    {"manual_pause": Pause(NOON - 5)},
    {"disabled": Disabled(NOON - 5)},
    {"deleted_at": NOON - 5},
    {"moved": Move(NOON - 5, NOON + 15)},
    {"backfill": Backfill(NOON - 600, NOON)},
    {"reopened": (NOON - 600,)},
    {"dropped": ((NOON - 1, NOON + 10),)},
    {"unreadable": "the disk is full"},
    {"no_worker": "serves the queue gpu"},
)


class Case(NamedTuple):
    """A pass over one schedule."""

    now: int
    schedule: Schedule
    job: JobFacts
    own: ScheduleFacts

    def short(self) -> TickPlan | None:
        return plan_simple(*self)

    def long(self) -> TickPlan:
        with patch.object(planner, "plan_simple", lambda *_: None):
            return self.planned()

    def planned(self) -> TickPlan:
        return planner.plan(self.now, [self.schedule], Facts({"a": self.job}, {"a.1": self.own}))


def case(text: str = "* * * * *", policy: Policy = POLICIES[0], late: int = 0, **given: Any) -> Case:
    """The slot after noon is met in time, and nothing is in its way; or as given, by field."""

    def own(kind: Any) -> dict[str, Any]:
        return {name: value for name, value in given.items() if name in kind}

    times = times_of(text, NOON)
    slot = times.after(NOON - 1) or NOON
    ruled = replace(policy, **own(Policy.__slots__))
    definition = ScheduleDefinition("a.1", "a", times, text, given.get("kind", Kind.START), ruled)
    state = {
        "cursor": slot - 1,
        "last_seen_slot": slot - 1,
        "last_missed_slot": slot - 1,
        "edited_at": 0,
        "first_seen": 0,
    }
    return Case(
        slot + late,
        Schedule(definition, **state | own(Schedule._fields)),
        JobFacts(**own(JobFacts._fields)),
        ScheduleFacts(**own(ScheduleFacts._fields)),
    )


def _near(slot: int) -> st.SearchStrategy[int]:
    return st.sampled_from(NEAR).map(lambda seconds: slot + seconds)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Near the border of the ordinary: mostly one thing is as it is not always."""
    text = draw(st.sampled_from(TIMES))
    slot = times_of(text, NOON).after(NOON - 1) or NOON
    near = _near(slot)
    reason = draw(st.sampled_from((Reason.OVERLAP, Reason.ALREADY_DONE, Reason.WAITS_FOR_RUN)))
    told = Decision("a.1", reason, draw(near), draw(near), 3)
    oddities: dict[str, st.SearchStrategy[Any]] = {
        "cursor": near,
        "last_seen_slot": near,
        "last_missed_slot": near,
        "grace": st.sampled_from((0, 19, 30, 60, 600)),
        "skip_if_successful": st.just(True),
        "auto_remove": st.just(True),
        "runs_made": st.just(7),
        "deferral": near.map(lambda t: Deferral(t, Reason.WAITS_FOR_RUN, t)),
        "records": st.just((told,)),
        "holders": st.sampled_from(HOLDERS),
        "last_manual_start": near,
        "last_success": near,
        "slots_with_run": st.frozensets(near, max_size=2),
        "last_slot_with_run": near,
    }
    odd = draw(st.lists(st.sampled_from(sorted(oddities)), max_size=4, unique=True))
    given = {name: draw(oddities[name]) for name in odd} | draw(st.sampled_from(({},) * 20 + TWISTS))
    return case(text, draw(st.sampled_from(POLICIES)), draw(st.sampled_from(LATE)), **given)


@given(case=cases())
@settings(max_examples=1_000, database=None)
def test_the_short_way_leads_where_the_long_way_leads(case: Case) -> None:
    """For any schedule, facts and instant, the short way gives the very plan of the long way, or none."""
    short = case.short()
    event("short" if short else "long")
    assert short in (None, case.long())


ORDINARY: dict[str, dict[str, Any]] = {
    "on time": {},
    "at the end of its grace": {"late": 60, "text": "@every 90s"},
    "at the end of a grace that was given": {"late": 600, "grace": 600, "text": "0 * * * *"},
    "met in time, looked at late": {"late": 600, "last_seen_slot": NOON, "text": "0 * * * *"},
    "after a wait": {"deferral": Deferral(NOON, Reason.WAITS_FOR_RUN, NOON)},
    "too early": {"late": -1},
    "too early, and nothing waits any more": {"late": -1, "deferral": Deferral(0, Reason.BROKEN, 0)},
    "with a run in its way": {"holders": (RUN,)},
    "with a run in its way, as before": {
        "holders": (RUN,),
        "records": (Decision("a.1", Reason.OVERLAP, NOON - 60, NOON - 60),),
    },
    "beside a run": {"holders": (RUN,), "policy": POLICIES[5]},
    "done already": {"last_manual_start": NOON},
    "successful already": {"skip_if_successful": True, "last_success": NOON - 1},
    "for the last time": {"text": "+0", "auto_remove": True},
    "never": {"text": "+0", "cursor": NOON},
}


@pytest.mark.parametrize("name", ORDINARY)
def test_the_ordinary_takes_the_short_way(name: str) -> None:
    """What happens every day is planned without a desk, and as the long way would."""
    ordinary_case = case(**ORDINARY[name])
    expected = ordinary_case.long()
    with patch.object(planner, "_JobPass", side_effect=AssertionError("the long way")):
        assert ordinary_case.planned() == expected


LONG: dict[str, dict[str, Any]] = {str(twist): twist for twist in TWISTS} | {
    "missed": {"late": 61, "text": "@every 90s"},
    "found missed before": {"last_missed_slot": NOON},
    "several": {"late": 60},
    "it has a run": {"slots_with_run": frozenset({NOON})},
    "the next has a run": {"slots_with_run": frozenset({NOON + 60})},
    "the next has a run, and none is due": {"late": -1, "slots_with_run": frozenset({NOON})},
    "it must wait": {"holders": (RUN,), "policy": POLICIES[2]},
}


@pytest.mark.parametrize("name", LONG)
def test_the_extraordinary_takes_the_long_way(name: str) -> None:
    """What the short way does not know, it leaves alone."""
    assert case(**LONG[name]).short() is None


FEATURES = (
    (advance_requests, "end_windows"),
    (advance_requests, "_skip_marked"),
    (slots, "pending_slots"),
    (slots, "is_due_at_once"),
    (planner, "dependencies"),
    (planner, "over_budget"),
    (schedule_pass, "events_of"),
    (schedule_pass, "with_decided"),
    (schedule_pass, "judge"),
    (Schedule, "is_shadowed"),
)


@pytest.mark.parametrize("twist", [{"kind": Kind.STOP}, {"jitter": 40}, {"until": NOON}, {"max_runs": 3}], ids=str)
def test_the_long_way_asks_only_for_what_a_schedule_uses(twist: dict[str, Any]) -> None:
    """Without deadlines, events, a budget, blackouts, skips and shadow, a pass needs none of their rules."""
    special_case = case(late=50, **twist)
    expected = special_case.long()
    assert expected.starts or expected.decisions
    with ExitStack() as stack:
        for owner, name in FEATURES:
            stack.enter_context(patch.object(owner, name, side_effect=AssertionError(name)))
        assert special_case.long() == expected


def test_only_a_schedule_alone_takes_the_short_way() -> None:
    """S12: two schedules of a job are decided together, even if each alone would be ordinary."""
    one = case().schedule
    other = one._replace(definition=ScheduleDefinition("a.2", "a", one.definition.times, ""))
    plan = planner.plan(NOON, [one, other], Facts())
    assert [start.schedule for start in plan.starts] == ["a.1"]
    assert [decision.reason for decision in plan.decisions] == [Reason.OVERLAP]
