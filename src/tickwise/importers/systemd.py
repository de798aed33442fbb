"""systemd timers with their services. One service runs once at a time, so slots that meet a run are skipped."""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import merge
from pathlib import PurePosixPath
from typing import Any, ClassVar

from ..core.errors import InputError
from ..core.references import REFERENCE
from ..core.timeparse import format_duration, iso
from .model import (
    CallPlace,
    Imported,
    ImportedJob,
    JobNames,
    OriginRules,
    ReadOptions,
    Refused,
    RulesUnavailableError,
    UnknownTimes,
)
from .on_calendar import to_cron

_Unit = Mapping[str, Mapping[str, list[str]]]  # section → key → values, in order
_SECTION = re.compile(r"\[([^\]]+)\]")
_SPAN_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Zµ]*)")
_UNITS = {
    word: seconds
    for words, seconds in {
        "us usec µs": 1e-6,
        "ms msec": 1e-3,
        "s sec second seconds": 1,
        "m min minute minutes": 60,
        "h hr hour hours": 3_600,
        "d day days": 86_400,
        "w week weeks": 604_800,
        "M month months": 2_629_800,
        "y year years": 31_557_600,
    }.items()
    for word in words.split()
}
_DOLLAR = "\0"  # stands for the `$$` of systemd, which is a plain one
_SPECIFIER = re.compile(r"%[^%]")
_AT_START = ("OnBootSec", "OnStartupSec", "OnActiveSec")
_KNOWN_TIMER = frozenset(
    "OnCalendar OnUnitActiveSec OnUnitInactiveSec Persistent RandomizedDelaySec AccuracySec Unit".split()
)
_KNOWN_SERVICE = frozenset(
    "Type ExecStart WorkingDirectory Environment EnvironmentFile User RuntimeMaxSec TimeoutStartSec "
    "RemainAfterExit".split()
)


def read(files: Mapping[str, str], options: ReadOptions) -> Imported:
    """The jobs of timers, by the names of their files; services stand beside them."""
    by_name = {PurePosixPath(name).name: _read_unit(text) for name, text in files.items()}
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    names = JobNames()
    for name in files:
        if name.endswith(".timer"):
            unit = PurePosixPath(name).stem
            try:
                jobs.append(_job_of_timer(name, unit, by_name, options, names))
            except InputError as error:
                refused.append(Refused(name, unit, str(error).split("\n", 1)[0]))
    return Imported(scheduler="systemd", jobs=jobs, refused=refused)


def _read_unit(text: str) -> _Unit:
    """The settings of a unit; an empty value forgets those before it."""
    unit: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for raw in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = raw.strip()
        if found := _SECTION.fullmatch(line):
            section = unit.setdefault(found[1], {})
        elif line and line[0] not in "#;" and "=" in line:
            key, value = (part.strip() for part in line.split("=", 1))
            section[key] = [*section.get(key, []), value] if value else []
    return unit


def _job_of_timer(
    place: str, unit: str, units: Mapping[str, _Unit], options: ReadOptions, names: JobNames
) -> ImportedJob:
    timer = units[f"{unit}.timer"].get("Timer", {})
    notes: list[str] = []
    where = options.timezone or options.machine_zone
    schedule, rules = _read_times(timer, where, notes)
    fields: dict[str, Any] = {"schedule": schedule, "timezone": where}
    fields["catchup"] = "once" if _last(timer, "Persistent") in {"true", "yes", "on", "1"} else "skip"
    fields["overlap"] = "skip"
    delay = _seconds(_last(timer, "RandomizedDelaySec") or "0")
    if delay >= 1:
        fields["jitter"] = format_duration(int(delay))
        notes.append("RandomizedDelaySec: systemd draws anew each time; `jitter` is the same on every node")
    accuracy = _last(timer, "AccuracySec")
    if accuracy is not None and _seconds(accuracy) > 1:
        notes.append(f"AccuracySec={accuracy}: systemd may fire that much later; Tickwise fires at the second")
    notes += _unknown("the timer", timer, _KNOWN_TIMER)
    service_name = _last(timer, "Unit") or f"{unit}.service"
    service = units.get(service_name, {}).get("Service")
    description = _last(units.get(f"{unit}.timer", {}).get("Unit", {}), "Description")
    if description:
        fields["description"] = description
    if service is None:
        notes.append(f"{service_name} was not among the files: write what the job does")
    else:
        fields |= _read_service(service, notes)
    shown = "; ".join([*timer.get("OnCalendar", []), *timer.get("OnUnitActiveSec", [])])
    return ImportedJob(
        name=names.take(unit), fields=fields, place=place, when=shown, notes=notes, rules=rules,
        call_place=CallPlace("ExecStartPre=-"),
    )  # fmt: skip


