"""`tickwise runs logs`: what a run printed, or prints while one looks."""

import json
import re
import sys
from typing import Annotated, Any

import typer
from rich.console import Console

from ..arguments import run_path
from ..client import ApiClient
from ..command import CommandResult, api_command
from ..output import hint, plain, remark

_MOST = 1_000_000  # parts
_UNSAFE = re.compile(r"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]")  # all but colours


@api_command
async def logs(
    api: ApiClient,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")],
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run is over.")] = False,
) -> CommandResult | None:
    """Print what a run printed; with --json --follow, one object a line."""
    path = f"{run_path(run)}/logs"
    if not follow:
        page = await api.pages(path, _MOST)
        return CommandResult(page, lambda: _Printer().all(page["items"]))
    printer = _Printer()
    hint("Ctrl-C ends this look, not the run.")
    async for kind, data in api.events(path):
        if api.as_json:
            sys.stdout.write(json.dumps({"event": kind, **data}, ensure_ascii=False) + "\n")
            sys.stdout.flush()
        elif kind == "log":
            printer.print(data)
        else:
            remark(f"Run {run} is {data['state'] or 'not kept any longer'}.")
    return None


class _Printer:
    """The text as it is in a pipe; on a terminal a line says which step speaks, and errors are red."""

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
        sys.stdout.write(text)
        sys.stdout.flush()

    def _head(self, step: str) -> None:
        if step != self._step:
            self._step = step
            self._console.rule(plain(step, "dim"), style="dim", align="left")
