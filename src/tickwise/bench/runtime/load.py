"""How much is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """How many of what."""

    together: int  # schedules that are due on one second
    bursts: int  # such seconds that count, after a first that does not
    stored: int  # schedules in the store of a server that has nothing to do
    seconds: int  # for which that is watched


FULL = Size(1_000, 10, 100_000, 20)
QUICK = Size(20, 1, 50, 1)  # for a try: the figures mean nothing
