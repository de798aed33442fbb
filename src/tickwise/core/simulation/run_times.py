"""How long the next run of a job may take, as far as its newest runs tell.

The next run is one more of the same kind, so it is equally likely to fall into each of the gaps between those
before it, sorted: below the shortest, between two neighbours, or above the longest. Within a gap all is equally
likely; above the longest, twice as long is half as likely. So a forecast that is made of this is right as often as
it says, whatever the run times are like, and few runs give a cautious one.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..settle import Failed, Outcome, Succeeded

_RAREST = 1e-9


@dataclass(frozen=True, slots=True)
class RunTime:
    """How long a run waited for its worker and until it was over, from when it was made; retries are in it."""

    begun_after: int | None  # none: not known, because its first attempt failed
    ended_after: int
    failed: bool = False


class _Spread:
    """Numbers of seconds, sorted, as a distribution of the next one."""

    def __init__(self, known: Iterable[int]) -> None:
        self._known = sorted(known)
        self._gaps = len(self._known) + 1
        self._longest = max((1, *self._known[-1:]))

    def share_up_to(self, seconds: float) -> float:
        """How likely the next one is at most this."""
        below = bisect_right(self._known, seconds)
        if below == len(self._known):
            return 1 - self._longest / max(seconds, self._longest) / self._gaps
        lower = self._known[below - 1] if below else 0
        return (below + (seconds - lower) / (self._known[below] - lower)) / self._gaps

    def at(self, share: float) -> float:
        """What the next one is below with this probability, which is less than 1."""
        gap = int(share * self._gaps)
        if gap >= len(self._known):
            return self._longest / (max(1 - share, _RAREST) * self._gaps)
        lower = self._known[gap - 1] if gap else 0
        return lower + (share * self._gaps - gap) * (self._known[gap] - lower)


@dataclass(frozen=True)
class RunTimes:
    """The newest runs of a job."""

    known: Sequence[RunTime]

    @cached_property
    def usual(self) -> int:
        """The median, from when a run is made until it is over."""
        return round(self._ends.at(0.5))

    def draw(self, begin: float, end: float, lasted: int = 0, *, has_begun: bool = False) -> "DrawnRun":
        """A run for two numbers of [0, 1): one that has lasted for some seconds already lasts longer."""
        seen = self._ends.share_up_to(lasted) if lasted else 0.0
        share = seen + end * (1 - seen)
        ended = max(lasted, round(self._ends.at(share)))
        waited = 0 if has_begun or not lasted else lasted
        seen = self._begins.share_up_to(waited) if waited else 0.0
        begun = 0 if has_begun else max(waited, round(self._begins.at(seen + begin * (1 - seen))))
        return DrawnRun(min(begun, ended), ended, Failed() if self._nearest(share).failed else Succeeded())

    @cached_property
    def _by_length(self) -> Sequence[RunTime]:
        return sorted(self.known, key=lambda one: one.ended_after)

    @cached_property
    def _ends(self) -> _Spread:
        return _Spread(one.ended_after for one in self.known)

    @cached_property
    def _begins(self) -> _Spread:
        return _Spread(one.begun_after for one in self.known if one.begun_after is not None)

    def _nearest(self, share: float) -> RunTime:
        return self._by_length[min(int(share * (len(self.known) + 1)), len(self.known) - 1)]


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """How a run goes in one play, in seconds after it was made."""

    begun_after: int
    ended_after: int
    outcome: Outcome
