"""What commands print: tables for people, JSON for programs, complaints on the other channel."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

_PIPE_WIDTH = 1_000  # nobody's window: a line stays a line
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_line(text: str, style: str = "") -> None:
    """A line of plain text: nothing in it is read as markup or folded."""
    Console().print(Text(text, style), soft_wrap=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table without frames; in a pipe it is as wide as it needs to be."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    console.print(table)


def complain(text: str) -> None:
    Console(stderr=True).print(Text("error: ", "bold red") + Text(text, ""), soft_wrap=True)
