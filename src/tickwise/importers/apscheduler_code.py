"""Jobs of APScheduler 3 and 4 that stand in code, read as syntax and never executed.

`add_job`, `scheduled_job` (3) and `add_schedule` (4) are read as far as they are written as literals. What is
computed is named in a note; a job whose times are computed is refused.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ..core.cron.zone import zone
from ..core.errors import InputError
from ..core.timeparse import format_duration
from .apscheduler_fields import FIELDS, all_fields, cron_text, name_weekdays, waiting_overlap
from .apscheduler_rules import library_rules
from .model import Imported, ImportedJob, JobNames, OriginRules, ReadOptions, Refused, UnknownTimes

_CALLS = frozenset({"add_job", "scheduled_job", "add_schedule"})
_TRIGGERS = {"CronTrigger": "cron", "IntervalTrigger": "interval", "DateTrigger": "date"}
_UNITS = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_OWN = frozenset(
    "func func_or_task_id trigger args kwargs id name misfire_grace_time coalesce max_instances next_run_time "
    "jobstore executor replace_existing paused max_jitter job_executor conflict_policy metadata "
    "job_result_expiration_time"
    .split()
)  # fmt: skip
_NOTES = ("the code was read and not executed; jobs that a store alone holds are not among these",)


class _Call(NamedTuple):
    """A call that adds a job."""

    node: ast.Call
    line: int
    decorated: str = ""  # the function below it

    @property
    def is_new(self) -> bool:
        """Whether it is of version 4, whose defaults are others."""
        return _name_of(self.node.func) == "add_schedule"

    @property
    def function(self) -> ast.expr | None:
        """What it runs, as far as it says so by its first argument or by name."""
        if self.decorated:
            return ast.Name(self.decorated)
        named = (each.value for each in self.node.keywords if each.arg in {"func", "func_or_task_id"})
        return next(iter(self.node.args), None) or next(named, None)

    def read_arguments(self) -> dict[str, ast.expr]:
        return _arguments(self.node, ("trigger",) if self.decorated else ("func", "trigger"))


@dataclass(slots=True)
class _File:
    """What a file says of all its jobs."""

    name: str
    where: str
    imports: dict[str, str] = field(default_factory=dict)  # by local name: `module:name`, or `module`


def read(files: Mapping[str, str], options: ReadOptions) -> Imported:
    """The jobs that calls in these files add."""
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    names = JobNames()
    for name, text in files.items():
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            refused.append(Refused(f"{name}:{error.lineno or 1}", "", f"it is no Python: {error.msg}"))
            continue
        except (ValueError, RecursionError, MemoryError):
            refused.append(Refused(name, "", "it is no Python, or nested too deeply"))
            continue
        file = _read_file(name, tree, options)
        for call in sorted(_calls(tree), key=lambda found: found.line):
            place = f"{name}:{call.line}"
            try:
                jobs.append(_job_of_call(call, file, place, names))
            except InputError as error:
                refused.append(Refused(place, _describe_node(call.function), str(error).split("\n", 1)[0]))
    return Imported(scheduler="APScheduler", jobs=jobs, refused=refused, notes=_NOTES if jobs else ())


def _read_file(name: str, tree: ast.Module, options: ReadOptions) -> _File:
    file = _File(name, options.timezone or options.machine_zone)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            file.imports |= {one.asname or one.name: f"{node.module}:{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            file.imports |= {one.asname or one.name: one.name for one in node.names}
        elif isinstance(node, ast.Call) and _name_of(node.func).endswith("Scheduler"):
            given = {each.arg: each.value for each in node.keywords}
            file.where = _zone_of(given.get("timezone")) or file.where
    return file


def _calls(tree: ast.Module) -> Iterator[_Call]:
    decorators = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and _name_of(call.func) == "scheduled_job":
                    decorators.add(id(call))
                    yield _Call(call, node.lineno, node.name)
        elif isinstance(node, ast.Call) and id(node) not in decorators and _name_of(node.func) in _CALLS:
            yield _Call(node, node.lineno)


def _arguments(call: ast.Call, positional: tuple[str, ...]) -> dict[str, ast.expr]:
    if any(each.arg is None for each in call.keywords) or any(isinstance(one, ast.Starred) for one in call.args):
        raise InputError(f"its arguments are computed: {ast.unparse(call)[:60]}")
    named = {each.arg: each.value for each in call.keywords if each.arg}
    return dict(zip(positional, call.args, strict=False)) | named


def _job_of_call(call: _Call, file: _File, place: str, names: JobNames) -> ImportedJob:
    notes: list[str] = []
    arguments = call.read_arguments()
    kind, given = _trigger(arguments)
    if call.is_new and "day_of_week" in given:
        given["day_of_week"] = ast.Constant(name_weekdays(_literal(given["day_of_week"], "day_of_week")))
    fields, when, rules = _READERS[kind](given, file.where, notes)
    fields |= dict(_policy(arguments, notes, is_new=call.is_new))
    fields |= _action(call.function, arguments, file, notes)
    suggested = _text(arguments.get("id")) or _text(arguments.get("name")) or _describe_node(call.function)
    return ImportedJob(
        name=names.take(suggested.rpartition(":")[2]), fields=fields, place=place, when=when, notes=notes,
        rules=rules,
    )  # fmt: skip


def _trigger(arguments: Mapping[str, ast.expr]) -> tuple[str, dict[str, ast.expr]]:
    """The kind of a trigger, and its arguments: in a call of its own, or among those of the job."""
    trigger = arguments.get("trigger")
    if isinstance(trigger, ast.Call):
        made = _name_of(trigger.func)
        if made == "from_crontab":
            return "cron", _crontab_arguments(trigger)
        kind = _TRIGGERS.get(made)
        if kind is None:
            raise InputError(f"a trigger of the class {made[:40]} has no text here: write its times")
        return kind, _arguments(trigger, ("run_date",) if kind == "date" else ())
    named = "date" if trigger is None else _text(trigger)
    if named not in _READERS:
        raise InputError("its trigger is computed: write its times")
    return named, {name: value for name, value in arguments.items() if name not in _OWN}


def _crontab_arguments(call: ast.Call) -> dict[str, ast.expr]:
    text = _text(call.args[0]) if call.args else None
    if text is None or len(text.split()) != 5:
        raise InputError("from_crontab is given no five fields that are written here")
    fields = zip(("minute", "hour", "day", "month", "day_of_week"), text.split(), strict=True)
    return {name: ast.Constant(value) for name, value in fields} | _arguments(call, ())


def _read_cron(
    given: Mapping[str, ast.expr], where: str, notes: list[str]
) -> tuple[dict[str, Any], str, OriginRules]:
    where = _zone_of(given.get("timezone")) or where
    texts = {name: _literal(given[name], name) for name in FIELDS if name in given}
    zone(where)
    fields: dict[str, Any] = {"schedule": cron_text(all_fields(texts)), "timezone": where}
    fields |= _limits(given, notes)
    return fields, ", ".join(f"{name}={value}" for name, value in texts.items()), library_rules(texts, where)


def _read_interval(
    given: Mapping[str, ast.expr], _where: str, notes: list[str]
) -> tuple[dict[str, Any], str, OriginRules]:
    values = {name: _literal(given[name], name) for name in _UNITS if name in given}
    if not all(value.isdigit() and len(value) < 9 for value in values.values()):
        raise InputError("write an interval of whole seconds")
    seconds = sum(int(value) * _UNITS[name] for name, value in values.items())
    if not seconds or "microseconds" in given:
        raise InputError("write an interval of whole seconds")
    notes.append("an interval counts from 1970, so that all nodes agree, and not from the start of the scheduler")
    fields = {"schedule": {"every": format_duration(seconds)}, **_limits(given, notes)}
    return (
        fields,
        f"every {format_duration(seconds)}",
        UnknownTimes("its interval counts from the scheduler's start"),
    )


def _read_date(
    given: Mapping[str, ast.expr], where: str, _notes: list[str]
) -> tuple[dict[str, Any], str, OriginRules]:
    at = _text(given.get("run_date", given.get("run_time")))
    if at is None:
        raise InputError("it runs once, at a time that is computed or at once: enqueue it instead")
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        raise InputError(f"its run_date {at[:40]!r} cannot be read") from None
    fields: dict[str, Any] = {"schedule": {"at": moment.isoformat()}}
    if moment.tzinfo is None:
        fields["timezone"] = _zone_of(given.get("timezone")) or where
    return fields, at, UnknownTimes("it runs once")


_READERS = {"cron": _read_cron, "interval": _read_interval, "date": _read_date}


def _limits(given: Mapping[str, ast.expr], notes: list[str]) -> dict[str, Any]:
    """What bounds or spreads the times."""
    bounds = (name for name in ("start_date", "start_time", "end_date", "end_time") if name in given)
    notes += [f"{name}={ast.unparse(given[name])[:60]}: write `from` or `until`" for name in bounds]
    jitter = given.get("jitter")
    if isinstance(jitter, ast.Constant) and isinstance(jitter.value, int) and 0 < jitter.value < 1 << 31:
        notes.append("jitter: APScheduler draws anew each time, also backwards; here a slot is only delayed")
        return {"jitter": format_duration(jitter.value)}
    return {}


def _policy(given: Mapping[str, ast.expr], notes: list[str], *, is_new: bool) -> Iterator[tuple[str, Any]]:
    """Coalescing, misfire grace and instances, as far as they are written."""
    coalesce = given.get("coalesce")
    word = None if coalesce is None else _describe_node(coalesce)
    misses_all = word is not None and (word == "False" or word.endswith("CoalescePolicy.all"))
    catchup = "all" if misses_all else "once"
    yield "catchup", catchup
    grace = given.get("misfire_grace_time")
    if isinstance(grace, ast.Constant) and isinstance(grace.value, int) and 0 < grace.value < 1 << 31:
        yield "grace", format_duration(grace.value)
    elif grace is None and not is_new:
        yield "grace", "1s"
    most = given.get("max_instances")
    instances = most.value if isinstance(most, ast.Constant) and isinstance(most.value, int) else 1
    if is_new:
        yield "overlap", waiting_overlap(catchup, notes)  # max_running_jobs is 1 unless its task says more
    else:
        yield "overlap", "skip" if instances == 1 and not misses_all else "allow"
    if instances > 1:
        yield "max_active_runs", min(instances, 1_000)
    if "paused" in given and _describe_node(given["paused"]) == "True":
        yield "enabled", False
    spread = given.get("max_jitter")
    if isinstance(spread, ast.Constant) and isinstance(spread.value, int) and 0 < spread.value < 1 << 31:
        yield "jitter", format_duration(spread.value)
    elif spread is not None:
        notes.append(f"max_jitter={ast.unparse(spread)[:60]}: write `jitter`")
    if "next_run_time" in given:
        notes.append(f"next_run_time={ast.unparse(given['next_run_time'])[:60]}")


def _action(
    function: ast.expr | None, arguments: Mapping[str, ast.expr], file: _File, notes: list[str]
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    target = _target(function, file)
    if target is None:
        notes.append("its function has no name that can be imported: write what the job does")
    else:
        fields["python"] = target
    if (given := arguments.get("args")) is not None:
        notes.append(f"the positional arguments {ast.unparse(given)[:60]}: write `params` by name")
    if (given := arguments.get("kwargs")) is not None:
        params = _plain_values(given)
        if params is None:
            notes.append("its kwargs are computed or no plain values: write `params`")
        else:
            fields["params"] = params
    return fields


def _plain_values(node: ast.expr) -> dict[str, Any] | None:
    try:
        found = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if isinstance(found, dict) and all(isinstance(value, str | int | float) for value in found.values()):
        return {str(name): value for name, value in found.items()}
    return None


def _target(function: ast.expr | None, file: _File) -> str | None:
    """`module:function`, as far as the imports of the file say."""
    if (text := _text(function)) is not None:
        return text if ":" in text and "." not in text.partition(":")[2] else None
    if isinstance(function, ast.Name):
        known = file.imports.get(function.id)
        return known if known and ":" in known else f"{PurePosixPath(file.name).stem}:{function.id}"
    if isinstance(function, ast.Attribute):
        module = file.imports.get(ast.unparse(function.value), "").replace(":", ".")
        return f"{module}:{function.attr}" if module else None
    return None


def _literal(node: ast.expr, name: str) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int) and not isinstance(node.value, bool):
        return str(node.value)
    raise InputError(f"{name} is computed: {ast.unparse(node)[:60]}")


def _zone_of(node: ast.expr | None) -> str | None:
    """The zone of `"Europe/Berlin"`, `ZoneInfo("Europe/Berlin")` or `pytz.timezone("Europe/Berlin")`."""
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    if node is not None and _name_of(node) in {"utc", "UTC"}:
        return "UTC"
    return _text(node)


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _describe_node(node: ast.expr | None) -> str:
    return "job" if node is None else _text(node) or ast.unparse(node)[:80]
