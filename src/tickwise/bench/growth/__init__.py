"""How rate and claim time grow with schedules and workers, in rows and curves; and whether arithmetic tells it.

`schedules` and `workers` measure the curves, `forecast` holds what `capacity` says against what is measured.
"""

from collections.abc import Mapping
from pathlib import Path

from ...core.errors import InputError
from ..measure import Progress
from ..report import Row
from ..stores.server import postgres
from . import forecast, schedules, workers
from .load import DEFAULT, FULL, QUICK, Size

__all__ = ["DEFAULT", "FULL", "QUICK", "REQUIRED", "Size", "rows"]

REQUIRED: Mapping[str, float] = {}


def rows(progress: Progress = lambda _: None, size: Size = DEFAULT, folder: Path | None = None) -> list[Row]:
    """Measure all of it, and draw the curves into a folder if one is named."""
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
            (folder / f"growth-{curve.name}.svg").write_text(curve.picture(), "utf-8")
    return [Row.of(name, ours, unit, peer=peer) for name, ours, unit, peer in found]
