"""The change feed of a store: what is new since the last poll, each change once.

Rows become visible at commit, slightly after their timestamp. So every poll begins some seconds before the last
one ended, and skips the changes that it has already returned; those are remembered only as long as they can appear
again. A poll that fails loses nothing: the next one begins at the same place. What exceeds the limit of one answer
comes with the next polls, oldest first.
"""

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from ..stores.contract import Store
from ..stores.records import MICRO, Changes, DecisionRow, RunRow

OVERLAP = 5 * MICRO  # by how much two polls overlap: a change may become visible as late as that
_FIRST_LIMIT, _MAX_LIMIT = 1_000, 10_000  # rows of each kind in one answer
_DELETED = 0  # the instant of a schedule that was deleted: the store does not keep it
T = TypeVar("T")
_ChangeKey: TypeAlias = tuple[int, tuple[object, ...]]  # when and what; equal keys are the same change


class ChangeFeed:
    """One reader; `caught_up` says whether its last poll left nothing for the next.

    Stores return the names of changed schedules without their instants. With `schedules`, the feed reads each of
    them.
    """

    def __init__(self, store: Store, start: int, *, schedules: bool = False) -> None:
        self.since = start  # microseconds; everything older has been returned
        self.caught_up = False
        self._store = store
        self._schedules = schedules
        self._limit = _FIRST_LIMIT
        self._returned: set[_ChangeKey] = set()

    async def poll(self) -> Changes:
        """Changes not returned before: runs as they are now, decisions as they have grown, schedules by name."""
        now = await self._store.now()
        self.since = min(self.since, now)  # the store's clock may have been set back
        changes = await self._store.insights.changes_since(self.since, self._limit)
        runs = [(_run_key(row), row) for row in changes.runs]
        decisions = [(_decision_key(row), row) for row in changes.decisions]
        schedules = [(await self._schedule_key(name), name) for name in changes.schedules if self._schedules]
        new = Changes(self._only_new(runs), self._only_new(decisions), self._only_new(schedules))
        keys = [[key for key, _ in kind] for kind in (runs, decisions, schedules)]
        self._advance(keys, now, has_new=any(new))
        return new

    def _only_new(self, changes: Sequence[tuple[_ChangeKey, T]]) -> tuple[T, ...]:
        return tuple(row for key, row in changes if key not in self._returned)

    def _advance(self, keys: Sequence[Sequence[_ChangeKey]], now: int, *, has_new: bool) -> None:
        """Set where the next poll begins, and forget the changes that it cannot return again."""
        latest = [max(at for at, _ in kind) for kind in keys if len(kind) >= self._limit]
        full = [at for at in latest if at != _DELETED]
        self.caught_up = not full
        next_start = min(full, default=now - OVERLAP)
        if full and not has_new and self._limit == _MAX_LIMIT:
            next_start += 1  # more changes than the limit have one instant
        self._limit = min(2 * self._limit, _MAX_LIMIT) if full else _FIRST_LIMIT
        self.since = max(self.since, next_start)
        seen = {key for kind in keys for key in kind}
        self._returned = {key for key in self._returned | seen if key[0] >= self.since}
        self._returned |= {key for key in seen if key[0] == _DELETED}

    async def _schedule_key(self, name: str) -> _ChangeKey:
        row = await self._store.insights.schedule(name)
        return _DELETED if row is None else row.updated_at, (name,)


def moved_at(run: RunRow) -> int:
    """When a run was last created, started or ended."""
    return max(run.created_at, run.started_at or 0, run.finished_at or 0)


def _run_key(run: RunRow) -> _ChangeKey:
    return moved_at(run), (run.id, run.state, run.attempt)


def _decision_key(row: DecisionRow) -> _ChangeKey:
    return row.extended_at, (row.schedule, row.reason, row.first, row.last, row.count)
