"""The engine against others: the oracle of this folder, cronsim where it keeps the law, and croniter's syntax."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import islice
from random import Random

import numpy as np
import pytest
from croniter import croniter
from cronsim import CronSim

from tickwise.core.cron import CronError, Recurrence, parse

from .oracle import ONE_DAY, Clock, Meaning, epoch, fires, generate, neighbours, packaged_zone, transitions

DAY = 86_400
ZONES = (
    "UTC America/New_York America/Sao_Paulo America/Havana America/Scoresbysund Europe/Berlin Europe/Dublin "
    "Atlantic/Azores Antarctica/Troll Africa/Casablanca Asia/Gaza Asia/Kathmandu Australia/Lord_Howe Pacific/Apia"
).split()
SEEDS = range(6 if os.environ.get("TICKWISE_PROOF") else 2)  # `make proof` takes them all


def quiet_start(random: Random, name: str, days: int) -> int:
    """Some midnight, mostly shortly before a clock change, but not within the day after one."""
    zone = packaged_zone(name)
    start = epoch(random.randint(1972, 2036), 1, 1)
    changes = transitions(zone, start, start + 366 * DAY)
    middle = random.choice(changes) if changes else start + random.randrange(365) * DAY
    start = (middle // DAY - random.randint(1, days - 1)) * DAY
    return start - 2 * DAY if transitions(zone, start - DAY, start + 1) else start


def parsed(text: str, meaning: Meaning, name: str = "UTC") -> Recurrence | None:
    """The engine's reading, or none of a text that the calendar shows to be empty."""
    try:
        return parse(text, timezone=name)
    except CronError as error:
        if "never fires" not in error.problem:
            raise
        first = 1970 if meaning.years else 2001
        calendar = (date(first, 1, 1) + n * ONE_DAY for n in range((130 if meaning.years else 28) * 366))
        assert not any(meaning.names_day(day) for day in calendar), text
        return None


def compare(cron: Recurrence, meaning: Meaning, clock: Clock, random: Random, instants: int) -> int:
    """Both directions and the count, from some instants, beside some fires, and about the clock changes."""
    fired = fires(meaning, clock)
    first, last = int(clock.ticks[0]), int(clock.ticks[-1])
    changes = clock.ticks[1:][np.diff(clock.walls) != clock.step]
    for n in range(instants):
        at = random.randrange(first, last)
        if n % 3 == 1 and len(fired):
            at = int(random.choice(fired)) + random.randint(-1, 1)
        elif n % 3 == 2 and len(changes):
            at = int(random.choice(changes)) + random.randint(-7_200, 7_200)
        at = min(max(first, at), last - 1)
        earlier, later = neighbours(fired, at)
        after, before = cron.after(at), cron.before(at)
        assert after == later if later else after is None or after > last, (str(cron), at)
        assert before == earlier if earlier else before is None or before <= first, (str(cron), at)
        assert cron.count(at, last) == int((fired > at).sum()), (str(cron), at)
        assert cron.count(first, at) == int((fired <= at).sum()), (str(cron), at)
    return 2 * instants


@pytest.mark.parametrize("seed", SEEDS)
def test_minute_by_minute(seed: int) -> None:
    """Whatever text, zone and instant: next, previous and count are what watching the clock shows (S37, S39)."""
    random = Random(seed)
    compared = 0
    for _ in range(12):
        name = random.choice(ZONES)
        start = quiet_start(random, name, 20)
        clock = Clock.watch(packaged_zone(name), start, start + 20 * DAY)
        for text, meaning in (generate(random) for _ in range(40)):
            if cron := parsed(text, meaning, name):
                compared += compare(cron, meaning, clock, random, 50)
    assert compared >= 45_000


@pytest.mark.parametrize("seed", SEEDS)
def test_second_by_second(seed: int) -> None:
    """Six fields are the same law with finer ticks: seconds come first (S37, S39)."""
    random = Random(seed)
    compared = 0
    for _ in range(2):
        name = random.choice(ZONES)
        start = quiet_start(random, name, 2)
        clock = Clock.watch(packaged_zone(name), start, start + 2 * DAY, step=1)
        year = datetime.fromtimestamp(start, UTC).year
        for text, meaning in (generate(random, seconds=True, around=n % 2 and year) for n in range(40)):
            if cron := parsed(text, meaning, name):
                compared += compare(cron, meaning, clock, random, 50)
    assert compared >= 7_000


