"""What an unquoted YAML scalar stands for: the core schema of YAML 1.2, where `on`, `NO` and dates are words."""

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

from .error import shown

_LONGEST_NUMBER = 300


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{shown(text)} is too large for a number")
    return value


def _refused(text: str) -> NoReturn:
    raise ValueError(f'{text} is no number here: write "{text}" if it is meant as text')


_CORE_SCHEMA: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = tuple(
    (re.compile(pattern, re.ASCII), read)
    for pattern, read in (
        (r"(?:null|Null|NULL|~)?", lambda _: None),
        (r"true|True|TRUE", lambda _: True),
        (r"false|False|FALSE", lambda _: False),
        (r"[-+]?[0-9]+", int),
        (r"0o[0-7]+", lambda text: int(text, 8)),
        (r"0x[0-9a-fA-F]+", lambda text: int(text, 16)),
        (r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", _finite),
        (r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", _refused),
    )
)


def read_plain(text: str) -> Any:
    """The value of an unquoted scalar; one that looks like a number and cannot be one is a ValueError."""
    for pattern, read in _CORE_SCHEMA:
        if pattern.fullmatch(text):
            if len(text) > _LONGEST_NUMBER:
                raise ValueError("a number this long cannot be read: quote it if it is meant as text")
            return read(text)
    return text