def _read_times(
    timer: Mapping[str, list[str]], where: str, notes: list[str]
) -> tuple[list[Any] | str, OriginRules]:
    calendar = timer.get("OnCalendar", [])
    entries: list[Any] = []
    for text in calendar:
        times = to_cron(text)
        entries.append(times.cron if times.timezone is None else {"cron": times.cron, "timezone": times.timezone})
        if times.is_rounded:
            notes.append(f"OnCalendar={text[:60]}: a job runs at whole seconds, so fractions are cut off")
    intervals = [*timer.get("OnUnitActiveSec", []), *timer.get("OnUnitInactiveSec", [])]
    for text in intervals:
        entries.append({"every": format_duration(max(1, int(_seconds(text))))})
        notes.append(f"an interval of {text} counts from 1970, so that all nodes agree, and not from the last run")
    notes += [f"{key}: Tickwise starts nothing when a machine starts" for key in _AT_START if key in timer]
    if not entries:
        raise InputError("it names no OnCalendar and no OnUnitActiveSec, so it has no times")
    rules = (
        UnknownTimes("its interval counts from its last run")
        if intervals
        else SystemdRules(tuple(calendar), where)
    )
    return entries if len(entries) > 1 or not isinstance(entries[0], str) else entries[0], rules


def _read_service(service: Mapping[str, list[str]], notes: list[str]) -> Iterator[tuple[str, Any]]:
    """The fields that the service stands for."""
    yield from _read_environment(service, notes)
    if user := _last(service, "User"):
        yield "labels", {"user": user}
        notes.append(f"systemd runs it as {user}, Tickwise as the user of its worker")
    limit = _last(service, "RuntimeMaxSec") or _last(service, "TimeoutStartSec")
    if limit and limit != "infinity" and _seconds(limit) >= 1:
        yield "timeout", format_duration(int(_seconds(limit)))
    notes += _unknown("the service", service, _KNOWN_SERVICE)
    actions = [_action(line, notes) for line in service.get("ExecStart", [])]
    folder = _last(service, "WorkingDirectory")
    if folder and not folder.startswith("/"):
        notes.append(f"WorkingDirectory={folder} is no absolute path")
        folder = None
    if folder:
        yield "dir", folder
    if not actions:
        notes.append("the service has no ExecStart: write what the job does")
    elif len(actions) == 1:
        yield from actions[0].items()
    else:
        names = [f"start-{number}" for number in range(1, len(actions) + 1)]
        yield (
            "steps",
            [
                {"name": name, **({"depends": names[i - 1]} if i else {}), **action}
                for i, (name, action) in enumerate(zip(names, actions, strict=True))
            ],
        )


def _read_environment(service: Mapping[str, list[str]], notes: list[str]) -> Iterator[tuple[str, Any]]:
    """Its variables, and the file of them."""
    env: dict[str, str] = {}
    for line in service.get("Environment", []):
        try:
            pairs = [word.partition("=")[::2] for word in shlex.split(line)]
        except ValueError:
            notes.append(f"Environment={line[:60]} cannot be read")
            continue
        env |= {key: value for key, value in pairs if not REFERENCE.search(value)}
    if env:
        yield "env", env
    files = service.get("EnvironmentFile", [])
    if len(files) == 1 and files[0].startswith("/"):
        yield "env_file", files[0]
    elif files:
        notes.append(f"EnvironmentFile={' '.join(files)[:60]}: env_file takes one file, which must be there")


