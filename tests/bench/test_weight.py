"""The measurements of `weight` are complete. How heavy anything was is not asked here."""

from bench.report import problems
from bench.weight import REQUIRED, rows


def test_every_owed_row_is_there() -> None:
    """Nothing in the table of targets is left out, and each row is a positive number beside its peer's."""
    found = rows(turns=1)
    assert not [line for line in problems(found, REQUIRED) if "not measured" in line]
    assert all(row.ours > 0 and (row.peer is None or row.peer > 0) for row in found)
    assert [row.peer_name for row in found] == [
        "celery --help", "Celery", *["Celery's import"] * 3, "procrastinate"
    ]  # fmt: skip
