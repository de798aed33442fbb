"""Cycles in a graph of dependencies."""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

_MAX_SHOWN = 10


def describe_cycle(cycle: list[str]) -> str:
    """`a before b before a`, however long it is."""
    shown = cycle if len(cycle) <= _MAX_SHOWN else [*cycle[: _MAX_SHOWN - 1], "…", cycle[-1]]
    return " before ".join(shown)


def find_cycle(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """Names each of which comes before the next, the last one the same as the first; empty if there is no cycle.

    The cycle begins with the name that is first in the mapping.
    """
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        *cycle, _ = error.args[1]
        first = cycle.index(next(name for name in needs if name in cycle))
        return [*cycle[first:], *cycle[:first], cycle[first]]
    return []
