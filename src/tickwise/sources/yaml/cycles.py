"""Circles of things that wait for each other."""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

_SHOWN = 10


def describe_cycle(cycle: list[str]) -> str:
    """`a before b before a`, however long it is."""
    shown = cycle if len(cycle) <= _SHOWN else [*cycle[: _SHOWN - 1], "…", cycle[-1]]
    return " before ".join(shown)


def find_cycle(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """Names each of which comes before the next, the last of them the first again; empty if there is no circle.

    It begins with the one that stands first in the mapping.
    """
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        *circle, _ = error.args[1]
        first = circle.index(next(name for name in needs if name in circle))
        return [*circle[first:], *circle[:first], circle[first]]
    return []
