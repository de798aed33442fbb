"""What lies under a fleet, and what can be done to it: a server behind a proxy, or a file."""

import select
import socket
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from struct import pack, unpack_from
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
import pymysql
from bson import encode
from pymongo import MongoClient
from pymongo.errors import PyMongoError
from pymongo.read_concern import ReadConcern

from tickwise.stores.redis.scripts import script
from tickwise.stores.sql.mysql_tickets import TICKET_NAMES
from tickwise.stores.sql.postgres_tickets import TICKET_LOCK
from tickwise.stores.sql.tickets import TICKETS

from ..stores.mongo import servers as mongo
from ..support.races import server as sql_server
from ..support.servers import mariadb, mongodb, postgres, valkey
from ..support.servers.process import Server
from ..support.tickwise_processes import Process
from .proxy import Proxy

_LEAST_BYTES = 4_096  # that a file may have on a full disk
_SOON = 0.005  # seconds in which mongod closes a connection that is one too many
_READ = "SELECT count(*) FROM tickwise_runs"
_WRITES = tuple(b"\x02%b\0" % name for name in (b"insert", b"update", b"delete", b"findAndModify"))


class Kind(NamedTuple):
    """A kind of server: how to start it, to start it anew, and to take one of its few connections."""

    start: Callable[[], AbstractContextManager[Server]]
    start_again: Callable[[Server], AbstractContextManager[Server]]
    seat: Callable[[str], AbstractContextManager[Any] | None]
    is_write: Callable[[bytes], bool]
    query: str  # of the address by which nodes reach it
    block_claims: Callable[[str, Proxy], AbstractContextManager[object]]
    hold_snapshot: Callable[[str], AbstractContextManager[object]] | None


def _seat_at_postgres(url: str) -> AbstractContextManager[Any] | None:
    try:
        return psycopg.connect(url, autocommit=True)
    except psycopg.OperationalError:
        return None


def _seat_at_mongodb(url: str) -> AbstractContextManager[Any] | None:
    where = urlsplit(url)
    seat = socket.create_connection((where.hostname, where.port))
    if not select.select([seat], [], [], _SOON)[0]:
        return seat
    seat.close()
    return None


def _seat_at_redis(url: str) -> AbstractContextManager[Any] | None:
    where = urlsplit(url)
    seat = socket.create_connection((where.hostname, where.port))
    seat.sendall(b"PING\r\n")
    if seat.recv(64).startswith(b"+PONG"):
        return seat
    seat.close()
    return None


def _seat_at_mysql(url: str) -> AbstractContextManager[Any] | None:
    seat = mariadb.connected(url)
    try:
        seat.__enter__()
    except pymysql.OperationalError:
        return None
    return closing_later(seat)


@contextmanager
def closing_later(seat: AbstractContextManager[Any]) -> Iterator[None]:
    """Leave, at the end of the block, what was entered already."""
    with suppress(pymysql.Error), ExitStack() as stack:
        stack.push(seat)
        yield


@contextmanager
def _hold_tickets_of_postgres(url: str, _: Proxy) -> Iterator[None]:
    with psycopg.connect(url, autocommit=True) as other:
        for number in range(TICKETS):
            other.execute("SELECT pg_advisory_lock(%s, %s)", (TICKET_LOCK, number))
        yield


@contextmanager
def _hold_tickets_of_mysql(url: str, _: Proxy) -> Iterator[None]:
    with mariadb.connected(url) as other:
        for name in TICKET_NAMES:
            other.execute(f"SELECT GET_LOCK({name}, 60)")
        yield


def _refuse_claims_of_mongodb(_: str, proxy: Proxy) -> AbstractContextManager[None]:
    """The query for due jobs, as if its index were damaged; one for named jobs has neither of these conditions."""

    def reply(data: bytes) -> bytes | None:
        if not all(word in data for word in (b"\x02find\0", b"$lte\0", b"\x08local\0")):
            return None
        body = encode({"ok": 0.0, "errmsg": "the index is damaged", "code": 8, "codeName": "UnknownError"})
        request, message = unpack_from("<4xi", data)[0], 2013
        return pack("<iiiiiB", 21 + len(body), 1, request, message, 0, 0) + body

    return proxy.answering(reply)


def _refuse_claims_of_redis(_: str, proxy: Proxy) -> AbstractContextManager[None]:
    """The call for due jobs; one for named jobs has no limit."""
    claim = script("claim").sha.encode()
    return proxy.answering(lambda data: b"-ERR refused\r\n" if claim in data and b'"limit":' in data else None)


@contextmanager
def _snapshot_of_postgres(url: str) -> Iterator[None]:
    with psycopg.connect(url) as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute(_READ)
        yield


@contextmanager
def _snapshot_of_mysql(url: str) -> Iterator[None]:
    with mariadb.connected(url) as other:
        other.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        other.execute(_READ)
        yield


