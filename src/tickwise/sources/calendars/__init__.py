"""Calendars as people write them (S60): `spec` is the schema, `reader` reads files, `expansion` finds the days.

A calendar is kept as its fields, with the text of an .ics file in place of its name: so whoever has the store can
expand it again, without the folder that it came from.
"""

from .expansion import ExpandedCalendar, ExpansionRange, expand
from .reader import CalendarFolder, read_calendar, read_calendar_folder, read_calendars
from .spec import CalendarSpec, calendar_schema, read_calendar_fields

__all__ = [
    "CalendarFolder",
    "CalendarSpec",
    "ExpandedCalendar",
    "ExpansionRange",
    "calendar_schema",
    "expand",
    "read_calendar",
    "read_calendar_fields",
    "read_calendar_folder",
    "read_calendars",
]
