"""The timelines in docs/explain: `python -m tools.timelines` lets the simulator play each scene, and draws it.

The simulator runs the real planner, so a picture shows what Tickwise does. A slot is a ring, a run a bar from its
start to its end; a dotted line leads from a slot to a run that started later.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from tickwise.core.cron.zone import zone
from tickwise.core.reasons import Verdict
from tickwise.core.simulation.simulate import Scenario, SlotReport, simulate
from tickwise.core.timeparse import parse_duration, to_datetime
from tickwise.sources.yaml import read_text

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "timelines"
_HOUR = 3_600
_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 760, 170, 20, 52, 44
_STYLE = """
svg { font: 13px system-ui, sans-serif; background: var(--paper); --paper: #fff; --ink: #1f2328; --soft: #59636e;
      --grid: #dde2e7; --down: #eceff2; --run: #1d5fd1; --late: #b8470b; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #14171c; --ink: #e6edf3; --soft: #9aa4af; --grid: #343b44; --down: #23282f; --run: #7fb0ff;
        --late: #ff9d5c; }
}
text { fill: var(--soft); } .name { fill: var(--ink); font-weight: 600; } .grid { stroke: var(--grid); }
.down { fill: var(--down); } .run, .late { stroke: var(--paper); }
.run { fill: var(--run); } .late { fill: var(--late); }
.slot { fill: none; stroke: var(--soft); stroke-width: 1.5; } .none { stroke: var(--soft); stroke-width: 1.5; }
.wait { stroke: var(--soft); stroke-dasharray: 2 3; }
"""
_LEGEND = (
    (20, "run", "run on time"), (150, "late", "run that was caught up"), (350, "slot", "slot"),
    (430, "none", "slot without a run"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scene:
    """What to play: the jobs by their labels, in UTC; the axis shows the time in the zone."""

    title: str
    jobs: Mapping[str, str]
    start: str
    hours: int
    run_time: str = "12m"
    down: tuple[str, str] | None = None
    timezone: str = "UTC"
    common: str = "command: ls"

    @property
    def begin(self) -> int:
        return _second(self.start)

    @property
    def end(self) -> int:
        return self.begin + self.hours * _HOUR


@dataclass(slots=True)
class _Row:
    """A job and what became of its slots."""

    label: str
    reports: list[SlotReport] = field(default_factory=list)


SCENES = {
    "outage": Scene(
        "Hourly jobs, and nothing runs from 01:30 to 05:20",
        {
            "catchup: skip": "schedule: '0 * * * *'\ncatchup: skip",
            "catchup: once": "schedule: '0 * * * *'\ncatchup: once",
            "catchup: all": "schedule: '0 * * * *'\ncatchup: all",
            "catchup_window: 2h": "schedule: '0 * * * *'\ncatchup_window: 2h",
        },
        "2026-03-02T00:00Z", 8, down=("2026-03-02T01:30Z", "2026-03-02T05:20Z"),
    ),
    "overlap": Scene(
        "Hourly jobs that run for 100 minutes",
        {
            "overlap: skip": "schedule: '0 * * * *'\noverlap: skip",
            "overlap: queue": "schedule: '0 * * * *'\noverlap: queue",
            "overlap: latest": "schedule: '0 * * * *'\noverlap: latest",
            "overlap: allow": "schedule: '0 * * * *'\noverlap: allow",
            "overlap: replace": "schedule: '0 * * * *'\noverlap: replace",
        },
        "2026-03-02T00:00Z", 8, run_time="100m",
    ),
    "clocks-forward": Scene(
        "Berlin, 29 March 2026: after 01:59 comes 03:00",
        {
            "at 02:30": "schedule: '30 2 * * *'",
            "every hour": "schedule: '0 * * * *'",
            "every half hour": "schedule: '*/30 * * * *'",
        },
        "2026-03-28T23:00Z", 6, run_time="5m", timezone="Europe/Berlin",
    ),
    "clocks-back": Scene(
        "Berlin, 25 October 2026: after 02:59 comes 02:00 again",
        {
            "at 02:30": "schedule: '30 2 * * *'",
            "every hour": "schedule: '0 * * * *'",
            "every half hour": "schedule: '*/30 * * * *'",
        },
        "2026-10-24T22:00Z", 6, run_time="5m", timezone="Europe/Berlin",
    ),
}  # fmt: skip


def draw(scene: Scene) -> str:
    """The scene as SVG."""
    rows = _play(scene)
    height = _TOP + _ROW * len(rows) + 46
    svg = ET.Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {_WIDTH} {height}", role="img")
    ET.SubElement(svg, "title").text = scene.title
    ET.SubElement(svg, "style").text = _STYLE
    bottom = _TOP + _ROW * len(rows)
    if scene.down:
        left, right = (_x(scene, _second(text)) for text in scene.down)
        _add(svg, "rect", "down", x=left, y=_TOP - 8, width=right - left, height=bottom - _TOP + 8)
        _text(svg, "", (left + right) / 2, 18, "nothing runs", "middle")
    for hour in range(scene.hours + 1):
        second = scene.begin + hour * _HOUR
        _add(svg, "line", "grid", x1=_x(scene, second), x2=_x(scene, second), y1=_TOP - 8, y2=bottom)
        local = to_datetime(second).astimezone(zone(scene.timezone).tzinfo)
        _text(svg, "", _x(scene, second), _TOP - 16, f"{local:%H:%M}", "middle")
    for number, row in enumerate(rows):
        y = _TOP + _ROW * number + _ROW // 2
        _text(svg, "name", 12, y + 4, row.label, "start")
        lanes: list[int] = []  # when the last run of each ends
        for report in row.reports:
            _draw_slot(svg, scene, report, y, lanes)
    for x, kind, meaning in _LEGEND:
        _mark(svg, kind, x, bottom + 28)
        _text(svg, "", x + 16, bottom + 32, meaning, "start")
    ET.indent(svg)
    return ET.tostring(svg, encoding="unicode") + "\n"


def _play(scene: Scene) -> list[_Row]:
    names = {f"job{number}": label for number, label in enumerate(scene.jobs)}
    files = (
        f"name: {name}\n{scene.jobs[label]}\n{scene.common}\ntimezone: {scene.timezone}\n"
        for name, label in names.items()
    )
    loaded, errors = read_text("---\n".join(files), "scene.yaml", "scene")
    if errors:
        raise ValueError(errors)
    jobs = [placed.job for placed in loaded]
    seconds = parse_duration(scene.run_time)
    down = ((_second(scene.down[0]), _second(scene.down[1])),) if scene.down else ()
    scenario = Scenario(jobs, scene.begin, scene.end, down, dict.fromkeys(names, seconds))
    rows = {name: _Row(label) for name, label in names.items()}
    for report in simulate(scenario):
        rows[report.schedule].reports.append(report)
    return list(rows.values())


def _draw_slot(svg: ET.Element, scene: Scene, report: SlotReport, y: int, lanes: list[int]) -> None:
    at = _x(scene, report.slot)
    if report.run is None or report.run.started_at is None:
        _mark(svg, "slot" if report.verdict is Verdict.DEFERRED else "none", at, y - 8, report.detail)
        return
    start, end = report.run.started_at, report.run.finished_at or scene.end
    kind = "late" if report.verdict is Verdict.CAUGHT_UP else "run"
    if start > report.slot:
        _add(svg, "line", "wait", x1=at + 5, x2=_x(scene, start), y1=y - 8, y2=y - 8)
    free = next((lane for lane, until in enumerate(lanes) if until <= start), len(lanes))
    lanes[free : free + 1] = [end]
    width = max(3.0, _x(scene, end) - _x(scene, start))
    bar = _add(svg, "rect", kind, x=_x(scene, start), y=y + 9 * free, width=width, height=9)
    ET.SubElement(bar, "title").text = report.detail
    _mark(svg, "slot", at, y - 8, report.detail)


def _mark(svg: ET.Element, kind: str, x: float, y: float, detail: str = "") -> None:
    """A sign of the legend around a point."""
    if kind == "none":
        for slope in (4, -4):
            _add(svg, "line", kind, x1=x - 4, x2=x + 4, y1=y - slope, y2=y + slope)
    elif kind == "slot":
        ring = _add(svg, "circle", kind, cx=x, cy=y, r=4.5)
        if detail:
            ET.SubElement(ring, "title").text = detail
    else:
        _add(svg, "rect", kind, x=x - 6, y=y - 4, width=14, height=9)


def _add(svg: ET.Element, tag: str, kind: str, **places: float) -> ET.Element:
    return ET.SubElement(svg, tag, {"class": kind, **{name: f"{value:g}" for name, value in places.items()}})


def _text(svg: ET.Element, kind: str, x: float, y: float, text: str, anchor: str) -> None:
    element = _add(svg, "text", kind, x=x, y=y)
    element.set("text-anchor", anchor)
    element.text = text


def _x(scene: Scene, second: int) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT - 10) * (second - scene.begin) / (scene.end - scene.begin), 1)


def _second(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())


def drawings() -> Iterator[tuple[Path, str]]:
    """Each picture: its file, and what it should hold."""
    for name, scene in SCENES.items():
        yield FOLDER / f"{name}.svg", draw(scene)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, drawn in drawings():
        file.write_text(drawn, encoding="utf-8")
