"""`tickwise cron`: what an expression means, and when it fires."""

from datetime import UTC
from itertools import islice
from typing import Annotated

import typer

from ...clock import now
from ...core.cron import parse
from ...core.timeparse import floor_second, to_datetime
from ..arguments import read_second
from ..output import AsJson, print_json, print_line, print_table

app = typer.Typer(help="What a cron expression means, and when it fires.", no_args_is_help=True)

Expression = Annotated[
    str, typer.Argument(metavar="EXPR", help='A cron expression in quotes, such as "*/5 9-17 * * MON-FRI".')
]
Timezone = Annotated[
    str, typer.Option("--timezone", "-z", help="An IANA zone; a zone in the expression takes precedence.")
]
Key = Annotated[str, typer.Option("--key", help="What H is hashed from: the schedule's name.")]


@app.command()
def explain(expression: Expression, timezone: Timezone = "UTC", key: Key = "", *, as_json: AsJson = False) -> None:
    """Explain an expression, and warn of likely mistakes."""
    times = parse(expression, timezone, key)
    warnings = times.warnings_after(floor_second(now()))
    if as_json:
        print_json({"expression": expression, "explanation": times.explain(), "warnings": warnings})
        return
    print_line(times.explain())
    for warning in warnings:
        print_line(f"warning: {warning}", "yellow")


@app.command(name="next")
def next_times(
    expression: Expression,
    count: Annotated[int, typer.Option("-n", min=1, max=10_000, help="How many times to list.")] = 5,
    start: Annotated[str | None, typer.Option("--from", help="Strictly after this time; default: now.")] = None,
    timezone: Timezone = "UTC",
    key: Key = "",
    *,
    as_json: AsJson = False,
) -> None:
    """List the next times at which an expression fires."""
    times = parse(expression, timezone, key)
    found = list(islice(times.iterate(to_datetime(read_second(start, times.zone.name))), count))
    if as_json:
        listed = [time.isoformat() for time in found]
        print_json({"expression": expression, "timezone": times.zone.name, "next": listed})
        return
    print_table(
        [times.zone.name, "UTC"],
        [(f"{t:%a %Y-%m-%d %H:%M:%S %z}", f"{t.astimezone(UTC):%Y-%m-%d %H:%M:%S}") for t in found],
    )
