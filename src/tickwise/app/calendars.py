"""Calendars in a store (S60), with the days that they were expanded to; and the jobs that use them.

A calendar is expanded once, by whoever writes it. The same fields again keep its days, whatever version of a
package this process has, so nodes do not overrule each other; a person may ask for new days. Jobs hold the days
themselves. When a calendar changes it is written first, marked as unsettled; then those that are made of it and
the jobs that use it are written anew, each atomically; then the mark is removed. Any node goes on with what is
marked.
"""

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from hashlib import sha256
from typing import Any

from ..core.cron.calendar_days import OnCalendar
from ..core.cron.day_set import DaySet, day_date
from ..core.definition import JobDefinition, ScheduleDefinition
from ..core.errors import ConflictError, InputError, NotFoundError, did_you_mean, nearest_word, no_such
from ..core.timeparse import to_datetime
from ..stores.access_records import CalendarRow
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, ScheduleFilter

_PAGE_SIZE = 1_000
_TRIES = 5  # to write what others change at the same time
_RENEW_YEARS = 5  # a calendar that ends sooner is expanded again


@dataclass(frozen=True, slots=True)
class Calendar:
    """A calendar as it is stored."""

    name: str
    source: str
    fields: Mapping[str, Any]  # as written, with the text of an .ics file
    days: DaySet
    names: Mapping[str, str] = field(default_factory=dict)  # of some days, by date
    expanded_at: int = 0  # seconds
    settled: bool = True  # whether all that use it have these days
    revision: int = 0  # of the store's row

    @property
    def version(self) -> str:
        """Equal days have one version, whoever expanded them."""
        return sha256(str(self.days).encode()).hexdigest()[:12]

    @property
    def ends(self) -> date:
        return day_date(self.days.end - 1)

    @property
    def needs(self) -> frozenset[str]:
        """The calendars that it adds or takes away by name."""
        parts = (*self.fields.get("add", ()), *self.fields.get("remove", ()))
        return frozenset(part for part in parts if isinstance(part, str))


def _calendar_text(calendar: Calendar) -> str:
    return json.dumps({
        "source": calendar.source, "fields": dict(calendar.fields), "days": str(calendar.days),
        "names": dict(calendar.names), "expanded_at": calendar.expanded_at, "settled": calendar.settled,
    }, ensure_ascii=False)  # fmt: skip


def _calendar_of_row(row: CalendarRow) -> Calendar:
    kept = json.loads(row.text)
    return Calendar(
        row.name, kept["source"], kept["fields"], DaySet.read(kept["days"]), kept["names"], kept["expanded_at"],
        settled=kept["settled"], revision=row.revision,
    )  # fmt: skip


async def stored_calendars(store: Store) -> dict[str, Calendar]:
    """All calendars, by name."""
    return {row.name: _calendar_of_row(row) for row in await store.access.calendars()}


async def stored_calendar(store: Store, name: str) -> Calendar:
    known = await stored_calendars(store)
    if name not in known:
        near = nearest_word(name, known)
        raise NotFoundError(f"there is no calendar {name[:100]!r}{did_you_mean(near)}", nearest=near)
    return known[name]


