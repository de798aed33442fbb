"""The schema of a job: its fields with their types, and the JSON Schema that gives editors completion.

This is the only list of fields. The types check each value by itself; `build` checks what depends on several
values (policies, the graph of steps, zones).
"""

from typing import Any

from ...core.definition import MAX_ITEMS
from ...core.errors import InputError
from .deadline import DeadlineSpec
from .event_schema import OnEventSpec
from .field_types import AnyValue, FieldType, Item, JsonSchema, Many, Names, OneOf, Text, shape_of
from .fields import (
    ANSWER,
    APPROVER,
    BLACKOUT,
    CATCHUP,
    COMMAND_TEXT,
    COMMAND_WORDS,
    DURATION,
    ENVIRONMENT,
    FLAG,
    FUNCTION_TARGET,
    HEADERS,
    LABELS,
    METHOD,
    MOMENT_TEXT,
    NAME_TEXT,
    OUTCOMES,
    OVERLAP,
    PARAM_TYPES,
    PARAMS,
    PLACES_IN_MONTH,
    PLAIN_TEXT,
    ROLL,
    SCRIPT_TEXT,
    TICKING,
    URL,
    WINDOW,
    ZONE_NAME,
    check_item_reference,
    check_option_name,
    number,
    whole,
)
from .model import ModelType, Spec, optional, required
from .times_schema import SCHEDULE

ACTIONS = ("command", "script", "python", "http")


class HttpSpec(Spec):
    url = required(URL, "Where the request goes.", "https://example.com/hooks/done")
    method = optional(METHOD, "The request's verb; GET if left out.", "POST")
    headers = optional(HEADERS, "The request's headers.", {"Content-Type": "application/json"})
    body = optional(PLAIN_TEXT, "The request's body, as text.", '{"done": true}')


_COMMAND: FieldType[tuple[str, ...] | list[str]] = OneOf(
    shape_of, {"text": COMMAND_TEXT, "list": COMMAND_WORDS}, "must be a text or a list of words"
)
_HTTP: FieldType[str | HttpSpec] = OneOf(
    shape_of, {"text": URL, "mapping": ModelType(HttpSpec)}, "must be a web address or a mapping with url"
)


class ActionFields(Spec):
    """The fields of the four kinds of action."""

    command = optional(
        _COMMAND, "A program with its arguments; no shell reads it.", "pg_dump --file=backup.sql shop"
    )
    script = optional(
        SCRIPT_TEXT, "Lines for the interpreter of their #! line, or sh.", "set -e\ncd /srv\n./clean.sh\n"
    )
    python = optional(FUNCTION_TARGET, "A function, called with the params.", "shop.reports:nightly")
    http = optional(_HTTP, "A request; a status below 400 is a success.", "https://example.com/ping")

    def actions(self) -> list[str]:
        return [name for name in ACTIONS if getattr(self, name) is not None]


class ActionSpec(ActionFields, one_of=ACTIONS, called="an action"):
    pass


class PreconditionSpec(Spec, one_of=("command", "python"), called="a precondition"):
    command = optional(_COMMAND, "A program that must succeed.", "test -f /data/ready")
    python = optional(FUNCTION_TARGET, "A function that must return without an error.", "shop.checks:is_open")
    expected = optional(PLAIN_TEXT, "What must be printed or returned, besides.", "ready")


class RetrySpec(Spec):
    limit = required(whole(0, 1_000), "How often a failed attempt is repeated.", 3)
    interval = optional(DURATION, "The first wait; 10s if left out.", "30s")
    backoff = optional(number(1, 100), "What each wait is multiplied by; 2 if left out.", 1.5)
    max_interval = optional(DURATION, "The longest wait; 1h if left out.", "10m")
    jitter = optional(
        number(0, 1),
        "The share by which a wait may be longer, so that runs do not retry together; 0.1 if left out.",
        0,
    )

    def check(self) -> None:
        if self.interval and self.max_interval and self.max_interval < self.interval:
            raise InputError("max_interval is shorter than interval")


