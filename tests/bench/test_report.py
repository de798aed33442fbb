"""Rows and their verdicts, and the two ways to show them."""

import json

import pytest

from bench.report import Row, problems, table, to_json

FASTER = Row.of("next", 2.0, "µs", peer=("cronsim", 20.0), target=5)
SLOWER = Row.of("parse", 20.0, "µs", peer=("cronsim", 10.0), target=5)
SMALL = Row.of("memory", 12, "bytes", target=16)
PLAIN = Row.of("query [1 min]", 1234.5, "µs")


@pytest.mark.parametrize(
    ("row", "ratio", "ok"),
    [
        (FASTER, 10, True),
        (SLOWER, 0.5, False),
        (Row.of("claims", 300.0, "claims/s", peer=("other", 100.0), target=3), 3, True),
        (Row.of("claims", 300.0, "claims/s", peer=("other", 100.0), target=3.1), 3, False),
        (Row.of("next", 2.0, "µs", peer=("cronsim", 20.0)), 10, None),
        (SMALL, None, True),
        (Row.of("memory", 16.1, "bytes", target=16), None, False),
        (Row.of("claims", 10_000, "claims/s", target=10_000), None, True),
        (Row.of("claims", 9_999, "claims/s", target=10_000), None, False),
        (PLAIN, None, None),
    ],
)
def test_verdict(row: Row, ratio: float | None, ok: object) -> None:
    """Times are better when lower and rates when higher; a target is a ratio beside a peer, else a bound."""
    assert (row.ratio, row.ok) == (ratio, ok)


def test_no_problems() -> None:
    """Rows that are all there and all good, or without a target, are no problem."""
    assert problems([FASTER, SMALL, PLAIN], {"next": 5, "memory": 16}) == []


def test_missing_row_is_a_problem() -> None:
    """A row that is owed and was not measured is named with its target."""
    [problem] = problems([FASTER], {"next": 5, "memory": 16})
    assert problem.startswith("memory: not measured, though its target is 16")


def test_failing_row_is_a_problem() -> None:
    """A row below its target is named with what was reached, whether owed or not."""
    assert problems([SLOWER], {}) == ["parse: 0.5×, the target is ≥ 5×"]
    over = Row.of("memory", 17.25, "bytes", target=16)
    assert problems([over], {"memory": 16}) == ["memory: 17.2 bytes, the target is ≤ 16 bytes"]


def test_owed_row_without_verdict_is_a_problem() -> None:
    """An owed row that nobody judged does not pass for good."""
    assert problems([PLAIN], {PLAIN.name: 3}) == ["query [1 min]: 1,234 µs, the target is not stated"]


def test_json() -> None:
    """JSON is a list of objects with exactly the fields of a row."""
    keys = {"name", "ours", "peer", "peer_name", "ratio", "target", "ok", "unit"}
    shown = json.loads(json.dumps(to_json([FASTER, PLAIN])))
    assert [set(row) for row in shown] == [keys, keys]
    assert shown[0] == {
        "name": "next", "ours": 2.0, "peer": 20.0, "peer_name": "cronsim", "ratio": 10.0, "target": 5, "ok": True,
        "unit": "µs",
    }  # fmt: skip
    assert shown[1]["ok"] is shown[1]["peer"] is shown[1]["ratio"] is shown[1]["target"] is None


def test_table_is_markdown() -> None:
    """The table can stand in a document: one line a row, cells as wide as needed, names as they are."""
    lines = table([FASTER, SLOWER, SMALL, PLAIN]).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == ["what", "ours", "peer", "ratio", "target", "ok"]
    assert cells[2] == ["next", "2 µs", "cronsim 20 µs", "10×", "≥ 5×", "yes"]
    assert cells[3][-1] == "NO"
    assert cells[4] == ["memory", "12 bytes", "", "", "≤ 16 bytes", "yes"]
    assert cells[5] == ["query [1 min]", "1,234 µs", "", "", "", ""]


def test_color_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal sees green and red; a file or a pipe sees no escape codes."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    rows = [FASTER, SLOWER]
    assert "\x1b" not in table(rows)
    assert "\x1b[32myes" in table(rows, color=True)
    assert "\x1b[1;31mNO" in table(rows, color=True)
