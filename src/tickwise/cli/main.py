"""`tickwise`: all commands in one place, and how they end.

Exit codes: 0 fine, 1 the answer is no, 2 wrong use or bad input, 130 interrupted. A command's module is imported
when the command is asked for, so that each starts as fast as what it needs.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module, metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..core.errors import TickwiseError
from .output import complain, print_line

_PLAIN: Any = {"rich_markup_mode": None, "pretty_exceptions_enable": False}
COMMANDS = {
    "serve": "serve:serve",
    "ticker": "serve:ticker",
    "worker": "serve:worker",
    "api": "serve:api",
    "schedules": "schedules:app",
    "runs": "runs:app",
    "pause": "pause:pause",
    "resume": "pause:resume",
    "upcoming": "upcoming:upcoming",
    "why": "why:why",
    "forecast": "forecast:forecast",
    "queues": "fleet:queues",
    "workers": "fleet:workers",
    "simulate": "simulate:simulate_jobs",
    "validate": "validate:validate",
    "cron": "cron:app",
    "templates": "audit:templates",
    "store": "store:app",
    "token": "token:app",
    "audit": "audit:audit",
    "doctor": "doctor:doctor",
    "config": "config:app",
}


class _Loaded(Mapping[str, Any]):
    """The commands by their names, each made when it is first looked at."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = _made(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _made(name: str) -> Any:
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(import_module(f".commands.{module}", __package__), attribute)
    around = typer.Typer(add_completion=False, **_PLAIN)
    around.callback()(lambda: None)
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=name)
    else:
        around.command(name)(found)
    return typer.main.get_group(around).commands[name]


class _Commands(TyperGroup):
    """A group that loads its commands late."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _Loaded()  # type: ignore[assignment]  # (nobody adds to it)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  (its place in the class says so)
        return list(self.commands)


app = typer.Typer(
    cls=_Commands,
    name="tickwise",
    help="A scheduler for Python people: what will run, what ran, and why something did not.",
    no_args_is_help=True,
    invoke_without_command=True,
    **_PLAIN,
)


@app.callback()
def _options(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        print_line(f"tickwise {metadata.version('tickwise')}")
        raise typer.Exit


def main() -> None:
    try:
        app()
    except TickwiseError as error:
        complain(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # so that the flush at exit does not fail too
        sys.exit(0)
