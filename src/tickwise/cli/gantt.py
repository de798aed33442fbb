"""A timeline as text: one line per schedule, one column per stretch of time."""

from collections.abc import Iterator, Sequence

from ..core.reasons import Verdict
from ..core.simulation.simulate import Scenario, SlotReport
from ..core.timeparse import iso

_WIDTH = 72
_MARKS = {
    Verdict.FIRED: "█",
    Verdict.CAUGHT_UP: "▓",
    Verdict.DEFERRED: "?",
    Verdict.SKIPPED: "x",
    Verdict.COALESCED: "·",
    Verdict.SUPERSEDED: "·",
    Verdict.EXPIRED: "x",
}
_RANK = {mark: rank for rank, mark in enumerate([" ", "·", "x", "?", "▓", "█"])}


def gantt(scenario: Scenario, reports: Sequence[SlotReport]) -> Iterator[str]:
    """The runs as bars from start to end, slots without a run as marks, downtimes shaded below."""
    span = scenario.end - scenario.start

    def column(instant: int) -> int:
        return max(0, min(_WIDTH - 1, (instant - scenario.start) * _WIDTH // span))

    lines: dict[str, list[str]] = {}
    for report in reports:
        cells = lines.setdefault(report.schedule, [" "] * _WIDTH)
        begin, end = report.slot, report.slot
        if report.run and report.run.started_at is not None:
            begin, end = report.run.started_at, report.run.finished_at or scenario.end
        for place in range(column(begin), column(end) + 1):
            mark = _MARKS[report.verdict]
            cells[place] = mark if _RANK[mark] >= _RANK[cells[place]] else cells[place]
    indent = max([len(name) for name in lines] + [4])
    yield f"{'':{indent}}  {iso(scenario.start):<{_WIDTH // 2}}{iso(scenario.end):>{_WIDTH // 2}}"
    for name in sorted(lines):
        yield f"{name:<{indent}} |{''.join(lines[name])}|"
    if scenario.down:
        down = {place for begin, end in scenario.down for place in range(column(begin), column(end - 1) + 1)}
        yield f"{'down':<{indent}} |{''.join('▒' if place in down else ' ' for place in range(_WIDTH))}|"
    yield f"{'':{indent}}  █ on time  ▓ caught up  x skipped or expired  · covered by another run  ? still waiting"
