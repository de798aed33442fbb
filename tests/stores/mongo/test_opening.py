"""What is wrong with a server, its address or what is in it is said, with what to do about it."""

import asyncio
import gc
import sys
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from pymongo import MongoClient

from tickwise.core.errors import InputError, TickwiseError
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.mongo import base
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.url import open_store

from ...support.servers.process import free_port
from .servers import database, standalone

WORD = "pw"


# The driver leaves the socket of an attempt to connect, that is given up when it is closed, to the collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(autouse=True, scope="module")
def collected() -> Iterator[None]:
    """What the driver left is found here, and not by a test that comes later and elsewhere."""
    yield
    gc.collect()


async def _upgrade(url: str) -> tuple[str, ...]:
    store = MongoStore(url)
    try:
        return await store.schema.upgrade()
    finally:
        await store.close()


async def _check(url: str) -> tuple[str, ...]:
    store = MongoStore(url)
    try:
        return await store.schema.check()
    finally:
        await store.close()


async def _counts(url: str) -> object:
    store = open_store(url)
    try:
        return await store.insights.counts()
    finally:
        await store.close()


def test_a_missing_driver_is_named_with_the_command() -> None:
    """Without pymongo, the one command that installs it is told."""
    ours = [name for name in sys.modules if name.startswith("tickwise.stores.mongo")]
    with patch.dict(sys.modules, {"pymongo": None}):
        for name in ours:
            del sys.modules[name]
        with pytest.raises(InputError, match=r"pip install 'tickwise\[mongodb\]'"):
            open_store("mongodb://127.0.0.1/")


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://", "mongodb://host:port/", "mongodb://a:b:c@host/", "mongodb://host/?w=nonsense&replicaSet",
        "mongodb://host/a b", "mongodb+srv://one.two.three,another/",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be(url: str) -> None:
    """It is refused at once, before anything is asked of a network."""
    with pytest.raises(InputError, match="URL"):
        open_store(url)


def test_nobody_answers() -> None:
    """An unreachable server is told as such, with what to check, when the time to find one is over."""
    url = f"mongodb://127.0.0.1:{free_port()}/?serverSelectionTimeoutMS=200"
    with pytest.raises(StoreUnavailableError, match=r"does not answer.*check that it runs, and host, port"):
        asyncio.run(_counts(url))


def test_a_server_that_is_too_old(mongodb_database: str) -> None:
    """The version that is needed is told, and nothing is written."""
    with patch.object(base, "OLDEST_WIRE_VERSION", 99), pytest.raises(InputError, match=r"too old.*5\.0 or later"):
        asyncio.run(_upgrade(mongodb_database))
    with MongoClient[Any](mongodb_database) as client:
        assert client.get_default_database().list_collection_names() == []


def test_a_database_that_was_not_prepared(mongodb_database: str) -> None:
    """No move writes where the unique keys are not kept yet; what to run is told."""
    with pytest.raises(TickwiseError, match="tickwise store upgrade"):
        asyncio.run(_counts(mongodb_database))
    (problem, *_) = asyncio.run(_check(mongodb_database))
    assert "0002_access" in problem
    assert asyncio.run(_upgrade(mongodb_database)) == ("0001_begin", "0002_access")
    assert (asyncio.run(_upgrade(mongodb_database)), asyncio.run(_check(mongodb_database))) == ((), ())


def test_what_was_changed_behind_its_back(mongodb_database: str) -> None:
    """An index that is gone is missed and made again; a newer version that this one cannot work beside is told."""
    asyncio.run(_upgrade(mongodb_database))
    with MongoClient[Any](mongodb_database) as client:
        client.get_default_database().tickwise_runs.drop_index("job_1_lane_1")
        assert ["job_1_lane_1" in problem for problem in asyncio.run(_check(mongodb_database))] == [True]
        asyncio.run(_upgrade(mongodb_database))
        assert asyncio.run(_check(mongodb_database)) == ()
        client.get_default_database().tickwise_schema.insert_one({"_id": 9, "name": "9", "compatible_from": 9})
        assert ["update this one" in problem for problem in asyncio.run(_check(mongodb_database))] == [True]


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """HOST:PORT of a server that asks who one is: `boss` may do anything, `guest` nothing; both say `pw`."""
    with standalone("--auth") as server:
        address = urlsplit(server.url).netloc
        with MongoClient[Any](f"mongodb://{address}/") as client:
            client.admin.command("createUser", "boss", pwd=WORD, roles=["root"])
        with MongoClient[Any](f"mongodb://boss:pw@{address}/") as client:
            client.admin.command("createUser", "guest", pwd=WORD, roles=[])
        yield address


@pytest.mark.parametrize("who", ["guest:pw@", "guest:wrong@", ""])
def test_who_may_not(guarded: str, who: str) -> None:
    """A wrong password, no user and one without rights are told what to check; the password stays secret."""
    with pytest.raises(
        StoreUnavailableError, match=r"does not let this user in.*check user, password.*readWrite"
    ) as caught:
        asyncio.run(_upgrade(f"mongodb://{who}{guarded}/tickwise?authSource=admin"))
    assert "wrong" not in str(caught.value)


def test_who_may(guarded: str) -> None:
    """With the role readWrite on its database alone, a user can do all that is needed."""
    with MongoClient[Any](f"mongodb://boss:pw@{guarded}/") as client:
        roles = [{"role": "readWrite", "db": "mine"}]
        client.admin.command("createUser", "user", pwd=WORD, roles=roles)
    url = f"mongodb://user:pw@{guarded}/mine?authSource=admin"
    assert asyncio.run(_upgrade(url)) == ("0001_begin", "0002_access")
    asyncio.run(_counts(url))


def test_the_database_is_named_in_the_address(mongodb_url: str) -> None:
    """Without a name it is `tickwise`."""
    with database(mongodb_url) as url:
        named = MongoStore(url).mongo.name
    assert (named in url, MongoStore(mongodb_url).mongo.name) == (True, "tickwise")
