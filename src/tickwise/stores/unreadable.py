"""Schedules whose rows this version cannot read: people see them in lists, and can change or remove them (S20)."""

from functools import lru_cache

from ..core.cron.recurrences import At
from ..core.cron.zone import zone
from ..core.definition import ScheduleDefinition
from ..core.model import Schedule
from ..log import get_logger
from .records import ScheduleRow

_log = get_logger()
_NO_TIMES = At((0,), zone("UTC"))  # stands for times that are not known; the cursor is there already


def unreadable_row(
    name: str, job: str, problem: str, *, source: str, wake_at: int | None, created_at: int, updated_at: int
) -> ScheduleRow:
    """What can be said of it: that it exists, whose it is, and why it cannot be read."""
    definition = ScheduleDefinition(name, job, _NO_TIMES, "", source=source)
    return ScheduleRow(
        schedule=Schedule(definition, 0, 0, 0, 0, 0), next_slot=None, wake_at=wake_at, created_at=created_at,
        updated_at=updated_at, unreadable=problem,
    )  # fmt: skip


@lru_cache(maxsize=10_000)
def log_unreadable(schedule: str, problem: str) -> None:
    """Log it once in the life of a process, because every pass meets it again."""
    _log.error("a schedule cannot be read: change its definition or remove it", schedule=schedule, why=problem)
