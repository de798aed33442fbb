"""How much is measured, and how the app that is measured is told."""

from dataclasses import dataclass

COUNT, EVERY, NOTES = "TICKWISE_BENCH_COUNT", "TICKWISE_BENCH_EVERY", "TICKWISE_BENCH_NOTES"


@dataclass(frozen=True, slots=True)
class Size:
    """How many of what."""

    together: int  # schedules that are due on one second
    every: int  # seconds between two such
    asked: int  # requests a second that the API of the same server gets, if any
    bursts: int  # of them that count, after a first that does not
    turns: int  # into which they are divided
    stored: int  # schedules in the store of a server that has nothing to do
    seconds: int  # for which that is watched


FULL = Size(1_000, 4, 1_000, 12, 3, 100_000, 20)
QUICK = Size(20, 1, 10, 1, 1, 50, 1)  # for a try: the figures mean nothing
