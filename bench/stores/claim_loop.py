"""The simplest design as a peer: two tables, whose rows are claimed, leased and finished one by one."""

import asyncio
from typing import Any

from ..postgres import connection, database, vacuum
from .contender import Contender
from .node import do_nothing

_CONNECTIONS = 50
_TABLES = """
    CREATE TABLE schedules (id bigint PRIMARY KEY, next_at timestamptz NOT NULL, every interval NOT NULL);
    CREATE INDEX ON schedules (next_at);
    CREATE TABLE runs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, schedule_id bigint NOT NULL,
        slot timestamptz NOT NULL, state text NOT NULL, started_at timestamptz, finished_at timestamptz,
        UNIQUE (schedule_id, slot));
    CREATE INDEX ON runs (id) WHERE state = 'queued';
"""
_FILL = """
    INSERT INTO schedules
    SELECT n, now() - interval '1 second', interval '1 day' FROM generate_series(1, $1::int) AS n
"""
_CLAIM = "SELECT id, next_at FROM schedules WHERE next_at <= now() ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED"
_INSERT = "INSERT INTO runs (schedule_id, slot, state) VALUES ($1, $2, 'queued')"
_MOVE = "UPDATE schedules SET next_at = next_at + every WHERE id = $1"
_LEASE = """
    UPDATE runs SET state = 'running', started_at = now() WHERE id =
        (SELECT id FROM runs WHERE state = 'queued' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id
"""
_FINISH = "UPDATE runs SET state = 'succeeded', finished_at = now() WHERE id = $1"


class ClaimLoop(Contender):
    """Fifty connections in one process, each of which fires, runs and finishes one schedule at a time."""

    name = "claim loop"

    def __init__(self, server: str, due: int) -> None:
        super().__init__(due)
        self._server = server
        self._connections: list[Any] = []

    async def open(self) -> None:
        self._url = await self.stack.enter_async_context(database(self._server))
        for _ in range(_CONNECTIONS):
            self._connections.append(await self.stack.enter_async_context(connection(self._url)))
        await self._connections[0].execute(_TABLES)

    async def prepare(self) -> None:
        await self._connections[0].execute("TRUNCATE schedules, runs")
        await self._connections[0].execute(_FILL, self.due)
        await vacuum(self._url)

    async def work(self) -> None:
        await asyncio.gather(*map(_work_off, self._connections))

    async def done(self) -> int:
        return int(await self._connections[0].fetchval("SELECT count(*) FROM runs WHERE state = 'succeeded'"))


async def _work_off(connected: Any) -> None:
    while True:
        fired = await _fire(connected)
        run = await connected.fetchval(_LEASE)
        if run is not None:
            await do_nothing()
            await connected.execute(_FINISH, run)
        elif not fired:
            return


async def _fire(connected: Any) -> bool:
    async with connected.transaction():
        due = await connected.fetchrow(_CLAIM)
        if due is None:
            return False
        await connected.execute(_INSERT, *due)
        await connected.execute(_MOVE, due["id"])
    return True
