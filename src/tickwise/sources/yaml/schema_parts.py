"""The parts of a job file, as pydantic models: what is checked here is each value by itself.

What depends on several values (policies, the graph of steps, zones) is checked where the definition is built.
Fields left out are none; an empty value is refused before it comes here. The tags of unions stand in angle
brackets, so that they can be told from the way to a value.
"""

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from ...core.definition import Outcome
from ...core.errors import InputError, nearest_word
from .fields import (
    CommandText,
    CommandWords,
    CronText,
    Duration,
    EnvName,
    HeaderName,
    HeaderValue,
    Name,
    ScriptText,
    Target,
    TimeText,
    Url,
    ZoneName,
)

ACTIONS = ("command", "script", "python", "http")
ENTRIES = ("cron", "every", "at", "template")
KINDS = ("start", "stop", "restart")


class Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def about(description: str, *examples: Any) -> Any:
    """An optional field."""
    return Field(default=None, description=description, examples=list(examples) or None)


def needed(description: str, *examples: Any) -> Any:
    return Field(description=description, examples=list(examples) or None)


def _shape(value: Any) -> str | None:
    shapes = ((str, "<text>"), (list, "<list>"), (dict, "<mapping>"))
    return next((tag for kind, tag in shapes if isinstance(value, kind)), None)


def _likely(value: Any, names: tuple[str, ...]) -> str | None:
    """Which of these names a mapping has as a key, or was probably meant to have."""
    if not isinstance(value, dict):
        return None
    near = (name for key in value for name in names if nearest_word(key, names) == name)
    return next((name for name in names if name in value), None) or next(near, None)


def _entry(value: Any) -> str | None:
    name = _likely(value, ENTRIES)
    return f"<{name}>" if name else "<text>" if isinstance(value, str) else None


def _times(value: Any) -> str:
    return "<list>" if isinstance(value, list) else "<entry>"


def _schedule(value: Any) -> str:
    return "<kinds>" if _likely(value, ENTRIES) is None and _likely(value, KINDS) else "<times>"


def only_one(*names: str) -> ConfigDict:
    """Says in the schema what `_one_of` checks."""
    return ConfigDict(json_schema_extra={"oneOf": [{"required": [name]} for name in names]})


def _one_of(names: tuple[str, ...], given: list[str], what: str) -> None:
    if len(given) != 1:
        found = f"not {' and '.join(given)}" if given else "but has none"
        raise InputError(f"{what} has exactly one of {', '.join(names)}, {found}")


class HttpSpec(Spec):
    url: Url = needed("Where the request goes.", "https://example.com/hooks/done")
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] | None = about(
        "The request's verb; GET if left out.", "POST"
    )
    headers: dict[HeaderName, HeaderValue] | None = about(
        "The request's headers.", {"Content-Type": "application/json"}
    )
    body: str | None = about("The request's body, as text.", '{"done": true}')


Command: TypeAlias = Annotated[
    Annotated[CommandText, Tag("<text>")] | Annotated[CommandWords, Tag("<list>")],
    Discriminator(_shape, custom_error_type="shape", custom_error_message="must be a text or a list of words"),
]
Http: TypeAlias = Annotated[
    Annotated[Url, Tag("<text>")] | Annotated[HttpSpec, Tag("<mapping>")],
    Discriminator(
        _shape, custom_error_type="shape", custom_error_message="must be a web address or a mapping with url"
    ),
]
Env: TypeAlias = dict[EnvName, str]


class Acting(Spec):
    """The four ways to do something."""

    command: Command | None = about(
        "A program with its arguments; no shell reads it.", "pg_dump --file=backup.sql shop"
    )
    script: ScriptText | None = about(
        "Lines for the interpreter of their #! line, or sh.", "set -e\ncd /srv\n./clean.sh\n"
    )
    python: Target | None = about("A function, called with the params.", "shop.reports:nightly")
    http: Http | None = about("A request; a status below 400 is a success.", "https://example.com/ping")

    def actions(self) -> list[str]:
        return [name for name in ACTIONS if getattr(self, name) is not None]


class ActionSpec(Acting):
    model_config = only_one(*ACTIONS)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        _one_of(ACTIONS, self.actions(), "an action")
        return self


class PreconditionSpec(Spec):
    model_config = only_one("command", "python")

    command: Command | None = about("A program that must succeed.", "test -f /data/ready")
    python: Target | None = about("A function that must return without an error.", "shop.checks:is_open")
    expected: str | None = about("What must be printed or returned, besides.", "ready")

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        names = ("command", "python")
        _one_of(names, [name for name in names if getattr(self, name) is not None], "a precondition")
        return self


