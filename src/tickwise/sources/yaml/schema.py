"""The whole of a job file, and the JSON Schema that gives editors completion."""

from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from ...core.definition import Catchup, Overlap, Ticking
from .fields import Duration, LabelName, MomentText, Name, ParamName, Window, ZoneName
from .schema_parts import (
    Acting,
    AfterSpec,
    Env,
    HandlersSpec,
    KeepSpec,
    PreconditionSpec,
    RetrySpec,
    Schedule,
    StepSpec,
    about,
)


def _overlap(value: Any) -> Any:
    return Overlap.QUEUE if value == "all" else value


CatchupWord: TypeAlias = Annotated[Catchup, Field(strict=False)]
OverlapWord: TypeAlias = Annotated[
    Overlap,
    Field(strict=False),
    BeforeValidator(_overlap),
    WithJsonSchema({"type": "string", "enum": [*Overlap, "all"]}),
]
TickingWord: TypeAlias = Annotated[Ticking, Field(strict=False)]


class JobSpec(Acting):
    """A job: what to do, when, and how its slots become runs."""

    name: Name | None = about("The job's name; the file's name without its ending if left out.", "nightly-backup")
    description: Annotated[str, Field(max_length=10_000)] | None = about("What it is for.", "Dumps the shop")
    labels: dict[LabelName, str] | None = about("Words to find and group jobs by.", {"team": "data"})
    enabled: bool | None = about("Whether its slots are decided; true if left out.", False)

    schedule: Schedule | None = about(
        "When: a cron text, an entry, a list of them, or a mapping of start, stop and restart.",
        "0 3 * * *",
        ["0 9 * * *", {"every": "6h"}],
        {"start": "0 8 * * *", "stop": "0 18 * * *"},
    )
    timezone: ZoneName | None = about("The zone of all times in the file; UTC if left out.", "Europe/Berlin")

    catchup: CatchupWord | None = about("What becomes of missed slots; once if left out.", "all")
    catchup_window: Window | None = about("How far back missed slots run; implies catchup: all. 0: skip.", "6h", 0)
    max_catchup: Annotated[int, Field(ge=1, le=10_000)] | None = about(
        "Missed slots looked at; 1000 if left out.", 100
    )
    overlap: OverlapWord | None = about(
        "What becomes of a slot while the job is active; skip if left out.", "queue"
    )
    max_active_runs: Annotated[int, Field(ge=1, le=1_000)] | None = about(
        "Runs side by side, with overlap: allow.", 4
    )
    grace: Duration | None = about("How late a slot still counts as on time; 60s if left out.", "5m")
    skip_if_successful: bool | None = about("Skip a slot if the job succeeded since the one before.", True)
    jitter: Duration | None = about("Spread slots by up to this, the same on every node.", "5m")
    until: MomentText | None = about("The last instant, or the last day, inclusive.", "2027-12-31")
    max_runs: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = about("Finish after this many runs.", 10)
    after: Annotated[list[AfterSpec], Field(max_length=100)] | None = about(
        "Schedules that must have succeeded before a slot runs.", [{"schedule": "extract", "within": "1h"}]
    )
    wait_for: Duration | None = about("How long a slot is held for those; not at all if left out.", "30m")
    expires: Duration | None = about("Ends runs that did not start in this time.", "1h")
    auto_remove: bool | None = about("Remove the schedule when it has finished.", True)
    ticking: TickingWord | None = about("Who finds due slots; as the node is set if left out.", "local")

    queue: Name | None = about("Which workers run it; default if left out.", "reports")
    priority: Annotated[int, Field(ge=-1_000, le=1_000)] | None = about("Higher goes first; 0 if left out.", 10)
    params: dict[ParamName, Any] | None = about("Values for the run, as in JSON.", {"table": "orders"})
    env: Env | None = about("Variables for every step.", {"PGHOST": "db.internal"})
    preconditions: Annotated[list[PreconditionSpec], Field(max_length=100)] | None = about(
        "What must hold, else the run is skipped.", [{"command": "test -f /data/ready"}]
    )
    retry: RetrySpec | None = about("When a failed run is tried again.", {"limit": 3, "interval": "30s"})
    timeout: Duration | None = about("When a run is ended.", "2h")
    at_most_once: bool | None = about("Never repeat an attempt that has started.", True)
    on: HandlersSpec | None = about("What to do after a run.", {"failure": "notify-send failed"})
    keep: KeepSpec | None = about("How long finished runs are kept; for ever if left out.", {"days": 30})
    steps: Annotated[list[StepSpec], Field(min_length=1, max_length=1_000)] | None = about(
        "The steps of a pipeline, in place of a single action.", [{"name": "extract", "command": "./extract"}]
    )


class _Schema(GenerateJsonSchema):
    """A field that may be left out is not one that may be empty, and its name needs no title."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a job file."""
    schema = JobSpec.model_json_schema(schema_generator=_Schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Tickwise job",
        "$defs": {name: _plain(part) for name, part in schema["$defs"].items()},
    }


def _plain(part: dict[str, Any]) -> dict[str, Any]:
    """A part without the name and the docstring of its class."""
    return {key: value for key, value in part.items() if key not in ("title", "description")}
