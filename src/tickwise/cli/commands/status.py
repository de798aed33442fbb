"""`tickwise status`: whether anything needs somebody, and what."""

from typing import Any

from rich.text import Text

from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import format_time, in_colour, print_line

_FAILURES = {"error", "warning"}


@api_command
async def status(api: ApiClient) -> CommandResult:
    """Say in a sentence how things are, and what needs you. Exits with 1 if there is an error or a warning."""
    answer = await api.get("/attention")
    failed = any(item["severity"] in _FAILURES for item in answer["items"])
    return CommandResult(answer, lambda: _print_status(answer), exit_code=1 if failed else 0)


def _print_status(answer: dict[str, Any]) -> None:
    print_line(answer["summary"], "" if answer["items"] else "green")
    for item in answer["items"]:
        since = f", since {format_time(item['since'], 'UTC')}" if item["since"] else ""
        text = f": {item['subject']['name']} {item['text']}{since}"
        print_line(in_colour(item["severity"]) + Text(text, ""))
        if item["detail"]:
            print_line(f"  {item['detail']}")
        for action in item["actions"]:
            if line := _command(action):
                print_line(f"  → {line}")
    if answer["more"]:
        print_line("There are more.")


_COMMANDS = {  # what a remedy is on the command line
    "resume": "tickwise schedules resume {schedule}",
    "run": "tickwise schedules trigger {schedule}",
    "retry": "tickwise runs retry {run}",
    "log": "tickwise runs logs {run}",
    "why": "tickwise why {schedule}",
    "schedule": "tickwise why {schedule}",
    "resume_all": "tickwise resume",
    "test_channel": "tickwise notify test {field}",
    "command": "{command}",
    "answer": "{command}",
    "proposals": "{command}",
}


def _command(action: dict[str, Any]) -> str:
    return _COMMANDS.get(action["do"], "").format(**action)
