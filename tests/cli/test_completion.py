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
            {"fastapi", "httpx2", "numpy", "pydantic", "rich", "ruamel.yaml", "structlog", "tickwise.app"},
        ),
        (["--version"], {"fastapi", "httpx2", "numpy", "tickwise.app"}),
        (["cron", "explain", "0 3 * * *"], {"fastapi", "httpx2", "tickwise.app"}),
        (["runs", "list", "--server", "http://127.0.0.1:1"], {"fastapi", "tickwise.app"}),
        (["upcoming", "--server", "http://127.0.0.1:1"], {"fastapi", "tickwise.app"}),
        (["exec"], {"fastapi", "httpx2", "numpy", "pydantic", "ruamel.yaml", "structlog", "tickwise.app"}),
    ],
)
def test_a_command_loads_only_what_it_needs(tmp_path: Path, arguments: list[str], without: set[str]) -> None:
    """A command that asks a server, or explains an expression, does not import what serves."""
    assert not without & loaded(arguments, tmp_path)


@pytest.mark.parametrize("arguments", ["schedules list", "schedules list --json", "why nightly", "runs list"])
def test_a_read_of_a_store_loads_no_server(filled: Filled, arguments: str) -> None:
    """Weight: common reads over a store load neither the API with its libraries nor NumPy nor YAML."""
    heavy = {"fastapi", "starlette", "uvicorn", "httpx2", "numpy", "pydantic", "ruamel.yaml", "structlog"}
    assert not heavy & loaded(arguments.split(), filled.folder.parent)


def loaded(arguments: list[str], folder: Path) -> set[str]:
    """The modules that a command loads."""
    asked = [sys.executable, "-X", "importtime", *PROGRAM[1:], *arguments]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    found = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "tickwise.cli.main" in found
    return found
