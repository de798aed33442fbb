"""The input of the measurements: a fixed mix of cron texts, schedules drawn from a seed, and two sizes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from zoneinfo import ZoneInfo

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = {"UTC": datetime(2026, 3, 1, tzinfo=UTC), "Berlin": datetime(2026, 3, 1, tzinfo=BERLIN)}
NOW = datetime(2026, 11, 15, 12, 0, 20, tzinfo=UTC)

# All peers agree on these texts: weekdays are names, since APScheduler counts them from Monday, and no time is
# inside a clock change.
MIX = (
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "15,45 8-18 * * *",
    "30 6 * * *",
    "0 9 * * MON-FRI",
    "0 18 * * SUN",
    "0 4 1 * *",
    "0 23 L * *",
    "0 12 29 2 *",
)


def schedules(count: int) -> Iterator[tuple[str, str]]:
    """Cron texts and zones of `count` schedules: from every minute to monthly, half of them in Berlin."""
    random = Random(2026)
    for _ in range(count):
        minute, hour, day = random.randrange(60), random.randrange(24), random.randint(1, 28)
        texts = (
            "* * * * *",
            f"*/{random.choice((5, 10, 15, 30))} * * * *",
            f"{minute} * * * *",
            f"{minute} */{random.choice((2, 4, 6))} * * *",
            f"{minute} {hour} * * *",
            f"{minute} {hour} * * MON-FRI",
            f"{minute} {hour} * * {random.choice(('MON', 'WED', 'SAT'))}",
            f"{minute} {hour} {day} * *",
            f"{minute} {hour} L * *",
        )
        weights = (5, 15, 20, 10, 25, 10, 5, 7, 3)
        yield random.choices(texts, weights)[0], random.choice(("UTC", "Europe/Berlin"))


@dataclass(frozen=True, slots=True)
class TimeSize:
    """How much is measured."""

    repeats: int  # of long measurements; short ones are repeated ten times as often
    steps: int  # of `next` for each text
    at_once: int  # schedules for one `next_many`
    schedules: int  # expanded into the index, each every minute
    runs: tuple[int, ...]  # sizes of the index, ascending
    results: tuple[int, ...]  # numbers of results of one query, ascending
    queries: int  # timed together
    loop: int  # simulated seconds
    days: int  # simulated days

    @property
    def most(self) -> int:
        return self.runs[-1]

    @property
    def hour(self) -> int:
        return 60 * self.schedules

    def repeats_for(self, count: int) -> int:
        return self.repeats * (1 if count > 10_000 else 10)


FULL = TimeSize(
    repeats=5,
    steps=50,
    at_once=100_000,
    schedules=10_000,
    runs=(10, 100, 1_000, 10_000, 100_000, 1_000_000),
    results=(10, 100, 1_000, 10_000),
    queries=500,
    loop=3_600,
    days=30,
)
QUICK = TimeSize(
    repeats=1,
    steps=3,
    at_once=50,
    schedules=10,
    runs=(10, 100, 1_000),
    results=(10, 100),
    queries=5,
    loop=90,
    days=1,
)
