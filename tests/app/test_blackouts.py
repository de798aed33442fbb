"""`tw.blackouts`: what Python code does with windows in which schedules rest (S62)."""

from typing import Any

import pytest

from tickwise import ConflictError, InputError, Tickwise

from ..support.app import Clock, at
from .test_schedules import pass_to


def test_a_job_rests_in_a_blackout(tw: Tickwise, clock: Clock) -> None:
    """S62: nothing is started in it, and what it did to slots is said; code may still enqueue."""
    ran: list[Any] = []

    @tw.job("0 * * * *", labels={"team": "data"})
    def hourly(run: Any) -> None:
        ran.append(run.slot)

    tw.drain()
    made = tw.blackouts.add("freeze", start=at("01:30"), end=at("04:00"), labels=["team=data"], reason="a move")
    assert (made.start, made.end, made.active) == (at("01:30"), at("04:00"), False)
    assert tw.schedules.get("hourly").blackouts == ("freeze",)
    assert [run.slot for run in tw.upcoming(6)] == [at("01:00"), at("04:00"), at("05:00")]
    pass_to(tw, clock, "01:00")
    pass_to(tw, clock, "02:00")
    assert tw.blackouts.get("freeze").active
    assert "blackout freeze: a move" in str(tw.why("hourly"))
    with pytest.raises(ConflictError, match=r"hourly rests until 2026-01-01T04:00:00Z, by the blackout freeze"):
        tw.schedules.trigger("hourly")
    tw.schedules.trigger("hourly", in_blackout=True)
    tw.enqueue("hourly")
    tw.drain()
    pass_to(tw, clock, "04:00")
    assert ran == [at("01:00"), None, None, at("04:00")]
    assert "freeze: a move" in str(tw.why("hourly", at("02:00")))
    assert [each.name for each in tw.blackouts.list()] == ["freeze"]
    tw.blackouts.add("later", cron="0 22 * * *", length="2h", jobs=["*"])
    assert tw.blackouts.remove("later").cron == "0 22 * * *"
    clock.advance(8 * 86_400)
    tw.blackouts.add("freeze", length="1h", jobs=["other"])
    assert [(each.name, each.active) for each in tw.blackouts.list()] == [("freeze", True)]


def test_what_is_no_blackout_is_refused(tw: Tickwise) -> None:
    """With the nearest right word; nothing is kept."""
    with pytest.raises(InputError, match=r"'lenght' is no field of a blackout \(did you mean length"):
        tw.blackouts.add("x", lenght="1h", jobs=["*"])  # type: ignore[call-arg]
    with pytest.raises(InputError, match="there is no blackout"):
        tw.blackouts.remove("x")
    assert tw.blackouts.list() == []