class ApprovalSpec(Spec):
    role = optional(APPROVER, "What whoever answers is at least; operator if left out.", "admin")
    timeout = optional(DURATION, "How long an answer is waited for; for ever if left out.", "24h")
    on_timeout = optional(ANSWER, "What counts as the answer then; reject if left out.", "reject")

    def check(self) -> None:
        if self.on_timeout is not None and self.timeout is None:
            raise InputError("on_timeout goes with timeout")


STEP_ACTIONS = (*ACTIONS, "job", "approve")
_NOT_FOR = {  # fields of a step that say nothing to an action, and what to do instead
    "job": {"env": "give its run params", "dir": "give its run params"},
    "approve": {
        "env": "a person answers", "dir": "a person answers", "timeout": "write it inside approve",
        "retry": "a person decides whether the run is retried",
    },
}  # fmt: skip
_DEPENDS: FieldType[str | list[str]] = OneOf(
    shape_of, {"text": NAME_TEXT, "list": Many(NAME_TEXT)}, "must be a step's name or a list of them"
)
_PATH = Text(str, least=1, most=4_096)
_ITEMS: FieldType[str | list[Any]] = OneOf(
    shape_of,
    {"text": Text(check_item_reference), "list": Many(Item(), least=1, most=MAX_ITEMS)},
    "must be a list of items or a reference to one",
)
_RETRY = ModelType(RetrySpec)
_APPROVE: FieldType[str | ApprovalSpec] = OneOf(
    shape_of,
    {"text": APPROVER, "mapping": ModelType(ApprovalSpec)},
    "must be a role, or a mapping with role, timeout and on_timeout",
)
_PRECONDITION = ModelType(PreconditionSpec)


class StepSpec(ActionFields, one_of=STEP_ACTIONS, called="a step"):
    name = required(NAME_TEXT, "The step's name, unique in the job.", "extract")
    depends = optional(_DEPENDS, "The steps that come before this one.", ["extract"])
    env = optional(ENVIRONMENT, "Variables for this step.", {"MODE": "full"})
    dir = optional(_PATH, "The folder the step runs in; the job's if left out.", "/srv/etl")
    timeout = optional(DURATION, "When the step is ended.", "10m")
    retry = optional(_RETRY, "When the step is tried again.", {"limit": 3})
    continue_on = optional(OUTCOMES, "Endings of this step that do not hold up what depends on it.", ["failed"])
    preconditions = optional(
        Many(_PRECONDITION), "What must hold, else the step is skipped.", [{"command": "test -f /data/ready"}]
    )
    foreach = optional(
        _ITEMS,
        "Execute the step once for each item: a list, or a reference to one.",
        ["eu", "us"],
        "${steps.list.outputs.files}",
    )
    max_parallel = optional(whole(1, 100), "Items at the same time; 4 if left out.", 8)
    job = optional(NAME_TEXT, "A job: the step starts a run of it and waits for that.", "load-shop")
    params = optional(PARAMS, "What that run is given; references stand in its texts.", {"shop": "${item}"})
    approve = optional(
        _APPROVE, "The step waits for a person's approval, of this role or with more.", "operator",
        {"role": "admin", "timeout": "24h"},
    )  # fmt: skip

    def actions(self) -> list[str]:
        return [name for name in STEP_ACTIONS if getattr(self, name) is not None]

    def check(self) -> None:
        super().check()
        if self.params is not None and self.job is None:
            raise InputError("params goes with job")
        for action in self.actions():
            for name, instead in _NOT_FOR.get(action, {}).items():
                if getattr(self, name) is not None:
                    raise InputError(f"{name} goes with no {action}: {instead}")
        if self.max_parallel is not None and self.foreach is None:
            raise InputError("max_parallel goes with foreach")


_HANDLER: FieldType[tuple[str, ...] | ActionSpec] = OneOf(
    shape_of,
    {"text": COMMAND_TEXT, "mapping": ModelType(ActionSpec)},
    "must be a command text or a mapping with an action",
)


