"""A stored definition as the fields of a job file, so that it can be edited.

Only fields that differ from the defaults are written, and none that follow from another: so an edit of one field
never contradicts one that nobody wrote. Times are written as they were given where that still names the same
times, else as cron text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.cron import Cron, Every, Recurrence, parse
from ..core.cron.calendar_days import OnCalendar
from ..core.cron.recurrences import AnyOf, At, Window
from ..core.cron.rule import Rule, calendar_rule
from ..core.definition import (
    Action,
    Approval,
    Catchup,
    Command,
    ForEach,
    HttpCall,
    JobCall,
    JobDefinition,
    Kind,
    Overlap,
    Policy,
    Precondition,
    PythonCall,
    RetryPolicy,
    ScheduleDefinition,
    Script,
    Step,
)
from ..core.errors import InputError
from ..core.events import (
    DEFAULT_SETTLE,
    DEFAULT_WINDOW,
    EndState,
    JobEnds,
    MachineStart,
    OnEvent,
    SettledFiles,
    Webhook,
)
from ..core.time_limit import Deadline
from ..core.timeparse import format_duration, iso

_ONLY_STEP = "main"
_SHORT_RULE = re.compile(r"every (?P<every>\d+ ?[a-z]+)(?: on (?P<on>[-A-Z0-9, ]+))? at (?P<at>\d{1,2}:\d\d)")
_DEFAULT_JOB = JobDefinition("plain")
_DEFAULT_POLICY = Policy()
_WORDS = ("blackout", "ticking")
_DURATIONS = "grace jitter wait_for expires".split()
_AS_GIVEN = "max_catchup skip_if_successful max_runs auto_remove shadow".split()
_JOB_FIELDS = "description enabled queue priority env_file dir at_most_once".split()
_MAPPINGS = "labels params env".split()


def fields_of(job: JobDefinition, schedules: Sequence[ScheduleDefinition] | None = None) -> dict[str, Any]:
    """What a job file would say, without the name; only these of its schedules, if some are given."""
    listed = job.schedules if schedules is None else schedules
    events = next((one for one in listed if isinstance(one.times, OnEvent)), None)
    own = [one for one in listed if one is not events]
    start = next((one for one in own if one.kind is Kind.START), own[0] if own else None)
    fields: dict[str, Any] = {
        name: getattr(job, name) for name in _JOB_FIELDS if _differs(job, _DEFAULT_JOB, name)
    }
    fields |= {name: dict(getattr(job, name)) for name in _MAPPINGS if getattr(job, name)}
    if job.param_types:
        fields["param_types"] = {name: str(kind) for name, kind in job.param_types.items()}
    if start is not None:
        zone = start.times.zone.name
        fields |= {"schedule": _schedule_field(own, zone), "timezone": zone, **policy_fields(start.policy)}
        fields |= _from_field(start.times) | _days_fields(start.times)
    if events is not None:
        fields |= {
            **_on_event_field(events.times),
            **({} if start else _event_policy_fields(events.policy)),
        }
    if job.engine is not None:
        use = job.engine
        fields["engine"] = {"name": use.name, **use.options} if use.options else use.name
    if job.timeout is not None:
        fields["timeout"] = format_duration(job.timeout)
    fields |= _retry_field(job.retry) | _preconditions_field(job.preconditions)
    handlers = {name: getattr(job.on, name) for name in ("success", "failure", "exit")}
    if any(handlers.values()):
        fields["on"] = {name: _action_field(action) for name, action in handlers.items() if action}
    if job.keep:
        fields["keep"] = {"days": job.keep.days} if job.keep.days else {"runs": job.keep.runs}
    return fields | _steps_fields(job.steps)


def _event_policy_fields(policy: Policy) -> dict[str, Any]:
    """The policy of a job that runs on events only: each has its run unless it says otherwise."""
    by_itself = policy.catchup is Catchup.ALL or policy.overlap in (Overlap.LATEST, Overlap.REPLACE)
    fields = policy_fields(policy)
    if policy.catchup is Catchup.ALL or (by_itself and policy.catchup is Catchup.ONCE):
        fields.pop("catchup", None)
    return fields if policy.catchup is not Catchup.ONCE or by_itself else {"catchup": "once", **fields}


def _on_event_field(times: Recurrence) -> dict[str, Any]:
    if not isinstance(times, OnEvent):
        return {}
    if isinstance(times.source, MachineStart):
        return {"on_start": True}
    fields: dict[str, Any] = {}
    match times.source:
        case Webhook(secret, sender, key):
            given = {"signed_with": secret, "sender": sender, "key": key}
            fields["hook"] = {name: value for name, value in given.items() if value}
        case SettledFiles(directory, names, settle):
            own = {} if settle == DEFAULT_SETTLE else {"settle": format_duration(settle)}
            fields["file"] = {"path": f"{directory.rstrip('/')}/{names}", **own}
        case JobEnds() as ends:
            fields |= _ends_fields(ends)
    if rule := times.coalesce:
        fields["coalesce"] = {"quiet": format_duration(rule.quiet), "at_most": format_duration(rule.at_most)}
    fields |= {"window": format_duration(times.window)} if times.window != DEFAULT_WINDOW else {}
    return {"on_event": fields}


def _ends_fields(ends: JobEnds) -> dict[str, Any]:
    fields: dict[str, Any] = {"job": ends.jobs[0]} if len(ends.jobs) == 1 else {"jobs": list(ends.jobs)}
    if ends.at_least < len(ends.jobs):
        fields["at_least"] = ends.at_least
    if ends.within:
        fields["within"] = format_duration(ends.within)
    return fields if ends.state is EndState.SUCCESS else {**fields, "state": str(ends.state)}


def _from_field(times: Recurrence) -> dict[str, Any]:
    """From when it counts, if it is not from always (S63, S64)."""
    times = _without_days(times)
    first = times.parts[0] if isinstance(times, AnyOf) else times
    return {"from": iso(first.first)} if isinstance(first, Window | Rule) else {}


def _days_fields(times: Recurrence) -> dict[str, Any]:
    """On which days of a calendar, and what becomes of others (S61)."""
    if not isinstance(times, OnCalendar):
        return {}
    fields: dict[str, Any] = {"days": {"not_in" if times.excluded else "in": times.calendar}}
    fields |= {"roll": str(times.roll)} if times.roll else {}
    return fields | ({"nth": list(times.nth)} if times.nth else {})


def _without_days(times: Recurrence) -> Recurrence:
    return times.times if isinstance(times, OnCalendar) else times


def merged(stored: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The one over the other (RFC 7396): a mapping is merged, none removes, anything else replaces."""
    result = dict(stored)
    for name, value in patch.items():
        known = result.get(name)
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            result[name] = merged(known if isinstance(known, Mapping) else {}, value)
        else:
            result[name] = value
    return result


