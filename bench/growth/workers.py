"""The claim rate of more and more workers. Up to four have a process each, more share four processes."""

import asyncio

from ..measure import Progress
from ..stores.fleet import FleetShape, measure_fleet
from .curve import Curve, CurvePoint
from .size import GrowthSize

_PROCESSES = 4


def curve(server: str, size: GrowthSize, progress: Progress) -> Curve:
    title = f"Workers in up to {_PROCESSES} processes, {size.due:,} schedules due"
    points = [_measure_point(server, count, size, progress) for count in size.workers]
    return Curve("workers", title, "claims/s", points)


def _measure_point(server: str, workers: int, size: GrowthSize, progress: Progress) -> CurvePoint:
    progress(f"measuring {workers} workers")
    shape = FleetShape(workers, min(workers, _PROCESSES), share=True)
    rounds = asyncio.run(measure_fleet(server, shape, due=size.due, rounds=max(1, size.rounds // 2)))
    best = max(round_.claims_per_second for round_ in rounds)
    return CurvePoint.of(workers, best, [claim for round_ in rounds for claim in round_.claims])
