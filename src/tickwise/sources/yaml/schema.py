"""The schema of a job file as pydantic models, and the JSON Schema that gives editors completion.

The models check each value by itself. `build` checks what depends on several values (policies, the graph of steps,
zones). A field that is left out is None; an empty value is refused before validation. The tags of unions stand in
angle brackets, so that they differ from the names in the path to a value.
"""

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from ...core.definition import Outcome
from ...core.errors import InputError, nearest_word
from .fields import (
    CatchupField,
    CommandText,
    CommandWords,
    CronText,
    Duration,
    EnvName,
    FunctionTarget,
    HeaderName,
    HeaderValue,
    LabelName,
    MomentText,
    Name,
    OverlapField,
    ParamName,
    ScriptText,
    TickingField,
    TimeText,
    Url,
    Window,
    ZoneName,
)

ACTIONS = ("command", "script", "python", "http")
ENTRIES = ("cron", "every", "at", "template")
KINDS = ("start", "stop", "restart")


class Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def optional(description: str, *examples: Any) -> Any:
    """A field that is None if it is left out."""
    return Field(default=None, description=description, examples=list(examples) or None)


def required(description: str, *examples: Any) -> Any:
    return Field(description=description, examples=list(examples) or None)


def _shape_tag(value: Any) -> str | None:
    shapes = ((str, "<text>"), (list, "<list>"), (dict, "<mapping>"))
    return next((tag for kind, tag in shapes if isinstance(value, kind)), None)


def _likely_key(value: Any, names: tuple[str, ...]) -> str | None:
    """The name that a mapping has as a key, or was probably meant to have."""
    if not isinstance(value, dict):
        return None
    near = (name for key in value for name in names if nearest_word(key, names) == name)
    return next((name for name in names if name in value), None) or next(near, None)


def _entry_tag(value: Any) -> str | None:
    name = _likely_key(value, ENTRIES)
    return f"<{name}>" if name else "<text>" if isinstance(value, str) else None


def _times_tag(value: Any) -> str:
    return "<list>" if isinstance(value, list) else "<entry>"


def _schedule_tag(value: Any) -> str:
    return "<kinds>" if _likely_key(value, ENTRIES) is None and _likely_key(value, KINDS) else "<times>"


def _one_of_schema(*names: str) -> ConfigDict:
    """State in the JSON Schema what `_check_exactly_one` checks."""
    return ConfigDict(json_schema_extra={"oneOf": [{"required": [name]} for name in names]})


def _check_exactly_one(names: tuple[str, ...], given: list[str], what: str) -> None:
    if len(given) != 1:
        instead = f"not {' and '.join(given)}" if given else "but has none"
        raise InputError(f"{what} has exactly one of {', '.join(names)}, {instead}")


class HttpSpec(Spec):
    url: Url = required("Where the request goes.", "https://example.com/hooks/done")
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] | None = optional(
        "The request's verb; GET if left out.", "POST"
    )
    headers: dict[HeaderName, HeaderValue] | None = optional(
        "The request's headers.", {"Content-Type": "application/json"}
    )
    body: str | None = optional("The request's body, as text.", '{"done": true}')


CommandField: TypeAlias = Annotated[
    Annotated[CommandText, Tag("<text>")] | Annotated[CommandWords, Tag("<list>")],
    Discriminator(_shape_tag, custom_error_type="shape", custom_error_message="must be a text or a list of words"),
]
HttpField: TypeAlias = Annotated[
    Annotated[Url, Tag("<text>")] | Annotated[HttpSpec, Tag("<mapping>")],
    Discriminator(
        _shape_tag, custom_error_type="shape", custom_error_message="must be a web address or a mapping with url"
    ),
]
EnvField: TypeAlias = dict[EnvName, str]


class ActionFields(Spec):
    """The fields of the four kinds of action."""

    command: CommandField | None = optional(
        "A program with its arguments; no shell reads it.", "pg_dump --file=backup.sql shop"
    )
    script: ScriptText | None = optional(
        "Lines for the interpreter of their #! line, or sh.", "set -e\ncd /srv\n./clean.sh\n"
    )
    python: FunctionTarget | None = optional("A function, called with the params.", "shop.reports:nightly")
    http: HttpField | None = optional("A request; a status below 400 is a success.", "https://example.com/ping")

    def actions(self) -> list[str]:
        return [name for name in ACTIONS if getattr(self, name) is not None]


class ActionSpec(ActionFields):
    model_config = _one_of_schema(*ACTIONS)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        _check_exactly_one(ACTIONS, self.actions(), "an action")
        return self


class PreconditionSpec(Spec):
    model_config = _one_of_schema("command", "python")

    command: CommandField | None = optional("A program that must succeed.", "test -f /data/ready")
    python: FunctionTarget | None = optional(
        "A function that must return without an error.", "shop.checks:is_open"
    )
    expected: str | None = optional("What must be printed or returned, besides.", "ready")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        names = ("command", "python")
        _check_exactly_one(names, [name for name in names if getattr(self, name) is not None], "a precondition")
        return self


