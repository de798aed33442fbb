"""The entries of `schedule` → recurrences (S37, S49)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ...core.cron import Every, Recurrence, parse
from ...core.cron.recurrences import AnyOf, At
from ...core.cron.zone import Zone
from ...core.errors import CronError, InputError
from ...core.timeparse import format_duration, instant, read_time
from ..templates import Template, find_template
from .error import ErrorList, Loc
from .schema_parts import AtEntry, CronEntry, EveryEntry, TemplateEntry

AnyEntry: TypeAlias = str | CronEntry | EveryEntry | AtEntry | TemplateEntry


@dataclass(frozen=True, slots=True)
class ScheduleReader:
    """What the entries of one schedule are read with: its name (the key of `H`), and the file's zone."""

    key: str
    zone: Zone
    templates: Mapping[str, Template]

    def recurrence(self, times: AnyEntry | list[AnyEntry], loc: Loc, faults: ErrorList) -> Recurrence | None:
        """What a text, an entry or a list of them names; none if there were faults."""
        places = [(*loc, i) for i in range(len(times))] if isinstance(times, list) else [loc]
        parts: dict[Loc, Recurrence] = {}
        for place, entry in zip(places, times if isinstance(times, list) else [times], strict=True):
            with faults.at(*place, *_FIELD.get(type(entry), ())):
                parts[place] = self._part(entry)
        once = [place for place, part in parts.items() if isinstance(part, At)]
        if once and len(once) < len(parts):
            faults.add(once[0], "a one-off cannot share a list with recurring entries: give it a job of its own")
        elif len(parts) == len(places):
            return _union(list(dict.fromkeys(parts.values())), self.zone)
        return None

    def _part(self, entry: AnyEntry) -> Recurrence:
        match entry:
            case str():
                return parse(entry, self.zone.name, self.key)
            case CronEntry():
                return parse(entry.cron, entry.timezone or self.zone.name, self.key)
            case EveryEntry():
                return Every(entry.every, self.zone, entry.offset or 0)
            case AtEntry():
                return At((instant(read_time(entry.at), self.zone),), self.zone)
            case TemplateEntry():
                return self._of_template(entry)

    def _of_template(self, entry: TemplateEntry) -> Recurrence:
        template = find_template(entry.template, self.templates)
        try:
            return parse(template.expression, entry.timezone or self.zone.name, self.key)
        except CronError as error:
            problem = f"the template {entry.template!r} cannot be used: {error}"
            raise InputError(problem, nearest=error.nearest) from None


_FIELD: dict[type, tuple[str, ...]] = {CronEntry: ("cron",), AtEntry: ("at",), TemplateEntry: ("template",)}


def _union(parts: list[Recurrence], zone: Zone) -> Recurrence:
    if len(parts) == 1:
        return parts[0]
    seconds = {second for part in parts if isinstance(part, At) for second in part.seconds}
    return At(tuple(sorted(seconds)), zone) if seconds else AnyOf(tuple(parts))


def label(times: AnyEntry | list[AnyEntry]) -> str:
    """The times as written."""
    match times:
        case str():
            return times
        case list():
            return "; ".join(map(label, times))
        case CronEntry() | TemplateEntry():
            written = times.cron if isinstance(times, CronEntry) else times.template
            return f"{written} {times.timezone}" if times.timezone else written
        case EveryEntry():
            shift = f" offset {format_duration(times.offset)}" if times.offset else ""
            return f"every {format_duration(times.every)}{shift}"
        case AtEntry():
            return f"at {times.at}"
