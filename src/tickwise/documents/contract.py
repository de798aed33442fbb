"""What a store must offer so that its documents can be processed: lock, update, remove.

A lock moves the document's own time to the end of the lock, and stores that end a second time beside a token of
the owner. So a locked document is not due, and becomes due by itself when its owner dies. While the two times are
equal, nobody has set a new time; while the token is there, the lock has not passed to another scheduler. Every
write requires the token. `Sleep` and the removal also require the facts that they were decided from: if those have
changed since, nothing is written, and the scheduler decides again.

All times are the store's. A node whose clock is wrong must neither run early nor lock into the past, so no
operation takes an instant from its caller: locks are given as a length.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import datetime, timedelta
from threading import Lock
from types import TracebackType
from typing import Any, NamedTuple, Self

from ..core.errors import ConflictError, InputError
from .decide import DocumentFacts, Release, Remove, Sleep, Verdict


@dataclass(frozen=True, slots=True)
class Fields:
    """The names of a document's fields, as dotted paths or columns. The last three are the scheduler's own."""

    sleep_until: str = "sleepUntil"  # when it is due; null: never
    interval: str = "interval"  # when again; any cron text
    repeat_until: str = "repeatUntil"  # its last time, inclusive
    auto_remove: str = "autoRemove"  # whether it is deleted when it is done
    lock_owner: str = "lockOwner"  # the token of the lock
    lock_until: str = "lockUntil"  # the end of the lock
    error: str = "error"  # why it cannot be run

    def __post_init__(self) -> None:
        names = astuple(self)
        if len(set(names)) < len(names) or not all(all(name.split(".")) for name in names):
            raise InputError(f"{self} does not name seven different fields")


COLUMNS = Fields(
    sleep_until="sleep_until",
    interval="interval",
    repeat_until="repeat_until",
    auto_remove="auto_remove",
    lock_owner="lock_owner",
    lock_until="lock_until",
    error="error",
)


def value_at(document: Mapping[str, Any], path: str) -> Any:
    """The value at a dotted path; none if there is nothing."""
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def set_at(document: MutableMapping[str, Any], path: str, value: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        document = document.setdefault(parent, {})
    document[name] = value


def clear_at(document: MutableMapping[str, Any], path: str) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        document = document.get(parent, {})
    document.pop(name, None)


@dataclass(frozen=True, slots=True)
class Locked:
    """A document that one scheduler has locked."""

    document: Mapping[str, Any]  # as it was before the lock
    facts: DocumentFacts
    owner: str  # the token of this lock
    now: datetime  # the store's

    @classmethod
    def from_document(
        cls, document: Mapping[str, Any], fields: Fields, *, key: Any, owner: str, now: datetime
    ) -> Self:
        """A document that has just been locked; `document` is as it was before."""
        facts = DocumentFacts(
            key=key,
            sleep_until=value_at(document, fields.sleep_until),
            interval=value_at(document, fields.interval),
            repeat_until=value_at(document, fields.repeat_until),
            auto_remove=value_at(document, fields.auto_remove),
        )
        return cls(document, facts, owner, now)

    def refreshed(self, document: Mapping[str, Any] | None, fields: Fields, now: datetime) -> "Locked | None":
        """The locked document as it is in the store now; none if it was deleted. Raises `LockLostError`."""
        if document is None:
            return None
        if value_at(document, fields.lock_owner) != self.owner:
            raise LockLostError(self.facts.key)
        facts = replace(
            self.facts,
            interval=value_at(document, fields.interval),
            repeat_until=value_at(document, fields.repeat_until),
            auto_remove=value_at(document, fields.auto_remove),
            moved=value_at(document, fields.sleep_until) != value_at(document, fields.lock_until),
        )
        return Locked(document, facts, self.owner, now)


@dataclass(frozen=True, slots=True)
class Renew:
    """Keep the document locked for so long from now on."""

    lock_until: timedelta


class Ending(NamedTuple):
    """A locked document and the verdict that is to be written."""

    locked: Locked
    verdict: Verdict


class LockLostError(ConflictError):
    """The document is no longer ours; the result of its run was not written."""

    def __init__(self, key: Any) -> None:
        super().__init__(
            f"document {key!r} is no longer locked by this scheduler, so the end of its run was not written: its "
            "lock ran out unrenewed. Keep async handlers from blocking the event loop, or lock for longer "
            "(lock_duration)"
        )


class JobStore(ABC):
    """Three atomic operations. A store need not override the others.

    The scheduler calls `lock_many`, `finish_many` and `renew_many`. They do for several documents what the three
    operations do for one. A store overrides them if it can do that in fewer requests.
    """

    @abstractmethod
    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        """Lock the document that has been due the longest, for so long from the store's now; none if none is."""

    @abstractmethod
    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        """Write a change. Raises `LockLostError` if the lock is not ours any more; a deleted document is no error.

        `Sleep` is written only if the facts are still those of `locked`. Otherwise nothing is written, and the
        document is returned as it is now, still locked.
        """

    @abstractmethod
    async def remove(self, locked: Locked) -> Locked | None:
        """Delete the document, under the same conditions as `Sleep`."""

    async def lock_many(self, count: int, lock_until: timedelta) -> Sequence[Locked]:
        """Lock at most `count` documents, those that have been due the longest; none only if none is due."""
        del count
        locked = await self.lock_next(lock_until)
        return () if locked is None else (locked,)

    async def finish_many(self, endings: Sequence[Ending]) -> "Sequence[Locked | Exception | None]":
        """Write these verdicts: for each, in order, what `update` or `remove` returns or raises."""
        return await asyncio.gather(*(self._finish(ending) for ending in endings))

    async def renew_many(self, held: Sequence[Locked], lock_until: timedelta) -> None:
        """Keep all these locked for so long from now on; a lock that is lost stays lost."""
        renewals = (self.update(locked, Renew(lock_until)) for locked in held)
        for result in await asyncio.gather(*renewals, return_exceptions=True):
            if isinstance(result, BaseException) and not isinstance(result, LockLostError):
                raise result

    async def _finish(self, ending: Ending) -> Locked | Exception | None:
        locked, verdict = ending
        try:
            if isinstance(verdict, Remove):
                return await self.remove(locked)
            return await self.update(locked, verdict)
        except Exception as error:  # noqa: BLE001  (whatever it is, it concerns this document only)
            return error

    async def next_due(self) -> float | None:
        """The seconds until the next document is due, if the store knows."""
        return None

    async def wait(self, at_most: float) -> None:
        """Wait until a document may be due, or so many seconds."""
        due = await self.next_due()
        await asyncio.sleep(at_most if due is None else min(due, at_most))

    async def __aenter__(self) -> Self:
        """Called when a scheduler starts: connect."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Called when a scheduler has stopped: after the last one, disconnect."""
        del kind, error, trace


class Wakeup:
    """Wakes the schedulers that wait for a document, from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        for future in waiting:
            future.get_loop().call_soon_threadsafe(_resolve, future)

    async def wait(self, next_due: Callable[[], Awaitable[float | None]], at_most: float) -> None:
        """Wait until it is notified or a document is due. It listens before it asks, so that nothing is missed."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.add(future)
        try:
            due = await next_due()
            await asyncio.wait((future,), timeout=at_most if due is None else min(due, at_most))
        finally:
            with self._lock:
                self._waiting.discard(future)


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
