"""Where schedulers lose or double runs: edits in the middle of a backlog, crashes, clocks, large numbers."""

from collections.abc import Callable
from typing import Any

import pytest

from tickwise.core.blackout import Blackout
from tickwise.core.change import BlackoutsSet, Restored, SkipAsked
from tickwise.core.cron import Recurrence, parse
from tickwise.core.cron.recurrences import At
from tickwise.core.cron.zone import zone
from tickwise.core.definition import StartBudget
from tickwise.core.event_inbox import EventsReceived
from tickwise.core.event_sources import NewEvent
from tickwise.core.events import OnEvent
from tickwise.core.model import Facts, Schedule, TickPlan, Trigger
from tickwise.core.planner import plan
from tickwise.core.reasons import Reason
from tickwise.core.shadow import FireSeen
from tickwise.core.time_limit import Deadline, TimeLimit

from .world import Moody, World, job, once, schedule, seconds


def catching_up(until: str = "05:30") -> World:
    """An hourly job after an outage: 01:00 runs for twenty minutes, 02:00 to 05:00 wait."""
    world = World()
    world.run_time["etl"] = "20m"
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.down(to=until)
    world.tick()
    assert world.ran("etl") == [("01:00", "catchup")]
    return world


# Changes in the middle


def test_deleted_while_catching_up() -> None:
    """The backlog goes, recorded; what runs ends; nothing comes back when the name is taken again later."""
    world = catching_up()
    world.delete("etl")
    world.pass_time(to="07:30")
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time(to="08:00")
    assert world.ran("etl") == [("01:00", "catchup"), ("08:00", "schedule")]
    assert world.verdicts("etl") == ["deleted 02:00 to 05:00 (4)"]


def test_a_window_from_nothing_to_six_hours() -> None:
    """What was recorded as missed within six hours runs after all; what is older stays missed."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup_window="0"))
    world.down(to="08:30")
    world.tick()
    world.define(job("etl", "0 * * * *", catchup_window="6h"))
    world.pass_time(to="08:31")
    assert world.ran("etl") == [(f"0{hour}:00", "catchup") for hour in range(3, 9)]


def test_a_window_from_six_hours_to_nothing() -> None:
    """What is pending is dropped, recorded; the next slot runs."""
    world = catching_up()
    world.define(job("etl", "0 * * * *", catchup_window="0"))
    world.pass_time(to="06:00")
    assert world.verdicts("etl") == ["catchup_off 02:00 to 05:00 (4)"]
    assert world.ran("etl")[1:] == [("06:00", "schedule")]


def test_times_changed_while_slots_are_pending() -> None:
    """The backlog is found anew by the new times, from the oldest pending slot on."""
    world = catching_up()
    world.define(job("etl", "30 * * * *", catchup="all"))
    world.pass_time(to="08:29")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", *(f"0{hour}:30" for hour in range(2, 8))]
    assert world.verdicts("etl") == []


def test_times_changed_while_none_is_pending() -> None:
    """The new times begin now."""
    world = World()
    world.define(job("etl", "0 0 * * *", catchup="all"))
    world.pass_time(to="05:15")
    world.define(job("etl", "30 * * * *", catchup="all"))
    world.pass_time(to="06:30")
    assert [slot for slot, _ in world.ran("etl")] == ["05:30", "06:30"]


@pytest.mark.parametrize(
    ("overlap", "runs", "verdicts"),
    [
        ("allow", ["01:00", "02:00", "03:00", "04:00", "05:00"], []),
        ("latest", ["01:00", "05:00"], ["superseded 02:00 to 04:00 (3)"]),
        ("skip", ["01:00"], ["overlap 02:00 to 05:00 (4)"]),
        ("queue", ["01:00", "02:00"], []),
    ],
)
def test_overlap_changed_while_slots_are_pending(overlap: str, runs: list[str], verdicts: list[str]) -> None:
    """The backlog stays and goes on by the new rule."""
    world = catching_up()
    world.define(job("etl", "0 * * * *", catchup="all", overlap=overlap))
    world.pass_time(to="05:55")
    assert [slot for slot, _ in world.ran("etl")] == runs
    assert world.verdicts("etl") == verdicts


def test_paused_with_slots_pending() -> None:
    """The run under way ends; the backlog waits and goes on after the resume, with the slots of the pause."""
    world = catching_up()
    world.pause("etl")
    world.pass_time(to="07:30")
    assert len(world.ran("etl")) == 1
    assert world.active("etl") == []
    world.resume("etl")
    world.pass_time(to="09:29")
    assert [slot for slot, _ in world.ran("etl")] == [f"0{hour}:00" for hour in range(1, 8)]


# Things due together


def test_catch_up_and_live_due_together() -> None:
    """Oldest first; the live slot is not lost and keeps its trigger."""
    world = World()
    world.run_time["etl"] = "5m"
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.down(to="03:00")
    world.pass_time(to="03:30")
    assert world.started("etl") == [("01:00", "03:00"), ("02:00", "03:05"), ("03:00", "03:10")]
    assert [trigger for _, trigger in world.ran("etl")] == ["catchup", "catchup", "schedule"]


@pytest.mark.parametrize(
    ("overlap", "second"),
    [("skip", "overlap 01:00"), ("latest", "01:00 at 01:10"), ("allow", "01:00 at 01:00")],
)
def test_two_schedules_of_one_job_due_at_once(overlap: str, second: str) -> None:
    """By name: the first starts, the second meets an active job."""
    world = World()
    world.run_time["etl"] = "10m"
    world.define(job("etl", beside=[schedule(name, "0 * * * *", overlap=overlap) for name in ("late", "early")]))
    world.pass_time(to="01:30")
    assert world.started("early") == [("01:00", "01:00")]
    assert [*world.verdicts("late"), *(f"{slot} at {made}" for slot, made in world.started("late"))] == [second]


def test_skip_if_successful_beside_catch_up() -> None:
    """Missed slots run whatever has succeeded; the live slot after them is judged by their success."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all", skip_if_successful=True))
    world.down(to="03:30")
    world.pass_time(to="05:00")
    slots = [slot for slot, _ in world.ran("etl")]
    assert slots == ["01:00", "02:00", "03:00", "04:00", "05:00"]  # each is the slot before's own success
    assert world.verdicts("etl") == []


