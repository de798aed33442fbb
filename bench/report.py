"""The result of a benchmark: rows with their verdicts, as a table for people and as JSON for programs.

Every part (`time`, `stores`, `growth` and so on) returns a list of `Row` and names its required rows in a mapping
of targets. `problems` compares the two, so that a measurement that was left out fails too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_TABLE_WIDTH = 200  # characters; a narrower terminal may wrap lines, but no name is cut
_VERDICTS = {None: Text(), True: Text("yes", "green"), False: Text("NO", "bold red")}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. With a peer, the target is the smallest ratio; without, it is a bound in the row's unit."""

    name: str
    ours: float
    peer: float | None
    peer_name: str | None
    ratio: float | None  # how many times better than the peer
    target: float | None
    ok: bool | None  # None without a target
    unit: str  # more is better if it ends with /s, else less

    @classmethod
    def of(
        cls,
        name: str,
        ours: float,
        unit: str,
        *,
        peer: tuple[str, float] | None = None,
        target: float | None = None,
    ) -> Self:
        """Judge a value, and that of a peer in the same unit."""
        peer_name, theirs = peer or (None, None)
        is_rate = unit.endswith("/s")
        ratio = None if theirs is None else ours / theirs if is_rate else theirs / ours
        if target is None:
            ok = None
        elif ratio is not None:
            ok = ratio >= target
        else:
            ok = ours >= target if is_rate else ours <= target
        return cls(
            name=name, ours=ours, peer=theirs, peer_name=peer_name, ratio=ratio, target=target, ok=ok, unit=unit
        )

    @property
    def bound(self) -> str:
        """The target as text."""
        if self.target is None:
            return ""
        if self.peer_name:
            return f"≥ {_format_number(self.target)}×"
        return f"{'≥' if self.unit.endswith('/s') else '≤'} {_format_number(self.target)} {self.unit}"


def problems(rows: Iterable[Row], required: Mapping[str, float]) -> list[str]:
    """Each required row that is missing, and each row that misses its target."""
    found = {row.name: row for row in rows}
    missing = [
        f"{name}: not measured, though its target is {_format_number(target)}; the notes of the run say why"
        for name, target in required.items()
        if name not in found
    ]
    failed = [
        f"{row.name}: {_format_ratio(row) or _format_amount(row.ours, row.unit)}, "
        f"the target is {row.bound or 'not stated'}"
        for row in found.values()
        if row.ok is False or (row.name in required and row.ok is None)
    ]
    return missing + failed


def to_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """One object for each row, keyed by the fields of `Row`."""
    return [asdict(row) for row in rows]


def table(rows: Iterable[Row], *, color: bool = False) -> str:
    """The rows as a Markdown table; with color, for a terminal, the verdicts are green and red."""
    shown = Table("what", box=box.MARKDOWN, header_style="bold")
    for heading in ("ours", "peer", "ratio", "target"):
        shown.add_column(heading, justify="right")
    shown.add_column("ok")
    for row in rows:
        peer = "" if row.peer is None else f"{row.peer_name} {_format_amount(row.peer, row.unit)}"
        shown.add_row(
            row.name, _format_amount(row.ours, row.unit), peer, _format_ratio(row), row.bound, _VERDICTS[row.ok]
        )
    console = Console(
        width=_TABLE_WIDTH, force_terminal=color, color_system="standard" if color else None, markup=False
    )
    with console.capture() as text:
        console.print(shown)
    return "\n".join(line for line in text.get().splitlines() if line.strip())


def _format_amount(value: float, unit: str) -> str:
    return f"{_format_number(value)} {unit}"


def _format_ratio(row: Row) -> str:
    return "" if row.ratio is None else f"{_format_number(row.ratio)}×"


def _format_number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
