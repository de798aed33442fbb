"""Following a store: what is new in it since the last look, each move once.

A move is seen when it is committed, a little after the instant that it carries. So every look begins some seconds
before the one before it ended, and what was given already is passed over; only that is remembered, and only as
long as it can come again. Nothing is lost by a look that fails: the next begins where it would have. What is more
than one answer holds comes with the next looks, oldest first.
"""

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from ..stores.contract import Store
from ..stores.records import MICRO, Changes, DecisionRow, RunRow

OVERLAP_SECONDS = 5 * MICRO  # how late a move may be seen
_FIRST_LIMIT, _MOST = 1_000, 10_000  # rows of a kind in one answer
_GONE = 0  # when a schedule was deleted: nobody says
T = TypeVar("T")
_Mark: TypeAlias = tuple[int, tuple[object, ...]]  # when it was, and what: equal marks are the same move


class ChangeFeed:
    """One follower; `caught_up` says whether its last look left nothing for the next.

    Stores do not say when a schedule has changed: with `schedules`, each that has is asked.
    """

    def __init__(self, store: Store, start: int, *, schedules: bool = False) -> None:
        self.since = start  # microseconds; what is older has been given
        self.caught_up = False
        self._store = store
        self._schedules = schedules
        self._limit = _FIRST_LIMIT
        self._given: set[_Mark] = set()

    async def news(self) -> Changes:
        """What was not given before: runs as they are now, decisions as they have grown, schedules by name."""
        now = await self._store.now()
        self.since = min(self.since, now)  # the store's clock may have been set back
        found = await self._store.insights.changes_since(self.since, self._limit)
        runs = [(_mark_of_run(row), row) for row in found.runs]
        decisions = [(_mark_of_decision(row), row) for row in found.decisions]
        schedules = [(await self._mark_of_schedule(name), name) for name in found.schedules if self._schedules]
        new = Changes(self._new(runs), self._new(decisions), self._new(schedules))
        marks = [[mark for mark, _ in kind] for kind in (runs, decisions, schedules)]
        self._move_on(marks, now, is_new=any(new))
        return new

    def _new(self, marked: Sequence[tuple[_Mark, T]]) -> tuple[T, ...]:
        return tuple(thing for mark, thing in marked if mark not in self._given)

    def _move_on(self, marks: Sequence[Sequence[_Mark]], now: int, *, is_new: bool) -> None:
        latest = [max(at for at, _ in kind) for kind in marks if len(kind) >= self._limit]
        full = [at for at in latest if at != _GONE]
        self.caught_up = not full
        next_look = min(full, default=now - OVERLAP_SECONDS)
        if full and not is_new and self._limit == _MOST:
            next_look += 1  # more than can be asked for bears one instant
        self._limit = min(2 * self._limit, _MOST) if full else _FIRST_LIMIT
        self.since = max(self.since, next_look)
        seen = {mark for kind in marks for mark in kind}
        self._given = {mark for mark in self._given | seen if mark[0] >= self.since}
        self._given |= {mark for mark in seen if mark[0] == _GONE}

    async def _mark_of_schedule(self, name: str) -> _Mark:
        row = await self._store.insights.schedule(name)
        return _GONE if row is None else row.updated_at, (name,)


def moved_at(run: RunRow) -> int:
    """When a run was last made, started or ended."""
    return max(run.created_at, run.started_at or 0, run.finished_at or 0)


def _mark_of_run(run: RunRow) -> _Mark:
    return moved_at(run), (run.id, run.state, run.attempt)


def _mark_of_decision(row: DecisionRow) -> _Mark:
    return row.extended_at, (row.schedule, row.reason, row.first, row.last, row.count)
