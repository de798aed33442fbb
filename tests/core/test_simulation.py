"""The simulator: the real planner on a virtual clock."""

from dataclasses import replace
from typing import Any

import pytest

from tickwise.core.definition import JobDefinition, RetryPolicy
from tickwise.core.errors import InputError
from tickwise.core.reasons import Verdict
from tickwise.core.simulation.simulate import Scenario, SlotReport, simulate
from tickwise.core.timeparse import iso

from .world import instant, job, once

DAY = "2026-01-01T00:00"


def played(*jobs: JobDefinition, end: str = "06:00", **given: Any) -> list[SlotReport]:
    """What would run from midnight on."""
    given["down"] = tuple((instant(a), instant(b)) for a, b in given.get("down", ()))
    return simulate(Scenario(jobs, instant(DAY), instant(end), **given))


def story(reports: list[SlotReport]) -> list[tuple[str, str, str]]:
    """Hour, verdict, and when the run began."""
    began = (r.run.started_at if r.run else None for r in reports)
    return [
        (iso(r.slot)[11:16], r.verdict, "" if at is None else iso(at)[11:16])
        for r, at in zip(reports, began, strict=True)
    ]


def test_slots_of_the_window_and_no_others() -> None:
    """The first slot may fall on the start; the end is exclusive; disabled jobs have none."""
    hourly = job("etl", "0 * * * *")
    reports = played(hourly, replace(job("off", "0 * * * *"), enabled=False), end="03:00")
    assert story(reports) == [
        ("00:00", "fired", "00:00"),
        ("01:00", "fired", "01:00"),
        ("02:00", "fired", "02:00"),
    ]


def test_a_downtime_hands_back_what_was_running() -> None:
    """S45: a run that the shutdown interrupts begins again afterwards; slots in between go through catch-up."""
    reports = played(job("etl", "0 * * * *"), run_time={"etl": 1800}, down=[("01:10", "04:20")])
    assert story(reports) == [
        ("00:00", "fired", "00:00"),
        ("01:00", "fired", "04:20"),
        ("02:00", "coalesced", ""),
        ("03:00", "coalesced", ""),
        ("04:00", "skipped", ""),
        ("05:00", "fired", "05:00"),
    ]


def test_what_a_downtime_has_cut_off_begins_again_at_its_end() -> None:
    """A23, S45: not at the next event, which may come hours later; also behind a downtime inside another."""
    reports = played(
        job("etl", "0 1 * * *"), run_time={"etl": 3600}, down=[("01:10", "01:40"), ("01:20", "01:30")]
    )
    assert [(iso(r.slot)[11:16], r.run and r.run.started_at, r.run and r.run.finished_at) for r in reports] == [
        ("01:00", instant("01:40"), instant("02:40"))
    ]


def test_a_downtime_to_the_end_leaves_nothing_decided() -> None:
    """What falls into a downtime that does not end has no verdict, only the wish for one."""
    reports = played(job("etl", "0 * * * *"), end="04:00", down=[("01:30", "09:00")])
    assert [r.verdict for r in reports] == [Verdict.FIRED, Verdict.FIRED, Verdict.DEFERRED, Verdict.DEFERRED]


def test_failures_are_retried_and_told() -> None:
    """S44: a failing job is tried as often as its policy says, and the outcome says that it failed."""
    retry = RetryPolicy(limit=2, interval=60, backoff=1)
    reports = played(job("etl", once("01:00"), retry=retry), fail=frozenset({"etl"}), run_time={"etl": 60})
    run = reports[0].run
    assert run
    assert run.outcome == "failed"
    assert run.finished_at is not None
    assert run.finished_at >= instant("01:00") + 3 * 60 + 2 * 60


def test_a_stop_ends_the_run_and_at_most_once_is_lost() -> None:
    """S21, S43: a stop cancels at once; what may start only once is lost when the shutdown interrupts it."""
    stopped = played(job("feed", "0 1 * * *", stop="30 2 * * *"), run_time={"feed": 9000})
    assert [(r.schedule, r.run.outcome if r.run else r.reason.code) for r in stopped] == [
        ("feed", "cancelled"),
        ("feed.stop", "stopped"),
    ]
    careful = replace(job("pay", "0 1 * * *"), at_most_once=True)
    lost = played(careful, run_time={"pay": 1800}, down=[("01:10", "02:00")])
    assert [r.run.outcome for r in lost if r.run] == ["lost"]


def test_a_stop_ends_a_run_that_waits_for_its_retry() -> None:
    """S21, S44: a run that failed and waits to be tried again is cancelled at the stop, and not tried again."""
    retry = RetryPolicy(limit=2, interval=7_200, backoff=1, max_interval=7_200)
    feed = job("feed", "0 1 * * *", stop="30 1 * * *", retry=retry)
    reports = played(feed, fail=frozenset({"feed"}))
    assert [r.run.outcome for r in reports if r.run] == ["cancelled"]


def test_a_run_that_has_not_ended_has_no_outcome() -> None:
    """At the end of the window a run may still be under way, and slots behind it still wait."""
    reports = played(job("etl", "0 * * * *", catchup="all"), run_time={"etl": 5 * 3600}, end="03:00")
    assert reports[0].run
    assert (reports[0].run.finished_at, reports[0].run.outcome) == (None, None)
    assert [r.verdict for r in reports[1:]] == [Verdict.DEFERRED] * 2
    assert {r.reason.code for r in reports[1:]} == {"waits_for_run"}


def test_no_slot_is_told_twice() -> None:
    """S7: slots dropped as too many reach over others that were too old before; each has one verdict."""
    etl = job("etl", "* * * * *", catchup_window="10m", max_catchup=40)
    down = [("00:10", "00:40"), ("00:45", "01:12")]
    reports = played(etl, end="01:30", run_time={"etl": 4000}, down=down)
    told = {iso(r.slot)[11:16]: r.reason.code for r in reports}
    assert len(reports) == len(told) == 90
    assert [told[minute] for minute in ("00:09", "00:10", "00:29", "00:30")] == [
        "too_many",
        "too_old",
        "too_old",
        "too_many",
    ]


def test_very_many_slots_with_one_verdict_are_one_line() -> None:
    """S6: more slots than anyone reads are summed up."""
    reports = played(job("tick", "* * * * * *", catchup="skip"), end="08:00", down=[("00:01", "07:59")])
    (summed,) = [r for r in reports if r.reason.code == "too_many"]
    assert "slots up to" in summed.detail


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"end": DAY}, "must come after the start"),
        ({"down": [("03:00", "02:00")]}, "must end after it begins"),
        ({"fail": frozenset({"nobody"})}, "no job is named 'nobody'; there are etl"),
        ({"run_time": {"nobody": 5}}, "no job is named 'nobody'"),
    ],
)
def test_impossible_scenarios_are_refused(given: dict[str, Any], message: str) -> None:
    """A scenario that cannot be played says why."""
    with pytest.raises(InputError, match=message):
        played(job("etl", "0 * * * *"), **given)
