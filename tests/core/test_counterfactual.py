"""What would have let a slot run: the smallest change, found by planning the stored past again."""

from dataclasses import fields, replace
from enum import Enum
from typing import Any

import pytest

from tickwise.core.definition import Policy
from tickwise.core.simulation import counterfactual as searched
from tickwise.core.simulation.counterfactual import (
    RAISED,
    Counterfactual,
    Lifted,
    PolicyChange,
    SufficientChange,
    WithinChange,
    counterfactual,
    with_changes,
)
from tickwise.core.simulation.past import Past, circumstances_of
from tickwise.core.simulation.replay import replay

from .pasts import past_of
from .world import World, job, policy


def told(change: Any) -> str:
    """A change, short."""
    if isinstance(change, Lifted):
        return f"no {change.circumstance}"
    if isinstance(change, WithinChange):
        return f"within {change.within}"
    return f"{change.field} {change.value}"


def lines(found: Counterfactual) -> list[str]:
    """Each remedy, the smallest first."""
    return [" + ".join(map(told, remedy.changes)) for remedy in found.remedies]


def holds(past: Past, slot: int, remedy: SufficientChange) -> bool:
    """Whether the slot runs when the past is played with the policy of a remedy."""
    name = past.job.schedules[0].name
    job_of = replace(
        past.job, schedules=(replace(past.job.schedules[0], policy=remedy.policy), *past.job.schedules[1:])
    )
    report = replay(past, job_of, circumstances_of(past)).slots.get((name, slot))
    return report is not None and report.run is not None


def outage(**given: Any) -> tuple[World, Past]:
    """Hourly, and nothing looked from before 01:00 to 01:03:41."""
    world = World()
    world.define(job("etl", "0 * * * *", **given))
    world.pass_time("00:30")
    world.down("01:03:41")
    world.pass_time("03:00")
    return world, past_of(world, "etl", "00:30", "03:00")


def test_how_much_grace_would_have_been_enough() -> None:
    """S9: found to the second, and rounded up as people write it; then catch-up, then that nothing was down."""
    world, past = outage(catchup="skip")
    found = counterfactual(past, ("etl", world.at("01:00")))
    assert found.baseline == "missed"
    assert lines(found)[0] == "grace 240"
    assert found.remedies[0].least == 221
    assert set(lines(found)) == {"grace 240", "catchup once", "catchup all", "no down"}  # fmt: skip
    assert lines(found)[-1] == "no down"
    assert all(holds(past, world.at("01:00"), remedy) for remedy in found.remedies[:-1])
    assert world.says(found.remedies[0].run_at) == "01:03:41"


def test_a_run_in_the_way() -> None:
    """S14: no number helps a slot that is skipped by `overlap: skip`, other words do; and what else changes."""
    world = World()
    world.define(job("etl", "*/10 1 * * *"))
    world.run_time["etl"] = "25m"
    world.pass_time("01:05")
    world.run_time["etl"] = "1m"
    world.pass_time("02:00")
    past = past_of(world, "etl", "01:00", "02:00")
    found = counterfactual(past, ("etl", world.at("01:10")))
    assert found.baseline == "overlap"
    assert lines(found) == ["catchup all", "overlap allow", "overlap replace"]  # the first is overlap: queue, too
    assert [(each.others_gained, each.others_lost) for each in found.remedies] == [(1, 0)] * 3
    assert all(holds(past, world.at("01:10"), remedy) for remedy in found.remedies)


def test_one_lane_more() -> None:
    """S16: the smallest number of lanes, not the largest."""
    world = World()
    world.define(job("etl", "*/10 * * * *", overlap="allow", max_active_runs=2))
    world.run_time["etl"] = "35m"
    world.pass_time("01:30")
    past = past_of(world, "etl", "00:05", "01:30")
    found = counterfactual(past, ("etl", world.at("00:30")))
    assert found.baseline == "lanes_full"
    assert lines(found)[0] == "max_active_runs 3"


