"""A blackout: a named window, once or again and again, in which the schedules of some jobs rest (S62).

A window is `[start, end)`. Its length is real time, also through a change of the clocks. What a window does to the
slots in it is in `blackout_slots`; here is only which seconds lie in one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from .cron import Recurrence
from .definition import check_name
from .errors import InputError
from .payload import check_text
from .timeparse import iso

LONGEST_WINDOW = 366 * 86_400
_MAX_PATTERNS = 100
_LONGEST_TEXT = 1_000
_MAX_IN_A_ROW = 100  # windows that touch, of which the last end is sought in one go


class BlackoutWindow(NamedTuple):
    """One window of a blackout."""

    start: int
    end: int
    blackout: "Blackout"

    @property
    def detail(self) -> str:
        reason = self.blackout.reason
        return f"{self.blackout.name}: {reason}" if reason else self.blackout.name


@dataclass(frozen=True, slots=True)
class Blackout:
    """When its windows are, and which jobs they are for: those that one of its patterns or labels fits."""

    name: str
    opens: Recurrence  # when a window begins
    length: int  # of a window, in seconds
    jobs: tuple[str, ...] = ()  # patterns of names
    labels: tuple[str, ...] = ()  # `key`, or `key=value`
    reason: str = ""
    by: str = ""
    since: int = 0  # no second before it lies in a window: it was written then
    label: str = ""  # the times as written; empty for a single window

    def __post_init__(self) -> None:
        check_name(self.name, "the name of a blackout")
        for text in (self.reason, self.by, self.label, *self.jobs, *self.labels):
            check_text(text, f"a text of the blackout {self.name}", _LONGEST_TEXT)
        if not 0 < self.length <= LONGEST_WINDOW:
            raise InputError(f"a window lasts from a second to {LONGEST_WINDOW // 86_400} days", field="length")
        if not self.jobs and not self.labels:
            raise InputError(
                f"blackout {self.name}: name jobs or labels that it is for; `*` is every job", field="jobs"
            )
        if len(self.jobs) + len(self.labels) > _MAX_PATTERNS:
            raise InputError(f"blackout {self.name}: more than {_MAX_PATTERNS} patterns and labels", field="jobs")

    def covers(self, job: str, labels: Mapping[str, str]) -> bool:
        """Whether a job is meant."""
        named = any(fnmatchcase(job, pattern) for pattern in self.jobs)
        return named or any(_has_label(labels, label) for label in self.labels)

    def window(self, second: int) -> BlackoutWindow | None:
        """The window in which a second lies; of several, the one that began last."""
        start = self.opens.before(second + 1)
        if start is None or second < self.since or second >= start + self.length:
            return None
        return BlackoutWindow(max(start, self.since), start + self.length, self)

    def next_window(self, second: int) -> BlackoutWindow | None:
        """The window in which a second lies, or the first to come."""
        if found := self.window(second):
            return found
        start = self.opens.after(max(second, self.since - 1))
        return None if start is None else BlackoutWindow(start, start + self.length, self)

    def last_end(self, second: int) -> int | None:
        """When the newest window ended that has ended by a second."""
        start = self.opens.before(second - self.length + 1)
        return None if start is None or start + self.length <= self.since else start + self.length

    def over(self, second: int) -> bool:
        """Whether there is no window any more from a second on."""
        return self.next_window(second) is None


def _has_label(labels: Mapping[str, str], label: str) -> bool:
    key, has_value, value = label.partition("=")
    return key in labels and (not has_value or labels[key] == value)


def window_at(blackouts: Sequence[Blackout], second: int) -> BlackoutWindow | None:
    """The window in which a second lies; of several, the one that began first."""
    found = [window for each in blackouts if (window := each.window(second))]
    return min(found, key=lambda window: window.start) if found else None


def rest_end(blackouts: Sequence[Blackout], second: int) -> int | None:
    """When the windows in which a second lies, and those that follow without a gap, have ended.

    Of very many in a row the end of some: that second lies in a window again. None: it lies in no window.
    """
    end: int | None = None
    for _ in range(_MAX_IN_A_ROW if blackouts else 0):
        ends = [window.end for each in blackouts if (window := each.window(second))]
        if not ends:
            break
        end = second = max(ends)
    return end


def blackouts_of(
    blackouts: Iterable[Blackout], job: str, labels: Mapping[str, str], now: int
) -> tuple[Blackout, ...]:
    """Those that are for a job and not over, in order of their names."""
    found = (each for each in blackouts if each.covers(job, labels) and not each.over(now))
    return tuple(sorted(found, key=lambda each: each.name))


def begun(blackout: Blackout, now: int) -> Blackout:
    """The blackout in force from this second on; refused if all of it has passed."""
    fresh = replace(blackout, since=now)
    if fresh.over(now):
        raise InputError(f"blackout {blackout.name} has no window after now ({iso(now)})", field="start")
    return fresh
