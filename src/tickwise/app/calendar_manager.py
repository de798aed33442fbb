"""`tw.calendars`: named sets of days, for the `days` of schedules (S60)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Self

from ..core.cron.day_set import day_date, day_number
from ..core.errors import InputError
from ..core.timeparse import to_datetime
from ..stores.contract import Store
from ..stores.records import MICRO
from .calendars import Calendar, drop_calendar, expanded, put_calendar, stored_calendar, stored_calendars, users_of
from .definitions import API_SOURCE


@dataclass(frozen=True, slots=True)
class CalendarInfo:
    """A calendar, and the days of which it is known whether they are in it."""

    name: str
    source: str
    description: str
    version: str
    first: date
    last: date
    expanded_at: datetime
    settled: bool  # whether all jobs that use it have these days
    definition: Mapping[str, Any]

    @classmethod
    def of(cls, one: Calendar) -> Self:
        return cls(
            name=one.name, source=one.source, description=str(one.fields.get("description", "")),
            version=one.version, first=day_date(one.days.since), last=one.ends,
            expanded_at=to_datetime(one.expanded_at), settled=one.settled, definition=one.fields,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CalendarYear:
    """The days of one year that are in a calendar, and what is known of days by name, in it or not."""

    year: int
    days: tuple[date, ...]
    names: Mapping[str, str]  # by date

    @classmethod
    def of(cls, one: Calendar, year: int) -> Self:
        first, end = day_number(date(year, 1, 1)), day_number(date(year, 12, 31)) + 1
        if not (one.days.knows(first) and one.days.knows(end - 1)):
            known = f"{day_date(one.days.since).year} to {one.ends.year}"
            raise InputError(f"the days of {year} are not known: it was expanded for {known}", field="year")
        days = tuple(day_date(day) for day in range(first, end) if day in one.days)
        return cls(year, days, {day: name for day, name in one.names.items() if day.startswith(f"{year}-")})


class Calendars:
    """Calendars by name."""

    def __init__(self, store: Callable[[], Awaitable[Store]]) -> None:
        self._store = store

    async def list(self) -> Sequence[CalendarInfo]:
        """In order of their names."""
        return [CalendarInfo.of(one) for one in (await stored_calendars(await self._store())).values()]

    async def get(self, name: str) -> CalendarInfo:
        return CalendarInfo.of(await stored_calendar(await self._store(), name))

    async def put(self, name: str, **definition: Any) -> CalendarInfo:
        """Define it by the fields of a calendar file, and give its days to all that use it."""
        return CalendarInfo.of(await put_calendar(await self._store(), name, definition, API_SOURCE))

    async def remove(self, name: str) -> None:
        """Delete a calendar of the API that nothing uses."""
        await drop_calendar(await self._store(), name, API_SOURCE)

    async def expand(self, name: str) -> CalendarInfo:
        """Find its days anew, as the packages that are installed here know them; whoever has defined it."""
        store = await self._store()
        known = await stored_calendar(store, name)
        return CalendarInfo.of(await put_calendar(store, name, known.fields, known.source))

    async def year(self, name: str, year: int | None = None) -> CalendarYear:
        """Its days in a year, or in this one."""
        store = await self._store()
        return CalendarYear.of(await stored_calendar(store, name), year or await self._this_year())

    async def preview(self, definition: Mapping[str, Any], year: int | None = None) -> CalendarYear:
        """The days that a definition would have; nothing is written."""
        found = await expanded(await self._store(), "preview", definition, API_SOURCE)
        return CalendarYear.of(found, year or await self._this_year())

    async def users(self, name: str) -> Sequence[str]:
        """The schedules on its days, and the calendars that are made of it."""
        store = await self._store()
        await stored_calendar(store, name)
        return await users_of(store, name)

    async def _today(self) -> date:
        return to_datetime(await (await self._store()).now() // MICRO).date()

    async def _this_year(self) -> int:
        return (await self._today()).year
