"""What is to come: upcoming, forecast, crowded minutes, timeline, preview, simulation, templates."""

import pytest

from tickwise.app.upcoming import spread_out
from tickwise.stores.access_records import AccessRole
from tickwise.stores.records import Node, Role

from ..support.api import NIGHTLY, Api, api, problem_of
from ..support.app import patiently

DAILY = {"schedule": "0 0 * * *", "command": "x"}
YEAR = {"start": "2026-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"}


async def _crowded_minute(here: Api, size: int) -> None:
    for number in range(size):
        await here.post("/schedules", {**NIGHTLY, "name": f"n{number}"})


@patiently
async def test_what_will_run_is_listed_in_time_order(url: str) -> None:
    """Each run to come stands at the time at which it really starts; nothing comes while all is paused."""
    async with api(url) as here:
        await here.post("/schedules", NIGHTLY)
        await here.post("/schedules", {**NIGHTLY, "name": "often", "schedule": "0 */2 * * *"})
        coming = (await here.get("/upcoming?hours=5"))["items"]
        assert [(one["schedule"], one["at"]) for one in coming] == [
            ("often", "2026-01-01T02:00:00Z"), ("nightly", "2026-01-01T03:00:00Z"),
            ("often", "2026-01-01T04:00:00Z"),
        ]  # fmt: skip
        assert len((await here.get("/upcoming?limit=2"))["items"]) == 2
        await here.ask("PUT", "/pause")
        assert (await here.get("/upcoming"))["items"] == []


@patiently
async def test_the_nearest_are_found_among_many(url: str) -> None:
    """As many as are asked for, in order, whether they come in a minute or in a month; what waits is first."""
    async with api(url) as here:
        for number in range(8):
            await here.post(
                "/schedules", {**NIGHTLY, "name": f"n{number}", "schedule": f"{number * 7} {number} 9 * *"}
            )
        await here.post("/schedules", {**NIGHTLY, "name": "held", "schedule": "* * * * *", "queue": "lonely"})
        world = await here.world()
        here.clock.advance(60)
        await world.tick()
        here.clock.advance(30)
        coming = (await here.get("/upcoming?hours=720&limit=2"))["items"]
        assert [(one["schedule"], one["at"]) for one in coming] == [
            ("held", "2026-01-01T00:01:30Z"), ("held", "2026-01-01T00:02:00Z"),
        ]  # fmt: skip
        await here.post("/schedules/held:pause")
        coming = (await here.get("/upcoming?hours=720&limit=3"))["items"]
        assert [one["at"][:16] for one in coming] == ["2026-01-09T00:00", "2026-01-09T01:07", "2026-01-09T02:14"]
        assert len((await here.get("/upcoming?hours=720"))["items"]) == 8
        assert (await here.get("/upcoming?hours=1"))["items"] == []


@patiently
async def test_what_will_run_is_listed_of_one_schedule_or_from_a_time_on(url: str) -> None:
    """However many others come before; each in the zone of its schedule as well, and nothing of what is paused."""
    async with api(url) as here:
        await here.post("/schedules", {**NIGHTLY, "timezone": "Europe/Berlin"})
        await here.post("/schedules", {**NIGHTLY, "name": "often", "schedule": "* * * * *", "jitter": "30s"})
        one = (await here.get("/upcoming?schedule=nightly&hours=49"))["items"]
        assert [(run["at"], run["timezone"]) for run in one] == [
            ("2026-01-01T02:00:00Z", "Europe/Berlin"), ("2026-01-02T02:00:00Z", "Europe/Berlin"),
        ]  # fmt: skip
        later = (await here.get("/upcoming?start=2026-01-02T02:00:00Z&hours=0.025"))["items"]
        assert [run["schedule"] for run in later] == ["nightly", "often", "often"]
        assert [run["slot"] for run in later[1:]] == ["2026-01-02T02:00:00Z", "2026-01-02T02:01:00Z"]
        begins = (await here.get(f"/upcoming?start={later[1]['at']}&limit=1"))[
            "items"
        ]  # by its jitter, not its slot
        assert begins == [later[1]]
        await here.post("/schedules/nightly:pause")
        assert (await here.get("/upcoming?schedule=nightly"))["items"] == []
        problem_of(await here.ask("GET", "/upcoming?schedule=nobody"), 404)


@patiently
async def test_the_forecast_counts_by_minute_and_points_out_crowded_minutes(url: str) -> None:
    """Many schedules at one minute are named with an expression that spreads them."""
    async with api(url) as here:
        await _crowded_minute(here, 12)
        found = await here.get("/forecast")
        assert (found["step"], len(found["counts"]), sum(found["counts"])) == (60, 1_440, 12)
        assert found["counts"][180] == 12
        (crowded,) = found["crowded_minutes"]
        assert (crowded["minute"], crowded["count"]) == ("2026-01-01T03:00:00Z", 12)
        assert (crowded["instead_of"], crowded["suggestion"]) == ("0 3 * * *", "H 3 * * *")
        assert sorted(crowded["schedules"]) == sorted(f"n{number}" for number in range(12))