@contextmanager
def _snapshot_of_mongodb(url: str) -> Iterator[None]:
    with (
        suppress(PyMongoError),  # the server itself ends a transaction after a minute
        MongoClient[Any](url) as client,
        client.start_session() as session,
        session.start_transaction(read_concern=ReadConcern("snapshot")),
    ):
        client.get_database("tickwise").runs.find_one(session=session)
        yield


KINDS = {
    "postgres": Kind(
        partial(postgres.server, "max_connections=50"),
        partial(sql_server.restarted, how=sql_server.CRASH),
        _seat_at_postgres,
        lambda data: b"COMMIT\0" in data,
        "",
        _hold_tickets_of_postgres,
        _snapshot_of_postgres,
    ),
    "mysql": Kind(
        partial(mariadb.server, "max-connections=50"),
        partial(sql_server.restarted, how=sql_server.CRASH),
        _seat_at_mysql,
        lambda data: data.endswith(b"\x03COMMIT"),
        "",
        _hold_tickets_of_mysql,
        _snapshot_of_mysql,
    ),
    "mongodb": Kind(
        partial(mongodb.server, "--maxConns", "80"),
        mongo.restarted,
        _seat_at_mongodb,
        lambda data: any(name in data for name in _WRITES),
        "directConnection=true",  # past the address that the server has for itself
        _refuse_claims_of_mongodb,
        _snapshot_of_mongodb,
    ),
    "redis": Kind(
        partial(valkey.server, *valkey.DURABLE, "--maxclients", "80"),
        valkey.restarted,
        _seat_at_redis,
        lambda data: b"EVAL" in data,
        "",
        _refuse_claims_of_redis,
        None,
    ),
}


class Database:
    """A server that nobody else uses; nodes reach it through a proxy, tests directly."""

    def __init__(self, stack: ExitStack, kind: Kind) -> None:
        self._stack = stack
        self._kind = kind
        self._server = stack.enter_context(kind.start())
        self.url = self._server.url
        where = urlsplit(self.url)
        self.proxy = stack.enter_context(Proxy(str(where.hostname), int(where.port or 0), kind.is_write))
        user = where.netloc.rpartition("@")[0]
        netloc = f"{user}@" * bool(user) + f"127.0.0.1:{self.proxy.port}"
        self.url_of_nodes = where._replace(netloc=netloc, query=kind.query).geturl()

    def restart(self) -> None:
        """As after a power cut."""
        self._server = self._stack.enter_context(self._kind.start_again(self._server))

    @contextmanager
    def crowded(self) -> Iterator[None]:
        """Others have all the connections that the server gives, and the nodes have lost theirs."""
        with ExitStack() as crowd:
            self._fill(crowd)
            self.proxy.cut()
            self._fill(crowd)
            yield

    def claims_blocked(self) -> AbstractContextManager[object]:
        """What a node needs to claim is held by others, or refused; nothing that it needs to commit is."""
        return self._kind.block_claims(self.url, self.proxy)

    @contextmanager
    def full(self) -> Iterator[None]:
        """The server can write no file any further, and ends by that; it is started again when it can."""
        parent = self._server.process.pid
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        _limit([parent, *map(int, children)], _LEAST_BYTES)
        yield
        self.restart()

    def snapshot_held(self) -> AbstractContextManager[object]:
        """Somebody reads in a transaction that does not end, so the server keeps what others replace."""
        assert self._kind.hold_snapshot
        return self._kind.hold_snapshot(self.url)

    def _fill(self, crowd: ExitStack) -> None:
        while seat := self._kind.seat(self.url):
            crowd.enter_context(seat)


class File:
    """A file that nodes of one machine share."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.url = self.url_of_nodes = f"sqlite:///{path}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Somebody else writes, and takes long."""
        with closing(sqlite3.connect(self._path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield

    @contextmanager
    def full(self, processes: Sequence[Process]) -> Iterator[None]:
        """No file grows under the hands of these processes, whether they write the store, its journal or a log."""
        pids = [process.pid for process in processes]
        _limit(pids, _LEAST_BYTES)
        yield
        _limit(pids, "unlimited")

    @contextmanager
    def snapshot_held(self) -> Iterator[None]:
        """Somebody reads in a transaction that does not end, so the log of writes cannot be folded in."""
        with closing(sqlite3.connect(self._path, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute(_READ)
            yield


def _limit(pids: Sequence[int], most: int | str) -> None:
    """By a program that runs as their user: root alone may not, in a container."""
    for pid in pids:
        with suppress(FileNotFoundError):  # it may have been about to start, and could not
            owner = Path(f"/proc/{pid}").stat()
            words = ["/usr/bin/prlimit", f"--pid={pid}", f"--fsize={most}:"]
            ids: Any = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
            subprocess.run(words, **ids, check=False, stderr=subprocess.DEVNULL)
