"""`/blackouts`: windows in which schedules rest (S62)."""

from typing import Any

import pytest

from tickwise.app.audit import audit
from tickwise.testing.conformance.world import instant

from ..support.api import NIGHTLY, api, problem_of
from ..support.app import patiently

HOURLY = {**NIGHTLY, "name": "hourly", "schedule": "0 * * * *", "timezone": "UTC", "labels": {"team": "data"}}
FREEZE = {"name": "freeze", "start": "2026-01-01T00:30:00Z", "end": "2026-01-01T03:00:00Z", "jobs": ["*"],
          "reason": "stocktaking"}  # fmt: skip


@patiently
async def test_a_blackout_is_added_shown_replaced_and_removed(url: str) -> None:
    """S62: as it was given, with the window that is on or comes next; each act is audited."""
    async with api(url) as here:
        added = await here.post("/blackouts", FREEZE)
        assert added == {
            "name": "freeze", "jobs": ["*"], "labels": [], "reason": "stocktaking", "by": "inside", "cron": None,
            "timezone": "UTC", "length": "2h30m", "active": False, "start": "2026-01-01T00:30:00Z",
            "end": "2026-01-01T03:00:00Z", "since": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        refused = problem_of(await here.ask("POST", "/blackouts", json=FREEZE), 409)
        assert "there is a blackout freeze" in refused["detail"]
        weekly = {"cron": "0 22 * * FRI", "length": "60h", "timezone": "Europe/Berlin", "labels": ["team=data"]}
        replaced = (await here.ask("PUT", "/blackouts/freeze", json=weekly)).json()
        assert (replaced["cron"], replaced["start"]) == ("0 22 * * FRI", "2026-01-02T21:00:00Z")
        assert (await here.get("/blackouts"))["items"] == [replaced] == [await here.get("/blackouts/freeze")]
        assert (await here.ask("DELETE", "/blackouts/freeze")).json() == replaced
        assert "did you mean" not in problem_of(await here.ask("GET", "/blackouts/freeze"), 404)["detail"]
        actions = [one["action"] for one in (await here.get("/audit?subject=freeze"))["items"]]
        assert actions == ["blackout.remove", "blackout.replace", "blackout.add"]


@patiently
async def test_a_schedule_rests_and_a_trigger_by_hand_is_refused(url: str) -> None:
    """S62: the next time is after the window; a trigger names window and end, and runs if it says that it may."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        await here.post("/blackouts", FREEZE)
        resting = await here.get("/schedules/hourly")
        assert (resting["blackouts"], resting["next_run_at"]) == (["freeze"], "2026-01-01T03:00:00Z")
        here.clock.advance(3_600)
        assert (await here.get("/blackouts"))["items"][0]["active"] is True
        refused = problem_of(await here.ask("POST", "/schedules/hourly:trigger", json={}), 409)
        assert "rests until 2026-01-01T03:00:00Z, by the blackout freeze: stocktaking" in refused["detail"]
        run = await here.post("/schedules/hourly:trigger", {"in_blackout": True})
        await here.post(f"/runs/{run['id']}:cancel")
        again = problem_of(await here.ask("POST", f"/runs/{run['id']}:retry", json={"from_failed": False}), 409)
        assert "by the blackout freeze" in again["detail"]
        await here.post("/runs", {"job": "hourly"})  # what code asks for goes on
        moved = problem_of(await here.ask("POST", "/schedules/hourly:reschedule", json={"to": "10m"}), 409)
        assert "lies in the blackout freeze" in moved["detail"]


@patiently
async def test_nothing_is_wrong_with_what_rests(url: str) -> None:
    """S62: neither doctor nor audit nor the first page takes a schedule in a blackout for one that hangs."""
    async with api(url) as here:
        await here.post("/schedules", {**HOURLY, "catchup": "all"})
        await here.post("/blackouts", FREEZE)
        world = await here.world()
        for time in ("01:00", "02:30"):
            world.go(time)
            await world.tick()
        world.go("02:45")
        row = await world.row("hourly")
        assert (row.next_slot, row.wake_at) == (instant("01:00"), instant("03:00"))
        doctor = await here.get("/doctor")
        assert "wakeup_lost" not in str(doctor)
        assert "hourly" not in str((await here.get("/attention"))["items"])
        assert (await audit(world.store)).findings == []
        marks = (await here.get("/schedules/hourly/slots"))["items"]
        told = {(one["slot"], one["state"], one["text"]) for one in marks}
        text = "it falls into the blackout freeze: stocktaking"
        assert ("2026-01-01T02:00:00Z", "waiting", text) in told


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"jobs": []}, "name jobs or labels"),
    ({"jobs": ["a b"]}, "pattern"),
    ({"end": None}, "give the end of the window or its length"),
    ({"length": "1h"}, "give the end of the window or its length"),
    ({"end": "2025-12-31T00:00:00Z"}, "give an end after"),
    ({"end": "2029-01-01T00:00:00Z"}, "from a second to 366 days"),
    ({"cron": "0 2 * * *"}, "give the length of each window"),
    ({"cron": "0 2 * * *", "length": "25h", "start": None, "end": None}, "is still on when the next begins"),
    ({"cron": "61 2 * * *", "length": "1h", "start": None, "end": None}, "61 is out of range"),
    ({"timezone": "Mars"}, "Mars"),
    ({"name": "a/b"}, "pattern"),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
@patiently
async def test_a_wrong_blackout_is_refused(url: str, given: dict[str, Any], said: str) -> None:
    """It says what is wrong, and nothing is kept."""
    async with api(url) as here:
        assert said in str(problem_of(await here.ask("POST", "/blackouts", json={**FREEZE, **given}), 422))
        assert (await here.get("/blackouts"))["items"] == []
