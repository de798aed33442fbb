"""The tables of django-celery-beat, as rows: periodic tasks with their crontabs, intervals and clocked times.

Celery's own crontab expands the fields and says when it fires, each in the zone of its row.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from celery import Celery
from celery.schedules import crontab

from ..core.errors import InputError
from ..core.timeparse import floor_second, iso
from .beat_schedule import job_name, read_times
from .celery_beat import CeleryRules
from .model import (
    BoundedRules,
    Imported,
    ImportedJob,
    JobNames,
    OriginRules,
    ReadOptions,
    Refused,
    UnknownTimes,
    refuse,
    short_text,
)

_NOTES = (
    "each job publishes its task with the program celery",
    "as in beat, runs may overlap and slots of a downtime make one run",
)
_PERIODS = {"days": "d", "hours": "h", "minutes": "m", "seconds": "s"}
_CARRIED = ("queue", "exchange", "routing_key")


@dataclass(frozen=True, slots=True)
class BeatTables:
    """The periodic tasks of one database, each joined with its times."""

    name: str  # as places show it
    tasks: Sequence[Mapping[str, Any]]
    app: str = ""  # for `celery -A`; empty if it is not known


ORIGIN = BeatTables


def read(tables: BeatTables, options: ReadOptions) -> Imported:
    """A job for each periodic task."""
    del options  # each row has a zone
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    names = JobNames()
    for task in tables.tasks:
        place = f"{tables.name}: {short_text(task['name'])}"
        try:
            jobs.append(_job_of_task(tables, task, place, names))
        except Exception as error:  # noqa: BLE001  (a database may hold any value)
            refused.append(refuse(place, task["task"], error))
    app = (
        () if tables.app else ("write your Celery app in place of APP, or name the settings of Django as SOURCE",)
    )
    return Imported(scheduler="Celery beat", jobs=jobs, refused=refused, notes=(*_NOTES, *app) if jobs else ())


def _job_of_task(tables: BeatTables, task: Mapping[str, Any], place: str, names: JobNames) -> ImportedJob:
    times, rules, when = _read_times_of(task)
    if task["clocked_time"] is None:
        first, expires = (_bound_second(task[name]) for name in ("start_time", "expires"))
        rules = BoundedRules(rules, first, None if expires is None else expires - 1)
    fields: dict[str, Any] = {"schedule": times, "catchup": "once", "overlap": "allow"}
    fields |= dict(_bounds(task))
    if task["description"]:
        fields["description"] = str(task["description"])
    command = ["celery", "-A", tables.app or "APP", "call", str(task["task"]), *_arguments(task)]
    return ImportedJob(
        name=names.take(job_name(str(task["name"]))), fields={**fields, "command": command}, place=place,
        when=when, notes=tuple(_notes_of(task)), rules=rules,
    )  # fmt: skip


def _read_times_of(task: Mapping[str, Any]) -> tuple[Any, OriginRules, str]:
    """The `schedule` of a job file, what Celery says of it, and the times as people know them."""
    kinds = [kind for kind in ("minute", "every", "clocked_time", "event") if task[kind] is not None]
    if len(kinds) != 1:
        raise InputError("it has no times" if not kinds else "it has several kinds of times")
    return _READERS[kinds[0]](task)


def _read_crontab(task: Mapping[str, Any]) -> tuple[Any, OriginRules, str]:
    app = Celery(set_as_current=False)
    app.conf.timezone = str(task["timezone"])
    fields = {name: str(task[name]) for name in ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")}
    times = crontab(**fields, app=app)
    return dict(read_times(times, app)), CeleryRules(times), f"{' '.join(fields.values())} ({app.conf.timezone})"


def _read_interval(task: Mapping[str, Any]) -> tuple[Any, OriginRules, str]:
    unit = _PERIODS.get(str(task["period"]))
    if unit is None:
        raise InputError(f"every {task['every']} {task['period']}: write an interval of whole seconds")
    rules = UnknownTimes("its interval counts from its last run")
    return {"every": f"{task['every']}{unit}"}, rules, f"every {task['every']} {task['period']}"


def _read_clocked(task: Mapping[str, Any]) -> tuple[Any, OriginRules, str]:
    at = iso(_utc_second(task["clocked_time"]))
    return {"at": at}, _OnceRules(_utc_second(task["clocked_time"])), f"once at {at}"


def _refuse_solar(task: Mapping[str, Any]) -> tuple[Any, OriginRules, str]:
    raise InputError(
        f"{task['event']}: Tickwise's times are those of a clock; write a crontab that is near enough"
    )


_READERS: Mapping[str, Callable[[Mapping[str, Any]], tuple[Any, OriginRules, str]]] = {
    "minute": _read_crontab,
    "every": _read_interval,
    "clocked_time": _read_clocked,
    "event": _refuse_solar,
}


@dataclass(frozen=True, slots=True)
class _OnceRules:
    """One instant."""

    second: int
    max_fires: int = 1

    def fires(self, start: int, end: int) -> Iterator[int]:
        yield from [self.second] if start <= self.second < end else []


def _bounds(task: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """From when, until when and how often it fires, and whether it does at all."""
    is_once = bool(task["one_off"]) and task["clocked_time"] is None
    if task["start_time"] is not None and task["clocked_time"] is None:
        yield "from", iso(_utc_second(task["start_time"]))
    if task["expires"] is not None:
        yield "until", iso(_utc_second(task["expires"]) - 1)
    if is_once:
        yield "max_runs", 1
    if not task["enabled"]:
        yield "enabled", False


def _arguments(task: Mapping[str, Any]) -> Iterator[str]:
    for option, empty in (("args", []), ("kwargs", {})):
        value = json.loads(task[option] or json.dumps(empty))
        if value:
            yield from (f"--{option}", json.dumps(value))
    for name in _CARRIED:
        if task[name]:
            yield from (f"--{name.replace('_', '-')}", str(task[name]))
    if task["expire_seconds"] is not None:
        yield from ("--expires", str(task["expire_seconds"]))


def _notes_of(task: Mapping[str, Any]) -> Iterator[str]:
    if task["priority"] is not None:
        yield f"the priority {task['priority']} of the message: the program celery cannot give it"
    if json.loads(task["headers"] or "{}"):
        yield "the headers of the message"
    if task["every"] is not None:
        yield "an interval counts from 1970, so that all nodes agree, and not from its last run"
    if task["last_run_at"] is not None:
        last = iso(_utc_second(task["last_run_at"]))
        yield f"beat ran it last at {last}: a new schedule begins with its next time"


def _bound_second(value: Any) -> int | None:
    return None if value is None else _utc_second(value)


def _utc_second(value: Any) -> int:
    """An instant as a database gives it; one without an offset is in UTC, as Django writes it."""
    found = datetime.fromisoformat(value) if isinstance(value, str) else value
    return floor_second(found if found.tzinfo else found.replace(tzinfo=UTC))
