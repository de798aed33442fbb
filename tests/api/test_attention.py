"""`/attention`: what needs a person, with requests that mend it."""

from tickwise.core.settle import Failed
from tickwise.stores.access_records import AccessRole
from tickwise.stores.records import Node, Role

from ..support.api import NIGHTLY, Api, api, problem_of
from ..support.app import patiently


async def _tick(here: Api) -> None:
    await (await here.store()).beat(Node("t1", (Role.TICKER,), seconds=10**9))


@patiently
async def test_a_failure_can_be_retried_with_the_request_that_comes_with_it(url: str) -> None:
    """An action with a method is a request that works as it stands."""
    async with api(url) as here:
        await _tick(here)
        await here.post("/schedules", NIGHTLY)
        world = await here.world()
        await world.pass_time("03:00")
        await world.end(await world.start(), Failed(), error="LedgerMismatch: none\nmore")
        found = await here.get("/attention")
        assert (found["summary"], found["schedules"], found["well"]) == ("1 thing needs you.", 1, 0)
        (item,) = found["items"]
        assert (item["kind"], item["text"], item["detail"]) == (
            "failing",
            "its last run failed",
            "LedgerMismatch: none",
        )
        assert item["subject"] == {"kind": "schedule", "name": "nightly", "job": "nightly"}
        assert item["since"] == "2026-01-01T03:00:00Z"
        retry, log = item["actions"]
        assert (log["do"], log["method"], log["run"]) == ("log", None, retry["run"])
        answer = await here.ask(retry["method"], retry["path"], json=retry["body"])
        assert (answer.status_code, retry["role"]) == (200, "operator")
        assert (await here.get("/attention"))["items"] == []


@patiently
async def test_a_pause_can_be_ended_with_the_request_that_comes_with_it() -> None:
    """Of a schedule, and of everything."""
    async with api() as here:
        await _tick(here)
        await here.post("/schedules", {**NIGHTLY, "schedule": "0 * * * *"})
        await here.post("/schedules/nightly:pause", {"reason": "moving"})
        here.clock.advance(4_000)
        (item,) = (await here.get("/attention"))["items"]
        assert (item["kind"], item["detail"]) == ("missed_while_paused", "moving")
        resume = item["actions"][0]
        assert (await here.ask(resume["method"], resume["path"], json=resume["body"])).status_code == 200
        await here.ask("PUT", "/pause", json={})
        (item,) = (await here.get("/attention"))["items"]
        (resume,) = item["actions"]
        assert (await here.ask(resume["method"], resume["path"])).status_code == 200
        assert (await here.get("/attention"))["summary"] == "The schedule is as it should be."


@patiently
async def test_scopes_hide_other_jobs_and_the_fleet() -> None:
    """A token sees the causes of its own jobs, and counts them only."""
    async with api() as here:
        await here.post("/schedules", NIGHTLY)
        await here.post("/schedules", {**NIGHTLY, "name": "other"})
        token = await here.token(AccessRole.VIEWER, "night*")
        here.clock.advance(86_400)
        assert [item["subject"]["kind"] for item in (await here.get("/attention"))["items"]] == ["fleet"]
        found = await here.get("/attention", token=token)
        assert (found["items"], found["schedules"]) == ([], 1)


@patiently
async def test_things_are_counted_without_being_listed() -> None:
    """`limit=0` tells how many there are; `zone` in which zone times are told, else that of each schedule."""
    async with api() as here:
        await _tick(here)
        await here.post("/schedules", {**NIGHTLY, "schedule": "0 * * * *"})
        await here.post("/schedules/nightly:pause", {})
        here.clock.advance(4_000)
        counted = await here.get("/attention?limit=0")
        assert (counted["count"], counted["items"], counted["more"]) == (1, [], True)
        (item,) = (await here.get("/attention"))["items"]
        assert item["text"].startswith("did not run at Thu 01:00 UTC")
        (item,) = (await here.get("/attention?zone=Asia/Kolkata"))["items"]
        assert item["text"].startswith("did not run at Thu 06:30 Asia/Kolkata")
        assert "zone" in problem_of(await here.ask("GET", "/attention?zone=Asia/Kolkatta"), 422)["detail"]


@patiently
async def test_a_query_that_is_none_is_refused() -> None:
    """As everywhere."""
    async with api() as here:
        problem_of(await here.ask("GET", "/attention?limit=-1"), 422)
        problem_of(await here.ask("GET", "/attention?most=5"), 422)
