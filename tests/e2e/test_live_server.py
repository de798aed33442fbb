"""What people do to a server that runs: add, edit and delete job files, restart it, and leave it off for hours."""

from tickwise.core.model import Trigger
from tickwise.core.reasons import Reason
from tickwise.core.states import RunState

from ..support.deployment import SUCCEEDED, Deployment, second, times
from ..support.store_reads import next_is

HOURLY = ('schedule: "0 * * * *"', 'command: "true"')


def test_a_new_job_outlives_a_restart(place: Deployment) -> None:
    """A job that was added to a live server goes on after a restart where it was: nothing twice, nothing lost."""
    server = place.serve()
    place.write("new", *HOURLY)
    place.known("new")
    place.move_to("01:00")
    place.ended("new")
    server.stop()
    place.serve()
    place.move_to("02:00")
    runs = place.ended("new", 2)
    assert times(run.slot for run in runs) == ["01:00", "02:00"]
    assert {run.trigger for run in runs} == {Trigger.SCHEDULE}
    assert place.decided("new") == []


def test_a_job_added_while_the_server_was_down_has_no_past(place: Deployment) -> None:
    """A file that appeared during the downtime begins when the server first sees it (S2)."""
    place.serve().stop()
    place.write("late", *HOURLY, "catchup: all")
    place.move_to_while_down("02:30")
    place.serve()
    assert place.known("late").schedule.cursor == second("02:30")
    place.move_to("03:00")
    assert times(run.slot for run in place.ended("late")) == ["03:00"]


def test_delete(place: Deployment) -> None:
    """A deleted file takes its job with it: a queued run is cancelled, and no slot fires any more (S23)."""
    place.write("gone", *HOURLY, "queue: nobody")
    place.write("kept", *HOURLY)
    place.serve()
    place.known("kept")
    run = place.do(place.tickwise.enqueue("gone"))
    (place.jobs / "gone.yaml").unlink()
    (cancelled,) = place.ended("gone")
    assert (cancelled.id, cancelled.state) == (run.id, RunState.CANCELLED)
    assert place.schedule("gone") is None
    place.move_to("01:00")
    place.ended("kept")
    assert len(place.runs("gone")) == 1


def test_delete_while_down(place: Deployment) -> None:
    """A file that went while nobody watched takes its job with it at the next start."""
    place.write("gone", *HOURLY)
    place.write("kept", *HOURLY)
    server = place.serve()
    place.known("gone")
    server.stop()
    (place.jobs / "gone.yaml").unlink()
    place.move_to_while_down("02:30")
    place.serve()
    place.ended("kept")
    assert (place.schedule("gone"), place.runs("gone")) == (None, [])


def test_edit(place: Deployment) -> None:
    """A denser expression invents no past, a new command is taken by the next run, and history stays (S24)."""
    place.write("job", 'schedule: "0 * * * *"', "catchup: all", "command: echo before")
    place.serve()
    place.move_to("01:00")
    place.ended("job")
    place.move_to("01:37")
    place.write("job", 'schedule: "*/10 * * * *"', "catchup: all", "command: echo after")
    place.eventually(next_is, "job", second("01:40"))
    place.move_to("01:40")
    runs = place.ended("job", 2)
    assert times(run.slot for run in runs) == ["01:00", "01:40"]
    assert [place.do(place.tickwise.runs.logs(run.id)) for run in runs] == ["before\n", "after\n"]


def test_two_hours_of_downtime(place: Deployment) -> None:
    """Each job catches up as it says: all in order, one for all, none, and a one-off late but once (S10, S33)."""
    place.write("all", *HOURLY, "catchup: all")
    place.write("once", *HOURLY)
    place.write("skip", *HOURLY, "catchup: skip")
    place.write("one-off", "schedule: [{at: 2026-01-01T01:30:00Z}]", 'command: "true"')
    place.serve().stop()
    place.move_to_while_down("02:10")
    place.serve()
    (once,) = place.ended("once")
    both = place.ended("all", 2)
    (late,) = place.ended("one-off")
    assert times(run.slot for run in (once, *both, late)) == ["02:00", "01:00", "02:00", "01:30"]
    assert {run.state for run in (once, *both, late)} == {SUCCEEDED}
    assert {run.trigger for run in (once, *both)} == {Trigger.CATCHUP}
    assert both[0].finished_at is not None
    assert both[1].started_at is not None
    assert both[0].finished_at <= both[1].started_at
    assert [(told.reason, told.count) for told in place.decided("once")] == [(Reason.COALESCED, 1)]
    assert [(told.reason, told.count) for told in place.decided("skip")] == [(Reason.MISSED, 2)]
    assert (place.runs("skip"), place.decided("all")) == ([], [])
    assert {place.known(name).next_slot for name in ("all", "once", "skip")} == {second("03:00")}


def test_a_jump_of_the_clock_on_a_live_server(place: Deployment) -> None:
    """A machine that slept for two hours has missed slots, not a burst of live ones (S4)."""
    place.write("job", 'schedule: "*/10 * * * *"', 'command: "true"')
    place.serve()
    place.known("job")
    place.move_to("02:05")
    (run,) = place.ended("job")
    assert (times([run.slot]), run.trigger) == (["02:00"], Trigger.CATCHUP)
    assert [(told.reason, told.count) for told in place.decided("job")] == [(Reason.COALESCED, 11)]


def test_edit_while_down(place: Deployment) -> None:
    """An outage is judged by the definition that is there afterwards, from the first pass on (S13)."""
    place.write("job", *HOURLY[:1], "catchup: skip", "command: echo before")
    place.serve().stop()
    place.write("job", *HOURLY[:1], "catchup: once", "command: echo after")
    place.move_to_while_down("01:10")
    place.serve()
    (run,) = place.ended("job")
    assert (run.state, place.do(place.tickwise.runs.logs(run.id))) == (SUCCEEDED, "after\n")


def test_what_was_queued_while_down(place: Deployment) -> None:
    """A command that waits in the queue is run by the server that starts: it knows its folder by then (S46)."""
    place.write("job", 'command: "true"')
    place.serve().stop()
    runs = [place.do(place.tickwise.enqueue("job")) for _ in range(3)]
    place.serve()
    assert [(run.id, run.state) for run in place.ended("job", 3)] == [(run.id, SUCCEEDED) for run in runs]
