"""How fast Celery beat sends due entries, beside our ticker over as many schedules.

Beat sends to a broker in memory and keeps no record; our ticker makes runs in a durable PostgreSQL. With each
entry that it sends, beat compares all entries with those of the tick before, so its cost grows with their number.
"""

from pathlib import Path

from ..measure import Figures
from .contender import in_turns
from .fire_rate import TickerContender
from .isolated_peers.peer import celery_beat
from .size import StoresSize


def figures(server: str, size: StoresSize, python: Path) -> Figures:
    peer, rate = _measure_rates(server, size, python, stored=size.few, due=size.few)
    yield f"fire, {size.few:,} due of {size.few:,} stored, Celery beat", rate, "fires/s", peer
    (name, theirs), ours = _measure_rates(server, size, python, stored=size.many, due=max(1, size.few // 10))
    yield f"one fire over {size.many:,} stored, Celery beat", 1e3 / ours, "ms", (name, 1e3 / theirs)


def _measure_rates(
    server: str, size: StoresSize, python: Path, *, stored: int, due: int
) -> tuple[tuple[str, float], float]:
    """The peer's name and best rate, and ours."""
    beat = celery_beat(python, stored, due)
    ours, theirs = in_turns(size.turns, [TickerContender(server, stored, due), beat])
    return (beat.name, theirs.best), ours.best
