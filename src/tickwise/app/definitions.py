"""Editing a definition that the API has written: a patch over what is stored, read as a job file is.

An edit reads the job once. The version it read is the one it is written over, and the store refuses it if there is
another by then: that is the only guard against concurrent edits.

A job's schedules NAME, NAME.stop and NAME.restart come from one set of fields (S21) and are changed together. What
another source has written is not changed here (S50).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..core.definition import JobDefinition, Kind, ScheduleDefinition
from ..core.errors import ConflictError, InputError
from ..sources.defaults import Defaults
from ..sources.spec import read_spec
from ..stores.contract import Store
from ..stores.records import JobRow, ScheduleFilter, ScheduleRow
from ..stores.validation import all_pages
from .definition_fields import fields_of, merged

API_SOURCE = "api"
_PAGE = 1_000
_SCHEDULE_FIELDS = frozenset(
    "name schedule timezone catchup catchup_window max_catchup overlap max_active_runs grace skip_if_successful "
    "jitter until max_runs after wait_for expires auto_remove ticking".split()
)


class StoredJob(NamedTuple):
    """A job with its schedules, as one read found it."""

    row: JobRow
    definition: JobDefinition  # with its schedules
    schedules: tuple[ScheduleRow, ...]

    @property
    def version(self) -> int:
        return self.row.version

    def schedule(self, name: str) -> ScheduleRow | None:
        return next((row for row in self.schedules if row.schedule.name == name), None)

    def fields(self, schedule: str) -> dict[str, Any]:
        """The fields of a job file that a schedule comes from."""
        return fields_with(self.definition, schedule)


class DefinitionEdit(NamedTuple):
    """An edit that was made: the fields before and after, and the whole job as it was written."""

    before: dict[str, Any]
    after: dict[str, Any]
    job: JobDefinition
    changed: bool


class NewSchedule(NamedTuple):
    """A definition that is not written yet, the name of its first new schedule, and the version it changes."""

    job: JobDefinition
    schedule: str
    version: int


async def stored_job(store: Store, name: str) -> StoredJob:
    """Read a job and then its schedules: if it is changed in between, its version is the one before."""
    row = await store.insights.job(name)
    if row is None:
        raise InputError(f"there is no job {name!r}: it was deleted, or never there")
    rows = await all_pages(lambda after: store.insights.schedules(ScheduleFilter(job=name), after, _PAGE))
    readable = tuple(one.schedule.definition for one in rows if not one.unreadable)
    definition = replace(row.definition, schedules=readable)
    return StoredJob(row, definition, tuple(rows))


async def read_new(store: Store, fields: Mapping[str, Any], defaults: Defaults) -> NewSchedule:
    """What a new schedule defines: a job of its own or, with `job`, one more schedule of a job of the API."""
    name, given = str(fields.get("name") or ""), {key: fields[key] for key in fields if key != "job"}
    owner = fields.get("job")
    if owner is not None and (extra := [key for key in given if key not in _SCHEDULE_FIELDS]):
        raise InputError(f"{extra[0]}: it is the affair of the job {owner}: leave it out", field=extra[0])
    new = read_spec(given, "", defaults)
    if not new.schedules:
        raise InputError(f"schedule: is missing: say when {name} is to run", field="schedule")
    first = new.schedules[0].name
    if await store.insights.schedule(first) is not None:
        raise ConflictError(f"there is a schedule {first} already: update it instead")
    if owner is None:
        return NewSchedule(new, first, 0)
    stored = await stored_job(store, str(owner))
    _check_source(stored.row)
    _check_readable(stored)
    known = stored.definition
    return NewSchedule(
        replace(known, schedules=_sorted_schedules(known.name, known.schedules, new.schedules)),
        first,
        stored.version,
    )


async def edit_schedule(
    store: Store, stored: StoredJob, schedule: str, patch: Mapping[str, Any], defaults: Defaults
) -> DefinitionEdit:
    """Write a patch over the fields of a schedule; one that changes nothing is not written (S28)."""
    edit = _edited(stored, schedule, patch, defaults)
    if edit.changed:
        await store.define(edit.job, API_SOURCE, over=stored.version)
    return edit


async def remove_schedule(store: Store, stored: StoredJob, schedule: str) -> None:
    """Delete a schedule with those of the same fields, and the job if it has no other.

    A schedule that cannot be read goes with all others of its job that cannot, and a job that cannot be read goes
    with all its schedules: what is left could not be written without them.
    """
    _check_source(stored.row)
    known, row = stored.definition, stored.schedule(schedule)
    base = _base_of(known, schedule)
    left = () if stored.row.unreadable else tuple(one for one in known.schedules if _base(one) != base)
    if not stored.row.unreadable and not (row and row.unreadable):
        _check_readable(stored, schedule)
    if left:
        await store.define(replace(known, schedules=left), API_SOURCE, over=stored.version)
    else:
        await store.remove(known.name, API_SOURCE, over=stored.version)


def fields_with(job: JobDefinition, schedule: str) -> dict[str, Any]:
    """The fields of a job file that a schedule comes from."""
    base = _base_of(job, schedule)
    return fields_of(job, [one for one in job.schedules if _base(one) == base])


def _edited(stored: StoredJob, schedule: str, patch: Mapping[str, Any], defaults: Defaults) -> DefinitionEdit:
    _check_source(stored.row)
    _check_readable(stored, schedule)
    was = stored.definition
    if "name" in patch:
        raise InputError("name: it cannot be changed: add another and delete this one", field="name")
    base, before = _base_of(was, schedule), stored.fields(schedule)
    after = merged(_mergeable(before, patch), patch)
    new = read_spec({"name": base, **after}, "", defaults)
    if not new.schedules:
        raise InputError("schedule: is missing: delete it if it is not wanted any longer", field="schedule")
    others = tuple(one for one in was.schedules if _base(one) != base)
    job = replace(new, name=was.name, schedules=_sorted_schedules(was.name, others, new.schedules))
    return DefinitionEdit(before, after, job, job != was)


def _mergeable(stored: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Times are merged by kind (S21); of an entry such as {every, offset} the whole is replaced."""
    both = (stored.get("schedule"), patch.get("schedule"))
    if all(isinstance(times, Mapping) and set(times) <= set(Kind) for times in both):
        return stored
    return {name: value for name, value in stored.items() if name != "schedule" or name not in patch}


