"""A job with its schedules as one value: what definitions, people, pauses and plans make of it."""

from dataclasses import fields, replace
from typing import Any

import pytest

from tickwise.core.backfill import BackfillAsked
from tickwise.core.blackout import Blackout
from tickwise.core.change import Paused
from tickwise.core.cron import parse
from tickwise.core.definition import Kind, Policy, Ticking
from tickwise.core.errors import InputError
from tickwise.core.event_inbox import EventsReceived
from tickwise.core.event_sources import NewEvent
from tickwise.core.events import OnEvent
from tickwise.core.facts_needed import failures_needed, successes_needed
from tickwise.core.jobstate import (
    SPECIAL_POLICY,
    SPECIAL_STATE,
    UNREADABLE_SECONDS,
    EndedPause,
    JobState,
    ScheduleState,
    UnreadableSchedule,
    by_job,
    contested_jobs,
    facts_of,
    is_simple,
)
from tickwise.core.model import (
    Backfill,
    Decision,
    Deferral,
    Disabled,
    Holder,
    JobFacts,
    Move,
    Pause,
    Planned,
    PlannedCancel,
    Schedule,
    ScheduleFacts,
    Start,
    TickPlan,
    Trigger,
)
from tickwise.core.planner import plan
from tickwise.core.reasons import Reason
from tickwise.core.requirements import EVERYTHING, LiveWorkers

from .world import instant, job, schedule

NOON = instant("12:00")
HOURLY = "0 * * * *"
# Fields with which a schedule is simple all the same, whatever they hold.
ORDINARY_POLICY = {
    "catchup", "catchup_window", "max_catchup", "overlap", "max_active_runs", "grace", "skip_if_successful",
    "wait_for", "expires", "auto_remove", "ticking", "blackout",
}  # fmt: skip
ORDINARY_STATE = {
    "definition", "cursor", "last_seen_slot", "last_missed_slot", "edited_at", "first_seen", "runs_made",
    "deferral", "records", "ticking", "failures_from", "shadow",
}  # fmt: skip


def defined(*schedules: Any, **given: Any) -> JobState:
    """A job that was defined at noon."""
    return JobState("etl").redefine(job("etl", HOURLY, beside=list(schedules), **given), "", NOON)


def test_every_field_is_considered() -> None:
    """A field of a policy or a schedule either makes it special, or is known not to: a new one must be placed."""
    assert {field.name for field in fields(Policy)} == ORDINARY_POLICY | set(SPECIAL_POLICY)
    assert set(Schedule._fields) == ORDINARY_STATE | set(SPECIAL_STATE)
    assert not ORDINARY_POLICY & set(SPECIAL_POLICY)
    assert not ORDINARY_STATE & set(SPECIAL_STATE)


@pytest.mark.parametrize(
    "special",
    [
        {"manual_pause": Pause(5)}, {"disabled": Disabled(5)}, {"disabled": Disabled(5, overruled=True)},
        {"moved": Move(5, 6)}, {"backfill": Backfill(5, 6)}, {"reopened": (5,)}, {"dropped": ((5, 6),)},
        {"deleted_at": 5}, {"blackouts": (Blackout("b", parse(HOURLY), 60, ("*",)),)},
    ],
    ids=str,
)  # fmt: skip
def test_what_was_done_to_a_schedule_makes_it_special(special: dict[str, Any]) -> None:
    """Pauses, moves, backfills, holes and deletion each change which slots there are."""
    state = defined().schedules["etl"].schedule
    assert is_simple(state)
    assert is_simple(state._replace(deferral=Deferral(5, Reason.OVERLAP, 5), ticking=Ticking.LOCAL))
    assert not is_simple(state._replace(**special))


@pytest.mark.parametrize(
    "policy", [{"jitter": 5}, {"until": NOON + 5}, {"max_runs": 5}, {"after": ("a",)}, {"shadow": True}], ids=str
)
def test_bounds_and_needs_make_it_special(policy: dict[str, Any]) -> None:
    """Bounds, jitter, dependencies and other kinds are not simple."""
    state = defined().schedules["etl"].schedule
    definition = state.definition
    special = replace(definition, policy=replace(definition.policy, **policy))
    assert not is_simple(state._replace(definition=special))
    assert not is_simple(state._replace(definition=replace(definition, kind=Kind.STOP)))


