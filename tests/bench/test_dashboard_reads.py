"""The reads of the dashboard are measured on both stores. How long they took is not asked."""

from bench.dashboard import QUICK
from bench.dashboard_reads import figures, targets


def test_each_read_is_measured_on_each_store() -> None:
    """A small store is filled, served and asked; what a server refuses would be an error."""
    found = list(figures(QUICK.schedules, QUICK.runs, QUICK.requests, lambda _: None))
    assert [name for name, *_ in found] == list(targets(QUICK.schedules, QUICK.runs))
    assert all(value > 0 for _, value, *_ in found)