def test_a_thousand_backlogs_stand_behind_live_jobs() -> None:
    """However many jobs have a backlog, the live ones come first in the plan."""
    world = World()
    world.define(*(job(f"backlog{n}", "0 * * * *", catchup="all") for n in range(1_000)))
    world.define(*(job(f"live{n}", "30 5 * * *") for n in range(10)))
    world.down(to="05:30")
    starts = world.tick().starts
    assert sorted(start.job for start in starts[:10]) == [f"live{n}" for n in range(10)]
    assert len(starts) == 1_010


# Crashes


def test_a_pass_with_nothing_to_do_changes_nothing() -> None:
    """Between slots a pass decides nothing, and leaves every schedule as it was."""
    world = World()
    world.define(job("etl", "0 * * * *"), job("done", once("01:00")), job("held", "0 * * * *"))
    world.pause("held")
    world.pass_time(to="01:30")
    idle = world.plan()
    assert (idle.starts, idle.cancels, idle.decisions) == ((), (), ())
    assert {p.schedule.name: p.schedule for p in idle.schedules} == world.ledger.schedules


def test_a_pass_over_nothing() -> None:
    """Without schedules there is a plan, an empty one."""
    assert plan(0, [], Facts()) == TickPlan()


def test_a_crash_between_plan_and_commit() -> None:
    """A plan that was never committed leaves no trace: planning again gives the same."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all"), job("late", "0 * * * *"), job("web", "0 * * * *"))
    world.down(to="03:00:30")
    dropped = world.plan()
    assert dropped == world.plan()
    assert world.tick() == dropped
    assert world.starts(dropped) == [
        ("late", "03:00", "schedule"),
        ("web", "03:00", "schedule"),
        ("etl", "01:00", "catchup"),
    ]


def test_a_new_schedule_and_a_crash_before_anything_is_stored() -> None:
    """It is seen for the first time again, and has no past again."""
    world = World()
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.ledger.schedules.clear()
    world.down(to="02:30")
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time(to="03:00")
    assert world.ran("etl") == [("03:00", "schedule")]
    assert world.verdicts("etl") == []


def test_lost_state_replays_nothing() -> None:
    """A store that was lost makes every schedule new: none replays its past, whatever its window."""
    before = World()
    before.define(job("etl", "0 * * * *", catchup_window="2d"))
    before.pass_time(to="05:00")
    after = World("2026-01-01T05:30:00Z")
    after.define(job("etl", "0 * * * *", catchup_window="2d"))
    after.pass_time(to="06:00")
    assert after.ran("etl") == [("06:00", "schedule")]


# Clocks


@pytest.mark.parametrize("catchup", ["skip", "once", "all"])
def test_the_clock_goes_back_by_an_hour(catchup: str) -> None:
    """No slot runs twice and none is lost; the next one comes when the clock is there again."""
    world = World()
    world.define(job("etl", "*/20 * * * *", catchup=catchup))
    world.pass_time(to="02:10")
    world.clock.advance(-3600)
    world.tick()
    world.pass_time(to="03:00")
    assert [slot for slot, _ in world.ran("etl")] == [f"0{m // 60}:{m % 60:02}" for m in range(20, 181, 20)]
    assert world.verdicts("etl") == []


def test_a_leap_second_that_repeats_a_second() -> None:
    """A clock that shows 00:59:59 twice, and steps back over a slot, fires it once."""
    world = World()
    world.define(job("etl", "* * * * * *", overlap="allow", max_active_runs=100))
    world.pass_time(to="00:00:10")
    world.clock.advance(-1)
    world.pass_time(seconds=0)
    world.ledger._wake("etl", world.now)
    world.pass_time(to="00:00:12")
    assert [slot for slot, _ in world.ran("etl")] == [f"00:00:{s:02}" for s in range(1, 13)]
    assert world.verdicts("etl") == []


# Numbers


class Counted(Recurrence):
    """Times that count how often they are asked."""

    def __init__(self, text: str) -> None:
        self._times = parse(text)
        self.zone = self._times.zone
        self.asked = 0

    def after(self, second: int) -> int | None:
        self.asked += 1
        return self._times.after(second)

    def before(self, second: int) -> int | None:
        self.asked += 1
        return self._times.before(second)

    def count(self, after: int, until: int) -> int:
        self.asked += 1
        return self._times.count(after, until)

    def explain(self) -> str:
        return self._times.explain()


@pytest.mark.parametrize(
    ("given", "at_most"),
    [
        ({"catchup": "skip"}, 5_000),
        ({"catchup": "once"}, 5_000),
        ({"catchup": "all"}, 5_000),
        ({"catchup": "all", "overlap": "skip"}, 5_000),
        ({"catchup": "all", "overlap": "latest"}, 5_000),
        ({"catchup": "skip", "grace": "2d"}, 5_000),
        ({"catchup": "all", "jitter": "5m", "grace": "900d"}, 10_000),
        ({"catchup": "all", "max_catchup": 10}, 100),
    ],
    ids=str,
)
def test_a_year_without_a_pass_costs_what_a_day_does(given: dict[str, Any], at_most: int) -> None:
    """A schedule of every second after a year: the number of slots looked at is bounded, the rest is computed."""
    world = World()
    times = Counted("* * * * * *")
    world.define(job("etl", times, **given))
    world.pass_time(seconds=10)
    world.down(days=365)
    times.asked = 0
    world.tick()
    assert times.asked < at_most
    assert sum(decision.count for decision in world.decisions("etl") if decision.count > 1) > 31_000_000


def test_43200_missed_slots_one_after_the_other() -> None:
    """The newest thousand run in order, one at a time; the others are one record."""
    world = World()
    world.define(job("etl", "* * * * * *", catchup="all", until="12:00"))
    world.down(hours=12)
    world.pass_time(seconds=1)
    assert world.verdicts("etl") == ["too_many 00:00:01 to 11:43:20 (42200)"]
    assert [run.slot for run in world.runs("etl")] == list(range(world.at("11:43:21"), world.at("12:00") + 1))


def test_planning_jobs_apart_gives_the_same_as_planning_them_together() -> None:
    """A job is the unit: what one job's slots come to does not depend on the others in the batch."""
    world = World()
    world.define(*(job(name, "0 * * * *", catchup=name) for name in ("skip", "once", "all")))
    world.down(to="04:30")
    together = world.plan()
    schedules = list(world.ledger.schedules.values())
    apart = [plan(world.now, [each], world.ledger.facts([each])) for each in schedules]
    assert {s for each in apart for s in each.starts} == set(together.starts)
    assert {d for each in apart for d in each.decisions} == set(together.decisions)


