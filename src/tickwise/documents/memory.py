"""Documents in memory: for tests and for one process. The reference for the other stores.

A heap holds the instants at which documents become available. Every write pushes a new entry; an outdated entry,
which no longer agrees with its document, is dropped when it reaches the top.
"""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count
from threading import Lock
from typing import Any
from uuid import uuid4

from .. import clock as machine
from ..core.errors import InputError
from .contract import Fields, JobStore, Locked, Renew, Wakeup, clear_at, set_at, value_at
from .decide import Release, Sleep, instant


class MemoryJobStore(JobStore):
    """Documents are dicts with an `_id`, copied on the way in and out. Safe to use from several threads."""

    def __init__(
        self,
        documents: Iterable[Mapping[str, Any]] = (),
        *,
        fields: Fields | None = None,
        condition: Callable[[Mapping[str, Any]], object] = lambda _: True,
        clock: Callable[[], datetime] = machine.now,
    ) -> None:
        self._fields = fields or Fields()
        self._condition = condition
        self._clock = clock
        self._documents: dict[Any, dict[str, Any]] = {}
        self._heap: list[tuple[datetime, int, Any]] = []
        self._order = count()
        self._lock = Lock()
        self._wakeup = Wakeup()
        for document in documents:
            self.add(document)

    def add(self, document: Mapping[str, Any]) -> Any:
        """Add a copy; returns its `_id`, a new one if it has none."""
        new = {"_id": uuid4().hex, **deepcopy(dict(document))}
        key = new["_id"]
        with self._lock:
            if key in self._documents:
                raise InputError(f"there is a document {key!r} already")
            self._documents[key] = new
            self._push(key)
        self._wakeup.notify()
        return key

    def get(self, key: Any) -> dict[str, Any] | None:
        with self._lock:
            return deepcopy(self._documents.get(key))

    def change(self, key: Any, values: Mapping[str, Any]) -> None:
        """Set the fields at these dotted paths."""
        with self._lock:
            if key not in self._documents:
                raise InputError(f"there is no document {key!r}")
            self._write(key, deepcopy(dict(values)))
        self._wakeup.notify()

    def delete(self, key: Any) -> None:
        with self._lock:
            self._documents.pop(key, None)

    def __len__(self) -> int:
        return len(self._documents)

    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        now, owner, fields = self._clock(), uuid4().hex, self._fields
        with self._lock:
            key = self._pop_due(now)
            if key is None:
                return None
            before = deepcopy(self._documents[key])
            end = now + lock_until
            self._write(key, {fields.sleep_until: end, fields.lock_until: end, fields.lock_owner: owner})
        return Locked.from_document(before, fields, key=key, owner=owner, now=now)

    async def lock_many(self, count: int, lock_until: timedelta) -> list[Locked]:
        found: list[Locked] = []
        while len(found) < count and (locked := await self.lock_next(lock_until)):
            found.append(locked)
        return found

    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        with self._lock:
            current = self._current(locked)
            if current is None or (isinstance(change, Sleep) and current.facts != locked.facts):
                return current
            self._write(locked.facts.key, self._values(change, current))
        self._wakeup.notify()
        return None

    async def remove(self, locked: Locked) -> Locked | None:
        with self._lock:
            current = self._current(locked)
            if current is None or current.facts != locked.facts:
                return current
            del self._documents[locked.facts.key]
        return None

    async def next_due(self) -> float | None:
        with self._lock:
            while self._heap and not self._is_current(self._heap[0]):
                heappop(self._heap)
            return (self._heap[0][0] - self._clock()).total_seconds() if self._heap else None

    async def wait(self, at_most: float) -> None:
        await self._wakeup.wait(self.next_due, at_most)

    def _current(self, locked: Locked) -> Locked | None:
        return locked.refreshed(self._documents.get(locked.facts.key), self._fields, self._clock())

    def _values(self, change: Sleep | Release | Renew, current: Locked) -> dict[str, Any]:
        fields = self._fields
        if isinstance(change, Renew):
            end = self._clock() + change.lock_until
            return {fields.lock_until: end} | ({} if current.facts.moved else {fields.sleep_until: end})
        unlocked: dict[str, Any] = {fields.lock_owner: None, fields.lock_until: None}
        if isinstance(change, Release):
            return unlocked | {fields.error: change.error}
        return unlocked | {fields.error: None, fields.sleep_until: change.until}

    def _write(self, key: Any, values: Mapping[str, Any]) -> None:
        """Set fields; the scheduler's own are deleted if their value is none."""
        document, fields = self._documents[key], self._fields
        for path, value in values.items():
            if value is None and path in (fields.lock_owner, fields.lock_until, fields.error):
                clear_at(document, path)
            else:
                set_at(document, path, value)
        self._push(key)

    def _push(self, key: Any) -> None:
        available = self._available(key)
        if available is not None:
            heappush(self._heap, (available, next(self._order), key))

    def _pop_due(self, now: datetime) -> Any:
        while self._heap and self._heap[0][0] <= now:
            entry = heappop(self._heap)
            if self._is_current(entry):
                return entry[2]
        return None

    def _is_current(self, entry: tuple[datetime, int, Any]) -> bool:
        available, _, key = entry
        return self._available(key) == available

    def _available(self, key: Any) -> datetime | None:
        """When it can be locked: when it is due and its lock is over; none: never."""
        document = self._documents.get(key)
        if document is None or not self._condition(document):
            return None
        times = [value_at(document, path) for path in (self._fields.sleep_until, self._fields.lock_until)]
        if not isinstance(times[0], datetime):
            return None
        return max(instant(time, "time") for time in times if time is not None)
