"""Changing a definition that the API has written: a patch over what is stored, read as a job file is.

A job's schedules NAME, NAME.stop and NAME.restart come from one set of fields (S21) and are changed together. What
another source has written is not ours to change (S50).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..core.definition import JobDefinition, Kind, ScheduleDefinition
from ..core.errors import ConflictError, InputError
from ..sources.defaults import Defaults
from ..sources.spec import read_spec
from ..stores.contract import Store
from ..stores.records import JobRow, ScheduleFilter
from ..stores.validation import all_pages
from .definition_fields import fields_of, merged
from .explain import schedule_row

API_SOURCE = "api"
_PAGE = 1_000
_OF_SCHEDULES = frozenset(
    "name schedule timezone catchup catchup_window max_catchup overlap max_active_runs grace skip_if_successful "
    "jitter until max_runs after wait_for expires auto_remove ticking".split()
)


class DefinitionEdit(NamedTuple):
    """A change as it will be written: the fields before and after, and the whole job."""

    before: dict[str, Any]
    after: dict[str, Any]
    job: JobDefinition
    was: JobDefinition
    over: int  # the version that it changes

    @property
    def changes(self) -> bool:
        return self.job != self.was


class NewDefinition(NamedTuple):
    """A definition that is not written yet, the name of its first new schedule, and the version it changes."""

    job: JobDefinition
    schedule: str
    over: int


async def whole_job(store: Store, name: str) -> JobDefinition:
    """A job with its schedules, as it is defined now."""
    return (await _versioned(store, name))[0]


async def _versioned(store: Store, name: str) -> tuple[JobDefinition, int]:
    """The same with its version; if it is changed while it is read, that is the one before."""
    row = await _job_row(store, name)
    rows = await all_pages(lambda after: store.insights.schedules(ScheduleFilter(job=name), after, _PAGE))
    return replace(row.definition, schedules=tuple(one.schedule.definition for one in rows)), row.version


async def read_new(store: Store, fields: Mapping[str, Any], defaults: Defaults) -> NewDefinition:
    """What a new schedule defines: a job of its own or, with `job`, one more schedule of a job of ours."""
    name, given = str(fields.get("name") or ""), {key: fields[key] for key in fields if key != "job"}
    if fields.get("job") is not None and (extra := [key for key in given if key not in _OF_SCHEDULES]):
        raise InputError(f"{_place(name)}: {extra[0]}: it is the affair of the job {fields['job']}: leave it out")
    new = read_spec(given, _place(name), defaults)
    if not new.schedules:
        raise InputError(f"{_place(name)}: schedule: is missing: say when {name} is to run")
    first = new.schedules[0].name
    if await store.insights.schedule(first) is not None:
        raise ConflictError(f"there is a schedule {first} already: update it instead")
    job = fields.get("job")
    if job is None:
        return NewDefinition(new, first, 0)
    await check_ours(store, str(job))
    known, version = await _versioned(store, str(job))
    return NewDefinition(replace(known, schedules=_of(known.name, known.schedules, new.schedules)), first, version)


async def edit_definition(
    store: Store, schedule: str, patch: Mapping[str, Any], defaults: Defaults
) -> DefinitionEdit:
    """The definition with a patch over it; nothing is written."""
    row = await schedule_row(store, schedule)
    await check_ours(store, row.schedule.job)
    was, version = await _versioned(store, row.schedule.job)
    base = _base(row.schedule.definition)
    before = fields_with(was, base)
    if "name" in patch:
        raise InputError(f"{_place(schedule)}: name: it cannot be changed: add another and delete this one")
    after = merged(_mergeable(before, patch), patch)
    new = read_spec({"name": base, **after}, _place(schedule), defaults)
    if not new.schedules:
        raise InputError(f"{_place(schedule)}: schedule: is missing: delete it if it is not wanted any longer")
    others = tuple(one for one in was.schedules if _base(one) != base)
    job = replace(new, name=was.name, schedules=_of(was.name, others, new.schedules))
    return DefinitionEdit(before, after, job, was, version)


def _mergeable(stored: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Times are merged by kind (S21); of an entry such as {every, offset} the whole is replaced."""
    both = (stored.get("schedule"), patch.get("schedule"))
    if all(isinstance(times, Mapping) and set(times) <= set(Kind) for times in both):
        return stored
    return {name: value for name, value in stored.items() if name != "schedule" or name not in patch}


def fields_with(job: JobDefinition, schedule: str) -> dict[str, Any]:
    """The fields that a schedule and its kin come from."""
    named = next((one for one in job.schedules if one.name == schedule), None)
    base = schedule if named is None else _base(named)
    return fields_of(job, [one for one in job.schedules if _base(one) == base])


async def without(store: Store, schedule: str) -> JobDefinition | None:
    """The job without a schedule and its kin; none if that was all it had."""
    row = await schedule_row(store, schedule)
    await check_ours(store, row.schedule.job)
    known, base = await whole_job(store, row.schedule.job), _base(row.schedule.definition)
    left = tuple(one for one in known.schedules if _base(one) != base)
    return replace(known, schedules=left) if left else None


async def check_ours(store: Store, job: str) -> None:
    """Refuse what another source has written (S50)."""
    row = await _job_row(store, job)
    if row.unreadable:
        raise ConflictError(f"{job} cannot be changed: {row.unreadable}")
    if row.source != API_SOURCE:
        raise ConflictError(f"{job} was defined by {row.source}, which alone may change it: change it there")


async def _job_row(store: Store, name: str) -> JobRow:
    row = await store.insights.job(name)
    if row is None:
        raise InputError(f"there is no job {name!r}: it was deleted, or never there")
    return row


def _of(job: str, *parts: tuple[ScheduleDefinition, ...]) -> tuple[ScheduleDefinition, ...]:
    """The schedules of one job of ours, as the store lists them."""
    ours = (replace(one, job=job, source=API_SOURCE) for part in parts for one in part)
    return tuple(sorted(ours, key=lambda one: one.name))


def _base(schedule: ScheduleDefinition) -> str:
    return schedule.name if schedule.kind is Kind.START else schedule.name.removesuffix(f".{schedule.kind}")


def _place(name: str) -> str:
    return f"schedule {name[:100]}"
