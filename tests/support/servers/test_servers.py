"""The real servers answer through the real drivers, and nothing of them stays behind."""

import asyncio
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from pymongo import MongoClient
from redis import Redis

from . import mongodb, postgres, valkey
from .process import Server, ServerError, running


def test_postgres_answers(postgres_url: str) -> None:
    """The server behind the fixture is a PostgreSQL of version 15 or later."""

    async def version() -> str:
        connection = await asyncpg.connect(postgres_url)
        try:
            return str(await connection.fetchval("SELECT version()"))
        finally:
            await connection.close()

    name, number, *_ = asyncio.run(version()).split()
    assert name == "PostgreSQL"
    assert int(number.split(".")[0]) >= 15


def test_mongodb_answers_as_a_replica_set(mongodb_url: str) -> None:
    """The server behind the fixture is the writable primary of a replica set, so transactions work."""
    with MongoClient[dict[str, Any]](mongodb_url) as client:
        hello = client.admin.command("hello")
        assert hello["setName"]
        assert hello["isWritablePrimary"]
        with client.start_session() as session, session.start_transaction():
            client.tickwise_servers.probe.insert_one({}, session=session)
            session.abort_transaction()


def test_redis_answers(redis_url: str) -> None:
    """The server behind the fixture speaks version 7 of Redis or later."""
    with Redis.from_url(redis_url, decode_responses=True) as client:
        info: Any = client.info("server")
        assert int(info["redis_version"].partition(".")[0]) >= 7


@pytest.mark.parametrize(
    "start", [postgres.server, mongodb.server, valkey.server], ids=["postgres", "mongodb", "redis"]
)
def test_a_server_is_gone_afterwards(start: Callable[[], AbstractContextManager[Server]]) -> None:
    """Process, port and folder are gone after the block, also when the block failed."""
    seen = []

    def fail() -> None:
        with start() as server:
            seen.append((server, server.process.poll(), server.folder.exists()))
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    [(server, code, existed)] = seen
    assert (code, existed) == (None, True)
    assert server.process.returncode == 0
    assert not server.folder.exists()
    where = urlsplit(server.url)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((str(where.hostname), int(where.port or 0)))


def test_a_server_that_does_not_come_up_shows_its_log_and_what_to_install(tmp_path: Path) -> None:
    """The error quotes what the server said, and names the Debian package that a missing library is in."""
    said = "error while loading shared libraries: libcurl.so.4: cannot open shared object file"
    command = ["sh", "-c", f"echo '{said}'; exit 127"]
    with (
        pytest.raises(ServerError, match=r"(?s)exited with 127.*package libcurl4.*cannot open shared"),
        running(command, tmp_path, ready="never said", end=signal.SIGINT, hints=mongodb.HINTS),
    ):
        pass
