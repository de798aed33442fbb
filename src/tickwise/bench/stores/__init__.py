"""How fast stores fire, run and finish, beside queues and schedulers over the same databases.

`end_to_end` has the peers, `beat` one that only fires, `fires` the size of the store, `each` the kinds of it,
`fleet` many workers. Each turn is checked: as many runs as schedules were due, each exactly once.
"""

from pathlib import Path

from ...core.errors import InputError
from ..measure import Figures, Progress
from ..report import Row
from . import beat, each, end_to_end, fires, fleet
from .elsewhere.environment import interpreter
from .load import DEFAULT, FULL, QUICK, Size
from .server import postgres

__all__ = ["DEFAULT", "FULL", "QUICK", "Size", "rows", "targets"]


def targets(size: Size) -> dict[str, float]:
    """The rows that are owed. Beside a peer: at least so many times as fast; alone: a bound."""
    together, *_, apart = fleet.shapes(size)
    return {
        f"{end_to_end.POSTGRES}, claim loop": 10,
        f"{end_to_end.POSTGRES}, APScheduler": 12,
        f"{end_to_end.POSTGRES}, procrastinate": 15,
        f"{end_to_end.POSTGRES}, pgqueuer": 1.5,
        f"{end_to_end.SQLITE}, APScheduler": 5,
        fires.name(size, size.most): 0.8,
        together: 10_000,
        f"{together}, p99": 20,
        f"{apart}, p99": 100,
    }


def rows(progress: Progress = lambda _: None, size: Size = DEFAULT) -> list[Row]:
    """Measure everything that can be measured here; the notes tell what cannot."""
    owed = targets(size)
    return [
        Row.of(name, ours, unit, peer=peer, target=owed.get(name))
        for name, ours, unit, peer in _figures(size, progress)
    ]


def _figures(size: Size, progress: Progress) -> Figures:
    progress("measuring SQLite")
    yield from end_to_end.on_sqlite(size, progress)
    progress("starting PostgreSQL")
    try:
        with postgres() as server:
            python = _elsewhere(progress)
            progress("measuring PostgreSQL beside its peers")
            yield from end_to_end.on_postgres(server, size, progress, python)
            if python:
                progress("measuring Celery beat")
                yield from beat.figures(server, size, python)
            progress("measuring stores of several sizes")
            yield from fires.figures(server, size)
            progress("measuring each store")
            yield from each.figures(server, size, progress)
            progress("measuring many workers")
            yield from fleet.figures(server, size)
    except InputError as error:
        progress(f"note: PostgreSQL is left out: {error}")


def _elsewhere(progress: Progress) -> Path | None:
    try:
        return interpreter(progress)
    except InputError as error:
        progress(f"note: APScheduler 4 and Celery beat are left out: {error}")
        return None