class RetrySpec(Spec):
    limit: Annotated[int, Field(ge=0, le=1_000)] = required("How often a failed attempt is repeated.", 3)
    interval: Duration | None = optional("The first wait; 10s if left out.", "30s")
    backoff: Annotated[float, Field(ge=1, le=100)] | None = optional(
        "What each wait is multiplied by; 2 if left out.", 1.5
    )
    max_interval: Duration | None = optional("The longest wait; 1h if left out.", "10m")
    jitter: Annotated[float, Field(ge=0, le=1)] | None = optional(
        "The share by which a wait may be longer, so that runs do not retry together; 0.1 if left out.", 0
    )

    @model_validator(mode="after")
    def _longest_is_longer(self) -> Self:
        if self.interval and self.max_interval and self.max_interval < self.interval:
            raise InputError("max_interval is shorter than interval")
        return self


class StepSpec(ActionFields):
    model_config = _one_of_schema(*ACTIONS)

    name: Name = required("The step's name, unique in the job.", "extract")
    depends: (
        Annotated[
            Annotated[Name, Tag("<text>")] | Annotated[list[Name], Tag("<list>")],
            Discriminator(
                _shape_tag,
                custom_error_type="shape",
                custom_error_message="must be a step's name or a list of them",
            ),
        ]
        | None
    ) = optional("The steps that come before this one.", ["extract"])
    env: EnvField | None = optional("Variables for this step.", {"MODE": "full"})
    dir: Annotated[str, Field(min_length=1, max_length=4_096)] | None = optional(
        "The folder the step runs in.", "/srv/etl"
    )
    timeout: Duration | None = optional("When the step is ended.", "10m")
    retry: RetrySpec | None = optional("When the step is tried again.", {"limit": 3})
    continue_on: list[Annotated[Outcome, Field(strict=False)]] | None = optional(
        "Endings of this step that do not hold up what depends on it.", ["failed"]
    )
    preconditions: list[PreconditionSpec] | None = optional(
        "What must hold, else the step is skipped.", [{"command": "test -f /data/ready"}]
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        _check_exactly_one(ACTIONS, self.actions(), "a step")
        return self


HandlerField: TypeAlias = Annotated[
    Annotated[CommandText, Tag("<text>")] | Annotated[ActionSpec, Tag("<mapping>")],
    Discriminator(
        _shape_tag,
        custom_error_type="shape",
        custom_error_message="must be a command text or a mapping with an action",
    ),
]


class HandlersSpec(Spec):
    success: HandlerField | None = optional("After a run that succeeded.", {"http": "https://example.com/ping"})
    failure: HandlerField | None = optional("After a run that failed for good.", "notify-send 'backup failed'")
    exit: HandlerField | None = optional("After any run.", {"python": "shop.jobs:clean_up"})


class KeepSpec(Spec):
    model_config = _one_of_schema("days", "runs")

    days: Annotated[int, Field(ge=1, le=36_500)] | None = optional("Keep finished runs this long.", 30)
    runs: Annotated[int, Field(ge=1, le=1_000_000)] | None = optional("Keep this many finished runs.", 100)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        names = ("days", "runs")
        _check_exactly_one(names, [name for name in names if getattr(self, name) is not None], "keep")
        return self


class AfterSpec(Spec):
    schedule: Name = required("The schedule that must have succeeded.", "extract")
    within: Duration = required("How far back its slot may lie.", "1h")


class CronEntry(Spec):
    cron: CronText = required("Five fields, six with seconds first, or seven with a year last.", "0 3 * * *")
    timezone: ZoneName | None = optional("Its own zone.", "Europe/Berlin")
    both: bool | None = optional("Whether day-of-month and day-of-week must both match.", True)


class EveryEntry(Spec):
    every: Duration = required("The pace, counted from 1970 so that all nodes agree.", "90s")
    offset: Duration | None = optional("Shifts it; shorter than the pace.", "30s")

    @model_validator(mode="after")
    def _offset_is_shorter(self) -> Self:
        if self.offset is not None and self.offset >= self.every:
            raise InputError("the offset must be shorter than the interval")
        return self


class AtEntry(Spec):
    at: TimeText = required(
        "Once, at this time; without an offset, in the file's timezone.", "2027-03-01T09:00:00"
    )


class TemplateEntry(Spec):
    template: str = required("A schedule by name.", "weekdays-at-9")
    timezone: ZoneName | None = optional("Its own zone.", "Europe/Berlin")


EntryField: TypeAlias = Annotated[
    Annotated[CronText, Tag("<text>")]
    | Annotated[CronEntry, Tag("<cron>")]
    | Annotated[EveryEntry, Tag("<every>")]
    | Annotated[AtEntry, Tag("<at>")]
    | Annotated[TemplateEntry, Tag("<template>")],
    Discriminator(
        _entry_tag,
        custom_error_type="shape",
        custom_error_message=f"must be a cron text or a mapping with one of {', '.join(ENTRIES)}",
    ),
]
TimesField: TypeAlias = Annotated[
    Annotated[EntryField, Tag("<entry>")]
    | Annotated[list[EntryField], Field(min_length=1, max_length=100), Tag("<list>")],
    Discriminator(_times_tag),
]


class KindsSpec(Spec):
    start: TimesField | None = optional("When a run starts.", "0 8 * * *")
    stop: TimesField | None = optional("When active runs are cancelled.", "0 18 * * *")
    restart: TimesField | None = optional("When active runs are cancelled and a new one starts.", "0 12 * * *")


ScheduleField: TypeAlias = Annotated[
    Annotated[TimesField, Tag("<times>")] | Annotated[KindsSpec, Tag("<kinds>")], Discriminator(_schedule_tag)
]


class JobSpec(ActionFields):
    """A job: what to do, when, and how its slots become runs."""

    name: Name | None = optional(
        "The job's name; the file's name without its ending if left out.", "nightly-backup"
    )
    description: Annotated[str, Field(max_length=10_000)] | None = optional("What it is for.", "Dumps the shop")
    labels: dict[LabelName, str] | None = optional("Words to find and group jobs by.", {"team": "data"})
    enabled: bool | None = optional("Whether its slots are decided; true if left out.", False)

    schedule: ScheduleField | None = optional(
        "When: a cron text, an entry, a list of them, or a mapping of start, stop and restart.",
        "0 3 * * *",
        ["0 9 * * *", {"every": "6h"}],
        {"start": "0 8 * * *", "stop": "0 18 * * *"},
    )
    timezone: ZoneName | None = optional("The zone of all times in the file; UTC if left out.", "Europe/Berlin")

    catchup: CatchupField | None = optional("What becomes of missed slots; once if left out.", "all")
    catchup_window: Window | None = optional(
        "How far back missed slots run; implies catchup: all. 0: skip.", "6h", 0
    )
    max_catchup: Annotated[int, Field(ge=1, le=10_000)] | None = optional(
        "Missed slots looked at; 1000 if left out.", 100
    )
    overlap: OverlapField | None = optional(
        "What becomes of a slot while the job is active; skip if left out.", "queue"
    )
    max_active_runs: Annotated[int, Field(ge=1, le=1_000)] | None = optional(
        "Runs side by side, with overlap: allow.", 4
    )
    grace: Duration | None = optional("How late a slot still counts as on time; 60s if left out.", "5m")
    skip_if_successful: bool | None = optional("Skip a slot if the job succeeded since the one before.", True)
    jitter: Duration | None = optional("Spread slots by up to this, the same on every node.", "5m")
    until: MomentText | None = optional("The last instant, or the last day, inclusive.", "2027-12-31")
    max_runs: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = optional("Finish after this many runs.", 10)
    after: Annotated[list[AfterSpec], Field(max_length=100)] | None = optional(
        "Schedules that must have succeeded before a slot runs.", [{"schedule": "extract", "within": "1h"}]
    )
    wait_for: Duration | None = optional("How long a slot is held for those; not at all if left out.", "30m")
    expires: Duration | None = optional("Ends runs that did not start in this time.", "1h")
    auto_remove: bool | None = optional("Remove the schedule when it has finished.", True)
    ticking: TickingField | None = optional("Who finds due slots; as the node is set if left out.", "local")

    queue: Name | None = optional("Which workers run it; default if left out.", "reports")
    priority: Annotated[int, Field(ge=-1_000, le=1_000)] | None = optional("Higher goes first; 0 if left out.", 10)
    params: dict[ParamName, Any] | None = optional("Values for the run, as in JSON.", {"table": "orders"})
    env: EnvField | None = optional("Variables for every step.", {"PGHOST": "db.internal"})
    preconditions: Annotated[list[PreconditionSpec], Field(max_length=100)] | None = optional(
        "What must hold, else the run is skipped.", [{"command": "test -f /data/ready"}]
    )
    retry: RetrySpec | None = optional("When a failed run is tried again.", {"limit": 3, "interval": "30s"})
    timeout: Duration | None = optional("When a run is ended.", "2h")
    at_most_once: bool | None = optional("Never repeat an attempt that has started.", True)
    on: HandlersSpec | None = optional("What to do after a run.", {"failure": "notify-send failed"})
    keep: KeepSpec | None = optional(
        "How long finished runs are kept; as the settings say if omitted.", {"days": 30}
    )
    steps: Annotated[list[StepSpec], Field(min_length=1, max_length=1_000)] | None = optional(
        "The steps of a pipeline, in place of a single action.", [{"name": "extract", "command": "./extract"}]
    )


class _JobSchemaGenerator(GenerateJsonSchema):
    """Optional fields are not nullable, and fields have no titles."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a job file."""
    schema = JobSpec.model_json_schema(schema_generator=_JobSchemaGenerator)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Tickwise job",
        "$defs": {name: _without_title(part) for name, part in schema["$defs"].items()},
    }


def _without_title(part: dict[str, Any]) -> dict[str, Any]:
    """A definition without the name and the docstring of its class."""
    return {key: value for key, value in part.items() if key not in ("title", "description")}
