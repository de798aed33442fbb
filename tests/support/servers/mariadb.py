"""MariaDB from the Debian package mariadb-server, which is not on PyPI; nothing of it runs as a service."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.cursors import Cursor

from .process import Server, ServerError, free_port, own_folder, run, running

PROGRAMS = ("mariadb-install-db", "mariadbd")
PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))
NEW = "--no-defaults --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve".split()
READY, END = "ready for connections", signal.SIGTERM
QUICK = (  # nothing is synced to disk, but a crash of the process alone loses no commit
    "character-set-server=utf8mb4 bind-address=127.0.0.1 skip-name-resolve innodb-flush-log-at-trx-commit=2 "
    "innodb-flush-method=nosync innodb-doublewrite=0 innodb-log-file-size=48M innodb-buffer-pool-size=64M "
    "innodb-use-native-aio=0 skip-log-bin performance-schema=0"
)


@contextmanager
def server(*options: str) -> Iterator[Server]:
    """Start MariaDB on a loopback port, with fresh tables that do not outlive the block."""
    install, mariadbd = map(_found, PROGRAMS)
    user = ["--user=root"] if os.geteuid() == 0 else []
    with own_folder() as folder:
        data, port = folder / "data", str(free_port())
        run([install, *NEW, *user, f"--datadir={data}"], folder)
        settings = [f"--{setting}" for setting in (*QUICK.split(), *options)]
        command: list[str | Path] = [
            mariadbd, "--no-defaults", *user, f"--datadir={data}", f"--tmpdir={folder}", f"--port={port}",
            f"--socket={folder / 'socket'}", *settings,
        ]  # fmt: skip
        with running(command, folder, ready=READY, end=END) as process:
            yield Server(f"mysql://root@127.0.0.1:{port}/mysql", process, folder)


def _found(program: str) -> Path:
    if found := shutil.which(program, path=PLACES):
        return Path(found)
    raise ServerError(
        f"{program} is missing: install MariaDB (apt-get install mariadb-server), or name a server in "
        "TICKWISE_TEST_MYSQL (mysql://USER:PASSWORD@HOST/NAME; the user must be allowed to create databases)"
    )


@contextmanager
def connected(url: str) -> Iterator[Cursor]:
    """A cursor of a connection that commits each statement."""
    where = urlsplit(url)
    with (
        pymysql.connect(
            host=where.hostname, port=where.port or 3306, user=unquote(where.username or ""),
            password=unquote(where.password or ""), database=where.path.removeprefix("/"), autocommit=True,
        ) as connection,
        connection.cursor() as cursor,
    ):  # fmt: skip
        yield cursor


def empty(cursor: Cursor) -> None:
    """Delete the rows of all tables; to truncate one costs the server a new file."""
    cursor.execute(
        "SELECT table_name FROM information_schema.tables "
        "WHERE table_schema = database() AND table_type = 'BASE TABLE'"
    )
    for (name,) in cursor.fetchall():
        if name != "tickwise_migrations":
            cursor.execute(f"DELETE FROM {name}")
