"""S80: a schedule in shadow is decided and never runs, hears another scheduler, and takes over from it."""

from typing import Any

import pytest

from tickwise.core.change import SkipAsked
from tickwise.core.definition import Kind
from tickwise.core.errors import ConflictError
from tickwise.core.model import SeenFire
from tickwise.core.reasons import Reason
from tickwise.core.shadow import FireSeen, ShadowAdopted, ShadowResumed, is_ours

from .world import World, instant, job, schedule

HOURLY = "0 * * * *"


def shadowed(times: Any = HOURLY, **given: Any) -> World:
    world = World()
    world.define(job("etl", times, shadow=True, **given))
    return world


def hear(world: World, at: str, key: str = "", **more: Any) -> None:
    world.change("etl", FireSeen(world.at(at), key or at, **more))


def test_slots_are_decided_and_none_runs() -> None:
    """S80: each slot that would have run says so, catch-up decides as ever, and `catchup: once` coalesces."""
    world = shadowed()
    world.pass_time("02:30")
    world.down("05:30")
    world.tick()
    assert world.ran("etl") == []
    assert world.verdicts("etl") == [
        "shadow 01:00",
        "shadow 02:00",
        "coalesced 03:00 to 04:00 (2)",
        "shadow 05:00",
    ]


def test_what_depends_on_runs_is_not_judged() -> None:
    """S80: neither a run in the way, a missing success, a missing worker nor another schedule holds a slot."""
    world = World()
    beside = schedule(
        "etl.shadow", "30 * * * *", shadow=True, overlap="queue", catchup="all", after={"other": "1h"}
    )
    world.define(job("other", "0 0 1 1 *"), job("etl", HOURLY, catchup="all", beside=[beside]))
    world.run_time["etl"] = "5h"
    world.pass_time("02:45")
    assert world.ran("etl") == [("01:00", "schedule")]
    assert world.verdicts("etl.shadow") == ["shadow 00:30", "shadow 01:30", "shadow 02:30"]


def test_a_stop_in_shadow_ends_nothing() -> None:
    """S80: it would cancel runs that somebody else is responsible for."""
    world = World()
    stop = schedule("etl.stop", "30 * * * *", kind=Kind.STOP, shadow=True)
    world.define(job("etl", HOURLY, beside=[stop]))
    world.run_time["etl"] = "5h"
    world.pass_time("01:45")
    assert [run.job for run in world.ledger.runs.values()] == ["etl"]
    assert world.verdicts("etl.stop") == ["shadow 00:30", "shadow 01:30"]
    assert not any(run.cancelling for run in world.ledger.runs.values())


def test_a_backfill_is_refused_in_shadow_and_waits_for_its_end() -> None:
    """S80: its slots were started by the other scheduler."""
    world = World()
    world.define(job("etl", HOURLY))
    world.pause("etl")
    world.pass_time("03:30")
    world.backfill("etl", "01:00", "03:00")
    world.define(job("etl", HOURLY, shadow=True))
    world.resume("etl")
    world.pass_time("04:30")
    assert world.ran("etl") == []
    with pytest.raises(ConflictError, match="etl is in shadow: another scheduler starts it"):
        shadowed().backfill("etl", "00:00", "00:00")
    hear(world, "04:00")
    world.change("etl", ShadowAdopted("ann"))
    world.pass_time("04:31")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00"]


def test_a_fire_is_noted_once_for_each_key() -> None:
    """S80: with its instant, never in the future; several in one second are one record with a count."""
    world = shadowed()
    world.pass_time("01:00:10")
    for at, key in (("01:00:02", "a"), ("01:00:02", "a"), ("01:00:02", "b"), ("02:00", "c"), ("00:59", "d")):
        hear(world, at, key)
    shadow = world.schedule("etl").shadow
    assert shadow is not None
    assert [(world.says(fire.at), fire.key) for fire in shadow.fires] == [
        ("00:59", "d"), ("01:00:02", "a"), ("01:00:02", "b"), ("01:00:10", "c"),
    ]  # fmt: skip
    noted = [decision for decision in world.decisions("etl") if decision.reason is Reason.SEEN]
    assert sorted(map(world.tells, noted)) == ["seen 00:59", "seen 01:00:02 to 01:00:02 (2)", "seen 01:00:10"]
    assert not any(decision.is_final for decision in noted)


