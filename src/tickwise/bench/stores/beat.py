"""How fast Celery beat sends what is due, beside a ticker of ours over as many schedules.

Beat sends to a broker in memory and keeps no record; ours makes runs in a durable PostgreSQL. With each entry that
it sends, beat compares all entries with those of the tick before: so what it costs grows with their number.
"""

from pathlib import Path

from ..measure import Figures
from .contender import in_turns
from .elsewhere.contender import celery_beat
from .fires import Fires
from .load import Size


def figures(server: str, size: Size, python: Path) -> Figures:
    peer, rate = _rates(server, size, python, stored=size.few, due=size.few)
    yield f"fire, {size.few:,} due of {size.few:,} stored, Celery beat", rate, "fires/s", peer
    (name, theirs), ours = _rates(server, size, python, stored=size.many, due=max(1, size.few // 10))
    yield f"one fire over {size.many:,} stored, Celery beat", 1e3 / ours, "ms", (name, 1e3 / theirs)


def _rates(server: str, size: Size, python: Path, *, stored: int, due: int) -> tuple[tuple[str, float], float]:
    """The peer's, and ours."""
    beat = celery_beat(python, stored, due)
    ours, theirs = in_turns(size.turns, [Fires(server, stored, due), beat])
    return (beat.name, theirs.best), ours.best
