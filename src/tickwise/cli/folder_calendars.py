"""Job files on the days of the calendars beside them, for commands that read a folder and no store."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from ..app.calendars import Calendar, bind, uses_calendars
from ..core.errors import InputError
from ..sources.calendars import (
    CalendarFolder,
    ExpansionRange,
    expand,
    read_calendar,
    read_calendar_fields,
    read_calendar_folder,
    read_calendars,
)
from ..sources.yaml import DefinitionError, Loaded, LocatedJob
from ..sources.yaml.text import read_file

_SOURCE = "folder:"


def with_calendars(path: Path, loaded: Loaded, today: date) -> Loaded:
    """The jobs with the days that they may run on, as this machine expands them; and the errors of calendars."""
    folder = read_calendar_folder(path if path.is_dir() else path.parent)
    errors = [*loaded.errors, *folder.errors]
    known = _expand_all(folder, ExpansionRange.around(today), errors)
    jobs: list[LocatedJob] = []
    for one in loaded.jobs:
        try:
            jobs.append(one._replace(job=bind(one.job, known)) if uses_calendars(one.job) else one)
        except InputError as error:
            errors.append(DefinitionError(str(error), file=one.file, line=one.line, nearest=error.nearest))
    return Loaded(tuple(jobs), tuple(errors))


def calendar_of_file(file: Path, today: date) -> Calendar:
    """The calendar of a file, which may be made of those beside it."""
    errors: list[DefinitionError] = []
    text = read_file(file, errors)
    fields = None if text is None else read_calendar(text, str(file), file.parent, errors)
    if fields is None:
        raise InputError("\n".join(map(str, errors)))
    beside = read_calendars(file.parent)
    folder = replace(beside, fields={**beside.fields, file.stem: fields})
    known = _expand_all(folder, ExpansionRange.around(today), errors)
    if file.stem not in known:
        raise InputError("\n".join(map(str, errors)))
    return known[file.stem]


def _expand_all(
    folder: CalendarFolder, years: ExpansionRange, errors: list[DefinitionError]
) -> dict[str, Calendar]:
    """Those that are made of others after these; the errors of what is left when nothing more can be expanded."""
    found: dict[str, Calendar] = {}
    left = dict(folder.fields)
    refused: dict[str, InputError] = {}
    while left:
        for name, fields in list(left.items()):
            try:
                days = expand(read_calendar_fields(fields), years, {key: one.days for key, one in found.items()})
            except InputError as error:
                refused[name] = error
            else:
                found[name] = Calendar(name, _SOURCE, fields, days.days, days.names)
        if not left.keys() & found.keys():
            break
        left = {name: fields for name, fields in left.items() if name not in found}
    errors += [DefinitionError(str(refused[name]), file=f"calendars/{name}.yaml") for name in left]
    return found
