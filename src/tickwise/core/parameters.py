"""The params that a run of a job may be given: those of its function, or those that its definition declares.

They are stored with the definition, so that every process refuses a wrong name when a run is asked for, without
importing the code of the job (S30).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

from .errors import InputError, did_you_mean, nearest_word
from .payload import clip, to_json

RUN = "run"  # a parameter of this name gets the run
_LONGEST_NAME, _LONGEST_VALUE = 60, 60


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a function that can be given by name, without `run`."""

    names: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    takes_any: bool = False  # it has **kwargs

    def check(self, what: str, given: Collection[str]) -> None:
        """Refuse names that are not taken, and a call without one that is needed. `what` begins the message."""
        self.check_names(what, given)
        if missing := [name for name in self.required if name not in given]:
            problem = f"{what} needs a value for {', '.join(missing)}: give it in params"
            raise InputError(problem, field=f"params.{missing[0]}")

    def check_names(self, what: str, given: Collection[str]) -> None:
        """Refuse names that are not taken, with the nearest that is."""
        for name in given:
            if name in self.names:
                continue
            shown = name[:_LONGEST_NAME]
            if name == RUN:
                problem = f"{what} gets `run` from Tickwise: a param cannot have that name"
                raise InputError(problem, field=f"params.{RUN}")
            if not self.takes_any:
                near = nearest_word(name, self.names)
                takes = f"it takes {', '.join(self.names)}" if self.names else "it takes none"
                problem = f"{what} has no parameter {shown}{did_you_mean(near)}: {takes}"
                raise InputError(problem, field=f"params.{shown}", nearest=near)


class ParamType(StrEnum):
    """What a param may be that its definition declares, as JSON calls it; and a date, which is a text."""

    STRING = "string"
    DATE = "date"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"
    OBJECT = "object"

    def fits(self, value: Any) -> bool:
        return _FITS[self](value)


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


_FITS: Mapping[ParamType, Callable[[Any], bool]] = {
    ParamType.STRING: lambda value: isinstance(value, str),
    ParamType.DATE: _is_date,
    ParamType.INTEGER: lambda value: isinstance(value, int) and not isinstance(value, bool),
    ParamType.NUMBER: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    ParamType.BOOLEAN: lambda value: isinstance(value, bool),
    ParamType.ARRAY: lambda value: isinstance(value, list | tuple),
    ParamType.OBJECT: lambda value: isinstance(value, Mapping),
}
_KINDS = {
    ParamType.STRING: "a text", ParamType.DATE: "a date such as 2027-03-01", ParamType.INTEGER: "an integer",
    ParamType.NUMBER: "a number", ParamType.BOOLEAN: "true or false", ParamType.ARRAY: "a list",
    ParamType.OBJECT: "a mapping",
}  # fmt: skip


def check_types(what: str, types: Mapping[str, ParamType], given: Mapping[str, Any]) -> None:
    """Refuse values of another type than was declared. `what` begins the message."""
    for name, kind in types.items():
        if name in given and not kind.fits(given[name]):
            problem = f"{what} takes {_KINDS[kind]} as {name}, and got {_shown(given[name])}"
            raise InputError(problem, field=f"params.{name}")


def _shown(value: Any) -> str:
    """A value in a message: as JSON, and not at length."""
    return clip(to_json(value), _LONGEST_VALUE)