async def expanded(store: Store, name: str, fields: Mapping[str, Any], source: str) -> Calendar:
    """A calendar with the days that this process finds for its fields; nothing is written."""
    known = await stored_calendars(store)
    return await _expanded(known, name, fields, source, await store.now() // MICRO)


async def _expanded(
    known: Mapping[str, Calendar], name: str, fields: Mapping[str, Any], source: str, now: int
) -> Calendar:
    from ..sources.calendars import ExpansionRange, expand, read_calendar_fields  # noqa: PLC0415  (few need it)

    spec = read_calendar_fields(fields)
    if circle := _circle(name, spec.needs, known):
        raise InputError(f"it is made of itself, by way of {' and '.join(circle)}", field="add")
    others = {other: one.days for other, one in known.items()}
    years = ExpansionRange.around(to_datetime(now).date())
    found = await asyncio.to_thread(expand, spec, years, others)
    return Calendar(name, source, dict(fields), found.days, found.names, now, settled=False)


def _circle(name: str, needs: Collection[str], known: Mapping[str, Calendar]) -> list[str]:
    """The calendars among these that are made of this one, at last."""
    return sorted(one for one in needs if one == name or name in _all_needs(one, known))


def _all_needs(name: str, known: Mapping[str, Calendar]) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        here = known.get(waiting.pop())
        new = (here.needs if here else frozenset()) - found
        found |= new
        waiting += new
    return found


async def put_calendar(
    store: Store, name: str, fields: Mapping[str, Any], source: str, *, anew: bool = True
) -> Calendar:
    """Write a calendar and all that use it; without `anew`, the same fields keep the days that they have."""
    for _ in range(_TRIES):
        known = await stored_calendars(store)
        old = known.get(name)
        if old is not None and old.source != source:
            raise _other_source(old)
        now = await store.now() // MICRO
        if old is not None and not anew and old.fields == fields and not _is_old(old, now):
            return old
        new = await _expanded(known, name, fields, source, now)
        if old is not None and (old.days, old.fields, old.names) == (new.days, new.fields, new.names):
            return old
        try:
            await store.access.keep_calendar(name, _calendar_text(new), old.revision if old else 0)
        except ConflictError:
            continue
        await settle_calendar(store, name)
        return await stored_calendar(store, name)
    raise ConflictError(f"the calendar {name} is changed by others all the time: try again")


def _other_source(calendar: Calendar) -> ConflictError:
    return ConflictError(
        f"the calendar {calendar.name} was defined by {calendar.source}, which alone may change it: "
        "change it there"
    )


def _is_old(calendar: Calendar, now: int) -> bool:
    return calendar.ends.year - to_datetime(now).year < _RENEW_YEARS


async def drop_calendar(store: Store, name: str, source: str) -> None:
    """Delete a calendar that nothing uses."""
    calendar = await stored_calendar(store, name)
    if calendar.source != source:
        raise _other_source(calendar)
    if users := await users_of(store, name):
        raise ConflictError(f"the calendar {name} is used by {', '.join(users[:10])}: change that first")
    await store.access.keep_calendar(name, None, calendar.revision)


async def drop_calendars(store: Store, source: str) -> None:
    """Delete the calendars of a source that nothing of others uses."""
    left = {one.name for one in (await stored_calendars(store)).values() if one.source == source}
    while free := [name for name in sorted(left) if not await users_of(store, name)]:
        for name in free:
            await drop_calendar(store, name, source)
        left -= {*free}


async def users_of(store: Store, name: str) -> list[str]:
    """The schedules on the days of a calendar, and the calendars that are made of it."""
    used = [one.name for one in await _schedules(store) if _calendar_of(one) == name]
    return used + [
        f"the calendar {one.name}" for one in (await stored_calendars(store)).values() if name in one.needs
    ]


async def settle_calendar(store: Store, name: str) -> None:
    """Give all that use a calendar its days, and then take its mark away."""
    calendars = await stored_calendars(store)
    calendar = calendars.get(name)
    if calendar is None or calendar.settled:
        return
    for one in sorted(calendars.values(), key=lambda one: len(_all_needs(one.name, calendars))):
        if name in one.needs:
            await put_calendar(store, one.name, one.fields, one.source)
    await rewrite_jobs(store)
    try:
        await store.access.keep_calendar(name, _calendar_text(replace(calendar, settled=True)), calendar.revision)
    except ConflictError:
        return  # it was changed again, by somebody who goes on from there


async def settle_calendars(store: Store) -> None:
    """Finish what others began, and expand what ends soon; for any node, now and then."""
    now = await store.now() // MICRO
    for calendar in (await stored_calendars(store)).values():
        if not calendar.settled:
            await settle_calendar(store, calendar.name)
        elif _is_old(calendar, now):
            await put_calendar(store, calendar.name, calendar.fields, calendar.source)


async def rewrite_jobs(store: Store) -> None:
    """Write all jobs anew that have other days of a calendar than it has now (S24 applies)."""
    calendars = await stored_calendars(store)
    for job in sorted({one.job for one in await _schedules(store) if is_stale(one, calendars)}):
        await _rewrite_job(store, job)


def is_stale(schedule: ScheduleDefinition, calendars: Mapping[str, Calendar]) -> bool:
    times = schedule.times
    known = calendars.get(times.calendar) if isinstance(times, OnCalendar) else None
    return known is not None and isinstance(times, OnCalendar) and times.version != known.version


async def _rewrite_job(store: Store, name: str) -> None:
    """Source by source, each over the version that was read."""
    for _ in range(_TRIES):
        calendars, row = await stored_calendars(store), await store.insights.job(name)
        schedules = await _schedules(store, name)
        stale = [one for one in schedules if is_stale(one, calendars)]
        if row is None or row.unreadable or not stale:
            return
        source = stale[0].source
        own = tuple(_bound(one, calendars) for one in schedules if one.source == source)
        job = replace(row.definition, schedules=own)
        try:
            await (store.define if source == row.source else store.extend)(job, source, over=row.version)
        except ConflictError:
            continue


def _calendar_of(schedule: ScheduleDefinition) -> str | None:
    return schedule.times.calendar if isinstance(schedule.times, OnCalendar) else None


async def _schedules(store: Store, job: str | None = None) -> list[ScheduleDefinition]:
    wanted = ScheduleFilter(job=job)
    rows = await all_pages(lambda after: store.insights.schedules(wanted, after, _PAGE_SIZE))
    return [row.schedule.definition for row in rows if not row.unreadable]


def _bound(
    schedule: ScheduleDefinition, calendars: Mapping[str, Calendar], *, new: bool = False
) -> ScheduleDefinition:
    """The schedule on the days of its calendar; a new one is refused if there is none, or none of its days."""
    times = schedule.times
    if not isinstance(times, OnCalendar):
        return schedule
    if times.calendar not in calendars:
        unknown = no_such("calendar", times.calendar, calendars, ": tickwise calendars list shows those there are")
        raise unknown.reworded(f"days: {unknown}", field="days")
    calendar = calendars[times.calendar]
    version, days = calendar.version, calendar.days
    return replace(schedule, times=times.bound(version, days) if new else times.rebound(version, days))


def uses_calendars(job: JobDefinition) -> bool:
    return any(_calendar_of(schedule) for schedule in job.schedules)


def bind(job: JobDefinition, calendars: Mapping[str, Calendar]) -> JobDefinition:
    """The job with the days of the calendars that it uses."""
    return replace(job, schedules=tuple(_bound(one, calendars, new=True) for one in job.schedules))


async def bound_job(store: Store, job: JobDefinition) -> JobDefinition:
    """The same with the store's calendars; a job that uses none costs nothing."""
    return bind(job, await stored_calendars(store)) if uses_calendars(job) else job


async def reassign_calendars(store: Store, source: str, to: str) -> None:
    """Give another source the calendars of a source (S50)."""
    for one in (await stored_calendars(store)).values():
        if one.source == source:
            await store.access.keep_calendar(one.name, _calendar_text(replace(one, source=to)), one.revision)


async def check_bound(store: Store, jobs: Iterable[JobDefinition]) -> None:
    """Write jobs anew whose calendar has changed while they were written."""
    jobs = [job for job in jobs if uses_calendars(job)]
    calendars = await stored_calendars(store) if jobs else {}
    for job in jobs:
        if any(is_stale(one, calendars) for one in job.schedules):
            await _rewrite_job(store, job.name)
