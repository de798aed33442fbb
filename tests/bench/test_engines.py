"""The measurement of `engines` is complete, on real servers. How fast anything was is not asked."""

from math import isfinite

import pytest

from bench import postgres, redis
from bench.engines import FULL, QUICK, rows
from tickwise.core.errors import InputError


def test_every_row_is_measured(postgres_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs go through a server, a broker and a worker, and each begins once; beat publishes as many."""
    monkeypatch.setenv(postgres.VARIABLE, postgres_url)
    monkeypatch.setenv(redis.VARIABLE, redis_url)
    said: list[str] = []
    found = rows(said.append, QUICK)
    assert [row.name.partition(",")[0] for row in found] == [
        "hand over 5 runs to Celery", "the same", "publish only"
    ]  # fmt: skip
    assert all(isfinite(row.ours) and row.ours > 0 for row in found)
    assert not [line for line in said if line.startswith("note")]


def test_what_cannot_be_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a PostgreSQL there are no rows, but a note."""

    def missing(*_: object) -> None:
        raise InputError("there is none")

    monkeypatch.delenv(postgres.VARIABLE, raising=False)
    monkeypatch.setattr(postgres, "_binaries", missing)
    said: list[str] = []
    assert rows(said.append, FULL) == []
    assert said[-1] == "note: the hand-over is left out: there is none"