# Every reason there is


def active(**given: Any) -> World:
    """An hourly job whose runs take ninety minutes, at 02:00."""
    world = World()
    world.run_time["etl"] = "90m"
    world.define(job("etl", "0 * * * *", **given))
    world.pass_time(to="02:00")
    return world


def outage(**given: Any) -> World:
    """An hourly job that nothing looked at until 03:30."""
    world = World()
    world.define(job("etl", "0 * * * *", **given))
    world.down(to="03:30")
    world.tick()
    return world


def changed(act: Callable[[World], object], **given: Any) -> World:
    """An hourly job with a backlog at 03:30, to which something is done; then an hour passes."""
    world = World()
    world.run_time["etl"] = "5h"
    world.define(job("etl", "0 * * * *", **given))
    world.pass_time(to="03:30")
    act(world)
    world.pass_time(to="04:30")
    return world


def in_a_blackout(world: World) -> None:
    window = At((world.now,), zone("UTC"))
    world.change("etl", BlackoutsSet((Blackout("freeze", window, 3_000, ("*",), since=world.now),)))


def paused_for_a_while(world: World) -> None:
    world.pause("etl")
    world.pass_time(to="04:10")
    world.resume("etl")


def held_up(unreadable: str = "", queues: frozenset[str] | None = None, **given: Any) -> World:
    """A job that cannot be decided at 01:00."""
    world = World()
    world.unreadable = {"etl": unreadable} if unreadable else {}
    world.ledger.served_queues = queues
    world.define(job("source", "0 0 1 1 *"), job("etl", "0 * * * *", **given))
    world.pass_time(to="01:00")
    return world


