"""What tests do with a PostgreSQL server besides using it: end it and start it again, and look into it."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import asyncpg

from ..servers.process import NOBODY, PATIENCE, Server, running

_READY = "database system is ready to accept connections"
CRASH, SHUT_DOWN = signal.SIGQUIT, signal.SIGINT
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@contextmanager
def restarted(server: Server, how: signal.Signals) -> Iterator[Server]:
    """End the server in this way and start it again on the same data and port, until the block ends."""
    server.process.send_signal(how)
    server.process.wait(PATIENCE)
    command, user = server.process.args, NOBODY if os.geteuid() == 0 else None
    assert isinstance(command, list)
    with running(command, server.folder, ready=_READY, end=SHUT_DOWN, user=user) as process:
        yield replace(server, process=process)


def wait_until_somebody_waits(url: str) -> None:
    """Look until a session of the database waits for a lock of another."""

    async def look() -> None:
        connection: Any = await asyncpg.connect(url)
        try:
            while not await connection.fetchval(_WAITING):
                pass
        finally:
            await connection.close()

    asyncio.run(asyncio.wait_for(look(), PATIENCE))
