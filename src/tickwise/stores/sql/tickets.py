"""Claim tickets of PostgreSQL: a few advisory locks, one of which a claimer needs (ADR 11).

A claimer does not wait for a ticket at first: whoever holds one decides all that is due. While a fleet is busy,
each node must get its turn all the same. So a claimer that was turned away for a while waits in line, where the
server serves who came first. If that does not help either, no claimer holds the tickets.
"""

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import asyncpg

from ...clock import monotonic
from .statement import Procedure, Rows, Statement

TICKETS, TICKET_LOCK = 2, 742638296  # how many claim at a time, and the advisory locks by which they know
_MAX_TURNED_AWAY = 1.0  # seconds, after which a claimer waits in line
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


class TicketLine:
    """How the claimers of one process get tickets."""

    def __init__(self) -> None:
        self._turned_away_at: float | None = None  # the first of those that were turned away in a row
        self._next_number = cycle(range(TICKETS))

    async def begin(self, connection: Any, begin: str) -> Rows:
        """Begin a transaction and take a ticket for it, in one request; a row if it was taken."""
        since, now = self._turned_away_at, monotonic()
        if since is None or now - since < _MAX_TURNED_AWAY:
            is_taken = await connection.execute(f"{begin}; {_TAKE}") == "SELECT 1"
        else:
            try:
                await connection.execute(f"{begin}; {_WAIT_IN_LINE % next(self._next_number)}")
                is_taken = True
            except asyncpg.LockNotAvailableError:
                is_taken = False
        self._turned_away_at = None if is_taken else now if since is None else since
        return [()] if is_taken else []


def held_for_long() -> Procedure[Sequence[str]]:
    """Sessions that hold a ticket for longer than a pass takes, one sentence each."""
    return [
        f"the session {pid} (user {user}, application {application!r}) holds a claim ticket for more than 3 s: no "
        f"node can claim while all are held; end it by SELECT pg_terminate_backend({pid})"
        for pid, user, application in (yield _HELD_FOR_LONG())
    ]
