"""Editing a definition that the API has written: a patch over what is stored, read as a job file is.

An edit reads the job once. The version it read is the one it is written over, and the store refuses it if there is
another by then: that is the only guard against concurrent edits.

A job's schedules NAME, NAME.stop and NAME.restart come from one set of fields (S21) and are changed together. What
another source has written is not changed here; but the API adds schedules of its own to any job, and changes those
(S50).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ..core.definition import JobDefinition, Kind, ScheduleDefinition
from ..core.errors import ConflictError, InputError, did_you_mean, nearest_word
from ..sources.defaults import Defaults
from ..sources.spec import read_spec
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import JobRow, ScheduleFilter, ScheduleRow
from .calendars import bound_job, check_bound
from .definition_fields import fields_of, merged
from .machine_start import on_start_schedules

API_SOURCE = "api"
_PAGE = 1_000
_SCHEDULE_FIELDS = frozenset(
    "name schedule timezone catchup catchup_window max_catchup overlap max_active_runs grace skip_if_successful "
    "jitter from until days roll nth max_runs max_starts after wait_for expires auto_remove ticking pause_after "
    "blackout deadline shadow".split()
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

    @property
    def is_api(self) -> bool:
        """Whether the API has defined the job itself."""
        return self.row.source == API_SOURCE

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
    """A definition that is not written yet, the name of its first new schedule, and the job that it changes."""

    job: JobDefinition
    schedule: str
    stored: StoredJob | None = None  # none: a job of its own


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
    """What a new schedule defines: a job of its own or, with `job`, one more schedule of any job (S50)."""
    name, given = str(fields.get("name") or ""), {key: fields[key] for key in fields if key != "job"}
    owner = fields.get("job")
    if owner is not None:
        _check_extra_fields(str(owner), given)
    new = await bound_job(store, read_spec(given, "", defaults))
    check_of_api(new)
    if not new.schedules:
        raise InputError(f"schedule: is missing: say when {name} is to run", field="schedule")
    first = new.schedules[0].name
    if await store.insights.schedule(first) is not None:
        raise ConflictError(f"there is a schedule {first} already: update it instead")
    if owner is None:
        return NewSchedule(new, first)
    stored = await stored_job(store, str(owner))
    _check_readable(stored)
    known = stored.definition
    added = _of_api(known.name, new.schedules)
    return NewSchedule(replace(known, schedules=_sorted((*known.schedules, *added))), first, stored)


def check_of_api(job: JobDefinition) -> None:
    """Refuse what only a source on a machine can have."""
    own = [one.name for one in job.schedules if one.source in ("", API_SOURCE)]
    if on_start_schedules(job).intersection(own):
        raise InputError(
            "on_start: goes with a job of a folder or an app: their node tells that its machine starts",
            field="on_start",
        )


async def write_new(store: Store, new: NewSchedule) -> None:
    """Write a new schedule; refused if its job has changed since it was read."""
    if new.stored is None:
        await store.define(new.job, API_SOURCE, over=0)
        await check_bound(store, [new.job])
    else:
        await _write(store, new.stored, new.job)


async def _write(store: Store, stored: StoredJob, job: JobDefinition) -> None:
    """Write a job of the API, or what the API has added to a job of another source."""
    own = replace(job, schedules=tuple(one for one in job.schedules if one.source == API_SOURCE))
    await (store.define if stored.is_api else store.extend)(own, API_SOURCE, over=stored.version)
    await check_bound(store, [own])


async def edit_schedule(
    store: Store, stored: StoredJob, schedule: str, patch: Mapping[str, Any], defaults: Defaults
) -> DefinitionEdit:
    """Write a patch over the fields of a schedule; one that changes nothing is not written (S28)."""
    edit = _edited(stored, schedule, patch, defaults)
    check_of_api(edit.job)
    job = await bound_job(store, edit.job)
    edit = edit._replace(job=job, changed=job != stored.definition)
    if edit.changed:
        await _write(store, stored, edit.job)
    return edit


def with_schedule_fields(
    stored: StoredJob, schedule: str, patch: Mapping[str, Any], defaults: Defaults
) -> JobDefinition:
    """The job as it would be with other fields of a schedule, whatever source it has; nothing is written."""
    _check_readable(stored)
    base, fields = _base_of(stored.definition, schedule), stored.fields(schedule)
    if other := next((name for name in patch if name not in _SCHEDULE_FIELDS or name == "name"), None):
        near = nearest_word(other, _SCHEDULE_FIELDS)
        raise InputError(
            f"{other}: it does not say when the job runs{did_you_mean(near)}", field=other, nearest=near
        )
    known = {name: value for name, value in fields.items() if name in _SCHEDULE_FIELDS}
    changed = merged(_mergeable(known, patch), patch)
    new = read_spec({"name": base, **changed, "command": "true"}, "", defaults)
    source = next(one.source for one in stored.definition.schedules if base_name(one) == base)
    own = (replace(one, job=stored.definition.name, source=source) for one in new.schedules)
    others = (one for one in stored.definition.schedules if base_name(one) != base)
    return replace(stored.definition, schedules=_sorted((*others, *own)))


async def remove_schedule(store: Store, stored: StoredJob, schedule: str) -> None:
    """Delete a schedule with those of the same fields, and a job of the API if it has no other.

    A schedule that cannot be read goes with all others of its job that cannot, and a job that cannot be read goes
    with all its schedules: what is left could not be written without them.
    """
    _check_source(stored, schedule)
    known, row = stored.definition, stored.schedule(schedule)
    base = _base_of(known, schedule)
    left = () if stored.row.unreadable else tuple(one for one in known.schedules if base_name(one) != base)
    if not stored.row.unreadable and not (row and row.unreadable):
        _check_readable(stored, schedule)
    if left or not stored.is_api:
        await _write(store, stored, replace(known, schedules=left))
    else:
        await store.remove(known.name, API_SOURCE, over=stored.version)


def fields_with(job: JobDefinition, schedule: str) -> dict[str, Any]:
    """The fields of a job file that a schedule comes from."""
    base = _base_of(job, schedule)
    return fields_of(job, [one for one in job.schedules if base_name(one) == base])


def _edited(stored: StoredJob, schedule: str, patch: Mapping[str, Any], defaults: Defaults) -> DefinitionEdit:
    _check_source(stored, schedule)
    _check_readable(stored, schedule)
    was = stored.definition
    if "name" in patch:
        raise InputError("name: it cannot be changed: add another and delete this one", field="name")
    base, before = _base_of(was, schedule), stored.fields(schedule)
    if not stored.is_api:
        _check_extra_fields(was.name, patch)
        before = {key: value for key, value in before.items() if key in _SCHEDULE_FIELDS}
    after = merged(_mergeable(before, patch), patch)
    new = read_spec({"name": base, **after}, "", defaults)
    if not new.schedules:
        raise InputError("schedule: is missing: delete it if it is not wanted any longer", field="schedule")
    others = tuple(one for one in was.schedules if base_name(one) != base)
    schedules = _sorted((*others, *_of_api(was.name, new.schedules)))
    job = replace(new if stored.is_api else was, name=was.name, schedules=schedules)
    return DefinitionEdit(before, after, job, job != was)


def _mergeable(stored: dict[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Times are merged by kind (S21); of an entry such as {every, offset}, and of days, the whole is replaced."""
    both = (stored.get("schedule"), patch.get("schedule"))
    by_kind = all(isinstance(times, Mapping) and set(times) <= set(Kind) for times in both)
    replaced = {"days"} if by_kind else {"days", "schedule"}
    return {name: value for name, value in stored.items() if name not in replaced or name not in patch}


