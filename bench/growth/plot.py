"""Curves as SVG: panels that share their x axis, all axes logarithmic, each line labelled at its end.

Labels are text, not outlines. Colours follow the reader's light or dark mode; the drawing has its own background,
so that it does not depend on the page around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import NamedTuple
from xml.etree import ElementTree as ET

_WIDTH, _PANEL, _GAP = 720, 190, 44
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 84, 64, 52
_LABEL_DISTANCE = 15  # pixels, at least, between the labels of two lines
_MAX_TICKS = 7
_STYLE = """
svg { font: 13px system-ui, sans-serif; background: #fff; --ink: #1f2328; --soft: #59636e; --grid: #dde2e7;
      --a: #1d5fd1; --b: #b8470b; }
@media (prefers-color-scheme: dark) {
  svg { background: #14171c; --ink: #e6edf3; --soft: #9aa4af; --grid: #343b44; --a: #7fb0ff; --b: #ff9d5c; }
}
text { fill: var(--soft); } .title { fill: var(--ink); font-size: 16px; font-weight: 600; }
.axis { fill: var(--ink); } .grid { stroke: var(--grid); } .end { font-weight: 600; }
path { fill: none; stroke-width: 2; } .a path { stroke: var(--a); } .b path { stroke: var(--b); }
.a circle, .a .end { fill: var(--a); } .b circle, .b .end { fill: var(--b); }
"""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve, in ascending order of x."""

    label: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Panel:
    """One or two lines with their own y axis."""

    axis: str
    lines: Sequence[Line]


class _Scale(NamedTuple):
    """Maps values to pixels, logarithmically."""

    low: float
    high: float
    start: float  # the pixel of `low`
    end: float  # the pixel of `high`

    def at(self, value: float) -> float:
        share = log10(value / self.low) / log10(self.high / self.low)
        return round(self.start + share * (self.end - self.start), 1)


def render_svg(title: str, axis: str, panels: Sequence[Panel]) -> str:
    """The text of an SVG file."""
    xs = sorted({x for panel in panels for line in panel.lines for x, _ in line.points})
    below = _TOP + len(panels) * (_PANEL + _GAP) - _GAP
    across = _Scale(xs[0], max(xs[-1], xs[0] * 1.001), _LEFT, _WIDTH - _RIGHT)
    box = {"viewBox": f"0 0 {_WIDTH} {below + _BOTTOM}", "role": "img"}
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **box})
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "style").text = _STYLE
    _add_text(root, 16, 26, title, "title")
    for number, panel in enumerate(panels):
        _add_panel(root, panel, across, _TOP + number * (_PANEL + _GAP))
    for x in xs:
        _add_text(root, across.at(x), below + 20, _format_number(x), anchor="middle")
    _add_text(root, (across.start + across.end) / 2, below + 42, axis, "axis", anchor="middle")
    ET.indent(root)
    return ET.tostring(root, "unicode") + "\n"


def _add_panel(root: ET.Element, panel: Panel, across: _Scale, top: float) -> None:
    ticks = _ticks([y for line in panel.lines for _, y in line.points])
    up = _Scale(ticks[0], ticks[-1], top + _PANEL, top)
    _add_text(root, 16, top - 14, panel.axis, "axis")
    for tick in ticks:
        y = str(up.at(tick))
        ET.SubElement(
            root, "line", {"class": "grid", "x1": str(across.start), "x2": str(across.end), "y1": y, "y2": y}
        )
        _add_text(root, across.start - 10, up.at(tick) + 4, _format_number(tick), anchor="end")
    ends = _separate_labels([up.at(line.points[-1][1]) for line in panel.lines])
    for line, end, kind in zip(panel.lines, ends, "ab", strict=False):
        _add_line(ET.SubElement(root, "g", {"class": kind}), line, across, up)
        _add_text(root[-1], across.end + 12, end + 4, line.label, "end")


def _add_line(group: ET.Element, line: Line, across: _Scale, up: _Scale) -> None:
    places = [(across.at(x), up.at(y)) for x, y in line.points]
    ET.SubElement(group, "path", d="M" + " L".join(f"{x} {y}" for x, y in places))
    for (x, y), (cx, cy) in zip(line.points, places, strict=True):
        dot = ET.SubElement(group, "circle", cx=str(cx), cy=str(cy), r="4")
        ET.SubElement(dot, "title").text = f"{line.label}: {_format_number(y)} at {_format_number(x)}"


def _add_text(parent: ET.Element, x: float, y: float, text: str, kind: str = "", *, anchor: str = "start") -> None:
    place = {"x": str(x), "y": str(y), "text-anchor": anchor}
    ET.SubElement(parent, "text", {"class": kind, **place} if kind else place).text = text


def _ticks(values: Sequence[float]) -> list[float]:
    """Round numbers around the values: 1, 2, 5, 10, or only powers of ten if those are too many.

    They span at least a factor of ten, so that small differences look small.
    """
    most = max(values)
    least = min(*values, most / 10)
    powers = range(floor(log10(least)), floor(log10(most)) + 2)
    for steps in ((1, 2, 5), (1,)):
        marks = [step * 10.0**power for power in powers for step in steps]
        low, high = max(mark for mark in marks if mark <= least), min(mark for mark in marks if mark > most)
        ticks = [mark for mark in marks if low <= mark <= high]
        if len(ticks) <= _MAX_TICKS:
            break
    return ticks


def _separate_labels(ends: Sequence[float]) -> list[float]:
    """The heights of the labels, moved apart if they are too close."""
    if len(ends) < 2 or abs(ends[0] - ends[1]) >= _LABEL_DISTANCE:
        return list(ends)
    middle, half = sum(ends) / 2, _LABEL_DISTANCE / 2
    return [middle - half, middle + half] if ends[0] <= ends[1] else [middle + half, middle - half]


def _format_number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
