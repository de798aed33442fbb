"""Durations as people write them: `90s`, `15m`, `6h`, `2d12h`."""

import re

from .errors import InputError

_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SHAPE = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", re.ASCII)
_LONGEST = 100 * 366 * 86_400


def parse_duration(text: str) -> int:
    """Seconds of a duration. A unit that counts zero, a sign, a bare number or a wrong order is refused (S11)."""
    found = _SHAPE.fullmatch(text.strip()) if len(text) <= 40 else None
    counts = [int(n) if n is not None else None for n in found.groups()] if found else []
    if not any(n is not None for n in counts) or 0 in counts:
        raise InputError(
            f"{text[:40]!r} is not a duration: write whole days, hours, minutes and seconds in that order, "
            "none of them zero, such as 90s, 15m, 6h or 2d12h"
        )
    total = sum(n * unit for n, unit in zip(counts, _SECONDS.values(), strict=True) if n is not None)
    if total > _LONGEST:
        raise InputError(f"{text!r} is longer than the hundred years a duration may last")
    return total


def format_duration(seconds: int) -> str:
    """The shortest text that `parse_duration` reads back as these seconds (`0s` for none, which it refuses)."""
    parts = []
    for unit, size in _SECONDS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
