"""How late a `tickwise serve` calls functions, how fast it enqueues, and what it costs when it is idle."""

from tickwise.core.errors import InputError

from ..measure import Figures, Progress
from ..postgres import postgres
from ..report import Row
from . import api_enqueue, idle, lateness
from .size import FULL, QUICK, RuntimeSize

__all__ = ["FULL", "QUICK", "RuntimeSize", "rows", "targets"]


def targets(size: RuntimeSize) -> dict[str, float]:
    """The required rows, each with its bound."""
    alone, with_requests = lateness.names(size)
    share, memory = idle.names(size)
    return {alone: 80, with_requests: 100, api_enqueue.name(): 1_500, share: 1, memory: 150}


def rows(progress: Progress = lambda _: None, size: RuntimeSize = FULL) -> list[Row]:
    """Measure what can be measured here; a note names what cannot."""
    bounds = targets(size)
    return [
        Row.of(name, ours, unit, peer=peer, target=bounds.get(name))
        for name, ours, unit, peer in _measure_all(size, progress)
    ]


def _measure_all(size: RuntimeSize, progress: Progress) -> Figures:
    progress("starting PostgreSQL")
    try:
        with postgres() as server:
            progress("measuring lateness")
            yield from lateness.figures(server, size)
            progress("measuring what the API enqueues")
            yield from api_enqueue.figures(server, size)
            progress("measuring a server that has nothing to do")
            yield from idle.figures(server, size)
    except InputError as error:
        progress(f"note: PostgreSQL is left out: {error}")
