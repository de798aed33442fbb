"""What an import has found: the one value that every kind returns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

from ..core.errors import InputError

_MAX_PROBLEM = 280


class RulesUnavailableError(Exception):
    """The old scheduler's rules cannot be asked here, such as when its program is not installed."""


class OriginRules(Protocol):
    """When the old scheduler fires, by its own rules."""

    @property
    def max_fires(self) -> int:
        """How many may be asked for: more would take too long."""
        ...

    def fires(self, start: int, end: int) -> Iterable[int]:
        """The UTC seconds in [start, end), in order; one that it fires twice stands there twice."""
        ...


@dataclass(frozen=True, slots=True)
class UnknownTimes:
    """Rules that name no times, and why."""

    max_fires: ClassVar[int] = 0
    problem: str

    def fires(self, start: int, end: int) -> Iterable[int]:
        del start, end
        raise RulesUnavailableError(self.problem)


@dataclass(frozen=True, slots=True)
class BoundedRules:
    """Rules that begin and end: none of their fires lies before the first second or after the last."""

    rules: OriginRules
    first: int | None
    last: int | None

    @property
    def max_fires(self) -> int:
        return self.rules.max_fires

    def fires(self, start: int, end: int) -> Iterable[int]:
        first = start if self.first is None else max(start, self.first)
        last = end if self.last is None else min(end, self.last + 1)
        return self.rules.fires(first, last) if first < last else ()


class CallPlace(NamedTuple):
    """Where an entry of the old scheduler can call a program before its own: `30 3 * * * `, and what follows."""

    before: str
    behind: str = ""

    def line(self, call: str) -> str:
        """The entry with the call."""
        return f"{self.before}{call}{'; ' if self.behind else ''}{self.behind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedJob:
    """One entry of the old scheduler, as the fields of a job file."""

    name: str
    fields: Mapping[str, Any]
    place: str  # where the entry stands: `crontab:4`
    when: str  # its times, as the old scheduler writes them
    notes: Sequence[str] = ()  # what was not carried over
    rules: OriginRules | None = None  # none: it does not run by the clock
    call_place: CallPlace | None = None  # none: its entry is no text that can be printed


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry of which no job was made."""

    place: str
    text: str
    problem: str


def refuse(place: str, entry: object, error: Exception) -> Refused:
    """An entry that cannot be read: by a rule of the importer, or because of a value that nothing expects."""
    problem = str(error).strip().split("\n", 1)[0]
    if not isinstance(error, InputError):
        problem = f"a value in it cannot be read: {type(error).__name__}{problem and ': '}{problem[:120]}"
    return Refused(place, short_text(entry), problem[:_MAX_PROBLEM])


def short_text(value: object) -> str:
    """What stands in a message for a value of whatever kind."""
    try:
        return str(value)[:80]
    except Exception:  # noqa: BLE001  (of whatever class the value is)
        return type(value).__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """All that was read of one source."""

    scheduler: str  # as a sentence names it: `cron`, `systemd`
    jobs: Sequence[ImportedJob] = ()
    refused: Sequence[Refused] = ()
    notes: Sequence[str] = field(default=())  # about all jobs


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a source does not say by itself."""

    timezone: str | None = None  # of times that name none, if the person said so
    machine_zone: str = "UTC"
    system: bool = False  # a crontab whose entries name a user


class JobNames:
    """Names for jobs: what the entry suggests, if a job can have that name, and each name once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """The wanted name as a job can have it; with a number behind it if it was taken."""
        base = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in wanted)[:80].strip("-._")
        base = base or "job"
        name, number = base, 1
        while name.lower() in self._taken:  # files of jobs may be on a disk that ignores case
            number += 1
            name = f"{base}-{number}"
        self._taken.add(name.lower())
        return name