class RetrySpec(Spec):
    limit: Annotated[int, Field(ge=0, le=1_000)] = needed("How often a failed attempt is repeated.", 3)
    interval: Duration | None = about("The first wait; 10s if left out.", "30s")
    backoff: Annotated[float, Field(ge=1, le=100)] | None = about(
        "What each wait is multiplied by; 2 if left out.", 1.5
    )
    max_interval: Duration | None = about("The longest wait; 1h if left out.", "10m")

    @model_validator(mode="after")
    def _longest_is_longer(self) -> Self:
        if self.interval and self.max_interval and self.max_interval < self.interval:
            raise InputError("max_interval is shorter than interval")
        return self


class StepSpec(Acting):
    model_config = only_one(*ACTIONS)

    name: Name = needed("The step's name, unique in the job.", "extract")
    depends: (
        Annotated[
            Annotated[Name, Tag("<text>")] | Annotated[list[Name], Tag("<list>")],
            Discriminator(
                _shape, custom_error_type="shape", custom_error_message="must be a step's name or a list of them"
            ),
        ]
        | None
    ) = about("The steps that come before this one.", ["extract"])
    env: Env | None = about("Variables for this step.", {"MODE": "full"})
    dir: Annotated[str, Field(min_length=1, max_length=4_096)] | None = about(
        "The folder the step runs in.", "/srv/etl"
    )
    timeout: Duration | None = about("When the step is ended.", "10m")
    retry: RetrySpec | None = about("When the step is tried again.", {"limit": 3})
    continue_on: list[Annotated[Outcome, Field(strict=False)]] | None = about(
        "Endings of this step that do not hold up what depends on it.", ["failed"]
    )
    preconditions: list[PreconditionSpec] | None = about(
        "What must hold, else the step is skipped.", [{"command": "test -f /data/ready"}]
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        _one_of(ACTIONS, self.actions(), "a step")
        return self


Handler: TypeAlias = Annotated[
    Annotated[CommandText, Tag("<text>")] | Annotated[ActionSpec, Tag("<mapping>")],
    Discriminator(
        _shape,
        custom_error_type="shape",
        custom_error_message="must be a command text or a mapping with an action",
    ),
]


class HandlersSpec(Spec):
    success: Handler | None = about("After a run that succeeded.", {"http": "https://example.com/ping"})
    failure: Handler | None = about("After a run that failed for good.", "notify-send 'backup failed'")
    exit: Handler | None = about("After any run.", {"python": "shop.jobs:clean_up"})


class KeepSpec(Spec):
    model_config = only_one("days", "runs")

    days: Annotated[int, Field(ge=1, le=36_500)] | None = about("Keep finished runs this long.", 30)
    runs: Annotated[int, Field(ge=1, le=1_000_000)] | None = about("Keep this many finished runs.", 100)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        names = ("days", "runs")
        _one_of(names, [name for name in names if getattr(self, name) is not None], "keep")
        return self


class AfterSpec(Spec):
    schedule: Name = needed("The schedule that must have succeeded.", "extract")
    within: Duration = needed("How far back its slot may lie.", "1h")


class CronEntry(Spec):
    cron: CronText = needed("Five fields, or six with seconds first.", "0 3 * * *")
    timezone: ZoneName | None = about("Its own zone.", "Europe/Berlin")


class EveryEntry(Spec):
    every: Duration = needed("The pace, counted from 1970 so that all nodes agree.", "90s")
    offset: Duration | None = about("Shifts it; shorter than the pace.", "30s")

    @model_validator(mode="after")
    def _offset_is_shorter(self) -> Self:
        if self.offset is not None and self.offset >= self.every:
            raise InputError("the offset must be shorter than the interval")
        return self


class AtEntry(Spec):
    at: TimeText = needed("Once, at this time; without an offset, in the file's timezone.", "2027-03-01T09:00:00")


class TemplateEntry(Spec):
    template: str = needed("A schedule by name.", "weekdays-at-9")
    timezone: ZoneName | None = about("Its own zone.", "Europe/Berlin")


Entry: TypeAlias = Annotated[
    Annotated[CronText, Tag("<text>")]
    | Annotated[CronEntry, Tag("<cron>")]
    | Annotated[EveryEntry, Tag("<every>")]
    | Annotated[AtEntry, Tag("<at>")]
    | Annotated[TemplateEntry, Tag("<template>")],
    Discriminator(
        _entry,
        custom_error_type="shape",
        custom_error_message=f"must be a cron text or a mapping with one of {', '.join(ENTRIES)}",
    ),
]
Times: TypeAlias = Annotated[
    Annotated[Entry, Tag("<entry>")] | Annotated[list[Entry], Field(min_length=1, max_length=100), Tag("<list>")],
    Discriminator(_times),
]


class KindsSpec(Spec):
    start: Times | None = about("When a run starts.", "0 8 * * *")
    stop: Times | None = about("When active runs are cancelled.", "0 18 * * *")
    restart: Times | None = about("When active runs are cancelled and a new one starts.", "0 12 * * *")


Schedule: TypeAlias = Annotated[
    Annotated[Times, Tag("<times>")] | Annotated[KindsSpec, Tag("<kinds>")], Discriminator(_schedule)
]
