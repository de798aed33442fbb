"""A schedule whose stored definition is damaged: people see it, change it and delete it (S20)."""

from typing import Any

import pytest
from structlog.testing import capture_logs

from tickwise.stores.mongo.definitions import MongoDefinitions
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.redis.base import RedisDefinitions
from tickwise.stores.redis.plain_jobs import PlainJobs
from tickwise.stores.redis.store import RedisStore
from tickwise.stores.sql.definitions import DefinitionCache
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Procedure, Rows, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.unreadable import log_unreadable

from ..stores.test_conformance import URLS
from ..support.api import Api, api
from ..support.app import patiently

_SPOIL = Statement("""
    UPDATE tickwise_definitions SET body = replace(body, '7 3 * * *', '61 3 * * *')
    WHERE id = (SELECT definition_id FROM tickwise_schedules WHERE name = :name)
""")
BAD = {"name": "bad", "schedule": "7 3 * * *", "command": "echo hi", "overlap": "latest"}


@pytest.fixture(params=["sqlite", "postgres", "mysql", "mongodb", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    return URLS[request.param](request)


async def spoil(here: Api, name: str) -> None:
    """The cron text in the store says a minute that there is not, and nobody remembers the old one."""
    store: Any = await here.store()
    if isinstance(store, MongoStore):
        await store.mongo.collection("definitions").update_many({}, [{"$set": {"body": _replaced("$body")}}])
        store.mongo.cache = MongoDefinitions(store.mongo.collection("definitions"))
    elif isinstance(store, RedisStore):
        server, key = store.server, store.server.key("definitions")
        for digest, body in (await server.command("HGETALL", key)).items():
            await server.command("HSET", key, digest, body.replace("7 3 * * *", "61 3 * * *"))
        server.cache, server.plain_jobs = RedisDefinitions(server), PlainJobs()
    else:
        assert isinstance(store, SqlStore)

        def procedure() -> Procedure[Rows]:
            return (yield _SPOIL(name=name))

        await store.driver.run(procedure, Pool.OTHER)
        store.definitions = store.insights.definitions = DefinitionCache()


def _replaced(body: str) -> dict[str, Any]:
    return {"$replaceAll": {"input": body, "find": "7 3 * * *", "replacement": "61 3 * * *"}}


@patiently
async def test_it_is_listed(url: str) -> None:
    """Lists and the overview show it with the reason, and a pass logs it once (A12)."""
    async with api(url) as here:
        world = await here.world()
        await here.post("/schedules", BAD)
        await here.post("/schedules", {**BAD, "name": "good", "schedule": "0 4 * * *"})
        await spoil(here, "bad")
        log_unreadable.cache_clear()
        with capture_logs() as said:
            for minute in (1, 2, 3):
                world.go(f"03:0{minute}")
                await world.tick()
            listed = (await here.get("/schedules"))["items"]
        assert [one["name"] for one in listed] == ["bad", "good"]
        assert "61" in listed[0]["unreadable"]
        assert (listed[0]["finished"], listed[0]["next_run_at"], listed[1]["unreadable"]) == (False, None, "")
        warnings = (await here.get("/overview"))["warnings"]
        assert sum("bad cannot be read" in one["text"] for one in warnings) == 1
        assert [one["schedule"] for one in said if "cannot be read" in one["event"]] == ["bad"]
        why = await here.ask("GET", "/schedules/bad/why")
        assert (why.status_code, "cannot be read" in why.json()["detail"]) == (409, True)


@patiently
async def test_it_is_changed(url: str) -> None:
    """PATCH with new times begins it anew; the job's other fields are kept (A12, S2)."""
    async with api(url) as here:
        await here.post("/schedules", BAD)
        await spoil(here, "bad")
        lacking = await here.ask("PATCH", "/schedules/bad", json={"overlap": "skip"})
        assert lacking.status_code == 422
        answer = await here.ask("PATCH", "/schedules/bad", json={"schedule": "30 3 * * *"})
        assert answer.status_code == 200
        found = await here.get("/schedules/bad")
        assert (found["unreadable"], found["definition"]["schedule"]) == ("", "30 3 * * *")
        assert found["definition"]["command"] == ["echo", "hi"]


@patiently
async def test_it_is_deleted(url: str) -> None:
    """DELETE takes it away, and its name is free again (A12)."""
    async with api(url) as here:
        await here.post("/schedules", BAD)
        await spoil(here, "bad")
        assert (await here.ask("DELETE", "/schedules/bad")).status_code == 204
        assert (await here.get("/schedules"))["items"] == []
        await here.post("/schedules", BAD)


@patiently
async def test_one_of_two(url: str) -> None:
    """The other schedule of its job is not changed while this one would be lost by it, and stays without it."""
    async with api(url) as here:
        await here.post("/schedules", BAD)
        await here.post("/schedules", {"name": "other", "job": "bad", "schedule": "0 4 * * *"})
        await spoil(here, "bad")
        for refused in (
            await here.ask("PATCH", "/schedules/other", json={"schedule": "0 5 * * *"}),
            await here.ask("DELETE", "/schedules/other"),
            await here.ask("POST", "/schedules", json={"name": "third", "job": "bad", "schedule": "0 5 * * *"}),
        ):
            assert (refused.status_code, "bad of the same job" in refused.json()["detail"]) == (409, True)
        assert (await here.ask("DELETE", "/schedules/bad")).status_code == 204
        assert [one["name"] for one in (await here.get("/schedules"))["items"]] == ["other"]
