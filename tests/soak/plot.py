"""The samples of a long run as SVG: one panel for each figure, from nought on, with the medians of both halves."""

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from .samples import METRICS, Drift, Sample

_WIDTH, _PANEL, _GAP, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 90, 40, 70, 20, 70, 40
_STYLE = """
svg { font: 13px system-ui, sans-serif; background: #fff; --ink: #1f2328; --soft: #59636e; --grid: #dde2e7;
      --line: #1d5fd1; --median: #b8470b; }
@media (prefers-color-scheme: dark) {
  svg { background: #14171c; --ink: #e6edf3; --soft: #9aa4af; --grid: #343b44;
        --line: #7fb0ff; --median: #ff9d5c; }
}
text { fill: var(--soft); } .axis { fill: var(--ink); }
.title { fill: var(--ink); font-size: 16px; font-weight: 600; }
.grid { stroke: var(--grid); }
.median { stroke: var(--median); stroke-dasharray: 4 3; }
path { fill: none; stroke: var(--line); stroke-width: 1.5; }
"""


def render_svg(title: str, samples: Sequence[Sample], drifts: Sequence[Drift], warm_up: int) -> str:
    """The text of an SVG file."""
    height = _TOP + len(METRICS) * (_PANEL + _GAP) - _GAP + _BOTTOM
    root = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {_WIDTH} {height}", role="img")
    ET.SubElement(root, "title").text = title
    ET.SubElement(root, "style").text = _STYLE
    _text(root, 16, 28, title, "title")
    counted = [sample.runs for sample in samples if sample.runs > warm_up]
    ends = (warm_up, counted[len(counted) // 2], samples[-1].runs)
    for number, drift in enumerate(drifts):
        _draw_panel(root, _TOP + number * (_PANEL + _GAP), samples, drift, ends)
    for share in range(5):
        runs = samples[-1].runs * share / 4
        _text(root, _x(runs, samples), height - 16, f"{runs:,.0f}", anchor="middle" if share < 4 else "end")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _draw_panel(
    root: ET.Element, top: int, samples: Sequence[Sample], drift: Drift, ends: tuple[int, int, int]
) -> None:
    values = [getattr(sample, drift.name) for sample in samples]
    most = max(*values, drift.first, drift.second) or 1.0

    def y(value: float) -> float:
        return round(top + _PANEL * (1 - value / most), 1)

    _text(root, 16, top - 10, METRICS[drift.name].title, "axis")
    for value in (0.0, most):
        _line(root, "grid", (_LEFT, _WIDTH - _RIGHT), y(value))
        _text(root, _LEFT - 8, y(value) + 4, f"{value:,.0f}" if most >= 10 else f"{value:.2f}", anchor="end")
    points = " L".join(f"{_x(one.runs, samples)} {y(value)}" for one, value in zip(samples, values, strict=True))
    ET.SubElement(root, "path", d=f"M{points}")
    for (start, end), middle in zip(((ends[0], ends[1]), (ends[1], ends[2])), drift[1:], strict=True):
        _line(root, "median", (_x(start, samples), _x(end, samples)), y(middle))


def _x(runs: float, samples: Sequence[Sample]) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * runs / samples[-1].runs, 1)


def _line(root: ET.Element, kind: str, ends: tuple[float, float], y: float) -> None:
    ET.SubElement(
        root, "line", {"class": kind, "x1": str(ends[0]), "x2": str(ends[1]), "y1": str(y), "y2": str(y)}
    )


def _text(root: ET.Element, x: float, y: float, text: str, kind: str = "", *, anchor: str = "start") -> None:
    ET.SubElement(root, "text", {"class": kind, "x": str(x), "y": str(y), "text-anchor": anchor}).text = text
