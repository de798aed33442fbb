"""How late a function is called after its slot, when many have the same: a server over a durable PostgreSQL."""

import asyncio
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ...core.errors import TickwiseError
from ..measure import Figures
from ..stores.databases import database
from .asking import asking
from .load import COUNT, EVERY, NOTES, Size
from .process import serving

_MICRO = 1_000_000
_APP = f"{__package__}.punctual:app"


def names(size: Size) -> tuple[str, str]:
    """The rows of the last of all, alone and beside people who ask."""
    what = _name(size)
    return f"{what}, p99", f"{_asked(what, size)}, p99"


def _name(size: Size) -> str:
    return f"lateness, {size.together:,} schedules on one second"


def _asked(what: str, size: Size) -> str:
    return f"{what}, {size.asked:,} requests/s"


def figures(server: str, size: Size) -> Figures:
    what = _name(size)
    instants, _ = _instants(server, size, asked=0)
    yield from percentiles(what, instants, size)
    what = _asked(what, size)
    instants, rate = _instants(server, size, asked=size.asked)
    yield from percentiles(what, instants, size)
    yield f"{what}, answered", rate, "requests/s", None


def percentiles(what: str, instants: list[int], size: Size) -> Figures:
    """Of the best turn, as everywhere; a turn is some bursts in a row. And of all of them."""
    late = np.array(_bursts(instants, size))
    turns = [turn.ravel() for turn in np.array_split(late, size.turns)]
    best = min(turns, key=lambda turn: float(np.percentile(turn, 99)))
    for share in (50, 99):
        yield f"{what}, p{share}", float(np.percentile(best, share)), "ms", None
    yield f"{what}, p99 of all turns", float(np.percentile(late, 99)), "ms", None


def _instants(server: str, size: Size, *, asked: int) -> tuple[list[int], float]:
    """When functions were called, in microseconds, over as many bursts as are wanted and some more."""
    with TemporaryDirectory(prefix="tickwise-bench-") as folder:
        notes = Path(folder, "notes")
        variables = {COUNT: str(size.together), EVERY: str(size.every), NOTES: str(notes)}
        rate = asyncio.run(_served(server, size, variables, asked))
        return [int(line) for line in notes.read_text("utf-8").split()], rate


async def _served(server: str, size: Size, variables: dict[str, str], asked: int) -> float:
    """Nobody looks meanwhile but for those who are to. How often they were answered in a second."""
    async with database(server) as url:
        with serving(url, _APP, "--concurrency", str(size.together), variables=variables) as served:
            if not asked:
                await asyncio.sleep(size.every * (size.bursts + 2))
                return 0.0
            async with asking(served.address, asked) as answers:
                await asyncio.sleep(size.every * (size.bursts + 2))
            return answers.rate


def _bursts(instants: list[int], size: Size) -> list[list[float]]:
    """The milliseconds after the slot, of the bursts that were whole, but for the first: it warms up."""
    bursts: dict[int, list[float]] = defaultdict(list)
    for instant in instants:
        slot, late = divmod(instant, size.every * _MICRO)
        bursts[slot].append(late / 1_000)
    _, *whole = [bursts[slot] for slot in sorted(bursts) if len(bursts[slot]) == size.together]
    if len(whole) < size.bursts:
        raise TickwiseError(f"of {len(bursts)} bursts only {len(whole)} were whole")
    return whole
