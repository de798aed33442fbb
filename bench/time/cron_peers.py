"""The peers of the cron engine, each called as its own documentation shows.

A walker takes a cron text and a start, off the clock, and returns the function that is timed: given a number of
steps, it returns that many consecutive times as aware datetimes.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from importlib import import_module
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from tickwise.core.cron import parse

from ..measure import Prepare

StepFunction: TypeAlias = Callable[[int], list[datetime]]
Walker: TypeAlias = Callable[[str, datetime], StepFunction]


def tickwise_walker(text: str, start: datetime) -> StepFunction:
    times = parse(text, str(start.tzinfo)).iterate(start)
    return lambda steps: [next(times) for _ in range(steps)]


def installed_walkers(progress: Callable[[str], None]) -> dict[str, Walker]:
    """The peers that can be imported, by name; a note names each of the others."""
    walkers = {}
    for name, load in _PEERS.items():
        try:
            walkers[name] = load()
        except ImportError as error:
            progress(f"note: {name} is left out, it is not installed ({error})")
    return walkers


def croniter_at_once(schedules: Iterable[tuple[str, str]], now: datetime) -> Prepare:
    """One step of many croniters, which are created once and reset to `now` before each turn."""
    iterator = import_module("croniter").croniter
    many = [iterator(text, now.astimezone(ZoneInfo(zone))) for text, zone in schedules]

    def step() -> list[float]:
        return [times.get_next(float) for times in many]

    def reset() -> Callable[[], list[float]]:
        for times in many:
            times.set_current(now.timestamp(), force=True)
        return step

    return reset


def _cronsim() -> Walker:
    iterator = import_module("cronsim").CronSim

    def walker(text: str, start: datetime) -> StepFunction:
        times = iterator(text, start)
        return lambda steps: [next(times) for _ in range(steps)]

    return walker


def _croniter() -> Walker:
    iterator = import_module("croniter").croniter

    def walker(text: str, start: datetime) -> StepFunction:
        times = iterator(text, start)
        return lambda steps: [times.get_next(datetime) for _ in range(steps)]

    return walker


def _apscheduler() -> Walker:
    trigger = import_module("apscheduler.triggers.cron").CronTrigger

    def walker(text: str, start: datetime) -> StepFunction:
        ask = trigger.from_crontab(text.replace("L", "last"), timezone=start.tzinfo).get_next_fire_time
        return _walk_with(lambda at: ask(at, at), start)

    return walker


_PEERS: dict[str, Callable[[], Walker]] = {"cronsim": _cronsim, "croniter": _croniter, "APScheduler": _apscheduler}


def _walk_with(after: Callable[[datetime], Any], start: datetime) -> StepFunction:
    def walk(steps: int) -> list[datetime]:
        at = start
        return [at := after(at) for _ in range(steps)]

    return walk
