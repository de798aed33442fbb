"""How late a function is called after its slot, when many have the same: a server over a durable PostgreSQL."""

import asyncio
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ...core.errors import TickwiseError
from ..measure import Figures
from ..stores.databases import database
from .load import COUNT, EVERY, NOTES, Size
from .process import serving

_MICRO = 1_000_000
_APP = f"{__package__}.punctual:app"


def names(size: Size) -> tuple[str, str]:
    what = f"lateness, {size.together:,} schedules on one second"
    return f"{what}, p50", f"{what}, p99"


def figures(server: str, size: Size) -> Figures:
    late = _bursts(_instants(server, size), size)
    for name, share in zip(names(size), (50, 99), strict=True):
        yield name, float(np.percentile(late, share)), "ms", None


def _instants(server: str, size: Size) -> list[int]:
    """When functions were called, in microseconds, over as many bursts as are wanted and some more."""
    with TemporaryDirectory(prefix="tickwise-bench-") as folder:
        notes = Path(folder, "notes")
        variables = {COUNT: str(size.together), EVERY: str(size.every), NOTES: str(notes)}
        asyncio.run(_served(server, size, variables))
        return [int(line) for line in notes.read_text("utf-8").split()]


async def _served(server: str, size: Size, variables: dict[str, str]) -> None:
    """Nobody looks meanwhile: that would disturb."""
    async with database(server) as url:
        with serving(url, _APP, "--concurrency", str(size.together), variables=variables):
            await asyncio.sleep(size.every * (size.bursts + 2))


def _bursts(instants: list[int], size: Size) -> list[float]:
    """The milliseconds after the slot, of the bursts that were whole, but for the first: it warms up."""
    bursts: dict[int, list[float]] = defaultdict(list)
    for instant in instants:
        slot, late = divmod(instant, size.every * _MICRO)
        bursts[slot].append(late / 1_000)
    _, *whole = [bursts[slot] for slot in sorted(bursts) if len(bursts[slot]) == size.together]
    if len(whole) < size.bursts:
        raise TickwiseError(f"of {len(bursts)} bursts only {len(whole)} were whole")
    return [late for burst in whole for late in burst]
