"""Servers of other kinds than the suite's: evicting, full, a replica, without scripts, a cluster."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from redis import Redis
from structlog.testing import capture_logs

from tickwise.core.errors import InputError
from tickwise.core.planner import plan
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import Enqueue
from tickwise.stores.redis.store import RedisStore
from tickwise.testing.conformance.world import worker_node

from ...support.races.race import SOURCE, all_runs, job
from ...support.servers import valkey


def with_store(url: str, act: Callable[[RedisStore], Awaitable[Any]]) -> Any:
    async def play() -> Any:
        store = RedisStore(url)
        try:
            return await act(store)
        finally:
            await store.close()

    return asyncio.run(play())


async def installed(store: RedisStore) -> None:
    await store.schema.upgrade()
    await store.define(job("a", "* * * * *"), SOURCE)


def test_a_server_that_evicts_is_refused() -> None:
    """It would forget schedules: it is neither installed on nor used, and the check says what to set."""
    with valkey.server("--maxmemory-policy", "allkeys-lru") as server:
        assert ["noeviction" in problem for problem in with_store(server.url, _check)] == [True, False]
        with pytest.raises(InputError, match="maxmemory-policy noeviction"):
            with_store(server.url, installed)
        with Redis.from_url(server.url) as client:
            assert client.dbsize() == 0
            client.config_set("maxmemory-policy", "volatile-lru")
        with_store(server.url, installed)
        with Redis.from_url(server.url) as client:
            client.config_set("maxmemory-policy", "allkeys-random")
        with pytest.raises(InputError, match="noeviction"):
            with_store(server.url, lambda store: store.enqueue([Enqueue("a")]))


async def _check(store: RedisStore) -> tuple[str, ...]:
    return await store.schema.check()


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        (valkey.DURABLE, ""),
        (("--appendonly", "yes", "--appendfsync", "everysec"), "two seconds"),
        (("--appendonly", "yes", "--appendfsync", "no"), "kernel"),
        ((), "since its last snapshot"),
        (("--appendonly", "yes", "--rename-command", "CONFIG", ""), "not known"),
    ],
)
def test_what_a_crash_may_lose_is_said(options: tuple[str, ...], loss: str) -> None:
    """The settings are named; those that the server does not tell are not known."""
    with valkey.server(*options) as server:
        found = with_store(server.url, lambda store: store.schema.durability())
        assert (loss in found.loss, bool(found.loss)) == (True, bool(loss))
        assert "maxmemory-policy noeviction" in found.settings


def test_a_start_says_what_may_be_lost_and_a_read_does_not() -> None:
    """A node installs the store when it starts and says it once; commands that only read do not repeat it."""
    with valkey.server() as server:
        with capture_logs() as said:
            with_store(server.url, installed)
        assert [("appendonly no" in line["settings"], "snapshot" in line["loss"]) for line in said] == [
            (True, True)
        ]
        with capture_logs() as said:
            with_store(server.url, lambda store: store.insights.schedules())
        assert said == []


def test_a_server_without_memory() -> None:
    """Writes are refused as a whole until there is room again; then they succeed (OOM)."""
    with valkey.server() as server, Redis.from_url(server.url) as client:
        with_store(server.url, installed)
        client.config_set("maxmemory", "1")
        with pytest.raises(StoreUnavailableError, match="no memory left"):
            with_store(server.url, lambda store: store.enqueue([Enqueue("a"), Enqueue("a")]))
        client.config_set("maxmemory", "0")
        assert with_store(server.url, all_runs) == []
        assert len(with_store(server.url, lambda store: store.enqueue([Enqueue("a")]))) == 1


def test_a_replica() -> None:
    """It takes no writes, which is an outage (READONLY); made a master, it goes on with what it has."""
    with valkey.server() as master, valkey.server() as other, Redis.from_url(other.url) as client:
        with_store(other.url, installed)
        client.replicaof("127.0.0.1", master.url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(StoreUnavailableError):
            with_store(other.url, lambda store: store.enqueue([Enqueue("a")]))


def test_a_server_that_is_away() -> None:
    """The error says what to check."""
    with valkey.server() as server:
        url = server.url
    with pytest.raises(StoreUnavailableError, match="host and port"):
        with_store(url, installed)


def test_a_server_that_forgets_its_scripts(redis_database: str) -> None:
    """They are sent again: a restart or SCRIPT FLUSH is no error."""

    async def story(store: RedisStore) -> int:
        await installed(store)
        await store.server.direct.script_flush()
        await store.enqueue([Enqueue("a")])
        return len(await all_runs(store))

    assert with_store(redis_database, story) == 1


def test_a_cluster() -> None:
    """All keys of a store are on one node, whichever that is; nothing is refused because of its slot."""
    with valkey.server("--cluster-enabled", "yes") as server:
        with Redis.from_url(server.url, decode_responses=True) as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            while "cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
                pass

        async def story(store: RedisStore) -> int:
            await installed(store)
            await store.beat(worker_node("w"))
            await store.tick(plan, "t")
            await store.enqueue([Enqueue("a")])
            return len(await all_runs(store))

        assert with_store(f"{server.url}?cluster=true&name=other", story) == 1
