"""`tickwise runs logs`: what a run printed, or prints now."""

import re
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from ..arguments import run_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import plain, print_hint, print_json_line, print_note

_MAX_PARTS = 1_000_000
_UNNAMED = ("", "main")  # a function, and the only step of a job without `steps`
_UNSAFE = re.compile(r"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")  # all but colours


@api_command
async def logs(
    api: ApiClient,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")],
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until the run ends.")] = False,
) -> CommandResult | None:
    """Print what a run printed. With --json --follow, one object per line."""
    path = f"{run_path(run)}/logs"
    if not follow:
        page = await api.pages(path, _MAX_PARTS)
        return CommandResult(page, lambda: _Printer().all(page["items"]))
    print_hint("Ctrl-C stops following, not the run.")
    if not api.as_json:
        print_note(f"Run {run} is {await follow_log(api, run, shown=True) or 'no longer kept'}.")
        return None
    async for kind, data in api.events(path):
        print_json_line({"event": kind, **data})
        sys.stdout.flush()
    return None


async def follow_log(api: ApiClient, run: str, *, shown: bool) -> str | None:
    """Wait for the end of a run, and print its log meanwhile; its state, or none if it is no longer kept."""
    printer, state = _Printer(), None
    async for kind, data in api.events(f"{run_path(run)}/logs"):
        if kind != "log":
            state = data["state"]
        elif shown:
            printer.print(data)
    return state


class _Printer:
    """Prints what a run printed, and which of its steps did.

    On a terminal a line names each step, and stderr is red. In a pipe each line begins with the name of its step,
    because steps run at the same time. The lines of a job without `steps` are printed unchanged.
    """

    def __init__(self) -> None:
        self._console = Console()
        self._step: str | None = None

    def all(self, parts: list[dict[str, Any]]) -> None:
        for part in parts:
            self.print(part)

    def print(self, part: dict[str, Any]) -> None:
        text = part["text"]
        if self._console.is_terminal:
            self._head(part["step"])
            text = _UNSAFE.sub("�", text)
            text = f"\x1b[31m{text}\x1b[0m" if part["stream"] == "stderr" else text
        elif part["step"] not in _UNNAMED:
            text = re.sub("^(?=.|\n)", lambda _: f"{part['step']} | ", text, flags=re.MULTILINE)
        sys.stdout.write(text)
        sys.stdout.flush()

    def _head(self, step: str) -> None:
        if step != self._step:
            self._step = step
            self._console.rule(plain(step, "dim"), style="dim", align="left")
