"""The checker of what executed at once finds what it must, and nothing else."""

import pytest

from .spans import Crossing, Freeze, Span, crossings, is_explained, read_spans

ONE_BY_ONE = ("etl",)


def span(run: str, begun: float, ended: float, *, attempt: int = 1, pid: int = 1, job: str = "etl") -> Span:
    return Span(job, run, attempt, pid, begun, ended)


@pytest.mark.parametrize(
    ("spans", "number"),
    [
        ([span("1", 0, 5), span("1", 5, 6, attempt=2)], 0),
        ([span("1", 0, 5), span("1", 4, 6, attempt=2)], 1),
        ([span("1", 0, 5), span("2", 4, 6)], 1),
        ([span("1", 0, 5, job="wide"), span("2", 4, 6, job="wide")], 0),
        ([span("1", 0, 5, job="wide"), span("1", 4, 6, attempt=2, job="wide")], 1),
        ([span("1", 0, 9), span("1", 1, 2, attempt=2), span("1", 3, 4, attempt=3)], 2),
    ],
    ids=[
        "one after the other",
        "two attempts",
        "two runs",
        "side by side",
        "attempts of many",
        "behind a long one",
    ],
)
def test_what_crosses(spans: list[Span], number: int) -> None:
    """S42, S14: attempts of a run never cross, runs only where the job allows it, in whatever order they come."""
    assert len(crossings(spans, ONE_BY_ONE)) == number
    assert len(crossings(reversed(spans), ONE_BY_ONE)) == number


def test_a_process_that_stood_still_explains_it() -> None:
    """S42: only its own, and only if it stood still while the older span lasted."""
    crossing = Crossing(span("1", 0, 5), span("1", 4, 6, attempt=2, pid=2))
    assert is_explained(crossing, [Freeze(1, 1, 4.9)])
    assert not is_explained(crossing, [Freeze(2, 1, 4.9), Freeze(1, 5, 9), Freeze(1, -3, -1)])
    assert crossing.seconds == 1


def test_spans_are_read_as_they_were_written() -> None:
    """One line each, and one for each time in which a process stood still."""
    spans, freezes = read_spans("etl 7 2 41 1.5 2.25\n41 3.0 3.5\n")
    assert (spans, freezes) == ([Span("etl", "7", 2, 41, 1.5, 2.25)], [Freeze(41, 3.0, 3.5)])
