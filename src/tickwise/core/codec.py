"""Definitions and the rarely used state of schedules as JSON text, and back: what the stores keep of them.

A text follows the types. Each field stands under its name, written as its type hint says, but only if it differs
from its default: so a new field with a default leaves old texts as they are, and a default must never change.
Where a hint leaves the choice between types, `type` names the one taken. Cron times are kept as text and zone.

Equal values give equal texts, by which stores find them. (Two spellings of the same cron times are two texts, and
so are 1, 1.0 and True in params: people see them as they wrote them.) Encoding refuses what decoding would not
give back (but a tuple in params, which comes back as a list); decoding refuses what it does not know.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache, lru_cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from .blackout import Blackout
from .cron import Cron, Every, Recurrence, parse
from .cron.calendar_days import OnCalendar
from .cron.day_set import DaySet
from .cron.recurrences import AnyOf, At, Window
from .cron.rule import Rule
from .cron.zone import Zone, zone
from .definition import Approval, Command, HttpCall, JobCall, JobDefinition, PythonCall, ScheduleDefinition, Script
from .errors import InputError, TickwiseError
from .events import JobEnds, MachineStart, OnEvent, SettledFiles, Webhook
from .model import Schedule
from .payload import Unfit, UnreadableText, check_key, clip, decode, piece_of_path, to_json, weigh
from .read_only_dict import ReadOnlyDict

_Convert = Callable[[Any], Any]
_COLUMNS = frozenset(
    "definition cursor last_seen_slot last_missed_slot edited_at first_seen runs_made deleted_at".split()
)
_TAGS: dict[type, str] = {
    Cron: "cron",
    Every: "every",
    At: "at",
    AnyOf: "any",
    Window: "window",
    Rule: "rule",
    OnCalendar: "days",
    Command: "command",
    Script: "script",
    PythonCall: "python",
    HttpCall: "http",
    OnEvent: "event",
    SettledFiles: "files",
    JobEnds: "ends",
    JobCall: "job",
    Approval: "approve",
    Webhook: "webhook",
    MachineStart: "machine",
}


def encode_job(job: JobDefinition) -> str:
    """The job without its name and its schedules."""
    return _encode(_JOB, job, f"job {job.name}")


def unfit_part(job: JobDefinition) -> Unfit | None:
    """The part of a job that no store could keep, and why; none if all of it can be kept."""
    try:
        to_json(_JOB.write(job))
    except Unfit as unfit:
        return unfit
    return None


def decode_job(text: str, name: str) -> JobDefinition:
    return JobDefinition(name, **_decode(partial(_read, _JOB), text, f"job {name}"))


def encode_schedule(definition: ScheduleDefinition) -> str:
    """The definition without its name and job, so that schedules with equal times and policy share one text."""
    return _encode(_SCHEDULE, definition, f"job {definition.job}, schedule {definition.name}")


def decode_schedule(text: str, name: str, job: str) -> ScheduleDefinition:
    return ScheduleDefinition(name, job, **_decode(_read_schedule, text, f"job {job}, schedule {name}"))


@lru_cache(maxsize=10_000)
def _read_schedule(text: str) -> Any:
    """Schedules by the thousand have the same text, and nothing in what it says can be changed."""
    return _read(_SCHEDULE, text)


def encode_rest(schedule: Schedule) -> str | None:
    """The state that has no column of its own; none if all of it is as in a new schedule."""
    if _rest_of(schedule) == _NO_REST:
        return None
    return _encode(_REST, schedule, f"job {schedule.job}, schedule {schedule.name}")


def decode_rest(text: str | None) -> dict[str, Any]:
    """The state as keyword arguments of a `Schedule`."""
    return {} if text is None else _decode(partial(_read, _REST), text, "the state of a schedule")


def encode_blackouts(blackouts: tuple[Blackout, ...]) -> str:
    return _encode(_BLACKOUTS, blackouts, "blackouts")


def decode_blackouts(text: str) -> tuple[Blackout, ...]:
    found: tuple[Blackout, ...] = _decode(partial(_read, _BLACKOUTS), text, "the list of blackouts")
    return found


class _Coder(NamedTuple):
    """How values of one type become JSON values and are read back. Both raise `Unfit` for other values."""

    write: _Convert
    read: _Convert


def _encode(coder: _Coder, value: Any, what: str) -> str:
    try:
        return to_json(coder.write(value), sort_keys=True)
    except Unfit as unfit:
        raise InputError(f"{what}: {_said(unfit)}") from None


def _read(coder: _Coder, text: str) -> Any:
    data = decode(text)
    weigh(data)
    return coder.read(data)


def _decode(read: Callable[[str], Any], text: str, what: str) -> Any:
    try:
        return read(text)
    except (Unfit, TickwiseError) as error:
        problem = _said(error) if isinstance(error, Unfit) else error
        raise UnreadableText(
            f"{what} cannot be read; probably a newer version of Tickwise wrote it: update this one. {problem}"
        ) from None


def _said(unfit: Unfit) -> str:
    return f"{clip(unfit.path.lstrip('.'), 200) or 'it'} {unfit.problem}"


def _each(items: Iterable[tuple[Any, Any]], convert: Callable[[Any], _Convert]) -> dict[Any, Any]:
    """The parts of a value, converted as their key or place asks; what is unfit learns where it stands."""
    converted = {}
    for key, value in items:
        try:
            converted[key] = convert(key)(value)
        except Unfit as unfit:
            unfit.path = piece_of_path(key) + unfit.path
            raise
        except (InputError, OverflowError) as error:
            raise Unfit(f"cannot be used: {error}", piece_of_path(key)) from None
    return converted


def _expect(value: Any, *kinds: type) -> Any:
    if isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)):
        return value
    raise _wrong(value, *kinds)


def _wrong(value: Any, *kinds: type) -> Unfit:
    return Unfit(f"must be {' or '.join(kind.__name__ for kind in kinds)}, not {type(value).__name__}")


@cache
def _coder(hint: Any) -> _Coder:
    """The coder of a type hint."""
    if hint in _LEAVES:
        return _LEAVES[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in _BUILDERS:
        return _BUILDERS[origin](inner)
    return _enum(hint) if issubclass(hint, Enum) else _record(hint)


def _same(*kinds: type) -> _Coder:
    def check(value: Any) -> Any:
        return _expect(value, *kinds)

    return _Coder(check, check)


def _number(value: Any) -> Any:
    return _expect(value, float, int) + 0.0  # equal texts for 2 and 2.0, and for 0.0 and -0.0


def _enum(kind: type[Enum]) -> _Coder:
    """Members by their value, or by their code where they have one."""
    words = {member: getattr(member, "code", member.value) for member in kind}

    def find(table: Mapping[Any, Any], value: Any) -> Any:
        if _expect(value, kind, str) in table:
            return table[value]
        raise Unfit(f"is none of {', '.join(words.values())}")

    return _Coder(partial(find, words), partial(find, {word: member for member, word in words.items()}))


def _union(hints: tuple[Any, ...]) -> _Coder:
    kinds = [hint for hint in hints if hint is not NoneType]
    coder = _choice(*kinds) if len(kinds) > 1 else _coder(kinds[0])
    if NoneType not in hints:
        return coder
    return _Coder(*(partial(_unless_none, convert) for convert in coder))


def _unless_none(convert: _Convert, value: Any) -> Any:
    return None if value is None else convert(value)


def _choice(*kinds: type) -> _Coder:
    """One of several types, told apart by a tag. Their coders are looked up late: a choice may contain itself."""
    by_tag: dict[str, Any] = {_TAGS[kind]: kind for kind in kinds}

    def write(value: Any) -> Any:
        tag = _TAGS.get(type(value))
        if tag not in by_tag:
            raise _wrong(value, *kinds)
        return {"type": tag, **_coder(by_tag[tag]).write(value)}

    def read(data: Any) -> Any:
        rest = dict(_expect(data, dict))
        tag = rest.pop("type", None)
        if not isinstance(tag, str) or tag not in by_tag:
            raise Unfit(f"has the type {str(tag)[:40]!r}, which is none of {', '.join(by_tag)}")
        return _coder(by_tag[tag]).read(rest)

    return _Coder(write, read)


def _row(hints: tuple[Any, ...]) -> _Coder:
    """`tuple[X, ...]`, or a place for each of the hints."""
    coders = [_coder(hint) for hint in hints if hint is not ...]

    def convert(way: int, values: Any) -> list[Any]:
        if ... not in hints and len(values) != len(hints):
            raise Unfit(f"must have {len(hints)} entries, not {len(values)}")
        return list(_each(enumerate(values), lambda place: coders[place % len(coders)][way]).values())

    return _Coder(lambda row: convert(0, _expect(row, tuple)), lambda data: tuple(convert(1, _expect(data, list))))


def _mapping(hints: tuple[Any, ...]) -> _Coder:
    inner = _coder(hints[1])

    def convert(way: int, values: Any) -> dict[str, Any]:
        return _each(((check_key(key), value) for key, value in values.items()), lambda _: inner[way])

    return _Coder(
        lambda values: convert(0, _expect(values, Mapping)),
        lambda data: ReadOnlyDict(convert(1, _expect(data, dict))),
    )


def _record(kind: type) -> _Coder:
    coder = _fields(kind)
    return _Coder(coder.write, lambda data: kind(**coder.read(data)))


def _fields(kind: Any, without: frozenset[str] = frozenset()) -> _Coder:
    """The fields of a dataclass or NamedTuple; they are read as keyword arguments."""
    hints = get_type_hints(kind)
    defaults = {name: default for name, default in _defaults(kind).items() if name not in without}
    coders = {name: _coder(hints[name]) for name in defaults}
    required = {name for name, default in defaults.items() if default is MISSING}

    def write(value: Any) -> dict[str, Any]:
        if type(value) is not kind:
            raise _wrong(value, kind)
        given = {name: item for name in coders if (item := getattr(value, name)) != defaults[name]}
        return _each(given.items(), lambda name: coders[name].write)

    def read(data: Any) -> dict[str, Any]:
        if unknown := _expect(data, dict).keys() - coders.keys():
            raise Unfit(f"has the unknown field {min(unknown)[:40]!r}")
        if missing := required - data.keys():
            raise Unfit(f"lacks the field {min(missing)!r}")
        return _each(data.items(), lambda name: coders[name].read)

    return _Coder(write, read)


def _defaults(kind: Any) -> dict[str, Any]:
    if is_dataclass(kind):
        return {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(kind)}
    return {name: kind._field_defaults.get(name, MISSING) for name in kind._fields}


class _Spelling(NamedTuple):
    """What is kept of cron times: enough to parse them again. H stands as what it came to."""

    text: str
    zone: Zone

    def times(self) -> Any:
        return _expect(parse(self.text, self.zone.name), Cron)


def _write_cron(times: Cron) -> Any:
    spelling = _Spelling(times.text, times.zone)
    if spelling.times() != times:
        raise Unfit(f"are other times than their text {times.text[:60]!r} says")
    return _coder(_Spelling).write(spelling)


def _without(kind: Any, *derived: str) -> _Coder:
    """The coder of a dataclass some of whose fields follow from the others."""
    coder = _fields(kind, without=frozenset(derived))
    return _Coder(coder.write, lambda data: kind(**coder.read(data)))


_BUILDERS = {UnionType: _union, tuple: _row, Mapping: _mapping}
_LEAVES: dict[Any, _Coder] = {
    Any: _Coder(lambda value: value, lambda data: data),
    str: _same(str),
    int: _same(int),
    bool: _same(bool),
    float: _Coder(_number, _number),
    Zone: _Coder(lambda value: _expect(value, Zone).name, lambda data: zone(_expect(data, str))),
    Cron: _Coder(_write_cron, lambda data: _coder(_Spelling).read(data).times()),
    DaySet: _Coder(lambda days: str(_expect(days, DaySet)), lambda data: DaySet.read(_expect(data, str))),
    Recurrence: _choice(Cron, Every, At, AnyOf, Window, Rule, OnCalendar, OnEvent),
}
_LEAVES |= {Rule: _without(Rule, "times"), OnCalendar: _without(OnCalendar, "fitting", "moved")}
_JOB = _fields(JobDefinition, without=frozenset({"name", "schedules"}))
_SCHEDULE = _fields(ScheduleDefinition, without=frozenset({"name", "job"}))
_REST = _fields(Schedule, without=_COLUMNS)
_BLACKOUTS = _coder(tuple[Blackout, ...])
_REST_DEFAULTS = {name: default for name, default in _defaults(Schedule).items() if name not in _COLUMNS}
_NO_REST = tuple(_REST_DEFAULTS.values())
_rest_of = attrgetter(*_REST_DEFAULTS)
