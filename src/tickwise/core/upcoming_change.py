"""What a request would change of what is to come."""

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import NamedTuple

from .change import Change, apply_change
from .model import Schedule
from .upcoming import due_slots

_MAX_COMPARED = 1_000  # starts of each side


class UpcomingChange(NamedTuple):
    """What a request changes of the starts to come, up to a second."""

    appear: tuple[int, ...]
    vanish: tuple[int, ...]
    until: int


def upcoming_change(schedule: Schedule, change: Change, now: int, until: int) -> UpcomingChange:
    """The starts after now that a request would add and take away; with very many, of less time."""
    before = list(islice(_starts(schedule, now, until), _MAX_COMPARED))
    after = list(islice(_starts(apply_change(schedule, change, now).schedules[0], now, until), _MAX_COMPARED))
    until = min([until, *(starts[-1] for starts in (before, after) if len(starts) == _MAX_COMPARED)])
    was, would = ({start for start in starts if start <= until} for starts in (before, after))
    return UpcomingChange(tuple(sorted(would - was)), tuple(sorted(was - would)), until)


def _starts(schedule: Schedule, now: int, until: int) -> Iterator[int]:
    starts = (each.due for each in due_slots(schedule, now, now + 1))
    return takewhile(lambda due: due <= until, starts)