@patiently
async def test_the_forecast_tells_how_many_run_at_once() -> None:
    """Each lasts as long as those before it, side by side if overlap allows it; the shortest count for nothing."""
    async with api() as here:
        assert (await here.get("/forecast"))["at_once"] is None
        times = {"schedule": "*/10 * * * *", "command": "true"}
        await here.post("/schedules", {**times, "name": "one"})
        await here.post("/schedules", {**times, "name": "many", "overlap": "allow", "max_active_runs": 5})
        await here.post("/schedules", {**times, "name": "short"})
        world = await here.world()
        await world.pass_time("00:10")
        leases = {lease.job.name: lease for lease in await world.lease()}
        await world.end(leases.pop("short"))
        here.clock.advance(25 * 60)
        for lease in leases.values():
            await world.end(lease)
        await world.store.beat(Node("w1", (Role.WORKER,), capacity=3, seconds=10**9))
        found = await here.get("/forecast?hours=2")
        assert (found["capacity"], found["step"]) == (3, 60)
        assert set(found["at_once"][60:]) == {1 + 2, 1 + 3}
        mine = (await here.post("/tokens", {"name": "eve", "role": "viewer", "scopes": ["one"]}))["secret"]
        scoped = await here.get("/forecast?hours=2", token=mine)
        assert (scoped["capacity"], max(scoped["at_once"])) == (None, 1)


@patiently
async def test_a_wide_forecast_counts_by_hour() -> None:
    """A week is told by the hour; few schedules crowd no minute."""
    async with api() as here:
        await _crowded_minute(here, 2)
        found = await here.get("/forecast?hours=168")
        assert (found["step"], len(found["counts"]), sum(found["counts"])) == (3_600, 168, 14)
        assert found["crowded_minutes"] == []
        problem_of(await here.ask("GET", "/forecast?hours=169"), 422)


@pytest.mark.parametrize(
    ("label", "better"),
    [
        ("0 * * * *", "H * * * *"),
        ("*/5 * * * *", "H/5 * * * *"),
        ("H * * * *", ""),
        ("every 5m", ""),
        ("@daily", ""),
    ],
)
def test_a_fixed_minute_is_spread(label: str, better: str) -> None:
    """Only an expression with a fixed minute gets a suggestion."""
    assert spread_out(label) == better


@patiently
async def test_the_timeline_joins_what_ran_and_what_will(url: str) -> None:
    """Runs under way between two instants, and those to come, in one answer."""
    async with api(url) as here:
        await here.post("/schedules", {**NIGHTLY, "schedule": "0 * * * *"})
        world = await here.world()
        here.clock.advance(3_600)
        await world.tick()
        (lease,) = await world.lease()
        here.clock.advance(60)
        await world.end(lease)
        query = "start=2026-01-01T00:30:00Z&end=2026-01-01T02:30:00Z"
        found = await here.get(f"/timeline?{query}")
        assert [run["slot"] for run in found["runs"]] == ["2026-01-01T01:00:00Z"]
        assert [one["at"] for one in found["upcoming"]] == ["2026-01-01T02:00:00Z"]
        problem_of(await here.ask("GET", "/timeline?start=2026-01-01T00:00:00Z&end=2027-01-01T00:00:00Z"), 422)


@patiently
async def test_the_past_is_told_by_schedule_and_hour(url: str) -> None:
    """How many ran, how late and how long, and what did not run and why; only of jobs that one may see."""
    async with api(url) as here:
        await here.post("/schedules", {**NIGHTLY, "schedule": "*/30 * * * *"})
        world = await here.world()
        here.clock.advance(1_800)
        await world.tick()
        here.clock.advance(2)
        (lease,) = await world.lease()
        here.clock.advance(1_798)
        await world.tick()
        await world.end(lease)
        told = (await here.get("/hours?hours=2"))["items"]
        by_hour = {one["hour"]: one for one in told}
        first, second = by_hour["2026-01-01T00:00:00Z"], by_hour["2026-01-01T01:00:00Z"]
        assert (first["runs"], first["late_ms"], first["run_ms"]) == ({"succeeded": 1}, 2_000, 1_798_000)
        assert second["decided"] == {"overlap": 1}
        assert (await here.get("/hours?schedule=other"))["items"] == []
        stranger = await here.token(AccessRole.VIEWER, "etl-*")
        assert (await here.get("/hours", token=stranger))["items"] == []


