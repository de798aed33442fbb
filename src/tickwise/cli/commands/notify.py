"""`tickwise notify test`: whether notifications arrive."""

from typing import Annotated, Any

import typer
from rich.text import Text

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import print_line

app = typer.Typer(help="Notifications, and whether they arrive.", no_args_is_help=True)


@app.callback()
def _notify() -> None:
    """Notifications, and whether they arrive."""


@app.command("test")
@api_command
async def send_test(
    api: ApiClient,
    channel: Annotated[
        str | None,
        typer.Argument(metavar="[CHANNEL]", help="webhook, command or a name; default: all that are set."),
    ] = None,
) -> CommandResult:
    """Send one test notification over each channel. Exits with 1 if one does not arrive."""
    answer = await api.post("/notifications:test", channel=channel)
    failed = not all(one["arrived"] for one in answer["items"])
    return CommandResult(answer, lambda: _print_tests(answer), exit_code=1 if failed else 0)


def _print_tests(answer: dict[str, Any]) -> None:
    for one in answer["items"]:
        if one["arrived"]:
            print_line(Text(f"{one['channel']}: arrived", "green"))
        else:
            print_line(Text(f"{one['channel']}: did not arrive: {one['problem']}", "red"))
