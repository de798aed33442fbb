"""How much is measured. The default takes some minutes on two cores, the full size some more."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class GrowthSize:
    """How much is measured."""

    stored: tuple[int, ...]  # schedules, ascending
    due: int  # of those schedules, or all if there are fewer
    workers: tuple[int, ...]  # ascending
    processes: tuple[int, ...]  # numbers of processes whose rate is forecast
    many: int  # schedules due at once for those processes
    rounds: int  # of each measurement, half as many for workers; the best round counts, or all for percentiles
    seconds: float  # for which a busy server is observed


DEFAULT = GrowthSize(
    stored=(100, 1_000, 10_000, 100_000),
    due=1_000,
    workers=(1, 2, 4, 10, 25, 50),
    processes=(1, 2, 4),
    many=10_000,
    rounds=10,
    seconds=5,
)
FULL = replace(DEFAULT, stored=(*DEFAULT.stored, 1_000_000))
QUICK = GrowthSize(  # for tests: the figures mean nothing
    stored=(10, 40), due=10, workers=(1,), processes=(1,), many=20, rounds=1, seconds=0.1
)
