"""By when the work of a slot is to have begun and to be done (S65)."""

from dataclasses import dataclass

from .cron import Recurrence
from .timeparse import FIRST, LAST, format_duration, to_datetime


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """An instant that follows from a slot: so many seconds after it, or the first such time of day after it."""

    seconds: int = 0
    clock: Recurrence | None = None  # each day at this time, where it is a time of day

    def instant(self, slot: int) -> int:
        if self.clock is None:
            return slot + self.seconds
        found = self.clock.after(slot)
        return LAST if found is None else found

    def newest_due(self, now: int) -> int:
        """The newest slot of which this has come by now."""
        if self.clock is None:
            return now - self.seconds
        found = self.clock.before(now + 1)
        return FIRST if found is None else found - 1

    @property
    def text(self) -> str:
        """As people write it."""
        if self.clock is None:
            return format_duration(self.seconds)
        return f"{to_datetime(self.instant(0), self.clock.zone.tzinfo):%H:%M}"  # no clock changed on that day

    def __str__(self) -> str:
        return f"{self.text} {'after its slot' if self.clock is None else self.clock.zone.name}"


@dataclass(frozen=True, slots=True)
class Deadline:
    """By when the work of a slot is to have begun, and by when it is to be done (S65)."""

    start: TimeLimit | None = None
    finish: TimeLimit | None = None
    cancel: bool = False  # a run that is not done then is ended as failed
    warn: float | None = None  # tell beforehand, if it is missed at least this probably
