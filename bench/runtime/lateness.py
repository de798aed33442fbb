"""How late a server over a durable PostgreSQL calls functions, when many of them share one slot."""

import asyncio
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tickwise.core.errors import TickwiseError

from ..measure import Figures
from ..postgres import database
from .api_clients import send_requests
from .server_process import run_server
from .size import INTERVAL, JOB_COUNT, OUTPUT_FILE, RuntimeSize

_MICRO = 1_000_000
_APP = f"{__package__}.lateness_app:app"


def names(size: RuntimeSize) -> tuple[str, str]:
    """The rows that have a target: p99 of the server alone, and while it serves requests."""
    what = _row_name(size)
    return f"{what}, p99", f"{_name_with_requests(what, size)}, p99"


def _row_name(size: RuntimeSize) -> str:
    return f"lateness, {size.same_second:,} schedules on one second"


def _name_with_requests(what: str, size: RuntimeSize) -> str:
    return f"{what}, {size.requests:,} requests/s"


def figures(server: str, size: RuntimeSize) -> Figures:
    what = _row_name(size)
    instants, _ = _call_times(server, size, requests=0)
    yield from percentiles(what, instants, size)
    what = _name_with_requests(what, size)
    instants, rate = _call_times(server, size, requests=size.requests)
    yield from percentiles(what, instants, size)
    yield f"{what}, answered", rate, "requests/s", None


def percentiles(what: str, instants: list[int], size: RuntimeSize) -> Figures:
    """Percentiles of the best turn, a turn being some bursts in a row; and p99 of all turns."""
    late = np.array(_whole_bursts(instants, size))
    turns = [turn.ravel() for turn in np.array_split(late, size.turns)]
    best = min(turns, key=lambda turn: float(np.percentile(turn, 99)))
    for share in (50, 99):
        yield f"{what}, p{share}", float(np.percentile(best, share)), "ms", None
    yield f"{what}, p99 of all turns", float(np.percentile(late, 99)), "ms", None


def _call_times(server: str, size: RuntimeSize, *, requests: int) -> tuple[list[int], float]:
    """When functions were called, in microseconds, and the responses per second meanwhile."""
    with TemporaryDirectory(prefix="tickwise-bench-") as folder:
        output = Path(folder, "calls")
        variables = {JOB_COUNT: str(size.same_second), INTERVAL: str(size.interval), OUTPUT_FILE: str(output)}
        rate = asyncio.run(_serve_jobs(server, size, variables, requests))
        return [int(line) for line in output.read_text("utf-8").split()], rate


async def _serve_jobs(server: str, size: RuntimeSize, variables: dict[str, str], requests: int) -> float:
    """Run the app for all bursts and some more. Returns the responses per second."""
    async with database(server) as url:
        with run_server(url, _APP, "--concurrency", str(size.same_second), variables=variables) as process:
            if not requests:
                await asyncio.sleep(size.interval * (size.bursts + 2))
                return 0.0
            async with send_requests(process, requests) as responses:
                await asyncio.sleep(size.interval * (size.bursts + 2))
            return responses.rate


def _whole_bursts(instants: list[int], size: RuntimeSize) -> list[list[float]]:
    """Milliseconds after the slot, by complete burst; the first burst is for warming up and left out."""
    bursts: dict[int, list[float]] = defaultdict(list)
    for instant in instants:
        slot, late = divmod(instant, size.interval * _MICRO)
        bursts[slot].append(late / 1_000)
    _, *whole = [bursts[slot] for slot in sorted(bursts) if len(bursts[slot]) == size.same_second]
    if len(whole) < size.bursts:
        raise TickwiseError(f"of {len(bursts)} bursts only {len(whole)} were whole")
    return whole