class HandlersSpec(Spec):
    success = optional(_HANDLER, "After a run that succeeded.", {"http": "https://example.com/ping"})
    failure = optional(_HANDLER, "After a run that failed for good.", "notify-send 'backup failed'")
    exit = optional(_HANDLER, "After any run.", {"python": "shop.jobs:clean_up"})


class KeepSpec(Spec, one_of=("days", "runs"), called="keep"):
    days = optional(whole(1, 36_500), "Keep finished runs this long.", 30)
    runs = optional(whole(1, 1_000_000), "Keep this many finished runs.", 100)


class PauseAfterSpec(Spec):
    failures = required(whole(1, 1_000), "Failed runs in a row.", 5)


class MaxStartsSpec(Spec):
    count = required(whole(1, 1_000), "Runs for slots.", 24)
    per = required(DURATION, "In any time of this length.", "1d")


class DaysSpec(Spec, one_of=("in", "not_in"), called="days"):
    in_ = optional(NAME_TEXT, "The calendar whose days fit.", "office")
    not_in = optional(NAME_TEXT, "The calendar whose days do not fit.", "holidays-be")


class AfterSpec(Spec, one_of=("schedule", "job"), called="an entry of after"):
    schedule = optional(NAME_TEXT, "The schedule that must have succeeded.", "extract")
    job = optional(NAME_TEXT, "The job of which any run must have succeeded.", "extract")
    within = required(DURATION, "How far back its slot may lie.", "1h")


_ENGINE: FieldType[str | dict[str, Any]] = OneOf(
    shape_of,
    {"text": NAME_TEXT, "mapping": Names(check_option_name, AnyValue())},
    "must be the name of an engine, or a mapping with name and the engine's options",
)


