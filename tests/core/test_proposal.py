"""What a request would change of what is to come."""

from typing import Any

import pytest

from tickwise.core.change import Paused, Rescheduled, Resumed, SkipAsked
from tickwise.core.errors import InputError
from tickwise.core.upcoming_change import upcoming_change

from .world import World, job


@pytest.fixture
def world() -> World:
    world = World()
    world.define(job("etl", "0 * * * *"))
    world.pass_time("00:30")
    return world


def changed(world: World, change: Any, until: str = "04:30") -> tuple[list[str], list[str], str]:
    found = upcoming_change(world.schedule("etl"), change, world.now, world.at(until))
    return (
        [world.says(one) for one in found.appear],
        [world.says(one) for one in found.vanish],
        world.says(found.until),
    )


def test_what_appears_and_what_vanishes(world: World) -> None:
    """S29, S31, S66: a pause takes starts away, a move adds one, a resume brings them back."""
    assert changed(world, Paused()) == ([], ["01:00", "02:00", "03:00", "04:00"], "04:30")
    assert changed(world, Paused(until=world.at("02:30"))) == ([], ["01:00", "02:00"], "04:30")
    assert changed(world, Rescheduled(world.at("02:10"))) == (["02:10"], ["01:00", "02:00"], "04:30")
    assert changed(world, SkipAsked(world.at("02:00"))) == ([], ["02:00"], "04:30")
    world.pause("etl")
    assert changed(world, Resumed())[0] == ["01:00", "02:00", "03:00", "04:00"]


def test_very_many_starts(world: World) -> None:
    """A thousand starts of each side are compared, and how far that reaches is told."""
    world.define(job("etl", "* * * * *"))
    gone, until = changed(world, Paused(), "2026-01-04T00:00")[1:]
    assert (len(gone), until) == (1_000, "17:10")


def test_what_cannot_be_asked_for_is_refused(world: World) -> None:
    """The same refusal as if it were done."""
    with pytest.raises(InputError, match="has passed"):
        changed(world, Paused(until=world.at("00:10")))
