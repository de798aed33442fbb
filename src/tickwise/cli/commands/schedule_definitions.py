"""`tickwise schedules add`, `update`, `remove`: definitions from the command line."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import InputError
from ..arguments import schedule_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..completion import Name, OptionalName
from ..output import print_line, print_note, print_table
from ..prompts import Yes, confirm
from ..schedule_output import format_next_run
from ..sender import ApiRefusal

if TYPE_CHECKING:
    from ..job_files import Document

JobFile = Annotated[str | None, typer.Argument(metavar="[FILE|-]", help="A job file; - reads standard input.")]
Cron = Annotated[str | None, typer.Option("--cron", help='When, as a cron expression: "0 3 * * *".')]
Every = Annotated[str | None, typer.Option("--every", help="When, as an interval: 15m.")]
At = Annotated[str | None, typer.Option("--at", help="When, once: 2027-03-01T09:00:00.")]
Timezone = Annotated[str | None, typer.Option("--timezone", "-z", help="The zone of these times.")]
Command = Annotated[str | None, typer.Option("--command", help="The command to run, without a shell.")]


@api_command
async def add(
    api: ApiClient,
    file: JobFile = None,
    name: Annotated[str | None, typer.Option("--name", help="The name, if there is no file.")] = None,
    job: Annotated[
        str | None, typer.Option("--job", metavar="JOB", help="Add one more schedule to this job, of any source.")
    ] = None,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Timezone = None,
    command: Command = None,
) -> CommandResult:
    """Define jobs by a job file, or by options."""
    fields = _fields_from_options(name, cron, every, at, timezone, command)
    documents = _documents(file, fields)
    if file and (fields or job):
        raise InputError("give a file or options, not both")
    if job is not None:
        fields["job"] = job
    if not file and name is None:
        raise InputError("give a job file, or --name and a time such as --cron '0 3 * * *'")
    if file and file != "-":
        documents[0].fields.setdefault("name", Path(file).stem)
    made: list[Any] = []
    for document in documents:
        made.append(await _create(api, document, made))
    return CommandResult(made[0] if len(made) == 1 else {"items": made}, lambda: _print_definitions(made))


@api_command
async def update(
    api: ApiClient,
    name: Name,
    file: JobFile = None,
    cron: Cron = None,
    every: Every = None,
    at: At = None,
    timezone: Timezone = None,
    command: Command = None,
) -> CommandResult:
    """Change some fields of a definition. Other fields stay as they are; null in a file removes a field."""
    fields = _fields_from_options(None, cron, every, at, timezone, command)
    documents = _documents(file, fields)
    if bool(file) == bool(fields):
        raise InputError("say what to change: a file with the fields, or options such as --cron")
    if len(documents) != 1:
        raise InputError(f"{file} holds {len(documents)} jobs: an update takes one")
    (document,) = documents
    patch = {key: value for key, value in document.fields.items() if (key, value) != ("name", name)}
    try:
        one = await api.patch(schedule_path(name), patch)
    except ApiRefusal as refusal:
        raise document.with_position(refusal) from None
    return CommandResult(one, lambda: _print_definitions([one]))


@api_command
async def remove(
    api: ApiClient,
    name: OptionalName = None,
    *,
    orphaned: Annotated[
        bool, typer.Option("--orphaned", help="All jobs that the code of their app does not declare any more.")
    ] = False,
    yes: Annotated[bool, Yes] = False,
) -> CommandResult:
    """Delete a schedule. Its job goes too if it has no other; queued runs are cancelled."""
    if orphaned == (name is not None):
        raise InputError("name the schedule to delete, or say --orphaned")
    if name is None:
        return await _remove_orphans(api, yes=yes)
    await api.get(schedule_path(name))
    await confirm(f"Delete {name}?", yes=yes)
    await api.delete(schedule_path(name))
    return CommandResult({"name": name, "removed": True}, lambda: print_line(f"{name} is deleted."))


async def _remove_orphans(api: ApiClient, *, yes: bool) -> CommandResult:
    answer = await api.post("/jobs:remove-orphaned", dry_run=True)
    if answer["jobs"]:
        await confirm(f"No code declares these jobs any more: {', '.join(answer['jobs'])}. Delete them?", yes=yes)
        answer = await api.post("/jobs:remove-orphaned", names=answer["jobs"])
    removed = ", ".join(answer["jobs"])
    done = f"Deleted: {removed}." if removed else "No orphaned jobs."
    return CommandResult(answer, lambda: print_line(done))


def _documents(file: str | None, fields: dict[str, Any]) -> list["Document"]:
    """The jobs of a file, else the one that options define."""
    from ..job_files import Document, read_documents  # noqa: PLC0415  (YAML, which lists do not need)

    return read_documents(file) if file else [Document(fields)]


async def _create(api: ApiClient, document: "Document", before: list[Any]) -> Any:
    try:
        return await api.post("/schedules", **document.fields)
    except ApiRefusal as refusal:
        if before:
            print_note(f"Added before the error: {', '.join(one['name'] for one in before)}.")
        raise document.with_position(refusal) from None


def _fields_from_options(
    name: str | None, cron: str | None, every: str | None, at: str | None, timezone: str | None,
    command: str | None,
) -> dict[str, Any]:  # fmt: skip
    times = [cron, every and {"every": every}, at and {"at": at}]
    given = [when for when in times if when is not None]
    if len(given) > 1:
        raise InputError("give only one of --cron, --every and --at")
    fields = {"name": name, "schedule": next(iter(given), None), "timezone": timezone, "command": command}
    return {key: value for key, value in fields.items() if value is not None}


def _print_definitions(made: list[Any]) -> None:
    rows = [(one["name"], format_next_run(one), one["means"]) for one in made]
    print_table(["schedule", "next", "what it means"], rows)
    for warning in (warning for one in made for warning in one["warnings"]):
        print_line(f"warning: {warning}", "yellow")
