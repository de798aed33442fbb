"""The measurements of `runtime` are complete. How punctual anything was is not asked."""

from math import isfinite

import pytest

from tickwise.bench.report import problems
from tickwise.bench.runtime import FULL, QUICK, rows, targets
from tickwise.bench.stores import server
from tickwise.core.errors import InputError


def test_every_owed_row_is_measured(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server is watched through bursts and through idle seconds, and each figure is judged by its target."""
    monkeypatch.setenv(server.VARIABLE, postgres_url)
    said: list[str] = []
    found = rows(said.append, QUICK)
    assert not [line for line in problems(found, targets(QUICK)) if "not measured" in line]
    assert all(isfinite(row.ours) and row.ours >= 0 for row in found)
    assert {row.name for row in found if row.ok is not None} == targets(QUICK).keys()
    assert not [line for line in said if line.startswith("note")]


def test_what_cannot_be_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a PostgreSQL there are no rows, but a note; and the rows that are owed are missed."""

    def missing(*_: object) -> None:
        raise InputError("there is none")

    monkeypatch.delenv(server.VARIABLE, raising=False)
    monkeypatch.setattr(server, "_binaries", missing)
    said: list[str] = []
    found = rows(said.append, FULL)
    assert found == []
    assert said[-1] == "note: PostgreSQL is left out: there is none"
    assert len(problems(found, targets(FULL))) == len(targets(FULL))