def _check_source(row: JobRow) -> None:
    """Refuse what another source has written (S50)."""
    job = row.definition.name
    if row.source != API_SOURCE:
        raise ConflictError(f"{job} was defined by {row.source}, which alone may change it: change it there")


def _check_readable(stored: StoredJob, schedule: str = "") -> None:
    """Refuse to write a job of which something else than the edited schedule cannot be read: it would be lost."""
    job = stored.definition.name
    if stored.row.unreadable:
        raise ConflictError(
            f"{job} cannot be changed: {stored.row.unreadable}. Delete its schedules, and define it again"
        )
    for row in stored.schedules:
        if row.unreadable and row.schedule.name != schedule:
            raise ConflictError(
                f"{row.schedule.name} of the same job cannot be read: change its schedule or delete it first. "
                f"{row.unreadable}"
            )


def _sorted_schedules(job: str, *parts: tuple[ScheduleDefinition, ...]) -> tuple[ScheduleDefinition, ...]:
    """The schedules of one job of the API, in the order in which the store lists them."""
    ours = (replace(one, job=job, source=API_SOURCE) for part in parts for one in part)
    return tuple(sorted(ours, key=lambda one: one.name))


def _base_of(job: JobDefinition, schedule: str) -> str:
    named = next((one for one in job.schedules if one.name == schedule), None)
    return schedule if named is None else _base(named)


def _base(schedule: ScheduleDefinition) -> str:
    """The name in the fields that a schedule comes from: NAME of NAME.stop."""
    return schedule.name if schedule.kind is Kind.START else schedule.name.removesuffix(f".{schedule.kind}")
