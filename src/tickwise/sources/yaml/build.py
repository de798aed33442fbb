"""A checked file → the definition of its job and schedules. Here stands what depends on several fields."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ...core.cron.zone import Zone, zone
from ...core.definition import (
    After,
    Catchup,
    Handlers,
    JobDefinition,
    Keep,
    Kind,
    Overlap,
    Policy,
    ScheduleDefinition,
    check_name,
)
from ...core.errors import InputError
from ...core.timeparse import last_instant, read_moment
from ..templates import Template
from .error import ErrorList, Loc
from .schema import JobSpec
from .schema_parts import ACTIONS, KindsSpec
from .steps import handler_of, preconditions_of, retry_of, steps_of
from .times import ScheduleReader, label

_DEPENDENT = ("max_active_runs", "overlap", "catchup_window", "catchup")
_AS_GIVEN = "max_catchup grace skip_if_successful jitter max_runs wait_for expires auto_remove ticking".split()
_OF_ALL_KINDS = "grace expires ticking".split()
_OF_JOB = "description enabled queue priority timeout at_most_once".split()
_MAPPINGS = "labels params env".split()


def build(
    spec: JobSpec,
    default_name: str | None,
    templates: Mapping[str, Template],
    broken: frozenset[str],
    faults: ErrorList,
) -> JobDefinition | None:
    """The definition, or none and faults. What reads a broken field (already told of) is left out."""
    name = _name(spec, default_name, broken, faults)
    where = zone(spec.timezone or "UTC")
    reading = ScheduleReader(name, where, templates)
    policies = {} if broken & {*_DEPENDENT, "until", "timezone", "after"} else _policies(spec, where, faults)
    schedules = () if broken & {"schedule", "timezone"} else _schedules(spec, reading, policies, faults)
    steps = () if broken & {"steps", *ACTIONS} else steps_of(spec, faults)
    if broken or faults.found:
        return None
    return JobDefinition(
        name=name,
        steps=steps,
        schedules=schedules,
        preconditions=preconditions_of(spec.preconditions),
        retry=retry_of(spec.retry),
        on=_handlers(spec),
        keep=Keep(spec.keep.days, spec.keep.runs) if spec.keep else Keep(),
        **_given(spec, _OF_JOB) | _frozen(spec),
    )


def _given(spec: JobSpec, names: list[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(spec, name)) is not None}


def _frozen(spec: JobSpec) -> dict[str, Any]:
    return {name: MappingProxyType(value) for name, value in _given(spec, _MAPPINGS).items()}


def _name(spec: JobSpec, default: str | None, broken: frozenset[str], faults: ErrorList) -> str:
    if "name" in broken or (spec.name is None and default is None):
        if "name" not in broken:
            faults.add(("name",), "is missing: only the first document of a file is named after the file")
        return "unnamed"
    try:
        return spec.name or check_name(default or "")
    except InputError as error:
        faults.add(("name",), f"is missing, and the file's name cannot stand in: {error}")
        return "unnamed"


def _policies(spec: JobSpec, where: Zone, faults: ErrorList) -> dict[Kind, Policy]:
    until: dict[str, Any] = {}
    with faults.at("until"):
        until = {"until": last_instant(read_moment(spec.until), where)} if spec.until else {}
    after = tuple(After(needed.schedule, needed.within) for needed in spec.after or ())
    if spec.wait_for is not None and not after:
        faults.add(("wait_for",), "there is nothing to wait for: it goes with after")
    dependent = {name: getattr(spec, name) for name in _DEPENDENT}
    try:
        start = Policy.of(**dependent, **_given(spec, _AS_GIVEN), **until, after=after)
    except InputError as error:
        faults.found.append(((error.field or "catchup",), error))
        return {}
    lanes: dict[str, Any] = {"max_active_runs": start.max_active_runs}
    lanes |= {"overlap": Overlap.ALLOW} if start.overlap is Overlap.ALLOW else {}
    other = Policy.of(catchup=Catchup.SKIP, **lanes, **_given(spec, _OF_ALL_KINDS), **until)  # S21: never catch up
    return {Kind.START: start, Kind.STOP: other, Kind.RESTART: other}


def _schedules(
    spec: JobSpec, reading: ScheduleReader, policies: Mapping[Kind, Policy], faults: ErrorList
) -> tuple[ScheduleDefinition, ...]:
    found = []
    for kind, times, loc in _by_kind(spec.schedule):
        key = reading.key if kind is Kind.START else f"{reading.key}.{kind}"
        with faults.at(*loc):
            check_name(key, "a schedule's name")
        own = ScheduleReader(key, reading.zone, reading.templates)
        if when := own.recurrence(times, loc, faults):
            policy = policies.get(kind, Policy())
            found.append(ScheduleDefinition(key, reading.key, when, label(times), kind, policy))
    return tuple(found)


def _by_kind(schedule: Any) -> list[tuple[Kind, Any, Loc]]:
    """S21: what each kind of schedule is given, start first."""
    if schedule is None:
        return []
    if not isinstance(schedule, KindsSpec):
        return [(Kind.START, schedule, ("schedule",))]
    by_kind = ((kind, getattr(schedule, kind)) for kind in (Kind.START, Kind.STOP, Kind.RESTART))
    return [(kind, times, ("schedule", str(kind))) for kind, times in by_kind if times is not None]


def _handlers(spec: JobSpec) -> Handlers:
    if spec.on is None:
        return Handlers()
    return Handlers(*(handler_of(handler) for handler in (spec.on.success, spec.on.failure, spec.on.exit)))
