"""Claim tickets: a few locks of a server, one of which a claimer needs (ADR 11).

A claimer does not wait for a ticket at first: whoever holds one decides all that is due. While a fleet is busy,
each node must get its turn all the same. So a claimer that was turned away for a while waits in line, where the
server serves who came first. If that does not help either, no claimer holds the tickets.
"""

from collections.abc import Awaitable, Callable
from itertools import cycle

from ...clock import monotonic

TICKETS = 2  # how many claim at a time
_MAX_TURNED_AWAY = 1.0  # seconds, after which a claimer waits in line


class TicketLine:
    """How the claimers of one process get tickets."""

    def __init__(self) -> None:
        self._turned_away_at: float | None = None  # the first of those that were turned away in a row
        self._next_number = cycle(range(TICKETS))

    async def take(
        self, take_any: Callable[[], Awaitable[bool]], wait_for: Callable[[int], Awaitable[bool]]
    ) -> bool:
        """Whether a ticket was taken: any that is free, or after a while one for which the claimer waits."""
        since, now = self._turned_away_at, monotonic()
        if since is None or now - since < _MAX_TURNED_AWAY:
            is_taken = await take_any()
        else:
            is_taken = await wait_for(next(self._next_number))
        self._turned_away_at = None if is_taken else now if since is None else since
        return is_taken
