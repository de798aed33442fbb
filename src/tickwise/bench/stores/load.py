"""How much is measured. The default takes about four minutes on two cores, the full size some more."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """How many of what; a turn is one measurement of one contender."""

    turns: int  # of each contender; the best counts
    many: int  # due at once where batches are made
    few: int  # where work is done one by one
    stored: tuple[int, ...]  # schedules in a store, ascending
    due: int  # of those
    rounds: int  # of what takes milliseconds; the best counts, or the percentile of all
    processes: int  # in the fleet
    workers: int  # in all of them

    @property
    def most(self) -> int:
        return self.stored[-1]


DEFAULT = Size(5, 10_000, 1_000, (1_000, 100_000), 1_000, 10, 4, 50)
FULL = Size(5, 10_000, 1_000, (1_000, 100_000, 1_000_000), 1_000, 10, 4, 50)
QUICK = Size(1, 20, 5, (10, 30), 10, 2, 2, 4)  # for a try: the figures mean nothing
