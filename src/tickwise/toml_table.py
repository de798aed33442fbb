"""Settings that are tables: given as a mapping, or as TOML text, such as in an environment variable."""

import tomllib
from collections.abc import Mapping
from typing import Any

from .core.errors import InputError


def read_table(given: Any, what: str) -> Mapping[str, Any]:
    """The table; InputError says what to write instead, and nothing of what was given: it may be a secret."""
    try:
        table = tomllib.loads(given) if isinstance(given, str) else given
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"write {what}: {error}") from None
    if not isinstance(table, Mapping):
        raise InputError(f"write {what}")
    return table
