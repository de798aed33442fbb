"""The schema of a calendar: its fields, each with its check."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from ...core.errors import InputError
from ..spec.error import MAX_ERRORS
from ..spec.field_types import FieldType, JsonSchema, Many, OneOf, Text, shape_of
from ..spec.fields import NAME_TEXT
from ..spec.model import ModelType, Spec, optional, required
from ..spec.nodes import Flaw, FlawList, ValueNode
from ..spec.values import compose_values

WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_MAX_ENTRIES = 5_000


def _read_weekdays(text: str) -> tuple[int, ...]:
    """`MON` or `MON-FRI`, as numbers from Monday = 0; a range may go around the end of the week."""
    first, dash, last = text.strip().upper().partition("-")
    if first not in WEEKDAYS or (dash and last not in WEEKDAYS):
        raise InputError(f"{text[:40]!r} is no weekday: write MON, or MON-FRI for several")
    start = WEEKDAYS.index(first)
    length = (WEEKDAYS.index(last) - start) % 7 if dash else 0
    return tuple((start + place) % 7 for place in range(length + 1))


def _read_date(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"{text[:40]!r} is no date: write it like 2027-05-31") from None


_DATE = Text(_read_date, pattern=r"^\d{4}-\d\d-\d\d$")


class DateRangeSpec(Spec):
    from_ = required(_DATE, "The first day.", "2027-12-24")
    to = required(_DATE, "The last day, inclusive.", "2028-01-01")

    def check(self) -> None:
        if self.to < self.from_:
            raise InputError(f"it ends on {self.to}, before it begins on {self.from_}")


class HolidaysSpec(Spec):
    country = required(Text(str, least=2, most=3), "The country's code.", "DE")
    subdivision = optional(Text(str, least=1, most=10), "The code of its state or region.", "BE")


class CalendarDaysSpec(Spec):
    """Days by themselves."""

    weekdays = optional(
        Many(Text(_read_weekdays), least=1, most=7), "Every such weekday.", ["MON-FRI"], ["SAT", "SUN"]
    )
    dates = optional(Many(_DATE, least=1, most=_MAX_ENTRIES), "Single days.", ["2027-05-31"])
    ranges = optional(
        Many(ModelType(DateRangeSpec), least=1, most=_MAX_ENTRIES),
        "Days in a row.",
        [{"from": "2027-12-24", "to": "2028-01-01"}],
    )
    holidays = optional(
        ModelType(HolidaysSpec), "The public holidays of a country.", {"country": "DE", "subdivision": "BE"}
    )
    ics = optional(
        Text(str, least=1), "A file beside this one whose events are the days; or its text.", "closing-days.ics"
    )


_PART: FieldType[str | CalendarDaysSpec] = OneOf(
    shape_of,
    {"text": NAME_TEXT, "mapping": ModelType(CalendarDaysSpec)},
    "must be the name of a calendar, or a mapping with its days",
)
_PARTS = Many(_PART, least=1, most=100)


class CalendarSpec(CalendarDaysSpec):
    """A named set of days."""

    description = optional(Text(str, most=1_000), "What it is for.", "Working days in Berlin")
    add = optional(
        _PARTS, "Days of other calendars, by name or as days; they are in it too.", ["saturdays-on-duty"]
    )
    remove = optional(
        _PARTS, "Days of other calendars; they are not in it.", [{"holidays": {"country": "DE"}}, "closing-days"]
    )

    def parts(self) -> Iterator[CalendarDaysSpec]:
        """Itself, and those that it adds or removes without a name."""
        yield self
        yield from (
            part for part in (*(self.add or ()), *(self.remove or ())) if isinstance(part, CalendarDaysSpec)
        )

    @property
    def needs(self) -> frozenset[str]:
        """The calendars that it adds or removes by name."""
        return frozenset(part for part in (*(self.add or ()), *(self.remove or ())) if isinstance(part, str))

    def check(self) -> None:
        names = ("weekdays", "dates", "ranges", "holidays", "ics", "add")
        if all(self.given.get(name) is None for name in names):
            raise InputError(f"it has no day: give {', '.join(names[:-1])} or add")


def read_nodes(root: ValueNode | None, flaws: list[Flaw]) -> CalendarSpec | None:
    """The calendar that nodes define; None if there were flaws before, or are now."""
    if root is None:
        return None
    if not isinstance(root.value, dict):
        flaws.append(Flaw((), "a calendar holds fields such as 'weekdays:' and 'holidays:'", root.at))
        return None
    found = FlawList(flaws)
    spec = ModelType(CalendarSpec).read(root, (), found)
    flaws += found.found
    return None if flaws else spec


def read_calendar_fields(fields: Mapping[str, Any], place: str = "") -> CalendarSpec:
    """The calendar of plain fields; each line of an error begins with `place`, unless that is empty."""
    try:
        root, flaws = compose_values(fields)
    except InputError as error:
        raise InputError(f"{place}: {error}" if place else str(error)) from None
    spec = read_nodes(root, flaws)
    if spec is None:
        shown = sorted(flaws, key=lambda flaw: flaw.at)[:MAX_ERRORS]
        lines = (": ".join(part for part in (place, flaw.field, flaw.problem) if part) for flaw in shown)
        raise InputError("\n".join(lines), field=shown[0].field or None, nearest=shown[0].nearest)
    return spec


def calendar_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of a calendar file."""
    parts: dict[str, JsonSchema] = {}
    whole = CalendarSpec.schema(parts)
    about = {"title": "Tickwise calendar", "description": CalendarSpec.__doc__}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **about, **whole, "$defs": parts}
