"""Builds the definition of a job and its schedules from a checked file; checks what depends on several fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.cron import Every, Recurrence, parse
from ...core.cron.calendar_days import OnCalendar
from ...core.cron.recurrences import AnyOf, At, Window
from ...core.cron.rule import Rule, calendar_rule
from ...core.cron.zone import Zone, zone
from ...core.definition import (
    After,
    Catchup,
    EngineUse,
    Handlers,
    JobDefinition,
    Keep,
    Kind,
    Overlap,
    Policy,
    ScheduleDefinition,
    StartBudget,
    check_name,
)
from ...core.errors import CronError, InputError, did_you_mean, nearest_word
from ...core.parameters import check_types
from ...core.read_only_dict import ReadOnlyDict
from ...core.timeparse import format_duration, instant, iso, last_instant, read_moment, read_time
from ..defaults import Defaults, EngineRules
from ..templates import Template, find_template
from .deadline import build_deadline
from .error import ErrorList, Loc
from .on_event import build_event_schedules
from .references import check_references
from .schema import ACTIONS, JobSpec
from .steps import build_handler, build_preconditions, build_retry, build_steps, check_item_params, check_waits
from .times_schema import (
    AtEntry,
    CalendarEntry,
    CronEntry,
    EntrySpec,
    EveryEntry,
    KindsSpec,
    RuleEntry,
    TemplateEntry,
    Times,
)

_DEPENDENT_FIELDS = ("max_active_runs", "overlap", "catchup_window", "catchup")
_COPIED_FIELDS = (
    "max_catchup grace skip_if_successful jitter max_runs wait_for expires auto_remove "
    "blackout ticking shadow".split()
)
_FIELDS_OF_ALL_KINDS = "grace expires ticking shadow".split()
_DAY_FIELDS = "days roll nth".split()
_JOB_FIELDS = "description enabled queue priority timeout at_most_once env_file dir".split()
_MAPPING_FIELDS = "labels params param_types env".split()
_FIELD_OF_ENTRY: dict[type, tuple[str, ...]] = {
    CronEntry: ("cron",),
    AtEntry: ("at",),
    RuleEntry: ("rrule",),
    CalendarEntry: ("every",),
    TemplateEntry: ("template",),
}


def build(
    spec: JobSpec,
    default_name: str | None,
    defaults: Defaults,
    broken: frozenset[str],
    errors: ErrorList,
) -> JobDefinition | None:
    """The definition, or None and errors. `broken` fields have errors already; what needs one is not checked."""
    name = _job_name(spec, default_name, broken, errors)
    schedules = _all_schedules(spec, name, defaults, broken, errors)
    steps = () if broken & {"steps", *ACTIONS} else build_steps(spec, errors)
    preconditions = () if "preconditions" in broken else build_preconditions(spec.preconditions)
    handlers = Handlers() if "on" in broken else _build_handlers(spec)
    engine = None if "engine" in broken else _build_engine(spec, defaults.engines, errors)
    check_waits(spec, name, errors)
    if not broken & {"params", "param_types"}:
        _check_params(spec, name, schedules, errors)
        check_item_params(spec, errors)
    if "params" not in broken:
        check_references(spec, steps, preconditions, handlers, errors)
    if broken or errors.found:
        return None
    return JobDefinition(
        name=name,
        steps=steps,
        schedules=schedules,
        preconditions=preconditions,
        retry=build_retry(spec.retry),
        on=handlers,
        engine=engine,
        keep=Keep(spec.keep.days, spec.keep.runs) if spec.keep else Keep(),
        **_given_fields(spec, _JOB_FIELDS) | _frozen_mappings(spec),
    )


def _all_schedules(
    spec: JobSpec, name: str, defaults: Defaults, broken: frozenset[str], errors: ErrorList
) -> tuple[ScheduleDefinition, ...]:
    """The schedules of its times and of its events, as far as their fields have no errors."""
    where = zone(spec.timezone or "UTC")
    since = None if broken & {"from", "timezone"} else _first_instant(spec, where, errors)
    builder = RecurrenceBuilder(name, where, defaults.templates, since)
    policies = (
        {}
        if broken & {*_DEPENDENT_FIELDS, "until", "timezone", "after"}
        else _build_policies(spec, where, since, errors)
    )
    schedules = (
        ()
        if broken & {"schedule", "timezone", "from", *_DAY_FIELDS}
        else _build_schedules(spec, builder, policies, errors)
    )
    if not broken & {"on_event", "on_start", *_DEPENDENT_FIELDS}:
        schedules += build_event_schedules(spec, name, policies.get(Kind.START, Policy()), errors)
    return schedules


def _check_params(spec: JobSpec, name: str, schedules: Sequence[ScheduleDefinition], errors: ErrorList) -> None:
    """Refuse values that are of another type, and params that a slot would be lacking."""
    params, types = spec.params or {}, spec.param_types or {}
    if types and not (spec.actions() or spec.steps):
        errors.add(("param_types",), "goes with steps or a single action: a function names its params itself")
    with errors.at("params"):
        check_types(f"the job {name}", types, params)
    if schedules and (missing := [param for param in types if param not in params]):
        errors.add(("param_types", missing[0]), "has no value under params, and slots give none")


def _given_fields(spec: JobSpec, names: list[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(spec, name)) is not None}


def _frozen_mappings(spec: JobSpec) -> dict[str, Any]:
    return {name: ReadOnlyDict(value) for name, value in _given_fields(spec, _MAPPING_FIELDS).items()}


def _job_name(spec: JobSpec, default: str | None, broken: frozenset[str], errors: ErrorList) -> str:
    if "name" in broken or (spec.name is None and default is None):
        if "name" not in broken:
            errors.add(
                ("name",), "is missing: give one; only the first document of a file is named after the file"
            )
        return "unnamed"
    try:
        return spec.name or check_name(default or "")
    except InputError as error:
        errors.add(("name",), f"is missing, and the file's name cannot stand in: {error}")
        return "unnamed"


def _first_instant(spec: JobSpec, where: Zone, errors: ErrorList) -> int | None:
    """The second before which there is no slot (S63)."""
    with errors.at("from"):
        return instant(read_moment(spec.from_), where) if spec.from_ else None
    return None


def _build_policies(spec: JobSpec, where: Zone, since: int | None, errors: ErrorList) -> dict[Kind, Policy]:
    until: dict[str, Any] = {}
    with errors.at("until"):
        until = {"until": last_instant(read_moment(spec.until), where)} if spec.until else {}
    if until and since is not None and until["until"] < since:
        errors.add(("until",), f"is before from, {iso(since)}: no slot would be left")
    after = tuple(After(one.schedule or "", one.within, one.job or "") for one in spec.after or ())
    if spec.wait_for is not None and not after:
        errors.add(("wait_for",), "there is nothing to wait for: it goes with after")
    given = _given_fields(spec, _COPIED_FIELDS)
    given |= {"pause_after": spec.pause_after.failures} if spec.pause_after else {}
    given |= {"max_starts": StartBudget(spec.max_starts.count, spec.max_starts.per)} if spec.max_starts else {}
    dependent = {name: getattr(spec, name) for name in _DEPENDENT_FIELDS}
    try:
        start = Policy.of(**dependent, **given, **until, after=after)
    except InputError as error:
        errors.found.append(((error.field or "catchup",), error))
        return {}
    lanes: dict[str, Any] = {"max_active_runs": start.max_active_runs}
    lanes |= {"overlap": Overlap.ALLOW} if start.overlap is Overlap.ALLOW else {}
    common = _given_fields(spec, _FIELDS_OF_ALL_KINDS)
    other = Policy.of(catchup=Catchup.SKIP, **lanes, **common, **until)  # S21: never catch up
    return {Kind.START: start, Kind.STOP: other, Kind.RESTART: other}


def _build_schedules(
    spec: JobSpec, builder: "RecurrenceBuilder", policies: Mapping[Kind, Policy], errors: ErrorList
) -> tuple[ScheduleDefinition, ...]:
    schedules = []
    for kind, times, loc in _times_by_kind(spec.schedule):
        key = builder.key if kind is Kind.START else f"{builder.key}.{kind}"
        with errors.at(*loc):
            check_name(key, "a schedule's name")
        own = replace(builder, key=key)
        if when := own.recurrence(times, loc, errors):
            if kind is not Kind.STOP:  # what has begun on a day that fits ends when it should
                when = _on_days(spec, when, errors)
            policy = policies.get(kind, Policy())
            if kind is Kind.START and spec.deadline:
                policy = replace(policy, deadline=build_deadline(spec.deadline, when.zone))
            label = schedule_text(times) + (when.days_in_short if isinstance(when, OnCalendar) else "")
            schedule = ScheduleDefinition(
                name=key, job=builder.key, times=when, label=label, kind=kind, policy=policy
            )
            schedules.append(schedule)
    return tuple(schedules)


def _on_days(spec: JobSpec, times: Recurrence, errors: ErrorList) -> Recurrence:
    """The same on the days of a calendar (S61), which it is bound to when it is written."""
    if spec.days is None:
        for name in ("roll", "nth"):
            if getattr(spec, name) is not None:
                errors.add((name,), "goes with days: say which days fit")
        return times
    nth, excluded = tuple(spec.nth or ()), spec.days.not_in is not None
    try:
        return OnCalendar(times, spec.days.not_in or spec.days.in_ or "", excluded, nth, spec.roll)
    except InputError as error:
        errors.found.append(((error.field or "days",), error))
        return times


def _times_by_kind(schedule: Any) -> list[tuple[Kind, Any, Loc]]:
    """S21: the times of each kind of schedule, start first."""
    if schedule is None:
        return []
    if not isinstance(schedule, KindsSpec):
        return [(Kind.START, schedule, ("schedule",))]
    by_kind = ((kind, getattr(schedule, kind)) for kind in (Kind.START, Kind.STOP, Kind.RESTART))
    return [(kind, times, ("schedule", str(kind))) for kind, times in by_kind if times is not None]


def _build_handlers(spec: JobSpec) -> Handlers:
    if spec.on is None:
        return Handlers()
    return Handlers(*(build_handler(handler) for handler in (spec.on.success, spec.on.failure, spec.on.exit)))


def _build_engine(spec: JobSpec, known: Mapping[str, EngineRules] | None, errors: ErrorList) -> EngineUse | None:
    """The engine that executes the job. The settings must name it, and its kind must understand the options."""
    if spec.engine is None:
        return None
    options = {"name": spec.engine} if isinstance(spec.engine, str) else dict(spec.engine)
    name = options.pop("name", None)
    if not isinstance(name, str):
        errors.add(("engine",), "has no name: write {name: gpu, …}, with the name of an engine in the settings")
        return None
    if known is None:
        return EngineUse(name, ReadOnlyDict(options))
    if name not in known:
        near = nearest_word(name, known)
        advice = did_you_mean(near) if near else f": add [engines.{name}] to the settings"
        errors.add(("engine",), f"the settings name no engine {name[:60]!r}{advice}", near)
        return None
    with errors.at("engine"):
        known[name].check(options, at_most_once=bool(spec.at_most_once))
    return EngineUse(name, ReadOnlyDict(options))


@dataclass(frozen=True, slots=True)
class RecurrenceBuilder:
    """Builds the recurrence of one schedule (S37, S49), given its name (the key of `H`) and the file's zone."""

    key: str
    zone: Zone
    templates: Mapping[str, Template]
    since: int | None = None  # no slot before it (S63)

    def recurrence(self, times: Times, loc: Loc, errors: ErrorList) -> Recurrence | None:
        """The recurrence of a text, an entry or a list of them; None if there were errors."""
        places = [(*loc, i) for i in range(len(times))] if isinstance(times, list) else [loc]
        parts: dict[Loc, Recurrence] = {}
        for place, entry in zip(places, times if isinstance(times, list) else [times], strict=True):
            with errors.at(*place, *_FIELD_OF_ENTRY.get(type(entry), ())):
                parts[place] = self._part(entry)
        once = [place for place, part in parts.items() if isinstance(part, At)]
        if once and len(once) < len(parts):
            errors.add(once[0], "a one-off cannot share a list with recurring entries: give it a job of its own")
        elif len(parts) == len(places):
            with errors.at("from"):
                return self._from_then_on(_union(list(dict.fromkeys(parts.values())), self.zone))
        return None

    def _from_then_on(self, times: Recurrence) -> Recurrence:
        if self.since is None:
            return times
        if times.after(self.since - 1) is None:
            raise InputError(f"none of its times is at or after {iso(self.since)}")
        if isinstance(times, At):
            return At(tuple(second for second in times.seconds if second >= self.since), self.zone)
        parts = times.parts if isinstance(times, AnyOf) else (times,)
        return times if all(isinstance(part, Rule) for part in parts) else Window(times, self.since)

    def _part(self, entry: EntrySpec) -> Recurrence:
        match entry:
            case str():
                return parse(entry, self.zone.name, self.key)
            case CronEntry():
                return parse(entry.cron, entry.timezone or self.zone.name, self.key, both=bool(entry.both))
            case EveryEntry():
                return Every(entry.every, self.zone, entry.offset or 0)
            case CalendarEntry():
                return self._rule(calendar_rule(entry.every, entry.on or (), entry.at), entry.timezone)
            case RuleEntry():
                return self._rule(entry.rrule, entry.timezone)
            case AtEntry():
                return At((instant(read_time(entry.at), self.zone),), self.zone)
            case TemplateEntry():
                return self._of_template(entry)

    def _rule(self, text: str, timezone: str | None) -> Recurrence:
        if self.since is None:
            raise InputError("it counts from its beginning: give the job a `from`, such as from: 2027-01-04")
        return Rule(text, zone(timezone) if timezone else self.zone, self.since)

    def _of_template(self, entry: TemplateEntry) -> Recurrence:
        template = find_template(entry.template, self.templates)
        try:
            return parse(template.expression, entry.timezone or self.zone.name, self.key)
        except CronError as error:
            problem = f"the template {entry.template!r} cannot be used: {error}"
            raise InputError(problem, nearest=error.nearest) from None


def _union(parts: list[Recurrence], zone: Zone) -> Recurrence:
    if len(parts) == 1:
        return parts[0]
    seconds = {second for part in parts if isinstance(part, At) for second in part.seconds}
    return At(tuple(sorted(seconds)), zone) if seconds else AnyOf(tuple(parts))


def schedule_text(times: Times) -> str:
    """The times as written."""
    match times:
        case str():
            return times
        case list():
            return "; ".join(map(schedule_text, times))
        case CronEntry():
            return " ".join(filter(None, (times.cron, times.timezone, "both" if times.both else "")))
        case TemplateEntry():
            return f"{times.template} {times.timezone}" if times.timezone else times.template
        case EveryEntry():
            shift = f" offset {format_duration(times.offset)}" if times.offset else ""
            return f"every {format_duration(times.every)}{shift}"
        case CalendarEntry():
            days = f" on {', '.join(times.on)}" if times.on else ""
            return " ".join(filter(None, (f"every {times.every}{days} at {times.at}", times.timezone)))
        case RuleEntry():
            return " ".join(filter(None, (f"rrule {times.rrule}", times.timezone)))
        case AtEntry():
            return f"at {times.at}"