def _differs(value: Any, default: Any, name: str) -> bool:
    return bool(getattr(value, name) != getattr(default, name))


def policy_fields(policy: Policy) -> dict[str, Any]:
    """The fields that do not follow from others (S10, S11, S14)."""
    fields: dict[str, Any] = {}
    if policy.catchup is not Catchup.ONCE:
        fields["catchup"] = str(policy.catchup)
    if policy.catchup is Catchup.ALL and policy.catchup_window != _DEFAULT_POLICY.catchup_window:
        fields["catchup_window"] = format_duration(policy.catchup_window)
    if policy.overlap is not (Overlap.QUEUE if policy.catchup is Catchup.ALL else Overlap.SKIP):
        fields["overlap"] = str(policy.overlap)
    if policy.max_active_runs != (16 if policy.overlap is Overlap.ALLOW else 1):
        fields["max_active_runs"] = policy.max_active_runs
    fields |= {name: getattr(policy, name) for name in _AS_GIVEN if _differs(policy, _DEFAULT_POLICY, name)}
    fields |= {name: format_duration(value) for name in _DURATIONS if (value := getattr(policy, name))}
    if budget := policy.max_starts:
        fields["max_starts"] = {"count": budget.count, "per": format_duration(budget.per)}
    if policy.pause_after is not None:
        fields["pause_after"] = {"failures": policy.pause_after}
    if policy.deadline is not None:
        fields["deadline"] = _deadline_field(policy.deadline)
    if policy.until is not None:
        fields["until"] = iso(policy.until)
    if policy.after:
        fields["after"] = [
            {**({"schedule": a.schedule} if a.schedule else {"job": a.job}), "within": format_duration(a.within)}
            for a in policy.after
        ]
    fields |= {name: str(getattr(policy, name)) for name in _WORDS if _differs(policy, _DEFAULT_POLICY, name)}
    return fields


def _deadline_field(deadline: Deadline) -> dict[str, Any]:
    limits = {"start": deadline.start, "finish": deadline.finish}
    fields: dict[str, Any] = {name: limit.text for name, limit in limits.items() if limit}
    fields |= {"cancel": True} if deadline.cancel else {}
    return fields | ({} if deadline.warn is None else {"warn": deadline.warn})


def _schedule_field(schedules: Sequence[ScheduleDefinition], zone: str) -> Any:
    """S21: the times alone if there is only a start, else by kind."""
    by_kind = {str(one.kind): _times_field(one, zone) for one in schedules}
    return by_kind[Kind.START] if list(by_kind) == [Kind.START] else by_kind


