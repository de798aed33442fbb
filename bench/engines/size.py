"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EnginesSize:
    """How much is measured; a turn is one measurement of one contender."""

    turns: int  # of each contender; the best counts
    runs: int  # in each turn


FULL = EnginesSize(turns=3, runs=1_000)
QUICK = EnginesSize(turns=1, runs=5)  # for tests: the figures mean nothing
