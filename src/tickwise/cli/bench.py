"""`tickwise bench`: the figures of docs/benchmarks.md, measured here and now beside their peers."""

import sys

import typer
from rich.console import Console

from ..bench import report, time
from .output import AsJson, complain, print_json

app = typer.Typer(help="Measure Tickwise beside its peers, in one run on this machine.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keep `time` a command of its own while it is the only one."""


@app.command(name="time")
def measure_time(*, as_json: AsJson = False) -> None:
    """The cron engine and the run index beside cronsim, croniter, APScheduler and sorted()."""
    console = Console(stderr=True)
    with console.status("measuring") as status:

        def progress(line: str) -> None:
            if line.startswith("note"):
                console.print(line, markup=False)
            else:
                status.update(line)

        rows = time.rows(progress=progress)
    if as_json:
        print_json(report.to_json(rows))
    else:
        sys.stdout.write(report.table(rows, color=sys.stdout.isatty()) + "\n")
    problems = report.problems(rows, time.REQUIRED)
    for problem in problems:
        complain(problem)
    raise typer.Exit(1 if problems else 0)
