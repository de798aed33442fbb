"""Calendar files: YAML text → fields, with the text of an .ics file in place of its name; and all errors."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.definition import check_name
from ...core.errors import InputError
from ...ownership import STRICT, WriterCheck
from ..spec.error import DefinitionError
from ..spec.nodes import Flaw, ValueNode
from ..spec.reader import first_flaws
from ..yaml.composer import Budget, compose
from ..yaml.text import CALENDAR_FOLDER, SUFFIXES, Source, UnusableText, read_file, split_documents
from .spec import read_nodes

ICS_BEGINS = "BEGIN:VCALENDAR"
_MAX_FILES = 1_000


@dataclass(frozen=True, slots=True)
class CalendarFolder:
    """The calendars of a folder by name, those whose file is wrong, and the errors."""

    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    errors: tuple[DefinitionError, ...] = ()
    is_seen: bool = True  # whether the folder could be read


NO_CALENDARS = CalendarFolder()


def read_calendar_folder(path: Path, writers: WriterCheck = STRICT) -> CalendarFolder:
    """The calendars in `calendars/` of a folder of jobs, each named by its file; a file of jobs has none."""
    return read_calendars(path / CALENDAR_FOLDER, writers)


def read_calendars(folder: Path, writers: WriterCheck = STRICT) -> CalendarFolder:
    """The calendars of a folder that holds nothing else."""
    try:
        if why := writers.refusal(folder, folder.stat()):
            return CalendarFolder(errors=(DefinitionError(why, file=str(folder)),), is_seen=False)
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)[:_MAX_FILES]
    except (FileNotFoundError, NotADirectoryError):
        return CalendarFolder(is_seen=folder.parent.exists())
    except OSError as error:
        problem = DefinitionError(f"the folder cannot be read: {error.strerror}", file=str(folder))
        return CalendarFolder(errors=(problem,), is_seen=False)
    found: dict[str, Mapping[str, Any]] = {}
    broken: set[str] = set()
    errors: list[DefinitionError] = []
    for file in (Path(entry.path) for entry in entries if entry.name.endswith(SUFFIXES) and entry.name[0] != "."):
        before = len(errors)
        fields = _read_if_safe(file, writers, errors)
        if file.stem in found:
            errors.append(DefinitionError(f"there are two files of the calendar {file.stem}", file=str(file)))
        elif fields is not None and len(errors) == before:
            found[file.stem] = fields
        else:
            broken.add(file.stem)
    return CalendarFolder(found, frozenset(broken), tuple(errors))


def _read_if_safe(file: Path, writers: WriterCheck, errors: list[DefinitionError]) -> Mapping[str, Any] | None:
    try:
        why = writers.refusal(file, file.stat())
    except OSError:
        why = None  # `read_file` says what is wrong
    if why:
        errors.append(DefinitionError(why, file=str(file)))
        return None
    text = read_file(file, errors)
    return None if text is None else read_calendar(text, str(file), file.parent, errors)


def read_calendar(text: str, file: str, beside: Path, errors: list[DefinitionError]) -> dict[str, Any] | None:
    """The fields of a calendar; `beside` is the folder of its .ics files."""
    try:
        check_name(Path(file).stem, "the name of a calendar")
        sources = split_documents(text)
    except (UnusableText, InputError) as error:
        errors.append(DefinitionError(str(error), file=file, line=1, column=1))
        return None
    if len(sources) != 1:
        errors.append(DefinitionError("a calendar file holds one calendar", file=file, line=1, column=1))
        return None
    root, flaws = compose(sources[0], Budget())
    if root is not None and not flaws:
        _put_ics_in_place(root, beside, flaws)
    read_nodes(root, flaws)
    if flaws or root is None:
        errors += [_located_error(flaw, sources[0], file) for flaw in first_flaws(flaws)]
        return None
    data: dict[str, Any] = root.data()
    return data


def _put_ics_in_place(root: ValueNode, beside: Path, flaws: list[Flaw]) -> None:
    """Replace names of .ics files by their text."""
    for loc, node in list(root.walk()):
        if loc and loc[-1] == "ics" and isinstance(node.value, str) and not node.value.startswith(ICS_BEGINS):
            errors: list[DefinitionError] = []
            text = _read_ics(beside, node.value, errors)
            if text is None:
                flaws.append(Flaw(loc, errors[0].problem, node.at))
            else:
                node.value = text.replace("\r\n", "\n")


def _read_ics(beside: Path, name: str, errors: list[DefinitionError]) -> str | None:
    """A file of this very folder: no path leads out of it, and no link."""
    file = beside / name
    try:
        is_plain = Path(name).name == name and stat.S_ISREG(file.lstat().st_mode)
    except (OSError, ValueError):
        is_plain = Path(name).name == name
    if not is_plain:
        problem = f"{name[:60]!r} must be a plain file in the folder of the calendar"
        errors.append(DefinitionError(problem, file=name))
        return None
    return read_file(file, errors)


def _located_error(flaw: Flaw, source: Source, file: str) -> DefinitionError:
    line, column = source.place(flaw.at)
    return DefinitionError(
        flaw.problem, file=file, line=line, column=column, field=flaw.field, nearest=flaw.nearest
    )
