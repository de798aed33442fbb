"""What tests do with a server besides using it: end it and start it again, and look into it."""

import asyncio
import os
import select
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import asyncpg

from ..servers import mariadb, postgres
from ..servers.process import NOBODY, PATIENCE, Server, running

CRASH = signal.SIGKILL
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@contextmanager
def restarted(server: Server, how: signal.Signals) -> Iterator[Server]:
    """End the server in this way and start it again on the same data and port, until the block ends."""
    with _its_processes(server):
        server.process.send_signal(how)
        server.process.wait(PATIENCE)
    command, is_mysql = server.process.args, server.url.startswith("mysql")
    assert isinstance(command, list)
    ready, end = (mariadb.READY, mariadb.END) if is_mysql else (postgres.READY, postgres.END)
    user = NOBODY if os.geteuid() == 0 and not is_mysql else None
    with running(command, server.folder, ready=ready, end=end, user=user) as process:
        yield replace(server, process=process)


@contextmanager
def _its_processes(server: Server) -> Iterator[None]:
    """The block ends when those have ended that the server has started: it cannot be started again beside them."""
    with ExitStack() as stack:
        handles = []
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        for child in children.read_text().split() if children.exists() else ():  # it may have ended by itself
            with suppress(ProcessLookupError):
                handles.append(os.pidfd_open(int(child)))
                stack.callback(os.close, handles[-1])
        yield
        for handle in handles:
            assert select.select([handle], [], [], PATIENCE)[0], "a process of the server has not ended"


def wait_until_somebody_waits(url: str) -> None:
    """Look until a session of the database waits for a lock of another."""
    if url.startswith("mysql"):
        _wait_on_mysql(url)
        return

    async def look() -> None:
        connection: Any = await asyncpg.connect(url)
        try:
            while not await connection.fetchval(_WAITING):
                pass
        finally:
            await connection.close()

    asyncio.run(asyncio.wait_for(look(), PATIENCE))


def _wait_on_mysql(url: str) -> None:
    give_up = monotonic() + PATIENCE
    with mariadb.connected(url) as cursor:
        while not cursor.execute("SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"):
            assert monotonic() < give_up, "nobody waits"
