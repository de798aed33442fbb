"""Servers of other kinds than the suite's: one that is no replica set, one that asks who one is, one that dies."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pymongo import MongoClient

from ...support.servers import mongodb
from ...support.servers.process import PATIENCE, Server, free_port, own_folder, packaged, running

_READY = "Waiting for connections"
_OF_A_SET = ("--replSet", mongodb.REPLICA_SET, "--oplogSize", "16")
_numbers = count(1)


@contextmanager
def database(server: str) -> Iterator[str]:
    """The address of a database that nobody else uses; it goes with all that is in it."""
    name = f"tickwise_{next(_numbers)}"
    yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    with MongoClient[Any](server) as client:
        client.drop_database(name)


@contextmanager
def standalone(*options: str) -> Iterator[Server]:
    """A mongod that is no replica set: it has no transactions, and no write is repeated for its client."""
    small = [word for word in mongodb.SMALL if word not in _OF_A_SET]
    with own_folder() as folder:
        (data := folder / "data").mkdir()
        mongod, port = packaged(mongodb.PACKAGE, "fiftyone/db/bin/mongod"), free_port()
        command: list[str | Path] = [mongod, "--dbpath", data, "--port", str(port), *small, *options]
        with running(command, folder, ready=_READY, end=signal.SIGINT, hints=mongodb.HINTS) as process:
            yield Server(f"mongodb://127.0.0.1:{port}/", process, folder)


@contextmanager
def restarted(server: Server) -> Iterator[Server]:
    """Kill the server as a power cut would, and start it again on the same data and port, until the block ends."""
    server.process.kill()
    server.process.wait(PATIENCE)
    command: Any = server.process.args
    with running(command, server.folder, ready=_READY, end=signal.SIGINT) as process:
        yield replace(server, process=process)
