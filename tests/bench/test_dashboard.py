"""The measurement of the dashboard is complete. How soon it stood is not asked."""

import pytest

from bench.dashboard import FULL, QUICK, rows, targets
from bench.report import problems


@pytest.fixture(autouse=True)
def no_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take a minute, and have a test of their own."""
    monkeypatch.setattr("bench.dashboard_reads.STORES", ())


def test_every_owed_row_is_measured() -> None:
    """The first view of a small store is looked at in a browser, and its size is one that can be."""
    found = rows(size=QUICK)
    assert [row.name for row in found] == list(targets(QUICK))
    assert found[0].ours > 0
    assert 50 < found[1].ours < 300
    assert all(row.ours >= 0 for row in found[2:])


def test_what_cannot_be_measured_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a browser there are no rows, but a note; and the rows that are owed are missed."""
    monkeypatch.setattr("shutil.which", lambda _: None)
    said: list[str] = []
    found = rows(said.append, FULL)
    assert (found, said[-1].startswith("note: the dashboard is left out: there is no Chromium")) == ([], True)
    assert len(problems(found, targets(FULL))) == 5
