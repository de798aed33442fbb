"""A standby of a PostgreSQL server: it streams from the primary by a port, and can take its place."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from .postgres import END, QUICK, READ_ONLY_READY, binaries
from .process import NOBODY, PATIENCE, Server, free_port, own_folder, run, running

_WAIT_FOR_STANDBY = ("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
_STREAMING = "SELECT state = 'streaming' AND (sync_state = 'sync' OR NOT %s) FROM pg_stat_replication"


@contextmanager
def standby(primary: Server, line: int, *options: str, synchronous: bool) -> Iterator[Server]:
    """Copy the primary and stream from it by a port; with `synchronous`, its commits wait for the standby."""
    user = NOBODY if os.geteuid() == 0 else None
    with own_folder(user) as folder:
        programs, data, port = binaries(folder, user) / "bin", folder / "data", free_port()
        copy = f"-h 127.0.0.1 -p {line} -U postgres -R -X stream -c fast --no-sync"
        run([programs / "pg_basebackup", "-D", data, *copy.split()], folder, user)
        settings = [part for setting in (*QUICK.split(), *options) for part in ("-c", setting)]
        command: list[str | Path] = [programs / "postgres", "-D", data, "-p", str(port), *settings]
        with running(command, folder, ready=READ_ONLY_READY, end=END, user=user) as process:
            _wait_until_streaming(primary, synchronous=synchronous)
            yield Server(f"postgresql://postgres@127.0.0.1:{port}/postgres", process, folder)


def promote(server: Server) -> None:
    """Let a standby take the place of its primary, and wait until it accepts writes."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("SELECT pg_promote(true, %s)", (int(PATIENCE),))


def _wait_until_streaming(primary: Server, *, synchronous: bool) -> None:
    with psycopg.connect(primary.url, autocommit=True) as connection:
        for statement in _WAIT_FOR_STANDBY if synchronous else ():
            connection.execute(statement)
        while connection.execute(_STREAMING, (synchronous,)).fetchone() != (True,):
            pass
