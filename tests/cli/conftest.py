"""A filled store for each test that asks for one, and commands in this process."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tickwise.cli import in_process
from tickwise.cli.main import main

from ..support.cli import Filled, Recording, fill

Command: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    return fill(tmp_path_factory.mktemp("filled") / ".tickwise")


@pytest.fixture
def filled(original: Filled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Filled:
    """A copy of its own, in the folder where the test works."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TICKWISE_TOKEN", raising=False)
    return original.copied(tmp_path / ".tickwise")


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], object]:
    """What the API answers in this process, by method and address."""
    answers: dict[tuple[str, str], object] = {}
    monkeypatch.setattr(Recording, "answers", answers, raising=False)
    monkeypatch.setattr(in_process, "InProcessTransport", Recording)
    return answers


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Run `tickwise` with arguments and a standard input; returns exit code, print and complaints."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, given: str | io.StringIO = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tickwise", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(given) if isinstance(given, str) else given)
        with pytest.raises(SystemExit) as ended:
            main()
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return run
