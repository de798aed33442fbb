"""A durable MariaDB server to measure on (each commit is synced): from the Debian package, or one of your own."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from tickwise.core.errors import InputError

VARIABLE = "TICKWISE_BENCH_MYSQL"
_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))
_NEW = "--no-defaults --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve".split()
_OPTIONS = (
    "--bind-address=127.0.0.1 --skip-name-resolve --character-set-server=utf8mb4 "
    "--innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size=1G --innodb-log-file-size=1G "
    "--max-connections=200 --skip-log-bin"
).split()
_TRIES, _AGAIN = 600, 0.1  # to reach a server that starts, and seconds between two of them


@contextmanager
def mysql() -> Iterator[str]:
    """The URL of a server, which runs until the block ends."""
    if given := os.environ.get(VARIABLE):
        yield given
        return
    with TemporaryDirectory(prefix="tickwise-bench-") as folder, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        listener.close()
        data = [f"--datadir={Path(folder, 'data')}", *(["--user=root"] if os.geteuid() == 0 else [])]
        log = subprocess.DEVNULL
        subprocess.run([_program("mariadb-install-db"), *_NEW, *data], stdout=log, stderr=log, check=True)  # noqa: S603
        command = [_program("mariadbd"), "--no-defaults", *data, f"--port={port}", *_OPTIONS]
        with subprocess.Popen(  # noqa: S603 (our own command)
            [*command, f"--socket={Path(folder, 'socket')}", f"--tmpdir={folder}"], stdout=log, stderr=log
        ) as server:
            try:
                yield _reached(f"mysql://root@127.0.0.1:{port}/mysql")
            finally:
                server.terminate()


def _program(name: str) -> str:
    if found := shutil.which(name, path=_PATH):
        return found
    raise InputError(
        f"there is no {name} to measure on: apt-get install mariadb-server, or name a server of your own in "
        f"{VARIABLE} (mysql://USER:PASSWORD@HOST/NAME)"
    )


def _reached(url: str) -> str:
    error_of = import_module("pymysql").err.OperationalError
    for left in reversed(range(_TRIES)):
        try:
            with _connected(url):
                return url
        except error_of:
            if not left:
                raise
            sleep(_AGAIN)
    raise AssertionError  # the loop returns or raises


def _connected(url: str) -> Any:
    where = urlsplit(url)
    return import_module("pymysql").connect(
        host=where.hostname, port=where.port or 3306, user=unquote(where.username or ""),
        password=unquote(where.password or ""), autocommit=True,
    )  # fmt: skip


@contextmanager
def own_mysql_database(url: str) -> Iterator[str]:
    """The URL of an empty database on that server, which is dropped when the block ends."""
    name = f"tickwise_bench_{uuid4().hex[:12]}"
    with _connected(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
        try:
            yield urlsplit(url)._replace(path=f"/{name}").geturl()
        finally:
            cursor.execute(f"DROP DATABASE {name}")
