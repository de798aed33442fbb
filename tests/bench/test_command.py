"""`python -m bench`: what it prints, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench import report, time
from bench.__main__ import app

ROOT = Path(__file__).parents[2]


def test_it_prints_rows_and_fails_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing row or a missed target fails the benchmark; JSON keeps its shape."""
    rows = [report.Row.of(name, 1.0, "us", target=2.0) for name in time.REQUIRED]
    monkeypatch.setattr(time, "rows", lambda progress: (progress("note: a peer is missing"), rows)[1])
    done = CliRunner().invoke(app, ["time", "--json"])
    assert (done.exit_code, "note: a peer is missing" in done.stderr) == (0, True)
    assert set(json.loads(done.stdout)[0]) == {
        "name",
        "ours",
        "peer",
        "peer_name",
        "ratio",
        "target",
        "ok",
        "unit",
    }
    rows.pop()
    done = CliRunner().invoke(app, ["time"])
    assert done.exit_code == 1
    assert "not measured" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["tme"], "No such command 'tme'. Did you mean 'time'"),
        (["time", "--full"], "No such option: --full"),
        ([], "Usage: python -m bench"),
    ],
)
def test_wrong_use(arguments: list[str], says: str) -> None:
    """An unknown part or option is named, and without a part all parts are listed."""
    done = subprocess.run(
        [sys.executable, "-m", "bench", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert says in done.stdout + done.stderr
