"""DAG files of Airflow, read as syntax and never executed: schedule, catchup, start and limits of each DAG.

Only what is written as a literal can be read. A value that is computed is named in a note, and a DAG whose
schedule is computed is refused.
"""

import ast
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple

from ..core.cron.zone import zone
from ..core.errors import InputError
from ..core.timeparse import format_duration
from .airflow_rules import AirflowRules
from .cron_text import to_tickwise
from .model import Imported, ImportedJob, JobNames, OriginRules, ReadOptions, Refused, UnknownTimes
from .wall_clock import CRONITER, read_fields

_PRESETS = {"@quarterly": "0 0 1 */3 *"}
_NONE = {None, "None", "@once", "@continuous"}
_DAG_FIELDS = ("schedule", "schedule_interval", "timetable")
_CRON_TIMETABLES = {"CronTriggerTimetable", "CronDataIntervalTimetable"}
_UNITS = {"weeks": 604_800, "days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_NOTES = (
    "Airflow starts a run at the end of its interval; the slot here is the time of the start",
    "tasks are not carried over: write `steps`, or `command: airflow dags trigger NAME` while both are there",
)


class _Dag(NamedTuple):
    name: str
    line: int
    arguments: dict[str, ast.expr]
    zones: Mapping[str, str]  # of the file, by the names of its variables


def read(files: Mapping[str, str], options: ReadOptions) -> Imported:
    """The DAGs of files, by the names of the files."""
    del options  # a DAG without a zone is in UTC
    jobs: list[ImportedJob] = []
    refused: list[Refused] = []
    names = JobNames()
    for file, text in files.items():
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            refused.append(Refused(f"{file}:{error.lineno or 1}", "", f"it is no Python: {error.msg}"))
            continue
        except (ValueError, RecursionError, MemoryError):
            refused.append(Refused(file, "", "it is no Python, or nested too deeply"))
            continue
        for dag in sorted(_dags(tree), key=lambda found: found.line):
            place = f"{file}:{dag.line}"
            try:
                jobs.append(_job_of_dag(dag, place, names))
            except InputError as error:
                refused.append(Refused(place, dag.name, str(error).split("\n", 1)[0]))
    return Imported(scheduler="Airflow", jobs=jobs, refused=refused, notes=_NOTES if jobs else ())