class JobSpec(ActionFields):
    """A job: what to do, when, and how its slots become runs."""

    name = optional(NAME_TEXT, "The job's name; the file's name without its ending if left out.", "nightly-backup")
    description = optional(Text(str, most=10_000), "What it is for.", "Dumps the shop")
    labels = optional(LABELS, "Words to find and group jobs by.", {"team": "data"})
    enabled = optional(FLAG, "Whether its slots are decided; true if left out.", False)

    schedule = optional(
        SCHEDULE,
        "When: a cron text, an entry, a list of them, or a mapping of start, stop and restart.",
        "0 3 * * *",
        ["0 9 * * *", {"every": "6h"}],
        {"start": "0 8 * * *", "stop": "0 18 * * *"},
    )
    on_event = optional(
        ModelType(OnEventSpec), "Run on events: signed calls, files, ends of runs, or what is sent.",
        {"hook": {"signed_with": "deploy_hook", "sender": "github"}},
        {"file": {"path": "/data/in/*.csv"}}, {"job": "extract"}, {"coalesce": {"quiet": "30s", "at_most": "5m"}},
    )  # fmt: skip
    on_start = optional(FLAG, "Run once for each start of the machine whose node serves it.", True)
    timezone = optional(ZONE_NAME, "The zone of all times in the file; UTC if left out.", "Europe/Berlin")

    days = optional(ModelType(DaysSpec), "Only on the days of a calendar, or on all others.", {"in": "office"})
    roll = optional(ROLL, "Move a time whose day does not fit to the nearest that does.", "forward")
    nth = optional(
        PLACES_IN_MONTH, "Of each month only these of the days that fit; from its end below 0.", [1, -1]
    )

    catchup = optional(CATCHUP, "What becomes of missed slots; once if left out.", "all")
    catchup_window = optional(WINDOW, "How far back missed slots run; implies catchup: all. 0: skip.", "6h", 0)
    max_catchup = optional(whole(1, 10_000), "Missed slots looked at; 1000 if left out.", 100)
    overlap = optional(OVERLAP, "What becomes of a slot while the job is active; skip if left out.", "queue")
    max_active_runs = optional(whole(1, 1_000), "Runs side by side, with overlap: allow.", 4)
    grace = optional(DURATION, "How late a slot still counts as on time; 60s if left out.", "5m")
    skip_if_successful = optional(FLAG, "Skip a slot if the job succeeded since the one before.", True)
    jitter = optional(DURATION, "Spread slots by up to this, the same on every node.", "5m")
    from_ = optional(MOMENT_TEXT, "The first instant, or the first day, inclusive.", "2027-01-01")
    until = optional(MOMENT_TEXT, "The last instant, or the last day, inclusive.", "2027-12-31")
    max_runs = optional(whole(1, 1_000_000_000), "Finish after this many runs.", 10)
    max_starts = optional(
        ModelType(MaxStartsSpec),
        "At most so many runs in any such time; no limit if left out.",
        {"count": 24, "per": "1d"},
    )
    after = optional(
        Many(ModelType(AfterSpec), most=100),
        "Schedules that must have succeeded before a slot runs.",
        [{"schedule": "extract", "within": "1h"}],
    )
    wait_for = optional(DURATION, "How long a slot is held for those; not at all if left out.", "30m")
    expires = optional(DURATION, "Ends runs that did not start in this time.", "1h")
    auto_remove = optional(FLAG, "Remove the schedule when it has finished.", True)
    pause_after = optional(
        ModelType(PauseAfterSpec), "Pause the schedule after failures; never if left out.", {"failures": 5}
    )
    blackout = optional(BLACKOUT, "What becomes of slots in a blackout when it ends; pause if left out.", "skip")
    deadline = optional(
        ModelType(DeadlineSpec),
        "By when a slot's work has begun and is done; none if left out.",
        {"finish": "06:00"},
    )
    ticking = optional(TICKING, "Who finds due slots; as the node is set if left out.", "local")
    shadow = optional(FLAG, "Decide its slots and run none: another scheduler still starts the job.", True)

    engine = optional(
        _ENGINE,
        "Which engine of the settings executes it, and what that is told; a worker if left out.",
        "celery",
        {"name": "gpu", "entrypoint_num_gpus": 1},
    )
    queue = optional(NAME_TEXT, "Which workers run it; default if left out.", "reports")
    priority = optional(whole(-1_000, 1_000), "Higher goes first; 0 if left out.", 10)
    params = optional(PARAMS, "Values for the run, as in JSON.", {"table": "orders"})
    param_types = optional(
        PARAM_TYPES, "Types of params; one without a value under params must be given to each run.",
        {"table": "string", "day": "date"},
    )  # fmt: skip
    env = optional(ENVIRONMENT, "Variables for every step.", {"PGHOST": "db.internal"})
    env_file = optional(
        _PATH, "A file of NAME=value lines on the worker, read when a run begins; env goes before it.", ".env"
    )
    dir = optional(_PATH, "The folder of steps that name none; the worker's if left out.", "/srv/etl")
    preconditions = optional(
        Many(_PRECONDITION, most=100),
        "What must hold, else the run is skipped.",
        [{"command": "test -f /data/ready"}],
    )
    retry = optional(_RETRY, "When a failed run is tried again.", {"limit": 3, "interval": "30s"})
    timeout = optional(DURATION, "When a run is ended.", "2h")
    at_most_once = optional(FLAG, "Never repeat an attempt that has started.", True)
    on = optional(ModelType(HandlersSpec), "What to do after a run.", {"failure": "notify-send failed"})
    keep = optional(
        ModelType(KeepSpec), "How long finished runs are kept; as the settings say if omitted.", {"days": 30}
    )
    steps = optional(
        Many(ModelType(StepSpec), least=1, most=1_000),
        "The steps of a pipeline, in place of a single action.",
        [{"name": "extract", "command": "./extract"}],
    )


def json_schema() -> JsonSchema:
    """The JSON Schema (2020-12) of a job file."""
    parts: dict[str, JsonSchema] = {}
    whole_schema = JobSpec.schema(parts)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tickwise job",
        "description": JobSpec.__doc__,
        **whole_schema,
        "$defs": parts,
    }
