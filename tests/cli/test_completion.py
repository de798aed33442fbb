"""Shells complete names of schedules, and commands load only what they need."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..support.cli import PROGRAM, Filled


def completed(words: str, folder: Path) -> list[str]:
    """What a shell would offer after these words."""
    asked = {"_TICKWISE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": words}
    program = Path(sys.executable).parent / "tickwise"
    done = subprocess.run(
        [program], cwd=folder, env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_names_come_from_the_store(filled: Filled) -> None:
    """Those that begin with what was typed, from the store that was named."""
    offered = " ".join(completed("tickwise schedules show ni", filled.folder.parent))
    assert ("nightly" in offered, "report" in offered) == (True, False)
    elsewhere = completed(f"tickwise schedules show --store {filled.url} rep", Path("/"))
    assert "report" in " ".join(elsewhere)


def test_no_store_is_made_by_a_tab(tmp_path: Path) -> None:
    """Where there is no store nothing is offered, nothing is said, and nothing is made."""
    offered = completed("tickwise why ni", tmp_path)
    assert ("nightly" in " ".join(offered), list(tmp_path.iterdir())) == (False, [])


@pytest.mark.parametrize(
    ("arguments", "without"),
    [
        (
            ["--help"],
            {"fastapi", "httpx", "numpy", "pydantic", "rich", "ruamel.yaml", "structlog", "tickwise.app"},
        ),
        (["--version"], {"fastapi", "httpx", "numpy", "tickwise.app"}),
        (["cron", "explain", "0 3 * * *"], {"fastapi", "httpx", "tickwise.app"}),
        (["runs", "list", "--server", "http://127.0.0.1:1"], {"fastapi", "tickwise.app"}),
        (["upcoming", "--server", "http://127.0.0.1:1"], {"fastapi", "tickwise.app"}),
    ],
)
def test_a_command_loads_only_what_it_needs(tmp_path: Path, arguments: list[str], without: set[str]) -> None:
    """A command that asks a server, or explains an expression, does not import what serves."""
    asked = [sys.executable, "-X", "importtime", *PROGRAM[1:], *arguments]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tickwise.cli.main" in loaded
    assert not without & loaded
