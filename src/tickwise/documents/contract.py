"""What a collection must be able to do to be worked off: lock, update, remove.

The lock is the document's own time moved to the lock's end, and beside it the same end and a token of the owner.
So a locked document is not due, and comes back by itself when its owner dies. As long as the two ends are equal
nobody has set a new time meanwhile; as long as the token is there the lock has not passed to somebody else. Every
write asks for the token, and a verdict also for the facts it was made from: one that somebody has changed since is
made anew.

All times are the store's. A node whose clock is wrong must neither run early nor lock into the past, so nothing
here takes an instant from it: locks are given as a length.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from ..core.errors import ConflictError
from .decide import DocumentFacts, Release, Sleep


@dataclass(frozen=True, slots=True)
class Locked:
    """A document that one scheduler holds."""

    document: Mapping[str, Any]  # as it was before the lock
    facts: DocumentFacts
    owner: str  # a token of this lock alone
    now: datetime  # the store's


@dataclass(frozen=True, slots=True)
class Renew:
    """Hold it for so long from now on."""

    lock_until: timedelta


class LockLostError(ConflictError):
    """The document is no longer ours; what its run came to was not written."""

    def __init__(self, key: Any) -> None:
        super().__init__(
            f"document {key!r} is no longer locked by this scheduler, so the end of its run was not written: its "
            "lock ran out unrenewed. Keep async handlers from blocking the event loop, or lock for longer "
            "(lock_duration)"
        )


class JobStore(ABC):
    """Three operations, each atomic. The rest a store may leave as it is."""

    @abstractmethod
    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        """Lock the document that has been due the longest, until so long from the store's now; none if none is."""

    @abstractmethod
    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        """Write a change. Raises `LockLostError` if the lock is not ours any more; a deleted document is no error.

        `Sleep` is written only if the facts are still as in `locked`; otherwise nothing is, and the document comes
        back as it stands now, still locked.
        """

    @abstractmethod
    async def remove(self, locked: Locked) -> Locked | None:
        """Delete it, under the same conditions as `Sleep`."""

    async def next_due(self) -> float | None:
        """The seconds until the next document falls due, if the store knows."""
        return None

    async def wait(self, at_most: float) -> None:
        """Wait until something may be due, or so many seconds."""
        due = await self.next_due()
        await asyncio.sleep(at_most if due is None else min(due, at_most))

    async def __aenter__(self) -> Self:
        """A scheduler starts: connect."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A scheduler has stopped: the last one lets go of the connection."""
        del kind, error, trace
