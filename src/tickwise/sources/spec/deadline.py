"""`deadline`: its fields, and the definition that they make (S65)."""

from typing import Any

from ...core.cron import parse
from ...core.cron.rule import read_clock
from ...core.cron.zone import Zone
from ...core.errors import InputError
from ...core.time_limit import Deadline, TimeLimit
from .field_types import FieldType, OneOf
from .fields import CLOCK_TEXT, DURATION, FLAG, number
from .model import Spec, optional


def _look_of_limit(value: Any) -> str:
    return "clock" if isinstance(value, str) and ":" in value else "duration"


_LIMIT: FieldType[int | str] = OneOf(_look_of_limit, {"duration": DURATION, "clock": CLOCK_TEXT})


class DeadlineSpec(Spec):
    start = optional(
        _LIMIT, "When its run must have begun: a time after the slot, or the next such time of day.", "10m"
    )
    finish = optional(_LIMIT, "When its work must be done, likewise.", "2h", "06:00")
    cancel = optional(FLAG, "Whether a run that is not done then is ended, as failed.", True)
    warn = optional(number(0.01, 1), "Tell beforehand if it is missed with at least this probability.", 0.2)

    def check(self) -> None:
        if self.start is None and self.finish is None:
            raise InputError("write start, finish or both")
        if self.cancel and self.finish is None:
            raise InputError("cancel goes with finish")
        if isinstance(self.start, int) and isinstance(self.finish, int) and self.start > self.finish:
            raise InputError("start comes after finish")


def build_deadline(spec: DeadlineSpec, where: Zone) -> Deadline:
    """Times of day are those of the schedule's zone (S65)."""
    start, finish = (None if limit is None else _limit(limit, where) for limit in (spec.start, spec.finish))
    return Deadline(start, finish, bool(spec.cancel), spec.warn)


def _limit(given: int | str, where: Zone) -> TimeLimit:
    if isinstance(given, int):
        return TimeLimit(given)
    hour, minute = read_clock(given)
    return TimeLimit(clock=parse(f"{minute} {hour} * * *", where.name))