def _check_extra_fields(job: str, fields: Mapping[str, Any]) -> None:
    """A further schedule of a job says when, and not what to do."""
    if extra := [key for key in fields if key not in _SCHEDULE_FIELDS]:
        raise InputError(f"{extra[0]}: it is the affair of the job {job}: leave it out", field=extra[0])


def _check_source(stored: StoredJob, schedule: str) -> None:
    """Refuse what another source has written (S50)."""
    row, known = stored.row, stored.schedule(schedule)
    name, source = (schedule, known.schedule.definition.source) if known else (row.definition.name, row.source)
    if source != API_SOURCE:
        raise ConflictError(f"{name} was defined by {source}, which alone may change it: change it there")


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


def _of_api(job: str, schedules: Iterable[ScheduleDefinition]) -> Iterator[ScheduleDefinition]:
    return (replace(one, job=job, source=API_SOURCE) for one in schedules)


def _sorted(schedules: Iterable[ScheduleDefinition]) -> tuple[ScheduleDefinition, ...]:
    """In the order in which the store lists them."""
    return tuple(sorted(schedules, key=lambda one: one.name))


def _base_of(job: JobDefinition, schedule: str) -> str:
    named = next((one for one in job.schedules if one.name == schedule), None)
    return schedule if named is None else base_name(named)


def base_name(schedule: ScheduleDefinition) -> str:
    """The name in the fields that a schedule comes from: NAME of NAME.stop."""
    return schedule.name if schedule.kind is Kind.START else schedule.name.removesuffix(f".{schedule.kind}")
