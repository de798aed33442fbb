"""A curve: a rate and two percentiles of claim time, over the number of schedules or workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from ..measure import Figures
from ..stores.worker_process import TimedClaim
from .plot import Line, Panel, render_svg


class CurvePoint(NamedTuple):
    """The values measured at one number."""

    number: int
    rate: float
    p50: float  # ms
    p99: float

    @classmethod
    def of(cls, number: int, rate: float, claims: Sequence[TimedClaim]) -> Self:
        """Only claims that found something count."""
        p50, p99 = np.percentile([claim.ended - claim.begun for claim in claims if claim.jobs], (50, 99)) * 1e3
        return cls(number, rate, float(p50), float(p99))


@dataclass(frozen=True, slots=True)
class Curve:
    """Points in ascending order; the name says what the number counts."""

    name: str
    title: str
    unit: str  # of the rate
    points: Sequence[CurvePoint]

    def figures(self) -> Figures:
        for point in self.points:
            what = f"growth, {self.name}: {point.number:,}"
            yield what, point.rate, self.unit, None
            yield f"{what}, claim p50", point.p50, "ms", None
            yield f"{what}, claim p99", point.p99, "ms", None

    def svg(self) -> str:
        rate, p50, p99 = (
            Line(label, [(point.number, point[at]) for point in self.points])
            for at, label in enumerate(("rate", "p50", "p99"), 1)
        )
        return render_svg(self.title, self.name, [Panel(self.unit, [rate]), Panel("ms a claim", [p50, p99])])
