"""The table of a run takes the place of the one before, and nothing else is touched."""

from collections import Counter
from pathlib import Path

import pytest

from .faults import FAULTS
from .report import Outcome, publish
from .verdict import Verdict


def test_a_report_replaces_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between the marks of the document stands the newest table, with all that was done in all stores."""
    document = tmp_path / "document.md"
    document.write_text("before\n<!-- chaos: written by make chaos -->\noutdated\n<!-- chaos: end -->\nafter\n")
    monkeypatch.setenv("TICKWISE_TEST_REPORT", str(document))
    for slots in (700, 800):
        verdict = Verdict(slots, slots - 1, 1, 0, 0, 0, 2, 1)
        publish([Outcome(store, Counter(list(kinds)), 1.25, verdict) for store, kinds in FAULTS.items()])
    assert capsys.readouterr().out.count("| slots expected |") == 2
    told = document.read_text()
    assert told.startswith("before\n<!--")
    assert told.endswith("-->\nafter\n")
    assert "| slots expected | 800 | 800 | 800 | 800 | 800 |" in told
    assert "| a node is killed | 1 | 1 | 1 | 1 | 1 |" in told
    assert "| claims fail, commits do not | 1 | 1 |  | 1 | 1 |" in told
    assert "49 faults" in told
    assert "700" not in told
    assert "outdated" not in told


def test_half_a_report_is_only_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The document stays as it is if a store is missing."""
    document = tmp_path / "document.md"
    document.write_text("as it was")
    monkeypatch.setenv("TICKWISE_TEST_REPORT", str(document))
    publish([Outcome("sqlite", Counter(list(FAULTS["sqlite"])), 1.25, Verdict(7, 6, 1, 0, 0, 0, 2, 1))])
    assert document.read_text() == "as it was"
    assert "| slots expected | 7 |" in capsys.readouterr().out