@pytest.mark.parametrize("seed", SEEDS)
def test_year_by_year(seed: int) -> None:
    """A year as the seventh field keeps to its years, in both directions and in the count (S37)."""
    random = Random(seed)
    compared = 0
    for _ in range(3):
        year = random.randint(1975, 2090)
        start = epoch(year - 2, 12, 20)
        clock = Clock.watch(UTC, start, start + 3 * 366 * DAY, step=3_600)
        for _ in range(25):
            text, meaning = generate(random, seconds=True, around=year)
            text = " ".join(("0 0", *text.split()[2:]))
            meaning = replace(meaning, seconds=frozenset({0}), minutes=frozenset({0}))
            if cron := parsed(text, meaning):
                compared += compare(cron, meaning, clock, random, 20)
    assert compared >= 2_400


# --- cronsim -------------------------------------------------------------------------------------------------

CRONSIM_LACKS = {
    r"\?": "no ?",
    r"L-\d": "no days before the last",
    r"\dW": "no nearest weekday",
    r"[A-Za-z]L": "the last weekday of a month only by number",
    r"SAT-SUN": "no range of weekdays over Saturday by name",
    r"-L|LW$": "no range to the last day",
    r"[A-Za-z]{4}": "names of three letters only",
    r"-\w+#": "no # of a range of weekdays",
    r"&": "no way to ask for both days",
}
CRONSIM_DIFFERS = {
    r"\b(\d+)-\1/": "reads a range of one with a step as open: 5-5/20 is 5/20",
    r"[ ,]\d/\d+(,\S*)?$": "counts weekdays to 7, so that 1/2 is Monday, Wednesday, Friday and Sunday",
}


def agreed(random: Random, tables: tuple[dict[str, str], ...]) -> Iterator[tuple[str, Meaning]]:
    """Generated texts that none of the listed exceptions covers."""
    while True:
        text, meaning = generate(random)
        if not any(re.search(pattern, text) for table in tables for pattern in table):
            yield text, meaning


def cronsim_times(text: str, start: datetime, count: int, *, back: bool = False) -> list[int]:
    return [int(time.timestamp()) for time in islice(CronSim(text, start, reverse=back), count)]


def our_times(cron: Recurrence, start: datetime, count: int, *, back: bool = False) -> list[int]:
    times: list[int] = []
    found = cron.prev(start) if back else cron.next(start)
    while found and len(times) < count:
        times.append(int(found.timestamp()))
        found = cron.prev(found) if back else cron.next(found)
    return times


@pytest.mark.parametrize("seed", SEEDS)
def test_cronsim_in_utc(seed: int) -> None:
    """Where no clock changes, cronsim names the same times, forward and back (S37)."""
    random = Random(seed)
    compared = 0
    for text, meaning in islice(agreed(random, (CRONSIM_LACKS, CRONSIM_DIFFERS)), 600):
        cron = parsed(text, meaning)
        start = datetime.fromtimestamp(random.randrange(epoch(2000, 1, 1), epoch(2035, 1, 1)), UTC)
        for back in (False, True) if cron else ():
            theirs = cronsim_times(text, start, 10, back=back)
            assert cron is not None
            assert our_times(cron, start, 10, back=back) == theirs, text
            compared += len(theirs)
    assert compared >= 11_500


def kept_by_cronsim(text: str, meaning: Meaning) -> bool:
    """Whether cronsim, which looks at the star of minute and hour, decides as the law, which looks at the set."""
    minute, hour, *_ = text.split()
    return "*" in (hour, minute) if meaning.keeps_pace else not minute.startswith("*") and not hour.startswith("*")


@pytest.mark.parametrize("seed", SEEDS)
def test_cronsim_through_clock_changes(seed: int) -> None:
    """Fixed times and `*` hours go through gaps and folds as in cronsim, which mimics Debian's cron (S39)."""
    random = Random(seed)
    compared = 0
    for text, meaning in islice(agreed(random, (CRONSIM_LACKS, CRONSIM_DIFFERS)), 300):
        name = random.choice(("America/New_York", "Europe/Berlin", "America/Havana", "America/Sao_Paulo"))
        cron = parsed(text, meaning, name) if kept_by_cronsim(text, meaning) else None
        if cron:
            start = datetime.fromtimestamp(quiet_start(random, name, 3), packaged_zone(name))
            theirs = cronsim_times(text, start, 150)
            assert our_times(cron, start, 150) == theirs, (text, name, start)
            compared += len(theirs)
    assert compared >= 15_000


