"""Named schedules, for people who prefer not to write cron."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..core.cron import parse
from ..core.definition import check_name
from ..core.errors import InputError, did_you_mean, nearest_word
from ..toml_table import read_table


@dataclass(frozen=True, slots=True)
class Template:
    """A cron text and its description; `H` in it depends on the name of the schedule that uses it."""

    expression: str
    description: str


BUILT_IN: Mapping[str, Template] = MappingProxyType(
    {
        "every-minute": Template("* * * * *", "at every full minute"),
        "every-5-minutes": Template("*/5 * * * *", "at minutes 0, 5, 10 … 55 of every hour"),
        "every-15-minutes": Template("*/15 * * * *", "at every quarter of an hour"),
        "hourly": Template("0 * * * *", "at every full hour"),
        "hourly-spread": Template("H * * * *", "once an hour, at a minute that follows from the schedule's name"),
        "business-hours": Template("0 9-17 * * MON-FRI", "at every full hour from 9 to 17, Monday to Friday"),
        "daily": Template("0 0 * * *", "every day at 00:00"),
        "midnight": Template("0 0 * * *", "every day at 00:00"),
        "noon": Template("0 12 * * *", "every day at 12:00"),
        "nightly": Template("H H(1-4) * * *", "every night between 1:00 and 4:59, spread by the schedule's name"),
        "weekdays-at-9": Template("0 9 * * MON-FRI", "at 9:00, Monday to Friday"),
        "weekly": Template("0 0 * * MON", "on Mondays at 00:00"),
        "weekends": Template("0 0 * * SAT,SUN", "on Saturdays and Sundays at 00:00"),
        "monthly": Template("0 0 1 * *", "on the first of the month at 00:00"),
        "month-end": Template("0 0 L * *", "on the last day of the month at 00:00"),
        "last-workday": Template("0 0 LW * *", "on the last Monday-to-Friday of the month at 00:00"),
        "quarterly": Template("0 0 1 1,4,7,10 *", "on the first of January, April, July and October at 00:00"),
        "yearly": Template("0 0 1 1 *", "on the first of January at 00:00"),
    }
)


def find_template(name: str, own: Mapping[str, Template]) -> Template:
    """The template with this name: one of the user's own, else a built-in one."""
    known = {**BUILT_IN, **own}
    if name not in known:
        near = nearest_word(name, known)
        raise InputError(f"unknown template {name[:60]!r}{did_you_mean(near)}", nearest=near)
    return known[name]


def read_templates(given: Any) -> Mapping[str, Template]:
    """A user's own templates: names with a cron text, or with `cron` and `description`. A string is TOML."""
    table = read_table(given, 'a table of names with cron texts: [templates], and under it name = "cron text"')
    return {
        check_name(str(name), "the name of a template"): _read_template(name, one) for name, one in table.items()
    }


def _read_template(name: str, given: Any) -> Template:
    match given:
        case Template():
            return given
        case str():
            expression, description = given, ""
        case {"cron": str(expression), **others} if others.keys() <= {"description"}:
            description = str(others.get("description", ""))
        case _:
            raise InputError(f'{name}: write name = "cron text", or name = {{cron = "…", description = "…"}}')
    try:
        parse(expression, key=name)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    return Template(expression, description)
