"""`tickwise`: the list of commands, and how they end.

Exit codes: 0 fine, 1 refused or failed, 2 wrong use or bad input, 130 interrupted. A command's module is imported
when the command is used, so that no command waits for the imports of another; `--help` imports none.
"""
# ruff: noqa: PLC0415

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..core.errors import TickwiseError

_PLAIN_OUTPUT: Any = {"rich_markup_mode": None, "pretty_exceptions_enable": False}
COMMANDS = {
    "init": "init:init",
    "serve": "serve:serve",
    "ticker": "serve:ticker",
    "worker": "serve:worker",
    "api": "serve:api",
    "schedules": "schedules:app",
    "jobs": "jobs:app",
    "run": "run:run",
    "runs": "runs:app",
    "pause": "pause:pause",
    "resume": "pause:resume",
    "blackouts": "blackouts:app",
    "upcoming": "upcoming:upcoming",
    "why": "why:why",
    "forecast": "forecast:forecast",
    "deadlines": "deadlines:deadlines",
    "sources": "sources:app",
    "events": "events:app",
    "calendars": "calendars:app",
    "queues": "queues:app",
    "workers": "workers:workers",
    "import": "import_jobs:import_jobs",
    "seen": "seen:seen",
    "shadow": "shadow:app",
    "diff": "diff:diff",
    "simulate": "simulate:simulate_jobs",
    "replay": "replay:replay",
    "validate": "validate:validate",
    "schema": "schema:schema",
    "cron": "cron:app",
    "templates": "templates:templates",
    "store": "store:app",
    "token": "token:app",
    "audit": "audit:audit",
    "status": "status:status",
    "doctor": "doctor:doctor",
    "mcp": "mcp:mcp",
    "proposals": "proposals:app",
    "notify": "notify:app",
    "config": "config:app",
    "exec": "exec:execute",
}
SUMMARIES = {
    "init": "Make a folder with settings, a job that runs at once and a daily one.",
    "serve": "Schedule and run jobs, and serve the API and the dashboard.",
    "ticker": "Only decide what is due; workers elsewhere run it.",
    "worker": "Only run what is queued; a ticker elsewhere decides.",
    "api": "Only serve the API and the dashboard.",
    "schedules": "Schedules: list, show, define and control them.",
    "runs": "Runs: what ran, how it went, and what it printed.",
    "jobs": "Jobs: what can run, with or without a schedule.",
    "run": "Run a job once; or a job file here, without a store.",
    "pause": "Pause all schedules until `tickwise resume`.",
    "resume": "Resume after `tickwise pause`.",
    "blackouts": "Blackouts: windows in which schedules rest.",
    "upcoming": "List the runs to come, at the times of their real start.",
    "why": "Explain why a slot ran or did not, and what to do.",
    "forecast": "Show how many runs start when.",
    "deadlines": "List the deadlines of the next day, and how likely each is missed.",
    "sources": "Sources of definitions: folders, apps, the API.",
    "events": "Events: send one to a schedule, and see what became of each.",
    "calendars": "Calendars: the days on which schedules run.",
    "queues": "Queues: what is queued, and how much may run at once.",
    "workers": "List live processes, and those seen in the last 24 hours.",
    "import": "Turn the jobs of another scheduler into job files, and prove that they fire as before.",
    "seen": "Note that another scheduler starts a job now, and run the command.",
    "shadow": "Shadow mode: compare with another scheduler, and take over from it.",
    "diff": "Compare two folders, git revisions or stores of jobs: definitions and fires.",
    "replay": "Plan the past again with other fields, and compare it with what happened.",
    "simulate": "Run the real planner over a period, and print each verdict.",
    "validate": "Check job files.",
    "schema": "Print the JSON Schema of job files, for editors and other checkers.",
    "cron": "What a cron expression means, and when it fires.",
    "templates": "List templates: schedules that a job uses by name.",
    "store": "The store itself: its tables or collections.",
    "token": "API tokens and their roles.",
    "audit": "List who changed what, the newest first.",
    "status": "Say in a sentence how things are, and what needs you.",
    "mcp": "Serve tools to an agent by the Model Context Protocol; what it changes, it proposes.",
    "proposals": "Proposals of agents: list, approve and reject them.",
    "doctor": "Check for problems and say how to repair them.",
    "notify": "Notifications, and whether they arrive.",
    "config": "Settings, and where they come from.",
    "exec": "Execute one attempt that was handed over to an engine; the engine starts this, not a person.",
}  # what each command says of itself, for the list of commands


class _LazyCommands(Mapping[str, Any]):
    """The commands by name, each imported when it is first used."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load_command(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _load_command(name: str) -> Any:
    module, _, attribute = COMMANDS[name].partition(":")
    command_or_group = getattr(import_module(f".commands.{module}", __package__), attribute)
    wrapper = typer.Typer(add_completion=False, **_PLAIN_OUTPUT)
    wrapper.callback()(lambda: None)
    if isinstance(command_or_group, typer.Typer):
        wrapper.add_typer(command_or_group, name=name)
    else:
        wrapper.command(name)(command_or_group)
    return typer.main.get_group(wrapper).commands[name]


class _CommandGroup(TyperGroup):
    """A group that imports its commands late."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _LazyCommands()  # type: ignore[assignment]  # (nothing adds to it)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  (the base class passes it)
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUMMARIES.get(name, "")) for name in COMMANDS])


app = typer.Typer(
    cls=_CommandGroup,
    name="tickwise",
    help="A job scheduler for Python: what will run, what ran, and why something did not.",
    no_args_is_help=True,
    invoke_without_command=True,
    **_PLAIN_OUTPUT,
)


@app.callback()
def _options(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib import metadata

        from .output import print_line

        print_line(f"tickwise {metadata.version('tickwise')}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None, program: str | None = None) -> None:
    """Run a command: that of the command line, or these arguments of another program."""
    try:
        app(arguments, prog_name=program)
    except TickwiseError as error:
        from .output import print_error

        print_error(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())  # so that the flush at exit does not fail too
        sys.exit(0)