def _dags(tree: ast.Module) -> Iterator[_Dag]:
    """Calls of DAG(…), and functions below @dag."""
    decorators = set()
    zones = dict(_zones(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                call = decorator if isinstance(decorator, ast.Call) else None
                if _name_of(call.func if call else decorator) == "dag":
                    decorators.add(id(call))
                    arguments = _arguments(call) if call else {}
                    yield _Dag(_text(arguments.get("dag_id")) or node.name, node.lineno, arguments, zones)
        elif isinstance(node, ast.Call) and id(node) not in decorators and _name_of(node.func) == "DAG":
            arguments = _arguments(node)
            yield _Dag(_text(arguments.get("dag_id")) or "dag", node.lineno, arguments, zones)


def _zones(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The variables of a file that hold a zone: `tz = pendulum.timezone("Europe/Berlin")`, or its name."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            where = _zone_name(node.value, {})
            if where is not None:
                yield node.targets[0].id, where


def _zone_name(node: ast.expr | None, zones: Mapping[str, str]) -> str | None:
    """The zone that an expression names, as far as it is written in the file."""
    if isinstance(node, ast.Name):
        return zones.get(node.id)
    if isinstance(node, ast.Attribute):
        return "UTC" if node.attr in {"utc", "UTC"} else None
    if isinstance(node, ast.Call) and _name_of(node.func) in {"timezone", "Timezone", "ZoneInfo", "gettz"}:
        node = node.args[0] if node.args else None
    return _text(node)


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _arguments(call: ast.Call) -> dict[str, ast.expr]:
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return ({"dag_id": call.args[0]} if call.args else {}) | named


def _text(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _job_of_dag(dag: _Dag, place: str, names: JobNames) -> ImportedJob:
    notes: list[str] = []
    where, begins = _start(dag.arguments.get("start_date"), dag.zones, notes)
    given = next((dag.arguments[key] for key in _DAG_FIELDS if key in dag.arguments), None)
    if (timetable := _cron_timetable(given)) is not None:
        given, where = timetable.args[0], _timetable_zone(timetable, dag.zones)
    when, schedule, rules = _read_schedule(given, where or "UTC")
    if where is None and rules is not None:
        rules = UnknownTimes("the zone of its start_date is computed")
    where = where or "UTC"
    fields: dict[str, Any] = {}
    if description := _text(dag.arguments.get("description")):
        fields["description"] = description
    if schedule is not None:
        fields |= {"schedule": schedule, "timezone": where}
        fields["catchup"] = "all" if _constant(dag.arguments.get("catchup"), "catchup", notes) is True else "once"
        fields |= _limits(
            _constant(dag.arguments.get("max_active_runs"), "max_active_runs", notes), fields["catchup"]
        )
        if begins:
            notes.append(
                f"start_date {begins}: a schedule begins when it is defined; `schedules backfill` runs older slots"
            )
    if end := dag.arguments.get("end_date"):
        day = _date(end)
        if day:
            fields["until"] = str(day)
        else:
            notes.append("end_date is computed: write `until`")
    if timeout := dag.arguments.get("dagrun_timeout"):
        seconds = _duration(timeout)
        if seconds:
            fields["timeout"] = format_duration(seconds)
        else:
            notes.append("dagrun_timeout is computed: write `timeout`")
    return ImportedJob(name=names.take(dag.name), fields=fields, place=place, when=when, notes=notes, rules=rules)


def _cron_timetable(given: ast.expr | None) -> ast.Call | None:
    """`CronTriggerTimetable("0 3 * * *", timezone=…)`, which names cron text."""
    is_one = isinstance(given, ast.Call) and _name_of(given.func) in _CRON_TIMETABLES
    return given if is_one and isinstance(given, ast.Call) and given.args else None


def _timetable_zone(timetable: ast.Call, zones: Mapping[str, str]) -> str:
    named = {keyword.arg: keyword.value for keyword in timetable.keywords}
    where = _zone_name(named.get("timezone", timetable.args[1] if timetable.args[1:] else None), zones)
    if where is None:
        raise InputError(f"the zone of its timetable is computed: {ast.unparse(timetable)[:60]}")
    return where


def _limits(most: Any, catchup: str) -> dict[str, Any]:
    """Airflow runs 16 of a DAG side by side unless it says otherwise, and queues what is beyond that."""
    if most == 1:
        return {"overlap": "queue"} if catchup == "all" else {"overlap": "latest"}
    return {"overlap": "allow"} | (
        {"max_active_runs": most} if isinstance(most, int) and 1 < most <= 1_000 else {}
    )


def _read_schedule(given: ast.expr | None, where: str) -> tuple[str, Any, OriginRules | None]:
    if given is None:
        raise InputError("it names no schedule: Airflow 2 runs it once a day, Airflow 3 never; say which")
    if isinstance(given, ast.Constant) and given.value in _NONE:
        return str(given.value), None, None
    if text := _text(given):
        text = _PRESETS.get(text, text)
        cron, named = to_tickwise(text, CRONITER)
        return text, cron, AirflowRules(read_fields(named.split(), CRONITER), zone(where).tzinfo)
    if seconds := _duration(given):
        return (
            f"every {format_duration(seconds)}",
            {"every": format_duration(seconds)},
            UnknownTimes("an interval of Airflow counts from start_date"),
        )
    raise InputError(f"its schedule is no literal: {ast.unparse(given)[:60]}")


def _constant(node: ast.expr | None, what: str, notes: list[str]) -> Any:
    if node is None or isinstance(node, ast.Constant):
        return None if node is None else node.value
    notes.append(f"{what} is computed: {ast.unparse(node)[:60]}")
    return None


def _duration(node: ast.expr) -> int | None:
    """The seconds of `timedelta(hours=6)`."""
    if not (isinstance(node, ast.Call) and _name_of(node.func) in {"timedelta", "duration"}):
        return None
    values = {keyword.arg: keyword.value for keyword in node.keywords}
    if node.args:
        values["days"] = node.args[0]
    seconds = 0
    for unit, value in values.items():
        if unit not in _UNITS or not (isinstance(value, ast.Constant) and isinstance(value.value, int)):
            return None
        seconds += value.value * _UNITS[unit]
    return seconds if 0 < seconds <= 366 * 86_400 else None


def _start(node: ast.expr | None, zones: Mapping[str, str], notes: list[str]) -> tuple[str | None, date | None]:
    """The zone of a DAG, which is that of its start_date, or none if it is computed; and the day."""
    if not isinstance(node, ast.Call):
        if node is not None:
            notes.append("start_date is computed: its zone is taken for UTC")
        return "UTC" if node is None else None, None
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    tz = named.get("tz", named.get("tzinfo"))
    where = "UTC" if tz is None else _zone_name(tz, zones)
    if tz is not None and where is None:
        notes.append(f"the zone of start_date is computed: {ast.unparse(tz)[:60]}; UTC is taken for it")
    return where, _date(node)


def _date(node: ast.expr) -> date | None:
    if not (isinstance(node, ast.Call) and _name_of(node.func) in {"datetime", "date", "pendulum"}):
        return None
    numbers = [one.value for one in node.args[:3] if isinstance(one, ast.Constant) and isinstance(one.value, int)]
    try:
        return date(*numbers)
    except (TypeError, ValueError, OverflowError):
        return None
