"""The measurements of `runtime` are complete. How late anything was is not asked."""

from dataclasses import replace
from math import isfinite

import pytest

from bench import postgres
from bench.report import problems
from bench.runtime import FULL, QUICK, lateness, rows, targets
from tickwise.core.errors import InputError


def test_every_owed_row_is_measured(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server is watched through bursts and through idle seconds, and each figure is judged by its target."""
    monkeypatch.setenv(postgres.VARIABLE, postgres_url)
    said: list[str] = []
    found = rows(said.append, QUICK)
    assert not [line for line in problems(found, targets(QUICK)) if "not measured" in line]
    assert all(isfinite(row.ours) and row.ours >= 0 for row in found)
    assert {row.name for row in found if row.ok is not None} == targets(QUICK).keys()
    assert not [line for line in said if line.startswith("note")]


def test_the_best_turn_counts_and_all_are_told() -> None:
    """The first burst warms up; of the others, one turn of two is disturbed, and only the last row shows it."""
    size = replace(QUICK, same_second=2, bursts=4, turns=2)
    late = [[9, 9], [1, 3], [2, 4], [5, 900], [6, 8]]  # milliseconds, in each second
    instants = [second * 1_000_000 + each * 1_000 for second, burst in enumerate(late) for each in burst]
    found = {name: ours for name, ours, *_ in lateness.percentiles("late", instants, size)}
    assert found == pytest.approx({"late, p50": 2.5, "late, p99": 3.97, "late, p99 of all turns": 837.56})


def test_what_cannot_be_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a PostgreSQL there are no rows, but a note; and the rows that are owed are missed."""

    def missing(*_: object) -> None:
        raise InputError("there is none")

    monkeypatch.delenv(postgres.VARIABLE, raising=False)
    monkeypatch.setattr(postgres, "_binaries", missing)
    said: list[str] = []
    found = rows(said.append, FULL)
    assert found == []
    assert said[-1] == "note: PostgreSQL is left out: there is none"
    assert len(problems(found, targets(FULL))) == len(targets(FULL))
