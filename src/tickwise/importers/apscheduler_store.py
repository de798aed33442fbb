"""The schedules of an APScheduler 4 data store, as rows of its tables that its JSON serializer wrote.

A trigger is stored as `{"_apscheduler_json": ["module:Class", state]}`: the class is known by its name and never
imported. What its other serializers wrote is refused, because to read a pickle is to execute it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ..core.cron.zone import zone
from ..core.errors import InputError
from ..core.timeparse import floor_second, format_duration, iso
from .apscheduler_fields import FIELDS, cron_text, waiting_overlap
from .apscheduler_rules import library_rules
from .model import (
    BoundedRules,
    Imported,
    ImportedJob,
    JobNames,
    OriginRules,
    ReadOptions,
    Refused,
    UnknownTimes,
    refuse,
    short_text,
)

COLUMNS = (
    "s.id", "s.task_id", "s.trigger", "s.args", "s.kwargs", "s.paused", "s.coalesce", "s.misfire_grace_time",
    "s.max_jitter", "t.func", "t.max_running_jobs",
)  # fmt: skip
_UNIT_SECONDS = (604_800, 86_400, 3_600, 60, 1)  # of weeks, days, hours, minutes, seconds
_INSTEAD = (
    "a pickle cannot be read without executing it, and CBOR is not read: give the file or folder of the code that "
    "adds these schedules, or let the code add them to an SQLAlchemyDataStore(engine, serializer=JSONSerializer())"
)
_MAX_TEXT = 1_048_576
_MAX_MICROSECONDS = 100 * 366 * 86_400 * 1_000_000


@dataclass(frozen=True, slots=True)
class ScheduleRows:
    """The schedules of one data store, each joined with its task."""

    name: str  # as places show it
    rows: Sequence[Mapping[str, Any]]


ORIGIN = ScheduleRows


class UnreadableRowError(InputError):
    """A value of a row that is no JSON."""


class _Times(NamedTuple):
    """What a trigger becomes."""

    fields: dict[str, Any]
    when: str
    rules: OriginRules
    notes: Sequence[str] = ()


def read(store: ScheduleRows, options: ReadOptions) -> Imported:
    """A job for each schedule."""
    del options  # triggers have a zone
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    names = JobNames()
    is_unreadable = False
    for row in store.rows:
        place = f"{store.name}: {short_text(row['id'])}"
        try:
            jobs.append(_job_of_row(row, place, names))
        except Exception as error:  # noqa: BLE001  (a database may hold any value)
            is_unreadable |= isinstance(error, UnreadableRowError)
            refused.append(refuse(place, row["task_id"], error))
    return Imported(
        scheduler="APScheduler", jobs=jobs, refused=refused, notes=(_INSTEAD,) if is_unreadable else ()
    )


def _job_of_row(row: Mapping[str, Any], place: str, names: JobNames) -> ImportedJob:
    times = _read_trigger(_decode(row["trigger"], "trigger"))
    notes = list(times.notes)
    fields = {**times.fields, **dict(_read_policy(row, notes)), **_read_action(row, notes)}
    return ImportedJob(
        name=names.take(str(row["id"])), fields=fields, place=place, when=times.when, notes=notes,
        rules=times.rules,
    )  # fmt: skip


def _decode(value: Any, name: str) -> Any:
    """The JSON of a column."""
    data = bytes(value) if isinstance(value, bytes | bytearray | memoryview) else value
    if isinstance(data, bytes) and data[:1] == b"\x80" and data[1:2] in {b"\2", b"\3", b"\4", b"\5"}:
        raise UnreadableRowError(f"its {name} is a pickle, and to read one is to execute it")
    try:
        if isinstance(data, str | bytes) and len(data) <= _MAX_TEXT:
            return json.loads(data)
    except (ValueError, RecursionError):
        pass
    raise UnreadableRowError(f"its {name} is no JSON: another serializer wrote it, or it is damaged")


def _read_trigger(stored: Any) -> _Times:
    match stored:
        case {"_apscheduler_json": [str(reference), {"version": 1} as state]}:
            name = reference.rpartition(":")[2]
        case _:
            raise InputError("its trigger is not as APScheduler 4.0.0a6 writes one")
    reader = _READERS.get(name)
    if reader is None:
        raise InputError(f"a trigger of the class {name[:40]} has no text here: write its times")
    try:
        return reader(state)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError(f"its {name} is not as APScheduler 4.0.0a6 writes one") from None


def _read_cron(state: Mapping[str, Any]) -> _Times:
    texts = dict(zip(FIELDS, state["fields"], strict=True))
    where = zone(state["timezone"]).name
    if not all(isinstance(text, str) for text in texts.values()):
        raise InputError("a field of its CronTrigger is no text")
    fields = {"schedule": cron_text(texts), "timezone": where, **dict(_bounds(state))}
    when = ", ".join(f"{name}={text}" for name, text in texts.items() if text != "*")
    first, last = (_optional_second(state[name]) for name in ("start_time", "end_time"))
    return _Times(fields, f"{when} ({where})", BoundedRules(library_rules(texts, where), first, last))


def _read_interval_trigger(state: Mapping[str, Any]) -> _Times:
    *units, microseconds = map(_whole, state["interval"])
    seconds = sum(number * size for number, size in zip(units, _UNIT_SECONDS, strict=True))
    if seconds < 1 or microseconds:
        raise InputError("write an interval of whole seconds")
    schedule = {"every": format_duration(seconds)}
    if offset := floor_second(_instant(state["start_time"])) % seconds:
        schedule["offset"] = format_duration(offset)
    when = f"every {schedule['every']} from {state['start_time']}"
    rules = UnknownTimes("APScheduler 4 counts its interval from its start_time")
    return _Times({"schedule": schedule, **dict(_bounds(state))}, when, rules)


def _read_date(state: Mapping[str, Any]) -> _Times:
    at = iso(floor_second(_instant(state["run_time"])))
    return _Times({"schedule": {"at": at}}, f"once at {at}", UnknownTimes("it runs once"))


def _read_calendar_interval(state: Mapping[str, Any]) -> _Times:
    """Every day, week, month or year from a date on; a date that is missing in a month is left out by both."""
    first = datetime.fromisoformat(state["start_date"])
    hour, minute, second = map(_whole, state["time"])
    days_of: dict[tuple[int, ...], str] = {
        (1, 0, 0, 0): f"{first.day} {first.month} *",
        (0, 1, 0, 0): f"{first.day} * *",
        (0, 0, 1, 0): f"* * {first:%a}".lower(),
        (0, 0, 0, 1): "* * *",
    }
    days = days_of.get(tuple(map(_whole, state["interval"])))
    if days is None:
        raise InputError(
            "its CalendarIntervalTrigger leaves out whole days, weeks, months or years: write its times"
        )
    text = f"{minute} {hour} {days}"
    where = zone(state["timezone"]).name
    fields: dict[str, Any] = {"schedule": f"{second} {text}" if second else text, "timezone": where}
    fields |= {
        field: f"{datetime.fromisoformat(state[name]):%Y-%m-%d}"
        for field, name in (("from", "start_date"), ("until", "end_date"))
        if state[name] is not None
    }
    note = "a time that the clock skips: APScheduler leaves it out, Tickwise runs right after it"
    rules = UnknownTimes("a CalendarIntervalTrigger is not compared")
    return _Times(fields, f"{text} ({where})", rules, (note,))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], _Times]] = {
    "CronTrigger": _read_cron,
    "IntervalTrigger": _read_interval_trigger,
    "DateTrigger": _read_date,
    "CalendarIntervalTrigger": _read_calendar_interval,
}


def _bounds(state: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """From when and until when; a start with a fraction of a second is the moment when the schedule was added."""
    for field, name in (("from", "start_time"), ("until", "end_time")):
        if state[name] is not None and not (field == "from" and _instant(state[name]).microsecond):
            yield field, iso(floor_second(_instant(state[name])))


def _read_policy(row: Mapping[str, Any], notes: list[str]) -> Iterator[tuple[str, Any]]:
    catchup = "all" if row["coalesce"] == "all" else "once"
    yield "catchup", catchup
    for field, column in (("grace", "misfire_grace_time"), ("jitter", "max_jitter")):
        if row[column] is not None and (seconds := _seconds(row[column], column)):
            yield field, format_duration(seconds)
    most = row["max_running_jobs"]
    yield "overlap", waiting_overlap(catchup, notes) if most == 1 else "allow"
    if most is not None and most != 1:
        yield "max_active_runs", min(_whole(most), 1_000)
    if row["paused"]:
        yield "enabled", False


def _read_action(row: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    function = row["func"]
    if isinstance(function, str) and function.count(":") == 1 and "." not in function.partition(":")[2]:
        fields["python"] = function
    else:
        notes.append("its function has no name that can be imported: write what the job does")
    if args := _decode(row["args"], "args"):
        notes.append(f"the positional arguments {json.dumps(args)[:60]}: write them in `params` by name")
    kwargs = _decode(row["kwargs"], "kwargs")
    if not isinstance(kwargs, dict):
        raise InputError("its kwargs are no JSON object")
    return fields | ({"params": kwargs} if kwargs else {})


def _seconds(value: Any, column: str) -> int:
    """An interval as a database gives it: microseconds where it has no type for it."""
    micro = value / timedelta(microseconds=1) if isinstance(value, timedelta) else value
    if not isinstance(micro, int | float) or not 0 <= micro <= _MAX_MICROSECONDS:
        raise InputError(f"its {column} {str(value)[:40]!r} is no length of time")
    return -int(-micro // 1_000_000)


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
        raise InputError(f"{str(value)[:40]!r} is not a whole number that can be")
    return value


def _optional_second(value: Any) -> int | None:
    return None if value is None else floor_second(_instant(value))


def _instant(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise InputError(f"the time {value[:40]!r} names no offset")
    return found
