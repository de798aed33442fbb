"""How punctual a server is, and what it costs when it has nothing to do. Each figure is of a `tickwise serve`."""

from ...core.errors import InputError
from ..measure import Figures, Progress
from ..report import Row
from ..stores.server import postgres
from . import idle, lateness
from .load import FULL, QUICK, Size

__all__ = ["FULL", "QUICK", "Size", "rows", "targets"]


def targets(size: Size) -> dict[str, float]:
    """The rows that are owed, each with the most that it may be."""
    alone, asked = lateness.names(size)
    share, memory = idle.names(size)
    return {alone: 100, asked: 100, share: 1, memory: 150}


def rows(progress: Progress = lambda _: None, size: Size = FULL) -> list[Row]:
    """Measure everything that can be measured here; the notes tell what cannot."""
    owed = targets(size)
    return [
        Row.of(name, ours, unit, peer=peer, target=owed.get(name))
        for name, ours, unit, peer in _figures(size, progress)
    ]


def _figures(size: Size, progress: Progress) -> Figures:
    progress("starting PostgreSQL")
    try:
        with postgres() as server:
            progress("measuring lateness")
            yield from lateness.figures(server, size)
            progress("measuring a server that has nothing to do")
            yield from idle.figures(server, size)
    except InputError as error:
        progress(f"note: PostgreSQL is left out: {error}")
