"""The curves are complete, and their pictures sound. How fast anything was is not asked."""

import json
from math import isfinite
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from bench import growth, postgres
from bench.__main__ import app
from bench.growth import DEFAULT, FULL, QUICK, GrowthSize, plot, rows
from bench.measure import Progress
from bench.report import Row
from tickwise.core.errors import InputError

NAMESPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Row], Path]:
    folder = tmp_path_factory.mktemp("growth") / "pictures"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(postgres.VARIABLE, postgres_url)
        return rows(size=QUICK, folder=folder), folder


def test_every_point_is_there(drawn: tuple[list[Row], Path]) -> None:
    """Each number of schedules and of workers has a rate and two percentiles, in their units."""
    found = {row.name: row.unit for row in drawn[0] if row.name.startswith("growth")}
    places = {"schedules: 10": "runs/s", "schedules: 40": "runs/s", "workers: 1": "claims/s"}
    assert found == {
        f"growth, {place}{what}": unit
        for place, rate in places.items()
        for what, unit in (("", rate), (", claim p50", "ms"), (", claim p99", "ms"))
    }
    assert all(isfinite(row.ours) and row.ours >= 0 for row in drawn[0])


def test_the_forecast_is_held_against_what_was_measured(drawn: tuple[list[Row], Path]) -> None:
    """The constants of the model are told, and for each number of processes its forecast and the error of that."""
    found = {row.name.removeprefix("capacity, "): row for row in drawn[0] if row.name.startswith("capacity")}
    units = ["µs", "µs", "bytes", "runs", "commits/s", "connections", "runs/s", "%", "%"]
    assert [row.unit for row in found.values()] == units
    measured, error = found["processes: 1"], found["processes: 1, error of the forecast"]
    assert measured.peer_name == "forecast"
    assert error.ours == pytest.approx(abs(1 / (measured.ratio or 0) - 1) * 100)


def test_pictures_are_drawn(drawn: tuple[list[Row], Path]) -> None:
    """A folder that is named gets a well-formed picture of each curve, with its numbers as text."""
    schedules, workers = (
        read((drawn[1] / f"growth-{name}.svg").read_text("utf-8")) for name in ("schedules", "workers")
    )
    shown = {text.text for text in schedules.iter(f"{NAMESPACE}text")}
    assert {"schedules", "10", "40", "runs/s", "ms a claim", "rate", "p50", "p99"} <= shown
    assert len(list(workers.iter(f"{NAMESPACE}circle"))) == 3


def read(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 (our own text)


def picture(*values: float) -> ET.Element:
    line = plot.Line("a < b", list(enumerate(values, 1)))
    return read(plot.render_svg("title & more", "axis", [plot.Panel("unit", [line, line])]))


def test_lines_stay_inside_and_rise_with_their_values() -> None:
    """Logarithmic axes: equal factors are equal steps, and the greatest is on top of the least."""
    dots = [circle.attrib for circle in picture(1, 10, 100).iter(f"{NAMESPACE}circle")][:3]
    heights = [float(dot["cy"]) for dot in dots]
    assert heights[0] > heights[1] > heights[2]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)


def test_labels_do_not_cover_each_other() -> None:
    """Lines that end at the same height are labelled one below the other."""
    ends = [float(text.attrib["y"]) for text in picture(5).iter(f"{NAMESPACE}text") if text.text == "a < b"]
    assert ends[1] - ends[0] == plot._LABEL_DISTANCE


def test_a_picture_suits_light_and_dark() -> None:
    """It follows the reader's mode, and has a ground of its own in both."""
    style = picture(5).findtext(f"{NAMESPACE}style") or ""
    assert style.count("background") == 2
    assert "prefers-color-scheme: dark" in style


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((4, 5), [0.5, 1, 2, 5, 10]),
        ((10, 10), [1, 2, 5, 10, 20]),
        ((0.3, 120), [0.1, 1, 10, 100, 1000]),
        ((9_500, 10_800), [1_000, 2_000, 5_000, 10_000, 20_000]),
    ],
)
def test_ticks(values: tuple[float, ...], expected: list[float]) -> None:
    """Axes are marked at a few round numbers that hold all values, and span a factor of ten at least."""
    assert plot._ticks(values) == pytest.approx(expected)


def test_without_a_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a PostgreSQL there is a note, and neither rows nor pictures."""

    def missing(*_: object) -> None:
        raise InputError("there is none")

    monkeypatch.delenv(postgres.VARIABLE, raising=False)
    monkeypatch.setattr(postgres, "_binaries", missing)
    said: list[str] = []
    assert rows(said.append, QUICK, tmp_path / "pictures") == []
    assert said[-1] == "note: PostgreSQL is left out: there is none"
    assert not (tmp_path / "pictures").exists()


@pytest.mark.parametrize(("options", "size"), [([], DEFAULT), (["--full"], FULL)], ids=["default", "full"])
def test_command(monkeypatch: pytest.MonkeyPatch, options: list[str], size: GrowthSize) -> None:
    """`python -m bench growth` measures the size asked for; only the full one has a million schedules."""
    asked: list[tuple[GrowthSize, Path | None]] = []

    def measure(_progress: Progress, size: GrowthSize, folder: Path | None) -> list[Row]:
        asked.append((size, folder))
        return [Row.of("growth, schedules: 100", 4.0, "runs/s")]

    monkeypatch.setattr(growth, "rows", measure)
    done = CliRunner().invoke(app, ["growth", "--json", "--svg", "pictures", *options])
    assert (done.exit_code, asked) == (0, [(size, Path("pictures"))])
    assert json.loads(done.stdout)[0]["unit"] == "runs/s"
    assert (1_000_000 in size.stored) == (size is FULL)