def test_a_definition_adds_updates_and_deletes() -> None:
    """New schedules are due at once, unchanged ones stay as they are, those left out are deleted (S23-S28)."""
    first = defined(schedule("etl.late", "30 * * * *"))
    assert first.changed == {"etl", "etl.late"}
    assert {each.wake_at for each in first.schedules.values()} == {NOON}
    loaded = first._replace(changed=frozenset())
    assert (
        loaded.redefine(job("etl", HOURLY, beside=[schedule("etl.late", "30 * * * *")]), "", NOON + 60) == loaded
    )
    second = loaded.redefine(job("etl", HOURLY, queue="slow"), "", NOON + 4_000)
    assert second.changed == second.cancel_queued == {"etl.late"}
    assert second.queue == "slow"
    assert (list(second.live), second.schedules["etl.late"].wake_at) == (["etl"], None)
    assert [d.reason for d in second.decisions] == [Reason.DELETED]


def test_a_refusal_leaves_the_value_as_it_was() -> None:
    """An operation returns a new value or raises."""
    before = defined()
    with pytest.raises(InputError, match="one time to a later one"):
        before.change("etl", BackfillAsked(NOON, NOON), NOON)
    assert before == defined()


def test_a_request_marks_the_schedule_even_if_nothing_comes_of_it() -> None:
    """The second of two pauses changes nothing, and does not wake the job; only the time of change is new."""
    paused = defined().change("etl", Paused("ann"), NOON)._replace(changed=frozenset())
    again = paused.change("etl", Paused("bob"), NOON + 60)
    assert again == paused._replace(changed=frozenset({"etl"}))


def test_events_get_slots_behind_those_that_have_runs() -> None:
    """A job that ran on times before it listened to events has slots with runs (S1): no event gets one of them."""
    job_ = defined(schedule("etl.event", OnEvent()))
    ran = job_._replace(schedules={"etl.event": job_.schedules["etl.event"]._replace(last_slot=NOON + 60)})
    received = ran.change("etl.event", EventsReceived((NewEvent("a"), NewEvent("b"))), NOON)
    assert [event.slot for event in received.schedules["etl.event"].schedule.inbox.pending] == [
        NOON + 61,
        NOON + 62,
    ]


def test_a_backfill_learns_where_history_begins() -> None:
    """Slots whose runs may have been removed are refused (S51)."""
    job_ = defined()._replace(history_from=NOON - 3_600)
    with pytest.raises(InputError, match="may have been removed"):
        job_.change("etl", BackfillAsked(NOON - 7_200, NOON - 3_600), NOON)
    assert job_.change("etl", BackfillAsked(NOON - 3_600, NOON), NOON).waiting


def test_catch_up_turned_on_asks_for_missed_slots() -> None:
    """Of what was recorded as missed, slots within the window are pending again (S25)."""
    before = defined(catchup="skip")
    now = NOON + 5 * 3_600
    caught_up = job("etl", HOURLY, catchup_window="2h")
    assert before.reopened_by(caught_up, now) == {"etl": now - 7_200}
    assert before.reopened_by(job("etl", HOURLY, catchup="once"), now) == {}
    assert before.reopened_by(job("etl", HOURLY, beside=[schedule("new", HOURLY, catchup="all")]), now) == {}
    moved = before.commit(TickPlan(schedules=(Planned(before.live["etl"]._replace(cursor=now), None, None),)), now)
    after = moved.redefine(caught_up, "", now, {"etl": [(NOON + 3_600, now), (now, now)]})
    assert after.live["etl"].reopened == (now - 7_200, now - 3_600, now)


