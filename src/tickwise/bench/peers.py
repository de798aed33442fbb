"""How each peer is asked for next times, each in the way its own documentation shows.

A walker takes a cron text and a start, off the clock, and gives what is timed: a function of the number of steps
that returns that many times in a row, as aware datetimes.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from importlib import import_module
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from ..core.cron import parse
from .measure import Contender

Walk: TypeAlias = Callable[[int], list[datetime]]
Walker: TypeAlias = Callable[[str, datetime], Walk]


def ours(text: str, start: datetime) -> Walk:
    return _in_steps(parse(text, str(start.tzinfo)).next, start)


def installed(progress: Callable[[str], None]) -> dict[str, Walker]:
    """The peers that can be imported, by name; of the others the run's notes tell."""
    found = {}
    for name, load in _PEERS.items():
        try:
            found[name] = load()
        except ImportError as error:
            progress(f"note: {name} is left out, it is not installed ({error})")
    return found


def croniter_at_once(schedules: Iterable[tuple[str, str]], now: datetime) -> Contender:
    """One step of many croniters: made here, once, and set back to `now` before each turn."""
    iterator = import_module("croniter").croniter
    many = [iterator(text, now.astimezone(ZoneInfo(zone))) for text, zone in schedules]

    def step() -> list[float]:
        return [times.get_next(float) for times in many]

    def set_back() -> Callable[[], list[float]]:
        for times in many:
            times.set_current(now.timestamp(), force=True)
        return step

    return set_back


def _cronsim() -> Walker:
    iterator = import_module("cronsim").CronSim

    def walker(text: str, start: datetime) -> Walk:
        times = iterator(text, start)
        return lambda steps: [next(times) for _ in range(steps)]

    return walker


def _croniter() -> Walker:
    iterator = import_module("croniter").croniter

    def walker(text: str, start: datetime) -> Walk:
        times = iterator(text, start)
        return lambda steps: [times.get_next(datetime) for _ in range(steps)]

    return walker


def _apscheduler() -> Walker:
    trigger = import_module("apscheduler.triggers.cron").CronTrigger

    def walker(text: str, start: datetime) -> Walk:
        ask = trigger.from_crontab(text.replace("L", "last"), timezone=start.tzinfo).get_next_fire_time
        return _in_steps(lambda at: ask(at, at), start)

    return walker


_PEERS: dict[str, Callable[[], Walker]] = {"cronsim": _cronsim, "croniter": _croniter, "APScheduler": _apscheduler}


def _in_steps(after: Callable[[datetime], Any], start: datetime) -> Walk:
    def walk(steps: int) -> list[datetime]:
        at = start
        return [at := after(at) for _ in range(steps)]

    return walk
