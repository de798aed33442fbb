"""What commands print: tables for people, JSON for programs, errors on stderr.

Colours and window widths are for terminals; in a pipe a line is never folded and has no colours. Text from other
people may contain anything: control characters are replaced.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ..clock import now
from ..core.cron.zone import zone
from ..core.timeparse import format_duration

T = TypeVar("T")
_RUNS_PER_SCHEDULE = 3
_CONTROLS = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PIPE_WIDTH = 1_000  # so that no line is folded
_LEAST_FOLDED, _GAP = 20, 2  # the least width of a folded column, and the spaces before a column
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
_STYLES = {
    "succeeded": "green", "running": "cyan", "queued": "blue", "failed": "red", "lost": "red", "expired": "yellow",
    "skipped": "yellow", "cancelled": "yellow", "paused": "yellow", "finished": "dim", "fired": "green",
    "caught_up": "green", "coalesced": "yellow", "superseded": "yellow", "deferred": "blue", "error": "bold red",
    "warning": "yellow", "note": "blue",
}  # fmt: skip


def print_json(value: Any) -> None:
    """Print JSON; characters that a terminal would obey, or that turn text around, are escaped."""
    _write_json(json.dumps(value, indent=2, ensure_ascii=False))


def print_json_line(value: Any) -> None:
    """Print JSON in one line of a stream."""
    _write_json(json.dumps(value, ensure_ascii=False))


def _write_json(text: str) -> None:
    sys.stdout.write(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def plain(text: str, style: str = "") -> Text:
    """A text without markup; control characters are replaced."""
    return Text("".join(c if c.isprintable() or c in "\n\t" else "�" for c in text), style)


def print_line(text: str | Text, style: str = "") -> None:
    """Print a line that is not folded."""
    Console().print(plain(text, style) if isinstance(text, str) else text, soft_wrap=True)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, optional: Sequence[str] = ()
) -> None:
    """Print a table without frames; in a pipe it is as wide as it needs to be.

    In a narrow window `optional` columns are left out, in this order, and the last column is folded. Cells of the
    other columns stay in one line, so that a name or a time can be copied.
    """
    cells = [[plain(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    widths = {
        column: max([len(column), *(row[place].cell_len for row in cells)]) for place, column in enumerate(columns)
    }
    console = Console()
    left_out = set(_columns_to_leave_out(widths, optional, console.width) if console.is_terminal else ())
    shown = [place for place, column in enumerate(columns) if column not in left_out]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place in shown:
        table.add_column(columns[place], overflow="fold", no_wrap=place != shown[-1])
    for row in cells:
        table.add_row(*(row[place] for place in shown))
    print_block(table, least=_least_width([widths[columns[place]] for place in shown]))
    if left_out:
        print_line(f"Left out because the window is narrow: {', '.join(sorted(left_out))}.", "dim")


def _columns_to_leave_out(widths: Mapping[str, int], optional: Sequence[str], window: int) -> Iterator[str]:
    kept = dict(widths)
    for column in optional:
        if _least_width(list(kept.values())) <= window:
            return
        del kept[column]
        yield column


def _least_width(widths: Sequence[int]) -> int:
    """The width of a table whose last column is folded as far as it may be."""
    *others, last = widths
    return sum(others) + min(last, _LEAST_FOLDED) + len(others) * _GAP


def print_fields(fields: Iterable[tuple[str, str | Text]]) -> None:
    """Print a name and its value in each line; empty values are left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, value in fields:
        if value:
            grid.add_row(plain(name), plain(value) if isinstance(value, str) else value)
    print_block(grid)


def format_time(text: str | None, timezone: str = "UTC") -> str:
    """A time of the API in a zone, with the day of the week and the offset; nothing for none."""
    if text is None:
        return ""
    return f"{datetime.fromisoformat(text).astimezone(zone(timezone).tzinfo):%a %Y-%m-%d %H:%M:%S %z}"


def format_elapsed(start: str | None, end: str | None) -> str:
    """How long it took, or has taken until now."""
    if start is None:
        return ""
    last = now().astimezone(UTC) if end is None else datetime.fromisoformat(end)
    seconds = (last - datetime.fromisoformat(start)).total_seconds()
    return f"{seconds:.1f}s" if 0 <= seconds < 10 else format_duration(max(0, round(seconds)))


def print_empty_list(what: str, filters: Mapping[str, Any], where: str) -> None:
    """Say that there is nothing, or that no item passes the filters."""
    filtered = any(value is not None for value in filters.values())
    print_nothing(f"No {what} match." if filtered else f"No {what}.", where)


def print_nothing(text: str, where: str) -> None:
    """Print an empty answer, and the store or the server that gave it: it may be the wrong one."""
    print_line(f"{text} Looked in {where}.", "dim")


def in_colour(word: str) -> Text:
    """A state, a verdict or a severity in its colour."""
    return Text(word, style_of(word))


def style_of(word: str) -> str:
    return _STYLES.get(word, "")


def print_error(text: str) -> None:
    Console(stderr=True).print(Text("error: ", "bold red") + plain(text), soft_wrap=True)


def print_note(text: str) -> None:
    """Print a note on stderr, apart from the result."""
    Console(stderr=True).print(plain(text, "dim"), soft_wrap=True)


def print_hint(text: str) -> None:
    """Print a note, but only on a terminal."""
    if Console(stderr=True).is_terminal:
        print_note(text)


def print_block(shown: RenderableType, *, least: int = 0, width: int | None = None) -> None:
    """Print several lines: in a window of at least that width, in a pipe without spaces at the ends."""
    console = Console()
    if console.is_terminal:
        console.width = max(width or console.width, least)
        console.print(shown)
        return
    console.width = width or _PIPE_WIDTH
    with console.capture() as lines:
        console.print(shown)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines.get().splitlines()))


def as_yaml(fields: dict[str, Any]) -> list[str]:
    """A definition as the lines of a job file."""
    from ruamel.yaml import YAML  # noqa: PLC0415  (few commands write YAML)

    stream = StringIO()
    writer = YAML()
    writer.default_flow_style = False
    writer.dump(fields, stream)
    return stream.getvalue().splitlines()


def limit_per_schedule(coming: Iterable[T], schedules: int, name: Callable[[T], str]) -> Iterator[T]:
    """The first runs of each schedule, so that a frequent one does not hide the others."""
    seen: Counter[str] = Counter()
    full = 0
    for run in coming:
        seen[name(run)] += 1
        if seen[name(run)] <= _RUNS_PER_SCHEDULE:
            yield run
        full += seen[name(run)] == _RUNS_PER_SCHEDULE
        if full == schedules:
            return
