"""Claim tickets of MySQL: a few named locks of the server, one of which a claimer needs (ADR 11).

They belong to a session and not to a transaction, so they are given back after the commit.
"""

from collections.abc import Sequence
from typing import Any

from .statement import Procedure, Rows, Statement
from .tickets import TICKETS, TicketLine

_NAME = "concat('tickwise claim {number} ', md5(database()))"
TICKET_NAMES = [_NAME.format(number=number) for number in range(TICKETS)]
_TAKE = "SELECT " + " OR ".join(f"coalesce(GET_LOCK({name}, 0), 0)" for name in TICKET_NAMES)
_GIVE_BACK = "DO RELEASE_ALL_LOCKS()"
HOLDERS = " UNION ".join(f"SELECT IS_USED_LOCK({name}) AS id" for name in TICKET_NAMES)
_HELD_FOR_LONG = Statement(
    f"""
    SELECT p.id, p.user, p.host FROM information_schema.processlist p JOIN ({HOLDERS}) AS h ON h.id = p.id
    WHERE p.time > 3 ORDER BY p.id
    """,
    alone=True,
)


class MysqlTickets:
    """How the claimers of one process get tickets."""

    def __init__(self) -> None:
        self._line = TicketLine()
        self._holding: set[Any] = set()

    async def take(self, connection: Any) -> Rows:
        """A row if a ticket was taken."""
        is_taken = await self._line.take(
            lambda: _is_true(connection, _TAKE),
            lambda number: _is_true(connection, f"SELECT coalesce(GET_LOCK({TICKET_NAMES[number]}, 1), 0)"),
        )
        if is_taken:
            self.hold(connection)
        return [()] if is_taken else []

    def hold(self, connection: Any) -> None:
        """Note that its session has a lock."""
        self._holding.add(connection)

    def forget(self, connection: Any) -> None:
        """Its session has ended, and all its locks with it."""
        self._holding.discard(connection)

    async def give_back(self, connection: Any) -> None:
        """Release the locks of its session."""
        if connection in self._holding:
            self.forget(connection)
            await connection.query(_GIVE_BACK)


async def _is_true(connection: Any, text: str) -> bool:
    cursor = connection.cursor()
    await cursor.execute(text)
    return bool((await cursor.fetchall())[0][0])


def held_for_long() -> Procedure[Sequence[str]]:
    """Sessions that hold a ticket and do nothing for longer than a pass takes, one sentence each."""
    return [
        f"the session {id_} (user {user}, from {host}) holds a claim ticket for more than 3 s: no node can claim "
        f"while all are held; end it by KILL {id_}"
        for id_, user, host in (yield _HELD_FOR_LONG())
    ]
