"""Celery's `beat_schedule` as job definitions: what each entry means in the words of a job file.

Celery's crontab asks that day of month and day of week both match, so both are written with `&`. Its sets are
taken as Celery has expanded them: whatever a field says in Celery's grammar, the same minutes are meant here.
Intervals are aligned to the epoch (S37), because several beats must agree on the slots. What cannot be said in
Tickwise's times is refused, and then no entry is written at all: an entry that silently never fires is worse than
an error.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, timedelta
from hashlib import blake2b
from typing import Any

from celery import Celery
from celery.beat import ScheduleEntry
from celery.schedules import crontab, schedule, solar

from ..clock import now
from ..core.cron import parse
from ..core.definition import NAME
from ..core.errors import InputError
from ..core.timeparse import format_duration

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_SLUG = 80
_FIELDS = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day_of_month", 1, 31),
    ("month_of_year", 1, 12),
    ("day_of_week", 0, 6),
)
_MAX_CLOCK_ERROR = timedelta(minutes=1)  # of a `nowfun` that tells the time in another zone


def read_entries(
    app: Celery, entries: Iterable[ScheduleEntry]
) -> dict[str, tuple[ScheduleEntry, Mapping[str, Any]]]:
    """The entries with their times, by the names of their jobs; InputError names all that cannot be read."""
    found: dict[str, tuple[ScheduleEntry, Mapping[str, Any]]] = {}
    problems = []
    for entry in entries:
        try:
            found[job_name(str(entry.name))] = entry, read_times(entry.schedule, app)
        except InputError as error:
            problems.append(f"{entry.name}: {error}")
    if problems:
        raise InputError("\n  ".join(("beat_schedule: nothing was changed, because of", *problems)))
    return found


def job_name(entry: str) -> str:
    """The name of an entry, if a job can have it; else what is left of it, with a digest."""
    if NAME.fullmatch(entry):
        return entry
    slug = _UNSAFE.sub("-", entry).strip("-._")[:_MAX_SLUG]
    return f"{slug or 'entry'}-{blake2b(entry.encode(), digest_size=4).hexdigest()}"


def read_times(times: Any, app: Celery) -> Mapping[str, Any]:
    """The `schedule` of a job file that names the same times."""
    read = _READERS.get(type(times))
    if read is None:
        kind = f"{type(times).__module__}.{type(times).__qualname__}"
        raise InputError(
            f"a schedule of the class {kind} says itself when it is due; write a crontab or an interval"
        )
    return read(times, app)


def _read_interval(times: schedule, _app: Celery) -> Mapping[str, Any]:
    seconds = times.run_every.total_seconds()
    if seconds < 1 or seconds != int(seconds):
        raise InputError(f"every {seconds:g} s: write an interval of whole seconds")
    return {"every": format_duration(int(seconds))}


def _read_crontab(times: crontab, app: Celery) -> Mapping[str, Any]:
    minute, hour, month_day, month, weekday = (
        _write_field(getattr(times, name), low, high) for name, low, high in _FIELDS
    )
    both = "" if "*" in (month_day, weekday) else "&"
    text, zone = f"{minute} {hour} {month_day} {month} {weekday}{both}", _zone_of(times, app)
    parse(text, zone)
    return {"cron": text, "timezone": zone}


def _refuse_solar(_times: solar, _app: Celery) -> Mapping[str, Any]:
    raise InputError("solar: Tickwise's times are those of a clock; write a crontab that is near enough")


_READERS: dict[type, Callable[[Any, Celery], Mapping[str, Any]]] = {
    crontab: _read_crontab,
    schedule: _read_interval,
    solar: _refuse_solar,
}


def _write_field(values: Collection[int], low: int, high: int) -> str:
    """A set as a cron field: ranges of three and more are written as such."""
    if len(values) == high - low + 1:
        return "*"
    spans: list[list[int]] = []
    for value in sorted(values):
        if spans and spans[-1][-1] == value - 1:
            spans[-1].append(value)
        else:
            spans.append([value])
    return ",".join(f"{span[0]}-{span[-1]}" if len(span) > 2 else ",".join(map(str, span)) for span in spans)


def _zone_of(times: crontab, app: Celery) -> str:
    """The zone of an entry: a `nowfun` may tell the time in one of its own, else it is the app's."""
    where = app.timezone
    if times.nowfun is not None:
        told = times.nowfun()
        if told.tzinfo is None or abs(told - now()) > _MAX_CLOCK_ERROR:
            raise InputError("its nowfun does not tell the time; set app.conf.timezone instead")
        where = told.tzinfo
    name = "UTC" if where is UTC else getattr(where, "key", None)
    if name is None:
        raise InputError(
            f"its time zone, {where}, has no name; set app.conf.timezone to one such as Europe/Berlin"
        )
    return str(name)
