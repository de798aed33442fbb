"""Fires of another scheduler, the report slot by slot, and the cut-over, by the API (S80)."""

from typing import Any

import pytest

from tickwise.stores.access_records import AccessRole

from ..support.api import NIGHTLY, Api, api, problem_of
from ..support.app import patiently

HOURLY = {**NIGHTLY, "schedule": "0 * * * *", "shadow": True}
OF = "/schedules/nightly"


async def _pass_hours(here: Api, *fires: float | None) -> None:
    """One hour for each fire, which comes so many seconds after the slot; none if it does not come."""
    world = await here.world()
    for late in fires:
        here.clock.advance(3_600)
        await world.tick()
        if late is not None:
            here.clock.advance(late)
            await here.post(f"{OF}:seen", {"key": f"web1/{here.clock.second}"})
            here.clock.advance(-late)


@patiently
async def test_slots_in_shadow_are_no_failures() -> None:
    """A schedule that another scheduler starts has no share of slots that ran, and its ribbon says why."""
    async with api() as here:
        await here.post("/schedules", HOURLY)
        await _pass_hours(here, 5, None)
        (ribbon,) = (await here.get("/slots?since=2026-01-01T00:00:00Z"))["items"]
        assert (ribbon["in_shadow"], ribbon["good"]) == (True, None)
        assert (ribbon["totals"]["skipped"], sorted(ribbon["reasons"])) == (2, ["shadow"])


@patiently
async def test_a_report_compares_slot_by_slot(url: str) -> None:
    """Both, only theirs with the reason why Tickwise would not, and only ours."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        await _pass_hours(here, 2, None, 3)
        await here.post(f"{OF}:pause", {"reason": "move"})
        await _pass_hours(here, 1)
        await here.post(f"{OF}:resume")
        await here.post(f"{OF}:seen", {"at": "2026-01-01T03:20:00Z"})
        await (await here.world()).tick()
        here.clock.advance(60)
        report = await here.get(f"{OF}/shadow")
        assert [(row["agreement"], row["slot"], row["fire"], row["reason"]) for row in report["rows"]] == [
            ("both", "2026-01-01T01:00:00Z", "2026-01-01T01:00:02Z", None),
            ("ours", "2026-01-01T02:00:00Z", None, None),
            ("both", "2026-01-01T03:00:00Z", "2026-01-01T03:00:03Z", None),
            ("theirs", None, "2026-01-01T03:20:00Z", "no_slot"),
            ("theirs", "2026-01-01T04:00:00Z", "2026-01-01T04:00:01Z", "paused"),
        ]
        assert report["rows"][3]["text"] == (
            "the schedule has no slot there; the nearest is 2026-01-01 03:00:00 UTC"
        )
        assert "move" in report["rows"][4]["text"]
        status = report["status"]
        assert (status["both"], status["theirs"], status["ours"], status["fires"]) == (2, 2, 1, 4)
        await here.post(f"{OF}:seen", {"at": "2026-01-01T03:00:04Z"})
        again = (await here.get(f"{OF}/shadow"))["rows"][3]
        assert (again["reason"], again["text"]) == ("again", "another fire was heard of this slot")
        wide = await here.get(f"{OF}/shadow?tolerance=1800&since=2026-01-01T02:30:00Z")
        assert [row["agreement"] for row in wide["rows"]] == ["both", "theirs", "theirs", "theirs"]
        (listed,) = (await here.get("/shadow"))["items"]
        assert (listed["schedule"], listed["in_shadow"], listed["fires"]) == ("nightly", True, 5)
        assert (await here.get(OF))["shadow"]["last_fire"] == "2026-01-01T04:00:01Z"
        why = await here.get(f"{OF}/why?slot=2026-01-01T03:00:00Z")
        assert (why["verdict"], why["reason"]) == ("skipped", "shadow")
        steps = [step["text"] for step in why["chain"] if step["what"] == "fire"]
        assert steps[0] == "Another scheduler started it, Thu 2026-01-01 03:00:03 UTC."
        why = await here.get(f"{OF}/why?slot=2026-01-01T02:00:00Z")
        assert "No fire of another scheduler belongs to it." in {step["text"] for step in why["chain"]}


@patiently
async def test_a_fire_is_noted_once_per_key_and_never_in_the_future(url: str) -> None:
    """`age` counts back from the server's own time; a repetition changes nothing."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        here.clock.advance(7_200)
        for _ in range(2):
            answer = await here.post(f"{OF}:seen", {"age": 3_598.2, "key": "k"})
            assert answer == {"schedule": "nightly", "in_shadow": True, "run": True}
        await here.post(f"{OF}:seen", {"at": "2099-01-01T00:00:00Z", "key": "later"})
        rows = (await here.get("/decisions?reason=seen"))["items"]
        assert [(row["first"], row["detail"]) for row in rows] == [
            ("2026-01-01T02:00:00Z", "later"), ("2026-01-01T01:00:01Z", "k"),
        ]  # fmt: skip