def test_only_so_many_fires_are_remembered() -> None:
    """S80: each is recorded, and the newest hundred are known again."""
    world = shadowed("* * * * *")
    world.pass_time("02:00:01")
    for minute in range(110):
        hear(world, f"{minute // 60:02}:{minute % 60:02}")
    shadow = world.schedule("etl").shadow
    assert shadow is not None
    assert (len(shadow.fires), shadow.fires[0].at) == (100, world.at("00:10"))
    hear(world, "00:01", "again")
    assert world.schedule("etl").shadow == shadow


def test_an_adoption_goes_on_after_the_last_fire() -> None:
    """S80: slots that nobody started run, and none that the other scheduler has started."""
    world = shadowed(catchup="all")
    for at in ("01:00", "02:00"):
        world.pass_time(at + ":05")
        hear(world, at + ":01")
    world.pass_time("04:30")
    world.change("etl", ShadowAdopted("ann"))
    assert not world.schedule("etl").in_shadow
    world.pass_time("05:30")
    assert world.ran("etl") == [("03:00", "catchup"), ("04:00", "catchup"), ("05:00", "schedule")]


def test_an_adoption_is_refused_while_a_fire_may_come() -> None:
    """S80: until the newest slot has its fire, or the tolerance has passed, or the other scheduler is stopped."""
    world = shadowed()
    with pytest.raises(ConflictError, match="no fire of etl has been heard: let the other scheduler call"):
        world.change("etl", ShadowAdopted())
    hear(world, "00:00")
    world.pass_time("01:00:01")
    with pytest.raises(ConflictError, match=r"was due at 2026-01-01T01:00:00Z, .* or after 2026-01-01T01:01:00Z"):
        world.change("etl", ShadowAdopted())
    world.tick()
    world.change("etl", ShadowAdopted(stopped=True))
    world.tick()
    assert world.ran("etl") == [("01:00", "schedule")]
    with pytest.raises(ConflictError, match="etl is not in shadow"):
        world.change("etl", ShadowAdopted())


def test_an_adoption_before_the_pass_of_a_slot_that_was_fired() -> None:
    """S80: the slot is decided by the fire, and that is recorded (S7)."""
    world = shadowed()
    world.pass_time("00:59:50")
    world.down("01:00:01")
    hear(world, "01:00:01")
    world.change("etl", ShadowAdopted())
    world.pass_time("02:00:01")
    assert world.ran("etl") == [("02:00", "schedule")]
    assert "already_done 01:00" in world.verdicts("etl")


def test_without_any_fire_a_stopped_scheduler_is_adopted_from_now_on() -> None:
    """S80: what nothing is known of is not run again."""
    world = shadowed()
    world.pass_time("02:30")
    world.change("etl", ShadowAdopted(stopped=True))
    world.pass_time("03:30")
    assert world.ran("etl") == [("03:00", "schedule")]


def test_a_fire_after_the_adoption_decides_its_slot_if_nothing_has() -> None:
    """S80: so a line that was not removed in time does not double it; with `unless_adopted` nothing is noted."""
    world = shadowed()
    world.pass_time("00:30")
    hear(world, "00:00")
    world.change("etl", ShadowAdopted())
    world.down("01:00:01")
    hear(world, "01:00", "gate", unless_adopted=True)
    assert [fire.key for fire in world.schedule("etl").shadow.fires] == ["00:00"]  # type: ignore[union-attr]
    hear(world, "01:00")
    world.pass_time("02:00:30")
    hear(world, "02:00")
    assert world.ran("etl") == [("02:00", "schedule")]
    assert [v for v in world.verdicts("etl") if "already" in v] == ["already_done 01:00"]


def test_a_fire_of_a_schedule_that_never_was_in_shadow_is_heard_too() -> None:
    """S80: it is noted, and decides a slot that is pending."""
    world = World()
    world.define(job("etl", HOURLY))
    world.down("01:00:01")
    hear(world, "01:00")
    hear(world, "00:10")
    world.tick()
    assert world.ran("etl") == []
    assert world.verdicts("etl") == ["seen 01:00", "already_done 01:00", "seen 00:10"]


