"""Claim tickets of PostgreSQL: advisory locks, which end with the transaction."""

from collections.abc import Sequence
from typing import Any

import asyncpg

from .statement import Procedure, Rows, Statement
from .tickets import TICKETS, TicketLine

TICKET_LOCK = 742638296  # the advisory locks by which claimers know
_TAKE = "SELECT 1 WHERE " + " OR ".join(
    f"pg_try_advisory_xact_lock({TICKET_LOCK}, {number})" for number in range(TICKETS)
)
_WAIT_IN_LINE = (
    f"SET LOCAL lock_timeout = '1s'; SELECT pg_advisory_xact_lock({TICKET_LOCK}, %d); "
    "SET LOCAL lock_timeout TO DEFAULT"
)
_HELD_FOR_LONG = Statement(
    f"""
    SELECT l.pid, coalesce(a.usename, ''), coalesce(a.application_name, '')
    FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.classid = {TICKET_LOCK} AND l.granted
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND coalesce(a.xact_start, a.state_change, '-infinity') < clock_timestamp() - interval '3 seconds'
    ORDER BY l.pid, l.objid
    """,
    alone=True,
)


class PostgresTickets:
    """How the claimers of one process get tickets."""

    def __init__(self) -> None:
        self._line = TicketLine()

    async def begin(self, connection: Any, begin: str) -> Rows:
        """Begin a transaction and take a ticket for it, in one request; a row if it was taken."""

        async def take_any() -> bool:
            return bool(await connection.execute(f"{begin}; {_TAKE}") == "SELECT 1")

        async def wait_for(number: int) -> bool:
            try:
                await connection.execute(f"{begin}; {_WAIT_IN_LINE % number}")
            except asyncpg.LockNotAvailableError:
                return False
            return True

        return [()] if await self._line.take(take_any, wait_for) else []


def held_for_long() -> Procedure[Sequence[str]]:
    """Sessions that hold a ticket for longer than a pass takes, one sentence each."""
    return [
        f"the session {pid} (user {user}, application {application!r}) holds a claim ticket for more than 3 s: no "
        f"node can claim while all are held; end it by SELECT pg_terminate_backend({pid})"
        for pid, user, application in (yield _HELD_FOR_LONG())
    ]