def test_a_schedule_that_cannot_be_read_begins_anew() -> None:
    """Defined again it is new, but for its newest slot, and that is recorded; left out it goes (S2)."""
    lost = {"etl": UnreadableSchedule("torn", NOON), "etl.late": UnreadableSchedule("torn"), "old": _DELETED}
    before = JobState("etl", unreadable=lost, woken_at=NOON + 600)
    assert before.wake_at(NOON) == NOON + UNREADABLE_SECONDS
    assert [d.schedule for d in before.recorded] == ["etl", "etl.late"]
    after = before.redefine(job("etl", HOURLY), "", NOON)
    assert (after.unreadable, set(after.cancel_queued), set(after.changed)) == ({}, {"etl.late"}, {"etl"})
    assert after.recorded == [Decision("etl", Reason.BROKEN, 0, 0, 1, "torn")]
    assert after.schedules["etl"].last_slot == NOON


_DELETED = UnreadableSchedule("torn", live=False)


def test_a_deleted_schedule_goes_on_in_another_job() -> None:
    """Deleted there and defined here within two minutes, it keeps its cursor (S23)."""
    gone = defined().redefine(job("etl"), "", NOON + 10).schedules["etl"]._replace(last_slot=NOON)
    heir = (
        JobState("load")
        .inherit([gone])
        .redefine(replace(job("load"), schedules=(schedule("etl", HOURLY, job="load"),)), "", NOON + 60)
    )
    assert (heir.live["etl"].job, heir.live["etl"].first_seen) == ("load", NOON)
    assert (heir.schedules["etl"].last_slot, heir.schedules["etl"].wake_at) == (NOON, NOON + 60)


def test_ends_of_pauses_reach_it_once() -> None:
    """Each drops the slots that fell into it, as of when it ended; one from before it does nothing (S29)."""
    pauses = [EndedPause(1, NOON - 99, NOON - 9), EndedPause(2, NOON + 9, NOON + 4_000)]
    job_ = defined().end_pauses(pauses)
    assert (job_.pauses_seen, job_.live["etl"].cursor) == (2, NOON + 4_000)
    assert [(d.schedule, d.reason) for d in job_.decisions] == [("etl", Reason.PAUSED)]
    assert job_.end_pauses(pauses) is job_
    gone = defined().redefine(job("etl"), "", NOON)
    assert gone.end_pauses(pauses).schedules == gone.schedules


def test_what_a_pass_must_read() -> None:
    """Slots with a run are asked for where one may be pending, successes where a schedule waits for them (S35)."""
    job_ = defined(schedule("etl.late", HOURLY, after={"a": "2h", "b": "1h"}))
    late = job_.schedules["etl.late"]
    assert (job_.slots_needed(), job_.needs) == ({}, ["a", "b"])
    busy = job_._replace(schedules={**job_.schedules, "etl.late": late._replace(last_slot=NOON + 60)})
    assert busy.slots_needed() == {"etl.late": NOON}
    past = late.schedule._replace(reopened=(NOON - 600,), backfill=Backfill(NOON - 7_200, NOON))
    again = job_._replace(schedules={"etl.late": ScheduleState(past, last_slot=NOON)})
    assert again.slots_needed() == {"etl.late": NOON - 7_200}
    assert ScheduleState(past._replace(backfill=None)).undecided_from == NOON - 601
    assert successes_needed([job_, again]) == (["a", "b"], NOON - 7_200 - 7_200)
    assert successes_needed([defined()]) is None
    wary = schedule("etl.wary", HOURLY, pause_after=3)
    assert failures_needed(defined(wary)) == {"etl.wary": 0}


ALIVE = LiveWorkers([(["default"], EVERYTHING)])


def test_facts_and_commit_go_round() -> None:
    """What is read becomes facts, what is planned becomes the job: decisions, cursors and newest slots."""
    job_ = defined()._replace(woken_at=NOON, last_manual_start=5, last_success=6)
    now, holder = NOON + 3_600, Holder("7", 0, Trigger.SCHEDULE)
    facts = facts_of([job_], {"etl": [holder]}, ALIVE, {"etl": {NOON}}, {"a": [5]})
    assert facts.jobs == {"etl": JobFacts((holder,), "", 5, 6)}
    assert (facts.schedules, facts.successes) == ({"etl": ScheduleFacts({NOON}, None)}, {"a": (5,)})
    skipped = job_.commit(plan(now, job_.live.values(), facts), now)
    assert [d.reason for d in skipped.recorded] == [Reason.OVERLAP]
    free = facts_of([job_], {}, ALIVE, {}, {})
    started = job_.commit(plan(now, job_.live.values(), free), now)
    assert (started.schedules["etl"].last_slot, started.wake_at(now)) == (now, now + 3_600)
    assert job_.commit(plan(now, job_.live.values(), free), now, look_again=True).wake_at(now) == now
    unserved = facts_of([job_], {}, LiveWorkers(()), {}, {})
    assert unserved.jobs["etl"].no_worker == "serves the queue default"
    held = job_.commit(plan(now, job_.live.values(), unserved), now)
    assert (started.held, held.held) == (False, True)  # a worker that comes alive looks for it (S47)


