"""Errors of what was given, with the field and the position in a cron text that they are about."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..core.cron import parse
from ..core.errors import CronError, InputError
from .problems import Refusal

_WAY = re.compile(r"[a-z_]+(\.[\w-]+)*")
_HINT = re.compile(r" \(did you mean [^?]+\?\)")


@contextmanager
def named(place: str, fields: Mapping[str, Any], *, hints: bool = True) -> Iterator[None]:
    """Tell what is wrong with these fields by the field; the place goes without saying.

    Without hints for who sees some jobs only: the nearest name may be another's.
    """
    try:
        yield
    except InputError as error:
        text = str(error).removeprefix(f"{place}: ")
        text = text if hints else _HINT.sub("", text)
        way = text.partition(": ")[0]
        if not _WAY.fullmatch(way):
            raise Refusal(error.http_status, text) from None
        raise Refusal(error.http_status, text, field=way, position=_position(fields, way)) from None


@contextmanager
def about(field: str) -> Iterator[None]:
    """What is refused in here is about this field."""
    try:
        yield
    except InputError as error:
        raise Refusal(error.http_status, f"{field}: {error}", field=field) from None


def _position(fields: Mapping[str, Any], way: str) -> int | None:
    """Where in a cron text the fault is; none if it is not one."""
    value: Any = fields
    for part in way.split("."):
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, Mapping) and part in value:
            value = value[part]
        else:
            return None
    if way.partition(".")[0] != "schedule" or not isinstance(value, str):
        return None
    try:
        parse(value, key=str(fields.get("name", "")))
    except CronError as error:
        return error.position
    except InputError:
        return None
    return None
