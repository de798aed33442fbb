"""`app.testing(clock)`: how users test their own schedules."""

import subprocess
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tickwise import AsyncTickwise, ConflictError, Run, Tickwise
from tickwise.testing import FakeClock

from ..support.app import at, patiently

ROOT = Path(__file__).parents[2]
APP = """
from tickwise import Tickwise

tw = Tickwise("sqlite:///shop.db")
sent = []

@tw.job("0 3 * * *", retry={"limit": 1, "interval": "10m", "jitter": 0})
def nightly(run):
    sent.append(run.slot)
    if run.attempt == 1:
        raise OSError("the printer is on fire")
"""
TEST = """
from shop import nightly, sent, tw

def test_nightly(tickwise_clock):
    with tw.testing(tickwise_clock) as session:
        failed_once, = session.play(until="2026-01-01T12:00:00Z")
        assert failed_once.finished_at.isoformat() == "2026-01-01T03:10:00+00:00"
        assert (failed_once.state, failed_once.attempt, len(sent)) == ("succeeded", 2, 2)
        assert len(session.play(until="2d")) == 2

def test_each_begins_anew(tickwise_clock):
    with tw.testing(tickwise_clock) as session:
        assert (tw.runs.list(), session.play(until="1h")) == ([], [])
"""


def test_an_app_of_a_module(tmp_path: Path) -> None:
    """A user's test gives a module's app a clock, plays it, and leaves the app's own store alone (A24)."""
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "test_shop.py").write_text(TEST)
    (tmp_path / "conftest.py").write_text("from tickwise.testing.pytest_plugin import tickwise_clock\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, "2 passed" in ended.stdout) == (0, True), ended.stdout
    assert not (tmp_path / "shop.db").exists()


def test_the_plugin_is_installed() -> None:
    """The package names the plugin to pytest, and importing it loads nothing but pytest (A24)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    name = project["entry-points"]["pytest11"]["tickwise"]
    assert hasattr(import_module(name), "tickwise_clock")
    loads = f"import sys, {name}; print([one for one in sys.modules if one.startswith('tickwise.core')])"
    assert (
        subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True).stdout == "[]\n"
    )


def test_each_due_instant_is_played(tw: Tickwise, clock: FakeClock) -> None:
    """Slots, deferred runs and catch-up happen at their own time; `until` is inclusive (A24)."""
    seen: list[tuple[str, datetime, Any]] = []

    @tw.job("*/20 * * * *")
    def often(run: Run) -> None:
        seen.append(("often", clock.now(), run.slot))

    @tw.job
    def later() -> None:
        seen.append(("later", clock.now(), None))

    with tw.testing(clock) as session:
        tw.enqueue(later, at="30m")
        ended = session.play(until=timedelta(minutes=40))
        assert [run.job for run in ended] == ["often", "later", "often"]
    assert seen == [
        ("often", at("00:20"), at("00:20")), ("later", at("00:30"), None), ("often", at("00:40"), at("00:40")),
    ]  # fmt: skip
    assert (clock.now(), tw.runs.list()) == (at("00:40"), [])


@patiently
async def test_an_awaited_app(app: AsyncTickwise) -> None:
    """The same, awaited; a node that runs is not put on another clock (A24)."""
    clock, seen = FakeClock(datetime(2026, 3, 29, tzinfo=UTC)), list[Any]()

    @app.job("30 2 * * *", timezone="Europe/Berlin")
    async def nightly(run: Run) -> None:
        seen.append(run.slot)

    async with app.testing(clock) as session:
        (run,) = await session.play(until="2026-03-29T12:00:00Z")
        assert (run.state, seen) == ("succeeded", [datetime(2026, 3, 29, 1, tzinfo=UTC)]), "02:30 does not exist"
        with pytest.raises(ValueError, match="no time"):
            await session.play(until=7)  # type: ignore[arg-type]
    async with app:
        await app.start()
        with pytest.raises(ConflictError, match="stop it first"):
            await app.testing(clock).__aenter__()
