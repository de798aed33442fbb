"""Arguments of commands: times as people type them, and names and ids as paths of the API."""

import json
import re
from collections.abc import Sequence
from typing import Any

from ..clock import now
from ..core.cron.zone import zone
from ..core.definition import check_name
from ..core.errors import InputError
from ..core.timeparse import floor_second, instant, iso, parse_duration, read_moment

_ID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def read_second(text: str | None, timezone: str) -> int:
    """The UTC second of a date or time, in the given zone if it names no offset; now if there is no text."""
    return floor_second(now()) if text is None else instant(read_moment(text), zone(timezone))


def as_instant(text: str, timezone: str = "UTC") -> str:
    """A date or time in a zone, in the format of the API."""
    return iso(read_second(text, timezone))


def as_when(text: str, timezone: str) -> str:
    """The same; a duration from now stays one."""
    return as_instant(text, timezone) if _begins_like_a_date(text) else text.strip()


def as_past(text: str | None, timezone: str = "UTC") -> str | None:
    """A date or time in a zone, or how long ago it was."""
    return _relative_to_now(text, -1, timezone)


def as_future(text: str | None) -> str | None:
    """A date or time in UTC, or how far ahead it is."""
    return _relative_to_now(text, 1)


def _relative_to_now(text: str | None, sign: int, timezone: str = "UTC") -> str | None:
    if text is None or _begins_like_a_date(text):
        return text and as_instant(text, timezone)
    return iso(floor_second(now()) + sign * parse_duration(text))


def _begins_like_a_date(text: str) -> bool:
    return text.strip()[4:5] == "-"


def schedule_path(name: str) -> str:
    return f"/schedules/{check_name(name, 'the name of a schedule')}"


def queue_path(name: str) -> str:
    return f"/queues/{check_name(name, 'the name of a queue')}"


def is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def run_path(run: str) -> str:
    if not is_id(run):
        raise InputError(f"{run[:60]!r} is not a run id: see tickwise runs list")
    return f"/runs/{run}"


def parse_params(
    texts: Sequence[str] | None, what: str = "parameter", example: str = "table=orders"
) -> dict[str, Any]:
    """Params of a run, or other values, each as NAME=VALUE."""
    return dict(_parse_param(text, what, example) for text in texts or ())


def _parse_param(text: str, what: str, example: str) -> tuple[str, Any]:
    """The value as JSON if it is JSON, else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(f"{text!r} is not a {what}: write NAME=VALUE, such as {example}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
