"""The `beat_schedule` of a Celery app. Celery's own crontab says when it fires."""

import json
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from celery import Celery
from celery.beat import ScheduleEntry
from celery.schedules import crontab

from ..core.errors import InputError
from .beat_schedule import job_name, read_times
from .model import (
    Imported,
    ImportedJob,
    JobNames,
    OriginRules,
    ReadOptions,
    Refused,
    RulesUnavailableError,
    UnknownTimes,
    refuse,
)

ORIGIN = Celery
_NOTES = (
    "each job publishes its task with the program celery; docs/celery.md replaces beat and keeps beat_schedule",
    "as in beat, runs may overlap and slots of a downtime make one run",
)
_CARRIED = frozenset({"queue", "expires", "countdown", "exchange", "routing_key"})


def read(app: Celery, options: ReadOptions) -> Imported:
    """A job for each entry."""
    del options  # the app has a zone
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    names = JobNames()
    main = app.main or "proj"
    for name, entry in _entries(app).items():
        try:
            jobs.append(_job_of_beat(app, str(name), dict(entry), main, names))
        except Exception as error:  # noqa: BLE001  (a module may put any object there)
            refused.append(refuse(main, name, error))
    return Imported(scheduler="Celery beat", jobs=jobs, refused=refused, notes=_NOTES if jobs else ())


def _entries(app: Celery) -> Mapping[Any, Any]:
    entries = app.conf.beat_schedule
    if not isinstance(entries, Mapping):
        raise InputError(f"beat_schedule of {app.main or 'the app'} is a {type(entries).__name__} and no dict")
    return entries


def _job_of_beat(app: Celery, name: str, entry: Mapping[str, Any], main: str, names: JobNames) -> ImportedJob:
    read_entry = ScheduleEntry(name=name, app=app, **entry)
    times = read_times(read_entry.schedule, app)
    notes: list[str] = []
    command = ["celery", "-A", main, "call", str(entry["task"])]
    for option, value in (
        ("--args", list(entry.get("args") or ())),
        ("--kwargs", dict(entry.get("kwargs") or {})),
    ):
        if value:
            command += [option, _as_json(value)]
    sent = entry.get("options") or {}
    for key in sorted(sent.keys() & _CARRIED):
        command += [f"--{key.replace('_', '-')}", str(sent[key])]
    if left := sorted(sent.keys() - _CARRIED):
        notes.append(f"the options {', '.join(left)} of the task")
    rules: OriginRules = UnknownTimes("its interval counts from the start of beat")
    if isinstance(read_entry.schedule, crontab):
        rules = CeleryRules(read_entry.schedule)
    else:
        notes.append("an interval counts from 1970, so that all nodes agree, and not from the start of beat")
    fields = {"schedule": dict(times), "catchup": "once", "overlap": "allow", "command": command}
    when = str(read_entry.schedule).strip("<>")
    return ImportedJob(
        name=names.take(job_name(name)), fields=fields, place=main, when=when, notes=notes, rules=rules
    )


def _as_json(value: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        raise InputError("its args or kwargs are no JSON, which a command line could hold") from None


@dataclass(frozen=True, slots=True)
class CeleryRules:
    """What Celery's crontab estimates, fire after fire."""

    max_fires: ClassVar[int] = 40_000
    schedule: crontab

    def fires(self, start: int, end: int) -> Iterator[int]:
        asked = copy(self.schedule)
        at = datetime.fromtimestamp(start - 1, UTC)
        while True:
            asked.nowfun = lambda now=at: now.astimezone(asked.tz)
            try:
                left = asked.remaining_estimate(at)
            except Exception as error:  # noqa: BLE001  (a crontab may have been changed in any way)
                raise RulesUnavailableError(f"Celery's crontab fails: {type(error).__name__}") from None
            if left <= timedelta(0):
                raise RulesUnavailableError("Celery does not say when it fires next")
            at += left
            second = int(at.timestamp())
            if second >= end:
                return
            yield second
