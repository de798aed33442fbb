"""Cron texts of other implementations, in words that mean the same to Tickwise."""

from ..core.errors import InputError
from .wall_clock import CronDialect, read_fields

NICKNAMES = {  # as others have them, written once more: a proof shares nothing with our own grammar
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def to_tickwise(text: str, dialect: CronDialect) -> tuple[str, str]:
    """The text as Tickwise reads it, and the five fields as their own scheduler does.

    Tickwise joins days of the month and weekdays as Debian does: both must match if one begins with `*`. Where the
    other scheduler asks for either, a stepped star is written as a range.
    """
    named = NICKNAMES.get(text.strip(), text)
    words = named.split()
    fields = read_fields(words, dialect)
    if text.strip() in NICKNAMES:
        return text.strip(), named
    if not fields.both_days:
        words[2] = words[2].replace("*/", "1-31/")
        words[4] = words[4].replace("*/", "0-6/")
    elif not any(words[place].startswith(("*", "?")) for place in (2, 4)):
        raise InputError(f"{text[:60]!r} joins days in a way that has no text here")
    return " ".join(words), " ".join(named.split())
