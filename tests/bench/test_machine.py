"""What a figure was measured on."""

import platform

import pytest
from typer.testing import CliRunner

from bench import documents
from bench.__main__ import app
from bench.machine import machine
from bench.report import Row, table


def test_the_machine_in_a_line() -> None:
    """Cores, memory and versions are there, those of isolated peers too, and nothing names the machine."""
    line = machine()
    assert all(part in line for part in (" cores (", " GiB, ", platform.python_version(), "asyncpg ", "celery "))
    assert platform.node() not in line


def test_what_is_printed_can_be_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """People get the line of the machine and a Markdown table, as docs/benchmarks.md has them."""
    found = [Row.of("documents", 4.0, "documents/s")]
    monkeypatch.setattr(documents, "rows", lambda _progress: found)
    done = CliRunner().invoke(app, ["documents"])
    assert done.stdout == f"{machine()}\n\n{table(found)}\n"
