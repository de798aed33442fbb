"""How fleets of more and more workers claim what is due; up to four have a process each, more share those."""

import asyncio

from ..measure import Progress
from ..stores.fleet import Shape, measured
from .curve import Curve, Point
from .load import Size

_PROCESSES = 4


def curve(server: str, size: Size, progress: Progress) -> Curve:
    title = f"Workers in up to {_PROCESSES} processes, {size.due:,} schedules due"
    return Curve("workers", title, "claims/s", [_point(server, count, size, progress) for count in size.workers])


def _point(server: str, workers: int, size: Size, progress: Progress) -> Point:
    progress(f"measuring {workers} workers")
    shape = Shape(workers, min(workers, _PROCESSES), share=True)
    rounds = asyncio.run(measured(server, shape, due=size.due, rounds=max(1, size.rounds // 2)))
    best = max(each.claims_per_second for each in rounds)
    return Point.of(workers, best, [claim for each in rounds for claim in each.claims])
