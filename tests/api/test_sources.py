"""`/sources`: where definitions come from, and what is left of them (A4, A5, S50)."""

from tickwise.stores.access_records import AccessRole
from tickwise.stores.records import Node, Role
from tickwise.testing.conformance.world import HOURLY, job

from ..support.api import api, problem_of
from ..support.app import patiently

LEFT = "folder:/old/jobs"


@patiently
async def test_moving_and_removing() -> None:
    """What a source has left is moved or removed, shown by a dry run first, and audited (A4, S50)."""
    async with api() as here:
        world = await here.world()
        await world.define(job("a", HOURLY), job("b", HOURLY), source=LEFT)
        assert (await here.get("/sources"))["items"] == [
            {"name": LEFT, "jobs": 2, "schedules": 2, "nodes": [], "orphans": []}
        ]
        dry = await here.post("/sources:move", {"source": LEFT, "to": "folder:etl", "dry_run": True})
        assert dry == {"jobs": ["a", "b"], "dry_run": True}
        assert (await here.get("/schedules?source=folder:etl"))["items"] == []
        await here.post("/sources:move", {"source": LEFT, "to": "folder:etl"})
        assert (await here.get("/schedules/a"))["source"] == "folder:etl"
        await here.post("/sources:remove", {"source": "folder:etl"})
        assert (await here.get("/jobs"))["items"] == []
        audited = [one["action"] for one in (await here.get("/audit"))["items"]]
        assert audited[:2] == ["source.remove", "source.move"]


@patiently
async def test_refusals() -> None:
    """Unknown sources, impossible names, sources that are served, and scoped tokens are refused (A4)."""
    async with api() as here:
        world = await here.world()
        await world.define(job("a", HOURLY), source=LEFT)
        await world.store.beat(Node("n", (Role.TICKER,), sources=(LEFT,)))
        for path, body, status, words in (
            ("move", {"source": "folder:/x", "to": "api"}, 422, "there is no source"),
            ("move", {"source": LEFT, "to": "folder:a/b"}, 422, "cannot be a source"),
            ("remove", {"source": LEFT}, 409, "is served by n"),
        ):
            answer = await here.ask("POST", f"/sources:{path}", json=body)
            assert words in problem_of(answer, status)["detail"]
        scoped = await here.token(AccessRole.VIEWER, "a*")
        assert (await here.ask("GET", "/sources", token=scoped)).status_code == 403


@patiently
async def test_orphans() -> None:
    """They are listed with their source and removed by an admin; others are not removed that way (A5, S50)."""
    async with api() as here:
        world = await here.world()
        await world.define(job("a", HOURLY), job("b", HOURLY), source="app:shop")
        await world.store.beat(Node("n", (Role.WORKER,), sources=("app:shop",), orphans=("a",)))
        (shop,) = (await here.get("/sources"))["items"]
        assert (shop["nodes"], shop["orphans"]) == (["n"], ["a"])
        answer = await here.ask("POST", "/jobs:remove-orphaned", json={"names": ["b"]})
        assert "b is not orphaned" in problem_of(answer, 409)["detail"]
        assert await here.post("/jobs:remove-orphaned", {}) == {"jobs": ["a"], "dry_run": False}
        assert [one["name"] for one in (await here.get("/jobs"))["items"]] == ["b"]


@patiently
async def test_a_further_schedule_of_a_folders_job() -> None:
    """POST adds one with `job`; PATCH and DELETE change it and leave the job to its folder (A14, S50)."""
    async with api() as here:
        world = await here.world()
        await world.define(job("a", HOURLY), source=LEFT)
        made = await here.post("/schedules", {"name": "a-noon", "job": "a", "schedule": "0 12 * * *"})
        assert (made["job"], made["source"], made["definition"]["schedule"]) == ("a", "api", "0 12 * * *")
        changed = await here.ask("PATCH", "/schedules/a-noon", json={"schedule": "30 12 * * *"})
        assert (changed.status_code, changed.json()["times"]) == (200, "30 12 * * *")
        await world.define(job("a", "15 * * * *"), source=LEFT)
        sources = {one["name"]: one["source"] for one in (await here.get("/schedules?job=a"))["items"]}
        assert sources == {"a": LEFT, "a-noon": "api"}
        assert "folder:/old/jobs" in problem_of(await here.ask("DELETE", "/schedules/a"), 409)["detail"]
        assert (await here.ask("DELETE", "/schedules/a-noon")).status_code == 204
        assert (await here.get("/jobs/a"))["schedules"] == ["a"]


@patiently
async def test_what_was_adopted_is_shown() -> None:
    """A schedule says what finds its slots, and whether a person or its definition says so (A15)."""
    async with api() as here:
        await here.post("/schedules", {"name": "a", "schedule": HOURLY, "command": "ls", "ticking": "local"})
        one = await here.get("/schedules/a")
        assert (one["ticking"], one["adopted"]) == ("local", False)
        await here.post("/schedules/a:adopt", {"ticking": "store"})
        (listed,) = (await here.get("/schedules"))["items"]
        assert (listed["ticking"], listed["adopted"]) == ("store", True)
