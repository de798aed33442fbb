"""The eight cases of a cron in a database, each on a live server (`tickwise serve`)."""

from tickwise.core.model import Trigger
from tickwise.core.reasons import Reason

from .place import FAILED, SUCCEEDED, Place, second, times
from .sight import next_is

WITNESS = ('schedule: "* * * * *"', 'command: "true"')  # has run when a pass has looked at everything


def test_none(place: Place) -> None:
    """A server with nothing to do says so, is ready and stays ready, and decides nothing."""
    server = place.serve()
    assert "No schedules yet" in server.says("No schedules yet")
    place.move_to("03:00")
    place.passes()
    assert server.asked("readyz") == 200
    assert place.runs() == []


def test_disabled(place: Place) -> None:
    """`enabled: false` shows no next time and fires nothing; what fell into that time stays undone (S29)."""
    place.write("off", 'schedule: "0 * * * *"', "enabled: false", 'command: "true"')
    place.write("witness", *WITNESS)
    place.serve()
    off = place.known("off")
    assert (off.next_slot, off.schedule.paused is None) == (None, False)
    place.move_to("01:00")
    place.ended("witness")
    assert place.runs("off") == []


def test_due(place: Place) -> None:
    """A slot that is due runs once, on time, and the next is an hour later."""
    place.write("due", 'schedule: "0 * * * *"', 'command: "true"')
    place.serve()
    place.move_to("01:00")
    (run,) = place.ended("due")
    assert (run.slot, run.trigger, run.state) == (second("01:00"), Trigger.SCHEDULE, SUCCEEDED)
    assert place.known("due").next_slot == second("02:00")


def test_future(place: Place) -> None:
    """A second before its time a slot is not run; what is due besides it is."""
    place.write("future", 'schedule: "0 2 * * *"', 'command: "true"')
    place.write("witness", *WITNESS)
    place.serve()
    place.move_to("01:59:59")
    place.ended("witness")
    assert place.runs("future") == []
    assert place.known("future").next_slot == second("02:00")


def test_no_next_time_yet(place: Place) -> None:
    """A schedule that is new to a live server gets its next time from now, and replays nothing (S2)."""
    place.write("witness", *WITNESS)
    place.serve()
    place.move_to("10:07")
    place.ended("witness")
    place.write("new", 'schedule: "*/15 * * * *"', "catchup: all", 'command: "true"')
    new = place.known("new")
    assert (new.schedule.cursor, new.next_slot) == (second("10:07"), second("10:15"))
    place.move_to("10:15")
    assert times(run.slot for run in place.ended("new")) == ["10:15"]


def test_missed(place: Place) -> None:
    """Three missed hours give one run, for the newest; the others are recorded as coalesced into it (S10)."""
    place.write("missed", 'schedule: "0 * * * *"', 'command: "true"')
    place.serve().stop()
    place.move_to_while_down("03:30")
    place.serve()
    (run,) = place.ended("missed")
    assert (run.slot, run.trigger, run.state) == (second("03:00"), Trigger.CATCHUP, SUCCEEDED)
    (told,) = place.decided("missed")
    assert (told.reason, told.count, *times((told.first, told.last))) == (Reason.COALESCED, 2, "01:00", "02:00")
    assert place.known("missed").next_slot == second("04:00")


def test_executor_failure(place: Place) -> None:
    """A program that is missing fails the run, says what to do, and leaves nothing running; time goes on (S44)."""
    place.write("broken", 'schedule: "0 * * * *"', "command: no-such-program --at-all")
    place.write("witness", *WITNESS)
    place.serve()
    for hour in (1, 2):
        place.move_to(f"0{hour}:00")
        runs = place.ended("broken", hour)
        assert [(run.state, run.attempt) for run in runs] == [(FAILED, 1)] * hour
        assert "the program no-such-program was not found on this worker" in runs[-1].error
        assert place.known("broken").schedule.cursor == second(f"0{hour}:00")
    assert {run.state for run in place.ended("witness", 2)} == {SUCCEEDED}


def test_invalid_expression(place: Place) -> None:
    """A file that cannot be read is told with its place and changes nothing; the others run (S38, S50)."""
    place.write("bad", 'schedule: "0 * * * *"', 'command: "true"')
    place.write("good", 'schedule: "0 * * * *"', 'command: "true"')
    server = place.serve()
    place.write("bad", "# a comment", 'schedule: "0 25 * * *"', 'command: "false"')
    assert "bad.yaml:2" in server.says("definition cannot be read")
    place.move_to("01:00")
    assert [run.state for job in ("bad", "good") for run in place.ended(job)] == [SUCCEEDED, SUCCEEDED]
    place.write("bad", 'schedule: "30 * * * *"', 'command: "true"')
    place.eventually(next_is, "bad", second("01:30"))
