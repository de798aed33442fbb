"""Two lists of the seconds at which something fires: what appears, what vanishes, what moves.

A fire moves if one vanishes and one appears within half a day, and neither has a nearer partner on its other side.
Everything else appears or vanishes by itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_MAX_MOVE = 43_200


class FireDiff(NamedTuple):
    """What becomes of the fires of the first list in the second; all in order of time."""

    vanished: tuple[int, ...] = ()
    appeared: tuple[int, ...] = ()
    moved: tuple[tuple[int, int], ...] = ()  # from, to

    @property
    def seconds(self) -> Iterable[int]:
        """Every second at which the two lists differ."""
        return (*self.vanished, *self.appeared, *(second for move in self.moved for second in move))


def diff_fires(before: Sequence[int], after: Sequence[int]) -> FireDiff:
    """Compare two lists, with repetitions."""
    old, new = Counter(before), Counter(after)
    events = sorted(
        [*((second, False) for second in (old - new).elements()), *((s, True) for s in (new - old).elements())]
    )
    alone: tuple[list[int], list[int]] = ([], [])
    moved, place = [], 0
    while place < len(events):
        second, appears = events[place]
        if _belong_together(events, place) and not (
            _belong_together(events, place + 1) and _gap(events, place + 1) < _gap(events, place)
        ):
            partner = events[place + 1][0]
            moved.append((partner, second) if appears else (second, partner))
            place += 2
        else:
            alone[appears].append(second)
            place += 1
    return FireDiff(tuple(alone[False]), tuple(alone[True]), tuple(moved))


def _belong_together(events: Sequence[tuple[int, bool]], place: int) -> bool:
    """Whether this event and the next are a fire that vanishes and one that appears, near each other."""
    pair = events[place : place + 2]
    return len(pair) == 2 and pair[0][1] is not pair[1][1] and _gap(events, place) <= _MAX_MOVE


def _gap(events: Sequence[tuple[int, bool]], place: int) -> int:
    return events[place + 1][0] - events[place][0]