def _action(line: str, notes: list[str]) -> dict[str, Any]:
    """A command of systemd: its prefixes, quotes and specifiers; a shell fills in variables as systemd would."""
    text = line.lstrip("@-:+!")
    if prefix := line[: len(line) - len(text)]:
        notes.append(f"the prefix {prefix} of {text.split(' ', 1)[0]} is left out")
    if _SPECIFIER.search(text.replace("%%", "")):
        notes.append(f"{text[:60]} holds a specifier of systemd: write what it stands for")
    text = text.replace("%%", "%").replace("$$", _DOLLAR)
    try:
        words = shlex.split(text)
    except ValueError:
        raise InputError(f"ExecStart={text[:60]} has a quote without an end") from None
    if not words:
        raise InputError("an ExecStart is empty")
    if "$" in text:
        return {"script": f"exec {text.replace(_DOLLAR, chr(92) + '$')}\n"}
    return {"command": [word.replace(_DOLLAR, "$") for word in words]}


def _unknown(what: str, section: Mapping[str, Sequence[str]], known: frozenset[str]) -> list[str]:
    keys = [key for key, values in section.items() if values and key not in known and key not in _AT_START]
    return [f"{what} also sets {', '.join(keys)}, for which a job has no field"] if keys else []


def _last(section: Mapping[str, Sequence[str]], key: str) -> str | None:
    values = section.get(key)
    return values[-1] if values else None


def _seconds(text: str) -> float:
    """A time span such as `1h 30min`, in seconds."""
    parts = list(_SPAN_PART.finditer(text))
    if not parts or _SPAN_PART.sub("", text).strip() or any(part[2] and part[2] not in _UNITS for part in parts):
        raise InputError(f"{text[:40]!r} is no time span")
    return min(sum(float(part[1]) * _UNITS.get(part[2], 1) for part in parts), 31_557_600.0)


@dataclass(frozen=True, slots=True)
class SystemdRules:
    """What `systemd-analyze calendar` says."""

    max_fires: ClassVar[int] = 40_000
    texts: tuple[str, ...]
    timezone: str

    def fires(self, start: int, end: int) -> Iterator[int]:
        last = None
        for second in merge(*(self._follow(text, start, end) for text in self.texts)):
            if second != last:
                yield second
            last = second

    def _follow(self, text: str, start: int, end: int) -> Iterator[int]:
        """Ask for a few times, then for more and more: few are asked for in full."""
        number = 100
        while found := [second for second in self._ask(text, start, number) if second < end]:
            yield from (second for second in found if second >= start)  # a fraction of the base may come first
            if len(found) < number:
                return
            start, number = found[-1] + 1, min(10_000, number * 10)

    def _ask(self, text: str, start: int, number: int) -> Iterator[int]:
        since = f"--base-time={iso(start - 1).replace('T', ' ').removesuffix('Z')} UTC"
        arguments = ["systemd-analyze", "calendar", f"--iterations={number}", since, "--", text]
        environment = {"TZ": self.timezone, "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
        try:
            done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)  # noqa: S603
        except OSError:
            raise RulesUnavailableError("systemd-analyze is not installed here") from None
        if done.returncode:
            raise RulesUnavailableError("systemd-analyze here refuses it")
        return _listed_seconds(done.stdout)


_SHOWN = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d) UTC$", re.MULTILINE)


def _listed_seconds(text: str) -> Iterator[int]:
    for found in _SHOWN.finditer(text):
        year, month, day, hour, minute, second = map(int, found.groups())
        yield int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp())
