"""`tickwise`: all commands in one place, and how they end.

Exit codes: 0 fine, 1 the answer is no, 2 wrong use or bad input.
"""

import os
import sys
from importlib import metadata
from typing import Annotated

import typer

from ..core.errors import TickwiseError
from . import bench, config, cron, jobs, schedules, serve, simulate, upcoming
from .output import complain, print_line

app = typer.Typer(
    name="tickwise",
    help="A scheduler for Python people: what will run, what ran, and why something did not.",
    no_args_is_help=True,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(cron.app, name="cron")
app.add_typer(bench.app, name="bench")
app.add_typer(config.app, name="config")
app.add_typer(schedules.app, name="schedules")
app.command("serve")(serve.serve)
app.command("ticker")(serve.ticker)
app.command("worker")(serve.worker)
app.command("upcoming")(upcoming.upcoming)
app.command("validate")(jobs.validate)
app.command("simulate")(simulate.simulate_jobs)


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
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # so that the flush at exit does not fail too
        sys.exit(0)
