"""How much is measured. The default takes about four minutes on two cores, the full size some more."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class StoresSize:
    """How much is measured; a turn is one measurement of one contender."""

    turns: int  # of each contender; the best counts
    many: int  # due at once for contenders that work in batches
    few: int  # due at once for contenders that work one by one
    unlike: int  # due at once, each with a definition of its own
    stored: tuple[int, ...]  # numbers of schedules in a store, ascending
    due: int  # of those schedules
    rounds: int  # of short measurements; the best round counts, or all for percentiles
    processes: int  # of the fleet
    workers: int  # in all processes

    @property
    def most(self) -> int:
        return self.stored[-1]


DEFAULT = StoresSize(
    turns=5,
    many=10_000,
    few=1_000,
    unlike=3_000,
    stored=(1_000, 100_000),
    due=1_000,
    rounds=10,
    processes=4,
    workers=50,
)
FULL = replace(DEFAULT, stored=(1_000, 100_000, 1_000_000))
QUICK = StoresSize(  # for tests: the figures mean nothing
    turns=1, many=20, few=5, unlike=5, stored=(10, 30), due=10, rounds=2, processes=2, workers=4
)
