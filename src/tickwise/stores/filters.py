"""What the words of a filter mean, the same in every store."""

from collections.abc import Mapping

from .checks import check_second
from .records import MICRO, ScheduleFilter


def checked(wanted: ScheduleFilter) -> ScheduleFilter:
    """The filter, if there can be such schedules."""
    if wanted.due_before is not None:
        check_second(wanted.due_before, "the time before which schedules are due")
    return wanted


def checked_since(since: int) -> int:
    """An instant in microseconds since which something may have changed."""
    check_second(since // MICRO, "the time since which something changed")
    return since


def names_part(text: str, *names: str | None) -> bool:
    """Whether a text is part of one of these names, in any case."""
    return any(text.lower() in name.lower() for name in names if name is not None)


def like(text: str | None) -> str | None:
    """The pattern that `LIKE … ESCAPE '!'` compares with lower-case names, to the same effect."""
    if text is None:
        return None
    plain = text.lower().replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{plain}%"


def has_label(labels: Mapping[str, str], wanted: str) -> bool:
    """Whether a job has a label, `key` or `key=value`."""
    key, given, value = wanted.partition("=")
    return key in labels and (not given or labels[key] == value)