def test_an_adoption_can_be_taken_back() -> None:
    """S80: the other scheduler takes over again; that needs `shadow: true`."""
    world = shadowed()
    hear(world, "00:00")
    world.change("etl", ShadowAdopted())
    world.pass_time("01:30")
    world.change("etl", ShadowResumed())
    world.pass_time("02:30")
    assert world.ran("etl") == [("01:00", "schedule")]
    assert "shadow 02:00" in world.verdicts("etl")
    world.define(job("etl", HOURLY))
    with pytest.raises(ConflictError, match="cannot go back into shadow"):
        world.change("etl", ShadowResumed())


def test_what_was_due_before_an_adoption_was_taken_back_is_run() -> None:
    """S80: what came before is Tickwise's: it runs, and a line that asks late does not start it again."""
    world = shadowed(catchup="all")
    hear(world, "00:00")
    world.change("etl", ShadowAdopted())
    world.down("02:00:03")
    world.change("etl", ShadowResumed())
    hear(world, "02:00:04", unless_adopted=True)
    assert not is_ours(world.schedule("etl"), world.at("02:05"))  # a fire of no slot
    with pytest.raises(ConflictError, match="its slot 2026-01-01T01:00:00Z of then waits still"):
        world.change("etl", ShadowAdopted(stopped=True))
    world.ledger.served_queues = frozenset({"other"})
    world.tick()
    assert (world.ran("etl"), world.waits("etl")) == ([], ["no_worker 01:00"])
    world.ledger.served_queues = frozenset({"default"})
    world.pass_time("03:00:01")
    hear(world, "03:00:01", unless_adopted=True)
    assert world.ran("etl") == [("01:00", "catchup"), ("02:00", "catchup")]
    assert [one for one in world.verdicts("etl") if "seen" in one] == ["seen 00:00", "seen 03:00:01"]
    assert "shadow 03:00" in world.verdicts("etl")


def test_an_adoption_survives_edits_of_its_definition() -> None:
    """S80: a file that still says `shadow: true` does not undo it; one that says it anew does."""
    world = shadowed()
    hear(world, "00:00")
    world.change("etl", ShadowAdopted("ann"))
    world.define(job("etl", "30 * * * *", shadow=True))
    assert not world.schedule("etl").in_shadow
    world.define(job("etl", "30 * * * *"))
    assert not world.schedule("etl").in_shadow
    world.define(job("etl", "30 * * * *", shadow=True))
    state = world.schedule("etl")
    assert state.in_shadow
    assert state.shadow is not None
    assert state.shadow.fires == (SeenFire(instant("00:00"), "00:00"),)


def test_a_definition_without_shadow_is_an_adoption() -> None:
    """S80: it goes on after the last fire as well. Other times are compared from the edit on."""
    world = shadowed(catchup="all")
    world.pass_time("01:00:05")
    hear(world, "01:00:01")
    world.pass_time("03:30")
    world.define(job("etl", HOURLY, catchup="all", shadow=True, jitter="5m"))
    world.define(job("etl", HOURLY, catchup="all"))
    world.pass_time("03:31")
    assert world.ran("etl") == [("02:00", "catchup"), ("03:00", "catchup")]
    again = shadowed()
    hear(again, "00:00")
    again.pass_time("01:30")
    again.define(job("etl", "15 * * * *", shadow=True))
    shadow = again.schedule("etl").shadow
    assert shadow is not None
    assert shadow.since == again.at("01:30")
    again.pass_time("02:10")
    again.change("etl", ShadowAdopted(stopped=True))
    again.pass_time("02:30")
    assert again.ran("etl") == [("02:15", "schedule")]


def test_skips_of_a_person_hold_in_shadow() -> None:
    """S66: a slot that is not wanted says so, and not that it would have run."""
    world = shadowed()
    world.change("etl", SkipAsked(world.at("01:00"), "ann"))
    world.pass_time("01:30")
    assert world.verdicts("etl") == ["skipped_by_hand 01:00"]