def test_a_finished_schedule_is_removed() -> None:
    """With `auto_remove` a pass deletes it; a run for an older slot does not make its newest slot older (S33)."""
    job_ = defined()
    done = Planned(job_.live["etl"], None, None, remove=True)
    starts = (Start("etl", "etl", NOON, Trigger.BACKFILL, 0), Start("etl", "etl", NOON - 60, Trigger.BACKFILL, 1))
    after = job_.commit(TickPlan(starts, schedules=(done,)), NOON + 5)
    assert (after.schedules["etl"].schedule.deleted_at, after.schedules["etl"].last_slot) == (NOON + 5, NOON)
    assert (after.live, after.wake_at(NOON), after.lanes, after.is_local) == ({}, None, 1, False)


def test_what_stores_find_it_by() -> None:
    """The least wake-up, the most lanes, and whether all of it is ticked by nodes themselves."""
    job_ = defined(schedule("etl.wide", HOURLY, overlap="allow", max_active_runs=3))
    assert (job_.lanes, job_.is_local, job_.waiting, job_.wake_at(NOON)) == (3, False, False, NOON)
    assert job_._replace(woken_at=NOON - 5).wake_at(NOON) == NOON - 5
    local = {
        name: each._replace(schedule=each.schedule._replace(ticking=Ticking.LOCAL), wake_at=None)
        for name, each in job_.schedules.items()
    }
    assert job_._replace(schedules=local).is_local
    assert job_._replace(schedules=local, woken_at=None).wake_at(NOON) is None


def test_a_plan_is_divided_by_job() -> None:
    """Each part has what belongs to the job; a start for a slot or a lane that is taken contests its job (S16)."""
    one, two = defined().live["etl"], JobState("b").redefine(job("b", HOURLY), "", NOON).live["b"]
    starts = (Start("etl", "etl", NOON, Trigger.SCHEDULE, 0), Start("b", "b", NOON, Trigger.SCHEDULE, 0))
    cancel, decision = PlannedCancel("7", "b", NOON), Decision("etl", Reason.OVERLAP, NOON, NOON)
    planned = (Planned(one, 1, 1), Planned(two, 2, 2))
    parts = by_job(TickPlan(starts, (cancel,), (decision,), planned))
    assert parts["etl"] == TickPlan(starts[:1], (), (decision,), planned[:1])
    assert parts["b"] == TickPlan(starts[1:], (cancel,), (), planned[1:])
    assert by_job(parts["b"]) == {"b": parts["b"]}
    assert contested_jobs(starts, []) == set()
    assert contested_jobs(starts, [("slot", "etl", NOON)]) == {"etl"}
    assert contested_jobs(starts, [("lane", "b", 0)]) == {"b"}
    assert contested_jobs([*starts, starts[0]], []) == {"etl"}


def test_facts_that_are_no_numbers_hold_the_job() -> None:
    """S20: what a store without types holds instead of a number is no fact, and no slot is asked for with it."""
    known = JobState("etl").redefine(job("etl", HOURLY), "app", NOON)
    state = known.schedules["etl"]._replace(last_slot="soon")  # type: ignore[arg-type]
    by_hand, of_slot = known._replace(last_manual_start=[]), known._replace(schedules={"etl": state})  # type: ignore[arg-type]
    assert [each.facts((), LiveWorkers([])).unreadable for each in (known, by_hand, of_slot)] == [
        "",
        "[] stands where a number must be",
        "'soon' stands where a number must be",
    ]
    assert of_slot.slots_needed() == {}
