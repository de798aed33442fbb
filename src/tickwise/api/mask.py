"""Masking of secrets: values of environment variables and headers, and of fields whose name says so."""

import re
from collections.abc import Mapping
from typing import Any

MASK = "(hidden)"
_SECRET = re.compile(r"passw|secret|token|credential|authorization|api_?key|private_?key", re.IGNORECASE)
_SECRET_MAPPINGS = frozenset({"env", "headers"})  # all of their values are secret
_PASSWORD = re.compile(r"(://[^:/?#@\s]*):[^/?#@\s]*@")


def masked(value: Any, name: str = "", *, hide: bool = False) -> Any:
    """The value without its secrets."""
    match value:
        case Mapping():
            hide = hide or name in _SECRET_MAPPINGS
            return {key: masked(item, str(key), hide=hide) for key, item in value.items()}
        case list() | tuple():
            return [masked(item, name, hide=hide) for item in value]
        case None | bool():
            return value
    if hide or _SECRET.search(name):
        return MASK
    return _PASSWORD.sub(r"\1:…@", value) if isinstance(value, str) else value


def unmasked(given: Any, stored: Any) -> Any:
    """What was given, with the stored value wherever only its mask came back."""
    if isinstance(given, Mapping):
        known = stored if isinstance(stored, Mapping) else {}
        return {key: unmasked(item, known.get(key)) for key, item in given.items()}
    if isinstance(given, list):
        known_items = stored if isinstance(stored, list) else []
        padded = [*known_items, *([None] * len(given))]
        return [unmasked(item, padded[place]) for place, item in enumerate(given)]
    return stored if given == MASK and stored is not None else given