def broken() -> World:
    """A schedule whose times cannot be told."""
    world = World()
    world.define(job("etl", Moody(world.now)))
    world.tick()
    return world


def stopping(**given: Any) -> World:
    """A job that runs for long and has a stop at 03:00, at 03:00."""
    world = World()
    world.run_time["etl"] = "5h"
    world.define(job("etl", stop="0 3 * * *", **given))
    world.pass_time(to="03:00")
    return world


def started_by_hand() -> World:
    """A run by hand a second before the pass that meets the slot."""
    world = World()
    world.define(job("etl", "0 * * * *", skip_if_successful=True))
    world.down(to="01:00")
    world.trigger("etl")
    world.down(seconds=1)
    world.tick()
    return world


def succeeded_by_hand() -> World:
    """A run by hand between two slots."""
    world = World()
    world.define(job("etl", "0 * * * *", skip_if_successful=True))
    world.pass_time(to="01:30")
    world.trigger("etl")
    world.pass_time(to="02:00")
    return world


def missed_beside(**other: Any) -> World:
    """A missed slot, and a stop or restart on time, met by one pass."""
    world = World()
    world.define(job("etl", "0 1 * * *", **other))
    world.down(to="03:00")
    world.tick()
    return world


def first_seen_too_late() -> World:
    """A one-off of yesterday."""
    world = World()
    world.define(job("etl", once("2025-12-31T00:00")))
    return world


def two_at_once() -> World:
    """Two schedules that queue, due together and behind a run."""
    world = World()
    world.run_time["etl"] = "5h"
    world.define(job("etl", "0 * * * *", catchup="all", beside=[schedule("more", "30 * * * *", catchup="all")]))
    world.pass_time(to="02:00")
    return world


def late(**deadline: str) -> World:
    """An hourly job whose runs take longer than they may, with a slot that is skipped for it."""
    world = World()
    world.run_time["etl"] = "90m"
    limits = {name: TimeLimit(seconds(limit)) for name, limit in deadline.items()}
    world.define(job("etl", "0 * * * *", deadline=Deadline(**limits)))  # type: ignore[arg-type]
    world.pass_time(to="03:00")
    return world


def no_longer_on_events() -> World:
    """A job on events that is changed to run at times while an event waits."""
    world = World()
    world.define(job("etl", OnEvent(), catchup="all", overlap="queue"))
    world.change("etl", EventsReceived((NewEvent("k", source="sent"),)))
    world.define(job("etl", "0 * * * *", catchup="all", overlap="queue"))
    return world


def spent(**given: Any) -> World:
    """An hourly job that may start once in two hours."""
    world = World()
    world.define(job("etl", "0 * * * *", max_starts=StartBudget(1, 7_200), **given))
    world.pass_time(to="02:30")
    return world