@pytest.mark.parametrize(
    ("text", "start", "ours", "theirs"),
    [
        pytest.param(
            "0,30 0-23 * * *",
            (11, 3),
            "3/01:00 3/01:30 3/01:00 3/01:30 3/02:00",
            "3/01:00 3/01:30 3/02:00 3/02:30 3/03:00",
            id="every hour spelled without a star keeps its pace",
        ),
        pytest.param(
            "0 */2 * * *", (3, 10), "10/03:00 10/04:00", "10/04:00 10/06:00", id="every second hour is fixed"
        ),
        pytest.param(
            "*/30 2 * * *", (3, 10), "10/03:00 11/02:00", "11/02:00 11/02:30", id="any minute of one hour is fixed"
        ),
        pytest.param(
            "*/30 1 * * *", (11, 3), "3/01:00 3/01:30 4/01:00", "3/01:00 3/01:30 3/01:00", id="and comes once"
        ),
        pytest.param(
            "0 30 2 * * *", (3, 10), "10/03:00 11/02:30", "11/02:30 12/02:30", id="six fields keep the same law"
        ),
    ],
)
def test_cronsim_decides_from_the_star(text: str, start: tuple[int, int], ours: str, theirs: str) -> None:
    """S39 decides from the sets of hours and minutes; cronsim from stars and the number of fields."""
    zone = packaged_zone("America/New_York")
    midnight, count = datetime(2024, *start, 0, 30, tzinfo=zone), len(ours.split())
    shown = [
        " ".join(f"{t.day}/{t:%H:%M}" for t in (datetime.fromtimestamp(second, zone) for second in times))
        for times in (
            our_times(parse(text, timezone="America/New_York"), midnight, count),
            cronsim_times(text, midnight, count),
        )
    ]
    assert shown == [ours, theirs]


# --- croniter ------------------------------------------------------------------------------------------------

CRONITER_LACKS = {
    r"[A-Z\d]L": "L5 where we write 5L",
    r"L-|LW": "no days before the last, no last working day",
    r"[A-Za-z]{4}": "names of three letters only",
    r"-\w+#": "no # of a range of weekdays",
    r"&": "no way to ask for both days",
    r",\d+W|W,": "W only alone",
    r"#\d,|,\S+#": "# only alone",
}
CRONITER_DIFFERS = {
    r"\b(\w+)-(?i:\1)\b": "reads a range of one as the whole circle: 5-5 is *",
    r"\b(59|23|31|12|6)/": "and so a last value with a step",
    r"(29|30|31)-L": "reads a range from a day that the month lacks as the whole month",
    r"(29|30|31)W": "moves a day that the month lacks to its end",
    r"W \S+ [^*?]|[^*?] \S+ \S+#": "lets W and # take away from the other day field instead of adding to it",
}


@pytest.mark.parametrize("seed", SEEDS)
def test_croniter_in_utc(seed: int) -> None:
    """Where no clock changes, croniter (told to keep Debian's day rule) names the same next times (S37)."""
    random = Random(seed)
    compared = 0
    for text, meaning in islice(agreed(random, (CRONITER_LACKS, CRONITER_DIFFERS)), 400):
        if cron := parsed(text, meaning):
            start = datetime.fromtimestamp(random.randrange(epoch(2000, 1, 1), epoch(2035, 1, 1)), UTC)
            other = croniter(text, start, implement_cron_bug=True)
            assert our_times(cron, start, 5) == [int(other.get_next()) for _ in range(5)], text
            compared += 5
    assert compared >= 1_900


CRONITER_ADDS = {
    r"runs backwards": "ranges around the end: 22-2",
    r"\b0+ is out of range 1-(31|12)": "0 as the end of a range of days or months",
    r"out of range 1-9999": "steps of any length",
    r"cannot read 'W\d": "W15 for 15W",
    r"cannot read 'L\d": "L5 for 5L",
}
PIECES = "0 1 2 5 7 12 23 31 59 00 07 * ? L W - - / / , # JAN mon SUN fri".split()


def test_croniter_syntax() -> None:
    """What croniter reads we read, but for its additions, which are refused by name (S37, S38)."""
    random = Random(0)
    accepted, met = 0, set()
    for _ in range(60_000):
        fields = ["0", "0", "*", "*", "*"]
        fields[random.randrange(5)] = "".join(random.choices(PIECES, k=random.randint(1, 5)))
        text = " ".join(fields)
        if croniter.is_valid(text):
            accepted += 1
            try:
                parse(text)
            except CronError as error:
                reasons = {pattern for pattern in CRONITER_ADDS if re.search(pattern, str(error))}
                assert reasons, text
                met |= reasons
    assert accepted >= 5_000
    assert met == set(CRONITER_ADDS)
