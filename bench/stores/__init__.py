"""How fast stores fire, run and finish, beside queues and schedulers over the same databases.

`end_to_end` compares with the peers, `celery_beat` with one that only fires, `enqueue_rate` with one that only
queues, `fire_rate` stores of several sizes, `backends` the kinds of stores, `fleet` many workers. Each turn is
checked: every due schedule has exactly one run.
"""

from pathlib import Path

from tickwise.core.errors import InputError

from ..measure import Figures, Progress
from ..postgres import postgres
from ..report import Row
from . import backends, celery_beat, end_to_end, enqueue_rate, fire_rate, fleet
from .isolated_peers.environment import interpreter
from .size import DEFAULT, FULL, QUICK, StoresSize

__all__ = ["DEFAULT", "FULL", "QUICK", "StoresSize", "rows", "targets"]


def targets(size: StoresSize) -> dict[str, float]:
    """The required rows. With a peer, the target is the smallest ratio; without, a bound."""
    shared, *_, unshared = fleet.shapes(size)
    return {
        f"{end_to_end.POSTGRES}, claim loop": 10,
        f"{end_to_end.POSTGRES}, APScheduler": 12,
        f"{end_to_end.POSTGRES}, procrastinate": 15,
        f"{end_to_end.POSTGRES}, pgqueuer": 1.5,
        f"{end_to_end.UNLIKE}, pgqueuer": 1.5,
        f"{end_to_end.SQLITE}, APScheduler": 5,
        enqueue_rate.name(size): 50_000,
        **{fire_rate.name(size, size.most, where): 0.8 for where in ("", fire_rate.SQLITE, fire_rate.MARIADB)},
        backends.at_least(size): 10_000,
        shared: 10_000,
        f"{shared}, p99": 20,
        f"{unshared}, p99": 100,
    }


def rows(progress: Progress = lambda _: None, size: StoresSize = DEFAULT) -> list[Row]:
    """Measure what can be measured here; a note names what cannot."""
    required = targets(size)
    return [
        Row.of(name, ours, unit, peer=peer, target=required.get(name))
        for name, ours, unit, peer in _measure_all(size, progress)
    ]


def _measure_all(size: StoresSize, progress: Progress) -> Figures:
    progress("measuring SQLite")
    yield from end_to_end.on_sqlite(size, progress)
    progress("starting PostgreSQL")
    try:
        with postgres() as server:
            python = _peer_interpreter(progress)
            progress("measuring PostgreSQL beside its peers")
            yield from end_to_end.on_postgres(server, size, progress, python)
            if python:
                progress("measuring Celery beat")
                yield from celery_beat.figures(server, size, python)
            progress("measuring what one call enqueues")
            yield from enqueue_rate.figures(server, size, progress)
            progress("measuring stores of several sizes")
            yield from fire_rate.figures(server, size, progress)
            progress("measuring each store")
            yield from backends.figures(server, size, progress)
            progress("measuring many workers")
            yield from fleet.figures(server, size)
    except InputError as error:
        progress(f"note: PostgreSQL is left out: {error}")


def _peer_interpreter(progress: Progress) -> Path | None:
    try:
        return interpreter(progress)
    except InputError as error:
        progress(f"note: APScheduler 4 and Celery beat are left out: {error}")
        return None
