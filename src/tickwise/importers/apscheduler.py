"""The jobs of an APScheduler 3 scheduler, of its job stores or of code. Its triggers say when they fire."""

import json
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from apscheduler.job import Job
from apscheduler.schedulers.base import BaseScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from ..core.errors import InputError
from ..core.timeparse import format_duration
from .apscheduler_fields import cron_text
from .model import Imported, ImportedJob, JobNames, ReadOptions, Refused, RulesUnavailableError, refuse

ORIGIN = BaseScheduler
_MAX_DELAY = 100 * 366 * 86_400


def read(scheduler: BaseScheduler, options: ReadOptions) -> Imported:
    """A job for each of its jobs; the scheduler is not started."""
    del options  # triggers have a zone
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    names = JobNames()
    for job in scheduler.get_jobs():
        try:
            jobs.append(_job_of_scheduled(scheduler, job, names))
        except Exception as error:  # noqa: BLE001  (a store may hold any object)
            refused.append(refuse("scheduler", job.name, error))
    return Imported(scheduler="APScheduler", jobs=jobs, refused=refused)


def _job_of_scheduled(scheduler: BaseScheduler, job: Job, names: JobNames) -> ImportedJob:
    notes: list[str] = []
    fields = {
        **_read_trigger(job.trigger, notes),
        **dict(_read_policy(scheduler, job)),
        **_read_action(job, notes),
    }
    rules = TriggerRules(job.trigger)
    name = names.take(str(job.id) if len(str(job.id)) < 32 else str(job.name))  # a long id was made by uuid
    return ImportedJob(
        name=name, fields=fields, place="scheduler", when=str(job.trigger), notes=notes, rules=rules
    )


def _read_policy(scheduler: BaseScheduler, job: Job) -> Iterator[tuple[str, Any]]:
    """Coalescing, misfire grace and instances, of a job or as the scheduler has them for all."""
    defaults = getattr(scheduler, "_job_defaults", {})

    def of(name: str, otherwise: Any) -> Any:
        return getattr(job, name, defaults.get(name, otherwise))

    grace = of("misfire_grace_time", 1)
    yield "catchup", "once" if of("coalesce", True) else "all"
    if isinstance(grace, int) and grace > 0:
        yield "grace", format_duration(max(1, grace))
    instances = of("max_instances", 1)
    yield "overlap", "skip" if instances == 1 and of("coalesce", True) else "allow"
    if instances > 1:
        yield "max_active_runs", min(instances, 1_000)


def _read_trigger(trigger: Any, notes: list[str]) -> dict[str, Any]:
    if isinstance(trigger, CronTrigger):
        fields: dict[str, Any] = {"schedule": _cron_text(trigger), "timezone": _zone_name(trigger.timezone)}
    elif isinstance(trigger, IntervalTrigger):
        seconds = int(trigger.interval.total_seconds())
        if seconds < 1 or trigger.interval.microseconds:
            raise InputError(f"every {trigger.interval}: write an interval of whole seconds")
        offset = int(trigger.start_date.timestamp()) % seconds
        fields = {"schedule": {"every": format_duration(seconds)}}
        if offset:
            fields["schedule"]["offset"] = format_duration(offset)
    elif isinstance(trigger, DateTrigger):
        return {"schedule": {"at": trigger.run_date.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}}
    else:
        raise InputError(f"a trigger of the class {type(trigger).__name__} has no text here: write its times")
    if trigger.end_date:
        fields["until"] = trigger.end_date.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(trigger, CronTrigger) and trigger.start_date:
        fields["from"] = trigger.start_date.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if trigger.jitter:
        fields["jitter"] = format_duration(min(int(trigger.jitter), _MAX_DELAY))
        notes.append("jitter: APScheduler draws anew each time, also backwards; here a slot is only delayed")
    return fields


def _cron_text(trigger: CronTrigger) -> str:
    return cron_text({field.name: ",".join(map(str, field.expressions)) for field in trigger.fields})


def _zone_name(where: Any) -> str:
    name = getattr(where, "key", None) or getattr(where, "zone", None) or ("UTC" if where is UTC else None)
    if name is None:
        raise InputError(f"its time zone, {where}, has no name: give the trigger one such as Europe/Berlin")
    return str(name)


def _read_action(job: Job, notes: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if job.func_ref and "." not in job.func_ref.partition(":")[2]:
        fields["python"] = job.func_ref
    else:
        notes.append("its function has no name that can be imported: write what the job does")
    if job.args:
        notes.append(f"the positional arguments {job.args!r:.60}: write them in `params` by name")
    try:
        if kwargs := json.loads(json.dumps(job.kwargs, allow_nan=False)):
            fields["params"] = kwargs
    except (TypeError, ValueError):
        notes.append("its kwargs are no JSON: write `params`")
    return fields


def trigger_rules(fields: Mapping[str, str], where: str) -> "TriggerRules":
    """The fires of a cron trigger with these fields."""
    return TriggerRules(CronTrigger(**fields, timezone=where))


@dataclass(frozen=True, slots=True)
class TriggerRules:
    """What the trigger itself says, fire after fire."""

    max_fires: ClassVar[int] = 40_000
    trigger: Any

    def fires(self, start: int, end: int) -> Iterator[int]:
        try:
            yield from self._fires(start, end)
        except Exception as error:  # noqa: BLE001  (a trigger may have been changed in any way)
            raise RulesUnavailableError(f"APScheduler's trigger fails: {type(error).__name__}") from None

    def _fires(self, start: int, end: int) -> Iterator[int]:
        asked = copy(self.trigger)
        if getattr(asked, "jitter", None):
            asked.jitter = None
        previous, now = None, datetime.fromtimestamp(start, UTC)
        while (at := asked.get_next_fire_time(previous, now)) is not None:
            second = int(at.timestamp())
            if second >= end:
                return
            if second >= start:
                yield second
            previous = now = at
