"""The fields of an engine's settings and options: which there are, and what each may say.

A field is a reader, which gives the value or refuses it, and what stands there if it is left out. An error names
the field and never shows its value, because a setting may hold a password.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ...core.errors import InputError, did_you_mean, nearest_word
from ...core.timeparse import parse_duration

REQUIRED: Any = object()


class EngineField(NamedTuple):
    """One field: how its value is read, and its value if it is left out."""

    read: Callable[[Any], Any]
    default: Any = None


def read_fields(given: Mapping[str, Any], fields: Mapping[str, EngineField], where: str) -> dict[str, Any]:
    """All fields with their values; InputError names the first that is wrong, and what was probably meant."""
    for name in given:
        if name not in fields:
            near = nearest_word(str(name), fields)
            known = f"; it may say {', '.join(fields)}" if fields else "; it has none"
            advice = did_you_mean(near) or known
            raise InputError(f"{where} has no field {str(name)[:60]!r}{advice}", field=str(name), nearest=near)
    return {name: _read_one(name, given, one, where) for name, one in fields.items()}


def _read_one(name: str, given: Mapping[str, Any], one: EngineField, where: str) -> Any:
    if given.get(name) is None:
        if one.default is REQUIRED:
            raise InputError(f"{where} needs {name}", field=name)
        return one.default
    try:
        return one.read(given[name])
    except InputError as error:
        raise error.reworded(f"{where}: {name} {error}", field=name) from None


# Readers. Their errors go on after the name of the field.


def text(value: Any) -> str:
    if not isinstance(value, str) or not value or any(ord(char) < 32 for char in value):
        raise InputError("must be a text of one line")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError("must be true or false")
    return value


def texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise InputError("must be a list of texts")
    return tuple(text(one) for one in value)


def mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError("must be a mapping")
    return dict(value)


def text_mapping(value: Any) -> dict[str, str]:
    return {text(name): text(one) for name, one in mapping(value).items()}


def duration(value: Any) -> int:
    """In seconds."""
    return value if isinstance(value, int) and not isinstance(value, bool) else parse_duration(text(value))


def whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InputError("must be a whole number, not below 0")
    return value


def amount(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise InputError("must be a number, not below 0")
    return value


def amounts(value: Any) -> dict[str, float]:
    return {text(name): amount(one) for name, one in mapping(value).items()}


def address(schemes: Collection[str]) -> Callable[[Any], str]:
    """A reader of addresses that begin with one of these."""

    def read(value: Any) -> str:
        try:
            parts = urlsplit(text(value))
            usable = parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError:
            usable = False
        if not usable:
            raise InputError(f"must be an address such as {next(iter(schemes))}://host:port")
        return str(value).rstrip("/")

    return read
