"""What is left to decide: the pending slots of a schedule, found from its cursor and judged once (S3, S6, S9).

A backlog is an interval, not a list: its oldest and newest slot, and where in it the missed ones end. However long
nothing ran and however dense the schedule, finding it costs the same; the slots themselves are walked only as far
as they are started.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .definition import Policy
from .events import OnEvent
from .model import Schedule, ScheduleFacts
from .slots import count_slots, due_at, due_until, next_slot, previous_slot

DEFAULT_GRACE = 60


def grace_of(policy: Policy) -> int:
    """How late a slot may be met and still be on time, if no other follows (S9)."""
    return DEFAULT_GRACE if policy.grace is None else policy.grace


class Pending(NamedTuple):
    """A slot that is due and not decided."""

    slot: int
    missed: bool


@dataclass(frozen=True, slots=True)
class Backlog:
    """The pending slots of a schedule: those re-opened, and all from `first` to `newest` if there are any."""

    schedule: Schedule  # with what has a run already taken out
    first: int | None
    newest: int | None
    missed_to: int  # pending slots up to here are missed, later ones on time
    next_due: int | None  # when the next slot is due, if there is one

    def __iter__(self) -> Iterator[Pending]:
        for reopened in self.schedule.reopened:
            yield Pending(reopened, missed=True)
        slot, newest = self.first, self.newest
        while slot is not None and newest is not None:
            yield Pending(slot, slot <= self.missed_to)
            slot = next_slot(self.schedule, slot) if slot < newest else None

    @property
    def oldest(self) -> Pending | None:
        return next(iter(self), None)

    @property
    def last(self) -> int | None:
        """The newest pending slot of all."""
        return self.newest if self.newest is not None or not self.schedule.reopened else self.schedule.reopened[-1]

    @property
    def begin(self) -> int:
        """An instant before the oldest pending slot and after all that is decided before it."""
        return self.schedule.reopened[0] - 1 if self.schedule.reopened else self.schedule.cursor

    @property
    def any_missed(self) -> bool:
        return bool(self.schedule.reopened) or (self.first is not None and self.first <= self.missed_to)

    def left(self, schedule: Schedule) -> "Backlog":
        """What is still pending after the schedule has been decided further."""
        first = next_slot(schedule, schedule.cursor)
        if first is None or self.newest is None or first > self.newest:
            return Backlog(schedule, None, None, self.missed_to, self.next_due)
        return Backlog(schedule, first, self.newest, self.missed_to, self.next_due)

    def excess_to(self) -> int | None:
        """The newest slot beyond the `max_catchup` newest (S6), if there are so many."""
        most, cursor = self.schedule.definition.policy.max_catchup, self.schedule.cursor
        if self.first is None or self.newest is None or self.newest - self.first < most:
            return None
        excess = count_slots(self.schedule, cursor, self.newest) - most
        if excess <= 0:
            return None
        if excess <= most:
            return _steps(next_slot, self.schedule, cursor, excess)
        return _steps(previous_slot, self.schedule, self.newest + 1, most + 1)


def _steps(
    step: Callable[[Schedule, int], int | None], schedule: Schedule, slot: int | None, count: int
) -> int | None:
    for _ in range(count):
        slot = None if slot is None else step(schedule, slot)
    return slot


def backlog(schedule: Schedule, own: ScheduleFacts, now: int) -> Backlog:
    """Find what is pending and judge what was not met before."""
    taken = tuple((t - 1, t) for t in sorted(own.slots_with_run) if t > schedule.cursor)
    schedule = schedule._replace(dropped=schedule.dropped + taken) if taken else schedule
    if schedule.reopened:
        again = tuple(t for t in schedule.reopened if t not in own.slots_with_run)
        schedule = schedule._replace(reopened=again)
    until = due_until(schedule, now)
    newest, coming = previous_slot(schedule, until + 1), None
    if newest is not None and newest > schedule.cursor and due_at(schedule, newest) > now:
        newest, coming = previous_slot(schedule, newest), newest
    coming = coming or next_slot(schedule, max(until, schedule.cursor))
    next_due = None if coming is None else due_at(schedule, coming)
    if newest is None or newest <= schedule.cursor:
        return Backlog(schedule, None, None, schedule.last_missed_slot, next_due)
    first = next_slot(schedule, schedule.cursor)
    return Backlog(schedule, first, newest, _missed_to(schedule, first, newest, now), next_due)


def _missed_to(schedule: Schedule, first: int | None, newest: int, now: int) -> int:
    """The newest slot that this pass is the first to meet, and too late; or the one found before."""
    slot: int | None = newest
    grace = schedule.definition.policy.grace
    if grace is not None and not isinstance(schedule.definition.times, OnEvent):
        slot = newest_due(schedule, now - grace - 1)
        judged = max(schedule.last_seen_slot, schedule.cursor)
        return (
            schedule.last_missed_slot if slot is None or slot <= judged else max(slot, schedule.last_missed_slot)
        )
    while slot is not None and slot > schedule.last_seen_slot:
        late = now - due_at(schedule, slot)
        if late and late > _default_grace(schedule, slot):
            return max(slot, schedule.last_missed_slot)
        slot = None if slot == first else previous_slot(schedule, slot)
    return schedule.last_missed_slot


def newest_due(schedule: Schedule, by: int) -> int | None:
    """The newest slot that was due by an instant, decided or not."""
    slot = previous_slot(schedule, by + 1)
    return previous_slot(schedule, slot) if slot is not None and due_at(schedule, slot) > by else slot


def _default_grace(schedule: Schedule, slot: int) -> int:
    """A minute, but not past the next slot: so at most two slots are on time at once. Events have all of it."""
    if isinstance(schedule.definition.times, OnEvent):
        grace = schedule.definition.policy.grace
        return DEFAULT_GRACE if grace is None else grace
    following = next_slot(schedule, slot)
    return DEFAULT_GRACE if following is None else min(DEFAULT_GRACE, following - due_at(schedule, slot))
