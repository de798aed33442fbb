"""How much is measured. The default takes some minutes on two cores, the full size some more."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Size:
    """How many of what."""

    stored: tuple[int, ...]  # schedules, ascending
    due: int  # of them, or all if there are fewer
    workers: tuple[int, ...]  # ascending
    processes: tuple[int, ...]  # whose rate is forecast
    many: int  # due at once for those
    rounds: int  # of each, half as many of workers; the best counts, or the percentile of all
    seconds: float  # for which a busy server is watched


DEFAULT = Size((100, 1_000, 10_000, 100_000), 1_000, (1, 2, 4, 10, 25, 50), (1, 2, 4), 10_000, 10, 5)
FULL = replace(DEFAULT, stored=(*DEFAULT.stored, 1_000_000))
QUICK = Size((10, 40), 10, (1,), (1,), 20, 1, 0.1)  # for a try: the figures mean nothing