@patiently
async def test_a_preview_explains_and_warns() -> None:
    """An expression is told in words with its next ten times, and what may not have been meant."""
    async with api() as here:
        found = await here.post("/preview", {"expression": "30 2 * * *", "timezone": "Europe/Berlin"})
        assert found["means"] == "At 02:30, every day, Europe/Berlin"
        assert len(found["next"]) == 10
        assert found["next"][0] == "2026-01-01T01:30:00Z"
        assert "does not exist" in found["warnings"][0]
        assert found["suggestion"] is None


@patiently
async def test_a_preview_warns_of_a_crowded_minute() -> None:
    """Where many start at the same minute already, another expression is suggested."""
    async with api() as here:
        await _crowded_minute(here, 10)
        found = await here.post("/preview", {"expression": "0 3 * * *"})
        assert "10 other schedules" in found["warnings"][0]
        assert found["suggestion"] == "H 3 * * *"
        own = await here.post("/preview", {"expression": "0 3 * * *", "name": "n3"})
        assert (own["warnings"], own["suggestion"]) == ([], None)  # nine others are not many


@pytest.mark.parametrize(
    ("body", "field", "position"),
    [
        ({"expression": "0 3 * 13 *"}, "month", 6), ({"expression": "0 3 30 2 *"}, "day-of-month", 4),
        ({"expression": "0 3 * * *", "timezone": "Mars/Olympus"}, "timezone", None),
        ({"expression": "* " * 900}, "expression", None), ({"expression": ""}, "expression", None),
    ],
)  # fmt: skip
@patiently
async def test_a_wrong_expression_is_pointed_at(body: dict[str, str], field: str, position: int | None) -> None:
    """A refusal names the field and the character."""
    async with api() as here:
        found = problem_of(await here.ask("POST", "/preview", json=body), 422)
        assert found["field"] == field
        assert position is None or found["position"] == position


@patiently
async def test_a_simulation_plays_the_real_planner(url: str) -> None:
    """A stored schedule, or one that is only thought of, with a downtime: each slot with its verdict."""
    async with api(url) as here:
        await here.post("/schedules", {**NIGHTLY, "schedule": "0 * * * *", "catchup": "skip"})
        span = {"start": "2026-02-01T00:00:00Z", "end": "2026-02-01T04:00:00Z"}
        down = [{"start": "2026-02-01T00:30:00Z", "end": "2026-02-01T02:30:00Z"}]
        found = (await here.post("/simulate", {"schedule": "nightly", **span, "down": down}))["items"]
        assert [one["verdict"] for one in found] == ["fired", "skipped", "skipped", "fired"]
        thought = {"definition": {"schedule": "0 * * * *", "command": "x"}, **span, "run_time": "90m"}
        found = (await here.post("/simulate", thought))["items"]
        assert [one["reason"] for one in found] == ["on_time", "overlap", "on_time", "overlap"]
        assert found[0]["run"]["finished_at"] == "2026-02-01T01:30:00Z"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"definition": {"schedule": "* * * * * *", "command": "x"}, **YEAR}, "more than 10,000"),
        ({"definition": DAILY, **YEAR, "end": "2029-01-01T00:00:00Z"}, "a year"),
        ({"definition": {"schedule": "0 25 * * *", "command": "x"}, **YEAR}, "out of range"),
        ({"schedule": "nobody", **YEAR}, "no schedule"), ({**YEAR}, "and not both"),
        ({"definition": DAILY, **YEAR, "start": "2028-01-01T00:00:00Z"}, "after"),
    ],
)  # fmt: skip
@patiently
async def test_a_simulation_is_bounded(given: dict[str, object], why: str) -> None:
    """What would take too long, or cannot be, is refused at once."""
    async with api() as here:
        answer = await here.ask("POST", "/simulate", json=given)
        assert why in problem_of(answer, 404 if "no schedule" in why else 422)["detail"]


@patiently
async def test_a_template_can_be_used(url: str) -> None:
    """Each template has an expression that can be previewed, and a schedule can be made of its name."""
    async with api(url) as here:
        here.tickwise.configure(templates={"teatime": "0 16 * * *"})
        templates = (await here.get("/templates"))["items"]
        assert {"hourly", "daily", "weekdays-at-9", "teatime"} <= {one["name"] for one in templates}
        for one in templates:
            assert len((await here.post("/preview", {"expression": one["expression"]}))["next"]) == 10
        made = await here.post("/schedules", {**NIGHTLY, "schedule": {"template": "weekdays-at-9"}})
        assert made["next_run_at"] == "2026-01-01T09:00:00Z"
        changed = await here.ask("PATCH", "/schedules/nightly", json={"schedule": {"template": "teatime"}})
        assert changed.json()["next_run_at"] == "2026-01-01T16:00:00Z"
