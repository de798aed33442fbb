"""A newcomer's first minutes, in a fresh virtual environment with packages from the index."""

import os
import pty
import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tools import smoke

ROOT = Path(__file__).parents[2]
_MAX_CPU = 60  # seconds


class Installation(NamedTuple):
    """Where its programs are, and the processor time that it took."""

    programs: Path
    cpu: float


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """As `pip install .` in a checkout makes it."""
    before = _cpu()
    python = smoke.install(tmp_path_factory.mktemp("env"), [str(ROOT)])
    return Installation(python.parent, _cpu() - before)


def test_from_the_clone_to_the_first_run(installation: Installation, tmp_path: Path) -> None:
    """Install, init, serve until a run is told: less than a minute of processor time."""
    before, tickwise = _cpu(), installation.programs / "tickwise"
    subprocess.run([tickwise, "init"], cwd=tmp_path, check=True, capture_output=True)
    ours, theirs = pty.openpty()
    with subprocess.Popen([tickwise, "serve", "jobs", "--port", "0"], cwd=tmp_path, stdout=theirs) as server:
        os.close(theirs)
        shown = b""
        while b"succeeded" not in shown:
            shown += os.read(ours, 65_536)
        server.terminate()
    os.close(ours)
    spent = installation.cpu + _cpu() - before
    print(f"from the clone to the first run: {spent:.1f} s, of which {installation.cpu:.1f} s to install")
    assert spent < _MAX_CPU


def test_the_tutorial_word_for_word(installation: Installation) -> None:
    """Every command of the tutorial prints what it says there, with the programs of the new installation."""
    surroundings = {**os.environ, "TICKWISE_TEST_PROGRAMS": str(installation.programs)}
    tutorial = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "docs/start/tutorial.md"]
    done = subprocess.run(tutorial, cwd=ROOT, env=surroundings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