def test_dependencies() -> None:
    """S35: a longer wait, a wider window, or no dependency."""
    world = World()
    world.define(job("load", "0 * * * *"), job("report", "5 * * * *", after={"load": "1h"}, wait_for="5m"))
    world.run_time["load"] = "20m"
    world.pass_time("03:50")
    past = past_of(world, "report", "01:30", "03:30")
    found = counterfactual(past, ("report", world.at("02:05")))
    assert found.baseline == "dependency_missing"
    assert lines(found) == ["wait_for 900", "within 3960", "within None"]
    assert {remedy.least for remedy in found.remedies} <= {None, 3_901, 900}


@pytest.mark.parametrize(
    ("given", "before", "expected", "reason"),
    [
        ({"until": "01:30"}, "", "until 1767232800", "no_slot"),
        ({"max_runs": 1}, "", "max_runs 2", "no_slot"),
        ({"skip_if_successful": True}, "trigger", "skip_if_successful False", "already_successful"),
        ({}, "pause", "no paused", "paused"),
        ({}, "reschedule", "no by_hand", "rescheduled"),
    ],
)
def test_other_rules_and_requests(given: dict[str, Any], before: str, expected: str, reason: str) -> None:
    """S18, S29, S31, S34: an end that came too early, a guard, a pause, a request by hand."""
    world = World()
    world.define(job("etl", "0 * * * *", **given))
    world.pass_time("01:40")
    if before == "trigger":
        world.trigger("etl")
    elif before == "pause":
        world.pause("etl")
        world.pass_time("02:30")
        world.resume("etl")
    elif before == "reschedule":
        world.reschedule("etl", "02:10")
    world.pass_time("03:30")
    past = past_of(world, "etl", "00:30", "03:30")
    found = counterfactual(past, ("etl", world.at("02:00")))
    assert found.baseline == reason
    assert expected in lines(found)


def test_two_changes_together() -> None:
    """S9, S35: it was missed, and its dependency came too early. Both numbers are as small as can be."""
    world = World()
    world.define(job("load", "30 0 * * *"), job("etl", "0 * * * *", catchup="skip", after={"load": "10m"}))
    world.pass_time("00:45")
    world.down("01:03:41")
    world.pass_time("03:00")
    past = past_of(world, "etl", "00:25", "02:30")
    found = counterfactual(past, ("etl", world.at("01:00")))
    assert found.baseline == "missed"
    assert lines(found) == ["grace 240 + within 1860"]
    assert holds(past, world.at("01:00"), found.remedies[0])


def test_nothing_would_have() -> None:
    """A second that is no slot stays none; and a slot that runs needs nothing."""
    world, past = outage(catchup="skip")
    nothing = counterfactual(past, ("etl", world.at("01:30")))
    assert (nothing.baseline, nothing.remedies, nothing.complete) == ("no_slot", (), True)
    assert counterfactual(past, ("etl", world.at("02:00"))).baseline is None


def test_a_search_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found by then is told, and that there was more to try."""
    monkeypatch.setattr(searched, "_MAX_PLAYS", 3)
    world, past = outage(catchup="skip")
    found = counterfactual(past, ("etl", world.at("01:00")))
    assert not found.complete
    assert lines(found) == ["catchup all", "catchup once"] or set(lines(found)) <= {
        "catchup once",
        "catchup all",
        "overlap queue",
    }


def test_every_field_of_a_policy_is_tried() -> None:
    """A number is raised or taken away, a word has others, a rule can be taken away: also one that is new."""
    for field in fields(Policy):
        value = getattr(Policy(), field.name)
        known = isinstance(value, Enum) or field.name in {*RAISED, "after"}
        assert known or value in (None, False, 0, ()), f"how is {field.name} to be tried?"


def test_what_contradicts_a_change_follows_it() -> None:
    """S10, S11, S14: as in a job file in which the others are not written; what cannot be is no candidate."""
    changed = with_changes(policy(catchup="skip"), [PolicyChange("overlap", "queue")])
    assert changed is not None
    changed = with_changes(
        policy(catchup="all", catchup_window="1h"), [PolicyChange("catchup", policy(catchup="skip").catchup)]
    )
    assert changed == policy(catchup="skip")
    assert with_changes(policy(), [PolicyChange("max_active_runs", 2)]) is None
