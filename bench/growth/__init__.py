"""How rate and claim time grow with schedules and workers, as rows and curves, and how good the capacity model is.

`schedules` and `workers` measure the curves, `forecast` compares the model in `capacity` with measurements.
"""

from collections.abc import Mapping
from pathlib import Path

from tickwise.core.errors import InputError

from ..measure import Progress
from ..postgres import postgres
from ..report import Row
from . import forecast, schedules, workers
from .size import DEFAULT, FULL, QUICK, GrowthSize

__all__ = ["DEFAULT", "FULL", "QUICK", "REQUIRED", "GrowthSize", "rows"]

REQUIRED: Mapping[str, float] = {}


def rows(progress: Progress = lambda _: None, size: GrowthSize = DEFAULT, folder: Path | None = None) -> list[Row]:
    """Measure everything, and draw the curves into the folder if one is given."""
    progress("starting PostgreSQL")
    try:
        with postgres() as server:
            curves = [measure(server, size, progress) for measure in (schedules.curve, workers.curve)]
            found = [figure for curve in curves for figure in curve.figures()]
            found += forecast.figures(server, size, progress)
    except InputError as error:
        progress(f"note: PostgreSQL is left out: {error}")
        return []
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for curve in curves:
            (folder / f"growth-{curve.name}.svg").write_text(curve.svg(), "utf-8")
    return [Row.of(name, ours, unit, peer=peer) for name, ours, unit, peer in found]
