"""How long the next run may take: a distribution that is made of those before it."""

from tickwise.core.settle import Failed, Succeeded
from tickwise.core.simulation.run_times import DrawnRun, RunTime, RunTimes

TEN = RunTimes([RunTime(10, 100 * n) for n in range(1, 10)])


def test_each_gap_between_past_runs_is_as_likely() -> None:
    """Below the shortest, between two neighbours, and above the longest: one of ten each, and even within."""
    drawn = [TEN.draw(0.5, share / 100).ended_after for share in range(100)]
    assert drawn[::10] == [0, 100, 200, 300, 400, 500, 600, 700, 800, 900]
    assert drawn[15] == 150
    assert drawn[95] == 1_800  # above the longest, twice as long is half as likely
    assert TEN.usual == 500


def test_a_run_that_goes_on_lasts_longer() -> None:
    """Only what is longer than it has lasted is drawn, however long that is."""
    assert TEN.draw(0.5, 0.0, 450, has_begun=True) == DrawnRun(0, 450, Succeeded())
    assert TEN.draw(0.5, 0.5, 500, has_begun=True).ended_after == 750
    assert TEN.draw(0.5, 0.5, 9_000, has_begun=True).ended_after == 18_000
    assert TEN.draw(0.5, 1 - 2**-53, 10**9, has_begun=True).ended_after >= 10**9


def test_a_run_that_has_not_begun_waits_longer() -> None:
    """How long runs wait for a worker is drawn in the same way; none begins after its end."""
    waits = RunTimes([RunTime(10 * n, 1_000) for n in range(1, 10)])
    assert waits.draw(0.3, 0.5).begun_after == 30
    assert waits.draw(0.0, 0.5, 50).begun_after == 50
    assert waits.draw(0.5, 0.5, 20).begun_after == 60
    assert waits.draw(0.99999, 0.5).begun_after == 1_000


def test_runs_fail_as_often_as_they_did() -> None:
    """A length is drawn with the outcome of its neighbour; the begin of what was tried again is not known."""
    some = RunTimes([RunTime(None, 5, failed=True), RunTime(0, 10), RunTime(0, 20)])
    outcomes = [type(some.draw(0.5, share / 4).outcome) for share in range(4)]
    assert outcomes == [Failed, Succeeded, Succeeded, Succeeded]


def test_runs_of_no_length() -> None:
    """What has always ended at once may last for once."""
    at_once = RunTimes([RunTime(None, 0)] * 9)
    assert at_once.usual == 0
    assert at_once.draw(0.5, 0.2).ended_after == 0
    assert at_once.draw(0.5, 0.5, 30, has_begun=True).ended_after == 60