def _times_field(schedule: ScheduleDefinition, zone: str) -> Any:
    times, written_label = _without_days(schedule.times), schedule.label
    if isinstance(schedule.times, OnCalendar):
        written_label = written_label.removesuffix(schedule.times.days_in_short)
    times = times.times if isinstance(times, Window) else times
    if not isinstance(times, AnyOf):
        return _entry_field(times, written_label, schedule.name, zone)
    labels = written_label.split("; ")
    written = labels if len(labels) == len(times.parts) else [""] * len(times.parts)
    return [
        _entry_field(part, label, schedule.name, zone) for part, label in zip(times.parts, written, strict=True)
    ]


def _entry_field(times: Recurrence, label: str, name: str, zone: str) -> Any:
    match times:
        case Cron():
            if _parsed(label, zone, name) == times:
                return label
            own = {"timezone": times.zone.name} if times.zone.name != zone else {}
            return {"cron": times.text, **own} if own else times.text
        case Every():
            offset = {"offset": format_duration(times.offset)} if times.offset else {}
            return {"every": format_duration(times.seconds), **offset}
        case Rule():
            own = {"timezone": times.zone.name} if times.zone.name != zone else {}
            return {**_rule_field(times, label), **own}
        case At():
            listed = [{"at": iso(second)} for second in times.seconds]
            return listed if len(listed) > 1 else listed[0]
    raise InputError(f"schedule {name}: its times cannot be written down: {times}")


def _rule_field(rule: Rule, label: str) -> dict[str, Any]:
    """The short form if it was written so, and still says the same."""
    if found := _SHORT_RULE.match(label):
        on = found["on"].split(", ") if found["on"] else []
        if calendar_rule(found["every"], on, found["at"]) == rule.text:
            days = [int(day) if day.lstrip("-").isdigit() else day for day in on]
            return {"every": found["every"], **({"on": days} if days else {}), "at": found["at"]}
    return {"rrule": rule.text}


def _parsed(label: str, zone: str, name: str) -> Recurrence | None:
    try:
        return parse(label, zone, name)
    except InputError:
        return None


def _steps_fields(steps: tuple[Step, ...]) -> dict[str, Any]:
    if not steps:
        return {}
    if steps == (Step(_ONLY_STEP, steps[0].action),):
        return _action_field(steps[0].action)
    return {"steps": [_step_fields(step) for step in steps]}


def _step_fields(step: Step) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": step.name, **_action_field(step.action)}
    if step.depends:
        fields["depends"] = list(step.depends)
    if step.env:
        fields["env"] = dict(step.env)
    if step.dir is not None:
        fields["dir"] = step.dir
    if step.timeout is not None:
        fields["timeout"] = format_duration(step.timeout)
    if step.continue_on:
        fields["continue_on"] = [str(outcome) for outcome in step.continue_on]
    if step.foreach:
        fields |= _foreach_fields(step.foreach)
    return fields | _retry_field(step.retry) | _preconditions_field(step.preconditions)


def _foreach_fields(each: ForEach) -> dict[str, Any]:
    items = f"${{{each.reference}}}" if each.reference else list(each.items)
    return {"foreach": items} | (
        {"max_parallel": each.max_parallel} if each.max_parallel != ForEach().max_parallel else {}
    )


_ACTIONS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Command: lambda action: {"command": list(action.arguments)},
    Script: lambda action: {"script": action.text},
    PythonCall: lambda action: {"python": action.target},
    HttpCall: lambda action: {"http": _http_field(action)},
    JobCall: lambda action: {"job": action.job, **({"params": dict(action.params)} if action.params else {})},
    Approval: lambda action: {"approve": _approval_field(action)},
}


def _approval_field(approval: Approval) -> Any:
    if approval.timeout is None:
        return approval.role
    timeout = format_duration(approval.timeout)
    return {"role": approval.role, "timeout": timeout, "on_timeout": str(approval.on_timeout)}


def _action_field(action: Action) -> dict[str, Any]:
    return _ACTIONS[type(action)](action)


def _http_field(call: HttpCall) -> Any:
    default = HttpCall(call.url)
    fields = {name: getattr(call, name) for name in ("method", "body") if _differs(call, default, name)}
    headers = {"headers": dict(call.headers)} if call.headers else {}
    return {"url": call.url, **fields, **headers} if fields or headers else call.url


def _retry_field(retry: RetryPolicy) -> dict[str, Any]:
    if retry == RetryPolicy():
        return {}
    waits = {name: format_duration(getattr(retry, name)) for name in ("interval", "max_interval")}
    jitter = {"jitter": retry.jitter} if retry.jitter != RetryPolicy().jitter else {}
    return {"retry": {"limit": retry.limit, "backoff": retry.backoff, **waits, **jitter}}


def _preconditions_field(preconditions: tuple[Precondition, ...]) -> dict[str, Any]:
    fields = []
    for one in preconditions:
        expected = {} if one.expected is None else {"expected": one.expected}
        fields.append({**_action_field(one.action), **expected})
    return {"preconditions": fields} if fields else {}
