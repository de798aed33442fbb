"""What commands print: tables for people, JSON for programs, complaints on the other channel.

Colours and window widths are for terminals; in a pipe a line stays a line and says the same in plain text. What
others have written may hold anything: characters that would move a cursor are not passed on.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text
from ruamel.yaml import YAML

_PIPE_WIDTH = 1_000  # nobody's window: a line stays a line
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
_STYLES = {
    "succeeded": "green", "running": "cyan", "queued": "blue", "failed": "red", "lost": "red", "expired": "yellow",
    "skipped": "yellow", "cancelled": "yellow", "paused": "yellow", "finished": "dim", "fired": "green",
    "caught_up": "green", "coalesced": "yellow", "superseded": "yellow", "deferred": "blue", "error": "bold red",
    "warning": "yellow", "note": "blue",
}  # fmt: skip


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def plain(text: str, style: str = "") -> Text:
    """A text as it is: nothing in it is read as markup, or by the terminal."""
    return Text("".join(c if c.isprintable() or c in "\n\t" else "�" for c in text), style)


def print_line(text: str | Text, style: str = "") -> None:
    """A line that is not folded."""
    Console().print(plain(text, style) if isinstance(text, str) else text, soft_wrap=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
    """A table without frames; in a pipe it is as wide as it needs to be."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(plain(cell) if isinstance(cell, str) else cell for cell in row))
    print_whole(table)


def print_fields(fields: Iterable[tuple[str, str | Text]]) -> None:
    """A name and its value in each line; what has no value is left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in fields:
        if value:
            grid.add_row(plain(name), plain(value) if isinstance(value, str) else value)
    print_whole(grid)


def in_colour(word: str) -> Text:
    """A state, a verdict or a severity."""
    return Text(word, style_of(word))


def style_of(word: str) -> str:
    return _STYLES.get(word, "")


def complain(text: str) -> None:
    Console(stderr=True).print(Text("error: ", "bold red") + plain(text), soft_wrap=True)


def remark(text: str) -> None:
    """A word beside the answer, which a pipe does not take for it."""
    Console(stderr=True).print(plain(text, "dim"), soft_wrap=True)


def hint(text: str) -> None:
    """A remark for people only: who reads a pipe did not ask."""
    if Console(stderr=True).is_terminal:
        remark(text)


def print_whole(shown: RenderableType) -> None:
    """Something of several lines; in a pipe they are as long as they need to be, and end with their last word."""
    console = Console()
    if console.is_terminal:
        console.print(shown)
        return
    console.width = _PIPE_WIDTH
    with console.capture() as lines:
        console.print(shown)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines.get().splitlines()))


def as_yaml(fields: dict[str, Any]) -> list[str]:
    """A definition as the job file that would say it."""
    stream = StringIO()
    writer = YAML()
    writer.default_flow_style = False
    writer.dump(fields, stream)
    return stream.getvalue().splitlines()


# A list in which a frequent schedule does not hide the others.

T = TypeVar("T")
_EACH = 3


def limit_per_schedule(coming: Iterable[T], schedules: int, name: Callable[[T], str]) -> Iterator[T]:
    """The first runs of each of so many schedules."""
    seen: Counter[str] = Counter()
    full = 0
    for run in coming:
        seen[name(run)] += 1
        if seen[name(run)] <= _EACH:
            yield run
        full += seen[name(run)] == _EACH
        if full == schedules:
            return