@patiently
async def test_the_cut_over(url: str) -> None:
    """Refused while a fire may come; it says where it goes on, and is audited; later fires are told not to run."""
    async with api(url) as here:
        await here.post("/schedules", {**HOURLY, "catchup": "all"})
        await _pass_hours(here, 1, None)
        answer = await here.ask("POST", f"{OF}/shadow:adopt", json={"dry_run": True})
        assert "the fire of the other scheduler may still come" in problem_of(answer, 409)["detail"]
        here.clock.advance(300)
        planned = await here.post(f"{OF}/shadow:adopt", {"dry_run": True})
        assert planned == {
            "schedule": "nightly", "cursor": "2026-01-01T01:00:00Z", "pending": ["2026-01-01T02:00:00Z"],
            "next_slot": "2026-01-01T03:00:00Z", "dry_run": True,
        }  # fmt: skip
        assert (await here.get(OF))["shadow"]["in_shadow"] is True
        done = await here.post(f"{OF}/shadow:adopt")
        assert done == {**planned, "dry_run": False}
        assert (await here.get(OF))["shadow"]["adopted_by"] != ""
        gate = await here.post(f"{OF}:seen", {"unless_adopted": True})
        assert gate == {"schedule": "nightly", "in_shadow": False, "run": False}
        back = await here.post(f"{OF}/shadow:resume")
        assert (back["in_shadow"], back["adopted_at"]) == (True, None)
        actions = [entry["action"] for entry in (await here.get("/audit"))["items"]]
        assert actions[:2] == ["schedule.resume_shadow", "schedule.adopt_from_shadow"]
        problem_of(await here.ask("POST", f"{OF}/shadow:resume"), 409)


@pytest.mark.parametrize(
    "body",
    [{"age": -1}, {"age": 10**12}, {"key": ""}, {"key": "x" * 201}, {"at": "soon"}, {"extra": 1}, {"age": "1"}],
)
@patiently
async def test_bad_fires_change_nothing(url: str, body: dict[str, Any]) -> None:
    """What is malformed is refused with the name of the field."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        before = await here.get(OF)
        problem = problem_of(await here.ask("POST", f"{OF}:seen", json=body), 422)
        assert problem["field"] in {"age", "key", "at", "extra"}
        assert await here.get(OF) == before


@patiently
async def test_what_a_token_does_not_see_is_not_there(url: str) -> None:
    """A scoped token neither lists nor hears for other jobs."""
    async with api(url) as here:
        await here.post("/schedules", HOURLY)
        scoped = await here.token(AccessRole.OPERATOR, "etl-*")
        assert (await here.ask("GET", "/shadow", token=scoped)).json() == {"items": []}
        for method, path in (("POST", ":seen"), ("GET", "/shadow"), ("POST", "/shadow:adopt")):
            problem_of(await here.ask(method, OF + path, token=scoped), 404)