SCENARIOS: dict[Reason, Callable[[], World]] = {
    Reason.ON_TIME: active,
    Reason.CATCH_UP: outage,
    Reason.BACKFILL: lambda: changed(lambda w: w.backfill("etl", "2025-12-31T00:00", "00:00"), until="00:30"),
    Reason.STOPPED: lambda: stopping(times="0 2 * * *"),
    Reason.NOTHING_TO_STOP: stopping,
    Reason.MISSED: lambda: outage(catchup="skip"),
    Reason.STOPPED_SINCE: lambda: missed_beside(stop="0 3 * * *"),
    Reason.COALESCED: outage,
    Reason.TOO_OLD: lambda: outage(catchup_window="1h"),
    Reason.TOO_MANY: lambda: outage(max_catchup=1),
    Reason.PAST_ONE_OFF: first_seen_too_late,
    Reason.OVERLAP: active,
    Reason.LANES_FULL: lambda: active(overlap="allow", max_active_runs=1),
    Reason.SUPERSEDED: lambda: outage(catchup="all", overlap="latest"),
    Reason.ALREADY_DONE: started_by_hand,
    Reason.ALREADY_SUCCESSFUL: succeeded_by_hand,
    Reason.DEPENDENCY_MISSING: lambda: held_up(after={"source": "1h"}),
    Reason.PAUSED: lambda: changed(paused_for_a_while),
    Reason.BLACKOUT: lambda: changed(in_a_blackout),
    Reason.RESCHEDULED: lambda: changed(lambda w: w.reschedule("etl", "04:20")),
    Reason.LATE_START: lambda: late(start="10m"),
    Reason.LATE_FINISH: lambda: late(finish="10m"),
    Reason.SKIPPED_BY_HAND: lambda: changed(lambda w: w.change("etl", SkipAsked(w.at("04:00")))),
    Reason.FINISHED: lambda: outage(catchup="all", max_runs=1),
    Reason.CATCHUP_GOES_FIRST: lambda: missed_beside(restart="0 3 * * *"),
    Reason.CATCHUP_OFF: lambda: changed(
        lambda w: w.define(job("etl", "0 * * * *", catchup="skip")), catchup="all"
    ),
    Reason.RESTORED: lambda: changed(lambda w: w.change("etl", Restored(w.now)), catchup="all"),
    Reason.RESET: lambda: changed(lambda w: w.reset("etl"), catchup="all"),
    Reason.DELETED: lambda: changed(lambda w: w.delete("etl"), catchup="all"),
    Reason.BROKEN: broken,
    Reason.SHADOW: lambda: outage(shadow=True),
    Reason.SEEN: lambda: changed(lambda w: w.change("etl", FireSeen(w.now, "old")), shadow=True),
    Reason.NO_EVENTS: no_longer_on_events,
    Reason.WAITS_FOR_RUN: lambda: active(catchup="all"),
    Reason.WAITS_FOR_LANE: lambda: active(catchup="all", overlap="allow", max_active_runs=1),
    Reason.BUDGET: spent,
    Reason.WAITS_FOR_BUDGET: lambda: spent(catchup="all"),
    Reason.WAITS_BEHIND: two_at_once,
    Reason.WAITS_FOR_SUCCESS: lambda: held_up(after={"source": "1h"}, wait_for="5m"),
    Reason.NO_WORKER: lambda: held_up(queues=frozenset()),
    Reason.UNREADABLE: lambda: held_up("the disk is full"),
}
OF_RUNS = {
    Trigger.SCHEDULE: Reason.ON_TIME,
    Trigger.CATCHUP: Reason.CATCH_UP,
    Trigger.BACKFILL: Reason.BACKFILL,
}


@pytest.mark.parametrize("reason", SCENARIOS, ids=lambda reason: reason.code)
def test_a_scenario_for_each_reason(reason: Reason) -> None:
    """Every verdict that people can see comes about, and explains itself with nothing left to fill in."""
    world = SCENARIOS[reason]()
    told = [decision for decision, _, _ in world.ledger.decisions.values() if decision.reason is reason]
    runs = [run for run in world.ledger.runs.values() if OF_RUNS.get(run.trigger) is reason]
    assert told or runs
    for decision in told:
        sentence = reason.explain(decision.detail)
        assert ("…" in sentence) is ("{detail}" in reason.text and not decision.detail)


def test_there_is_a_scenario_for_each_reason() -> None:
    """None is forgotten."""
    assert set(SCENARIOS) == set(Reason)


def test_a_schedule_is_named_by_its_definition() -> None:
    """A schedule's name and job are those of its definition."""
    definition = schedule("nightly", "0 0 * * *", "etl")
    kept = Schedule(definition, cursor=0, last_seen_slot=0, last_missed_slot=0, edited_at=0, first_seen=0)
    assert (kept.name, kept.job) == ("nightly", "etl")
