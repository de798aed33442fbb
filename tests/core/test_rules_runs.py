"""Dependencies and bursts, and what becomes of runs: S35, S36, S41, S43, S44, S45, S47."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tickwise.core.catchup import backlog
from tickwise.core.definition import RetryPolicy
from tickwise.core.errors import TickwiseError
from tickwise.core.model import Deferral, ScheduleFacts, Trigger
from tickwise.core.policy import retry_delay
from tickwise.core.reasons import Reason
from tickwise.core.settle import (
    Cancelled,
    EndingRun,
    Failed,
    HandedBack,
    LeaseExpired,
    Lost,
    Outcome,
    Snoozed,
    Succeeded,
    TooLate,
    Unmet,
    settle,
)
from tickwise.core.slots import due_at, next_slot
from tickwise.core.states import ACTIVE, FINAL, MOVES, Event, RunState, after, mermaid

from .world import World, job, schedule

NOW = 1_000_000

# Dependencies and bursts


@pytest.mark.parametrize(
    ("ran_at", "runs"),
    [("01:00", False), ("01:00:01", True), ("01:45", True), ("02:00", True)],
)
def test_a_slot_needs_a_success_of_what_it_comes_after(ran_at: str, runs: bool) -> None:
    """S35: the success must lie in (slot - within, slot], counted by its slot, or its start if by hand."""
    world = World()
    world.define(job("load", "0 0 1 1 *"), job("report", "0 2 * * *", after={"load": "1h"}))
    world.down(to=ran_at)
    world.trigger("load")
    world.down(seconds=1)
    world.tick()
    world.down(to="02:00:30")
    world.tick()
    assert bool(world.ran("report")) is runs
    assert world.verdicts("report") == ([] if runs else ["dependency_missing 02:00"])


def test_a_success_after_the_slot_does_not_count() -> None:
    """S35: a success whose slot is later than the slot is not what it waited for."""
    world = World()
    world.define(job("load", "1 2 * * *"), job("report", "0 2 * * *", after={"load": "1h"}, wait_for="30m"))
    world.pass_time(to="03:00")
    assert world.ran("report") == []
    assert world.verdicts("report") == ["dependency_missing 02:00"]
    assert world.decisions("report")[-1].detail == "load"


def test_a_success_counts_whenever_it_finished() -> None:
    """S35: it is the slot that counts; a success wakes those held for it, at once."""
    world = World()
    world.run_time["load"] = "20m7s"
    world.define(job("load", "55 1 * * *"), job("report", "0 2 * * *", after={"load": "1h"}, wait_for="30m"))
    world.pass_time(to="03:00")
    assert world.waits("report") == ["waits_for_success 02:00"]
    assert world.started("report") == [("02:00", "02:15:07")]
    assert world.ran("report") == [("02:00", "schedule")]


def test_a_slot_is_held_no_longer_than_wait_for() -> None:
    """S35: then it is skipped, with the names of what was missing."""
    world = World()
    world.failing.add("load")
    world.define(
        job("load", "0 * * * *"),
        job("copy", "0 * * * *"),
        job("report", "0 2 * * *", after={"load": "1h", "copy": "1h", "fetch": "1h"}, wait_for="10m"),
        job("fetch", "0 0 1 1 *"),
    )
    world.pass_time(to="02:09:59")
    assert world.verdicts("report") == []
    world.pass_time(to="02:10")
    assert world.verdicts("report") == ["dependency_missing 02:00"]
    assert world.decisions("report")[-1].detail == "load, fetch"


@pytest.mark.parametrize(
    ("catchup", "skipped_at"), [("once", "02:00"), ("all", "04:00")], ids=["till the next slot", "as given"]
)
def test_waiting_ends_with_the_next_slot_unless_all_are_wanted(catchup: str, skipped_at: str) -> None:
    """S35: at most until the next slot; under `catchup: all` as long as `wait_for` says."""
    world = World()
    world.define(job("load", "0 0 1 1 *"))
    world.define(job("report", "0 * * * *", after={"load": "1h"}, wait_for="3h", catchup=catchup))
    world.pass_time(to="05:00")
    first = next(d for d in world.ledger.decisions.values() if d.decision.reason is Reason.DEPENDENCY_MISSING)
    assert world.says(first.made_at) == skipped_at
    assert world.tells(first.decision) == "dependency_missing 01:00"


def test_wait_for_counts_from_when_the_slot_began_to_wait() -> None:
    """S35: a missed slot that is met late is given its time, too."""
    world = World()
    world.define(job("load", "0 0 1 1 *"))
    world.define(job("report", "0 1 * * *", after={"load": "1h"}, wait_for="1h"))
    world.down(to="05:00")
    world.pass_time(to="05:30")
    assert world.schedule("report").deferral == Deferral(
        world.at("01:00"), Reason.WAITS_FOR_SUCCESS, world.at("05:00"), "load"
    )
    world.pass_time(to="06:00")
    assert world.verdicts("report") == ["dependency_missing 01:00"]


def test_a_success_of_another_schedule_of_the_job_does_not_count() -> None:
    """S35: a named schedule is that schedule, not its job."""
    world = World()
    world.define(
        job("load", "0 0 1 1 *", beside=[schedule("extra", "0 1 * * *")]),
        job("report", "5 1 * * *", after={"load": "1h"}),
    )
    world.pass_time(to="01:10")
    assert world.ran("extra") == [("01:00", "schedule")]
    assert world.verdicts("report") == ["dependency_missing 01:05"]


def all_due(world: World, name: str, hours: int) -> Iterator[tuple[int, int, int]]:
    """Slot, due time and next slot."""
    slot = next_slot(world.schedule(name), world.now)
    for _ in range(hours):
        assert slot is not None
        following = next_slot(world.schedule(name), slot)
        assert following is not None
        yield slot, due_at(world.schedule(name), slot), following
        slot = following


@pytest.mark.parametrize(("times", "jitter"), [("0 * * * *", "5m"), ("*/7 * * * *", "6h"), ("* * * * * *", "5m")])
def test_jitter_delays_by_less_than_the_gap(times: str, jitter: str) -> None:
    """S36: a hash of schedule and slot, below the jitter and before the next slot; the same on every node."""
    world, other = World(), World()
    for each in (world, other):
        each.define(job("etl", times, jitter=jitter))
    rows = list(all_due(world, "etl", 200))
    assert rows == list(all_due(other, "etl", 200))
    assert all(slot <= due < following for slot, due, following in rows)


def test_jitter_spreads() -> None:
    """S36: slots and schedules differ; the slot of a run stays nominal."""
    world = World()
    world.define(job("a", "0 * * * *", jitter="5m"), job("b", "0 * * * *", jitter="5m"))
    late_a = [due - slot for slot, due, _ in all_due(world, "a", 50)]
    late_b = [due - slot for slot, due, _ in all_due(world, "b", 50)]
    assert late_a != late_b
    assert len(set(late_a)) > 30
    assert max(late_a) < 300
    world.pass_time(to="03:30")
    assert [slot for slot, _ in world.ran("a")] == ["01:00", "02:00", "03:00"]
    made = [run.created_at - (run.slot or 0) for run in world.runs("a")]
    assert made == late_a[:3]


def test_a_jittered_slot_is_announced_at_its_true_time() -> None:
    """S36: the time to look again is when the slot is due, before its slot and after."""
    world = World()
    world.define(job("etl", "0 * * * *", jitter="50m"))
    schedule_ = world.schedule("etl")
    due = due_at(schedule_, world.at("01:00"))
    assert backlog(schedule_, ScheduleFacts(), world.at("00:30")).next_due == due
    assert backlog(schedule_, ScheduleFacts(), due - 1).next_due == due
    assert list(backlog(schedule_, ScheduleFacts(), due - 1)) == []
    assert [pending.slot for pending in backlog(schedule_, ScheduleFacts(), due)] == [world.at("01:00")]


def test_h_spreads_schedules() -> None:
    """S36: `H` takes a minute from the schedule's name."""
    names = [f"job{n}" for n in range(40)]
    minutes = {schedule(name, "H * * * *").times.after(0) for name in names}
    assert len(minutes) > 15


@pytest.mark.parametrize(
    ("catchup", "runs", "verdicts"),
    [
        ("skip", [], ["missed 01:00 to 03:00 (3)"]),
        ("once", [("03:00", "catchup")], ["coalesced 01:00 to 02:00 (2)"]),
        ("all", [(slot, "catchup") for slot in ("01:00", "02:00", "03:00")], []),
    ],
)
def test_without_a_worker_slots_are_held(catchup: str, runs: list[tuple[str, str]], verdicts: list[str]) -> None:
    """S47: while no live worker serves the queue nothing is decided; then it goes on as after an outage."""
    world = World()
    world.define(job("etl", "0 * * * *", queue="gpu", catchup=catchup))
    world.ledger.served_queues = frozenset({"default"})
    world.pass_time(to="03:29")
    assert world.ran("etl") == []
    assert world.verdicts("etl") == []
    assert world.waits("etl") == ["no_worker 01:00"]
    assert world.decisions("etl")[0].detail == "serves the queue gpu"
    world.ledger.served_queues = frozenset({"default", "gpu"})
    world.pass_time(to="03:31")
    assert world.ran("etl") == runs
    assert world.verdicts("etl") == verdicts


def test_stopping_needs_no_worker() -> None:
    """S47: a stop ends runs whose workers are gone; a restart waits for one."""
    world = World()
    world.run_time["web"] = "10h"
    world.define(job("web", "0 1 * * *", stop="0 2 * * *", restart="0 3 * * *"))
    world.pass_time(to="01:30")
    world.ledger.served_queues = frozenset()
    world.pass_time(to="03:30")
    assert world.verdicts("web.stop") == ["stopped 02:00"]
    assert world.waits("web.restart") == ["no_worker 03:00"]


# Runs


MEETS = {
    RunState.QUEUED: "leased unmet cancel too_late",
    RunState.RUNNING: "success failure cancel loss retry snooze wait hand_back lease_expired",
    RunState.FAILED: "put_back",
    RunState.LOST: "put_back",
    RunState.CANCELLED: "put_back",
    RunState.SUCCEEDED: "",
    RunState.SKIPPED: "",
    RunState.EXPIRED: "",
}


@pytest.mark.parametrize("state", RunState)
def test_a_state_meets_what_the_table_says(state: RunState) -> None:
    """S41: every other event is refused, naming state and event."""
    for event in Event:
        if event in MEETS[state].split():
            assert after(state, event) is MOVES[state, event]
        else:
            with pytest.raises(TickwiseError, match=f"a run that is {state} cannot meet {event}"):
                after(state, event)


def test_states_are_active_or_final() -> None:
    """S41: final states are left by a person's word only, and lead back to the queue."""
    assert sorted(ACTIVE) == [RunState.QUEUED, RunState.RUNNING]
    for (state, event), target in MOVES.items():
        if state in FINAL:
            assert (event, target) == (Event.PUT_BACK, RunState.QUEUED)


def test_the_picture_of_the_states_is_up_to_date() -> None:
    """S41: docs/states.md shows the table as it is."""
    page = Path(__file__).parents[2] / "docs" / "states.md"
    assert mermaid() in page.read_text(encoding="utf-8")


RUNNING = EndingRun("r", RunState.RUNNING)
ASKED_TO_END = EndingRun("r", RunState.RUNNING, cancelling=True)


def test_retries_without_jitter() -> None:
    """Waits are spread by up to the share that the policy says; with 0 they are exact (A24, S44)."""
    exact = RetryPolicy(limit=3, interval=600, jitter=0.0)
    assert [retry_delay(exact, failures, "r") for failures in (1, 2, 3)] == [600, 1_200, 2_400]
    wide = [retry_delay(RetryPolicy(limit=3, interval=600, jitter=1.0), 1, str(n)) for n in range(100)]
    assert 600 <= min(wide) < 700
    assert 1_100 < max(wide) <= 1_200


ONCE = EndingRun("r", RunState.RUNNING, at_most_once=True, retry=RetryPolicy(limit=3))
PATIENT = EndingRun("r", RunState.RUNNING, retry=RetryPolicy(limit=3))


@pytest.mark.parametrize(
    ("run", "outcome", "state"),
    [
        (RUNNING, Succeeded(), "succeeded"),
        (RUNNING, Cancelled(), "cancelled"),
        (RUNNING, Failed(), "failed"),
        (PATIENT, Failed(), "queued"),
        (RUNNING, Snoozed(30), "queued"),
        (RUNNING, HandedBack(), "queued"),
        (RUNNING, LeaseExpired(), "queued"),
        (RUNNING, Lost(), "lost"),
        (EndingRun("r"), Unmet(), "skipped"),
        (EndingRun("r"), TooLate(), "expired"),
        (EndingRun("r"), Cancelled(), "cancelled"),
        (ASKED_TO_END, Succeeded(), "succeeded"),
        (ASKED_TO_END, Failed(), "failed"),
        (EndingRun("r", RunState.RUNNING, cancelling=True, retry=RetryPolicy(limit=1)), Failed(), "cancelled"),
        (ASKED_TO_END, Snoozed(30), "cancelled"),
        (ASKED_TO_END, HandedBack(), "cancelled"),
        (ASKED_TO_END, LeaseExpired(), "cancelled"),
        (ASKED_TO_END, Lost(), "lost"),
        (ONCE, Failed(), "failed"),
        (ONCE, HandedBack(), "lost"),
        (ONCE, LeaseExpired(), "lost"),
        (ONCE, Succeeded(), "succeeded"),
    ],
)
def test_an_outcome_settles_a_run(run: EndingRun, outcome: Outcome, state: str) -> None:
    """S41, S43: one outcome, one move; a started attempt of an `at_most_once` run is never repeated."""
    assert settle(run, outcome, NOW).state == state


def test_a_failed_attempt_is_tried_again_after_its_delay() -> None:
    """S44: as often as the limit says, each time after the policy's delay; then the run has failed."""
    run = EndingRun("r", RunState.RUNNING, retry=RetryPolicy(limit=2, interval=10))
    first = settle(run, Failed(), NOW)
    assert (first.state, first.failures) == (RunState.QUEUED, 1)
    assert first.not_before == NOW + retry_delay(run.retry, 1, "r")
    second = settle(EndingRun("r", RunState.RUNNING, failures=1, retry=run.retry), Failed(), NOW)
    assert second.not_before == NOW + retry_delay(run.retry, 2, "r")
    third = settle(EndingRun("r", RunState.RUNNING, failures=2, retry=run.retry), Failed(), NOW)
    assert (third.state, third.not_before, third.failures) == (RunState.FAILED, None, 3)


def test_an_attempt_may_say_when_to_try_again() -> None:
    """S44: its own wish goes before the policy, but not beyond the limit."""
    assert settle(PATIENT, Failed(retry_after=7), NOW).not_before == NOW + 7
    assert settle(RUNNING, Failed(retry_after=7), NOW).state is RunState.FAILED


@pytest.mark.parametrize(("failures", "least"), [(1, 10), (2, 20), (3, 40), (4, 80), (5, 100), (50, 100)])
def test_retry_delays_grow_are_capped_and_spread(failures: int, least: int) -> None:
    """S44: backoff, cap and a jitter of up to a tenth, the same for the same run."""
    retry = RetryPolicy(limit=99, interval=10, backoff=2.0, max_interval=100)
    delays = {retry_delay(retry, failures, f"run{n}") for n in range(50)}
    assert all(least <= delay <= least * 1.1 for delay in delays)
    assert len(delays) > 1
    assert retry_delay(retry, failures, "r") == retry_delay(retry, failures, "r")


def test_lost_attempts_do_not_use_up_the_limit() -> None:
    """S44: a vanished worker is nobody's failure, but the third makes the run lost."""
    run, states = EndingRun("r", RunState.RUNNING), []
    for _ in range(3):
        settled = settle(run, LeaseExpired(), NOW)
        states.append((settled.state, settled.failures, settled.losses, settled.not_before))
        run = EndingRun("r", RunState.RUNNING, losses=settled.losses)
    assert states == [
        (RunState.QUEUED, 0, 1, None),
        (RunState.QUEUED, 0, 2, None),
        (RunState.LOST, 0, 3, None),
    ]


def test_a_failed_hand_over_leaves_the_cursor_moved() -> None:
    """S44: a run that cannot be handed over has failed; catch-up does not run its slot again."""
    world = World()
    world.failing.add("etl")
    world.define(job("etl", "0 * * * *", catchup="all"))
    world.pass_time(to="01:30")
    assert world.cursor("etl") == "01:00"
    assert [run.state for run in world.runs("etl")] == [RunState.FAILED]
    world.down(to="02:30")
    world.pass_time(to="02:31")
    assert [slot for slot, _ in world.ran("etl")] == ["01:00", "02:00"]


def test_a_retried_run_is_one_run() -> None:
    """S44: retries belong to the run; the next slot finds the job active meanwhile."""
    world = World()
    world.failing.add("etl")
    world.define(job("etl", "0 * * * *", retry=RetryPolicy(limit=2, interval=2400, backoff=1.0)))
    world.pass_time(to="02:00")
    assert world.verdicts("etl") == ["overlap 02:00"]
    world.pass_time(to="02:59")
    assert [(run.state, run.failures) for run in world.runs("etl")] == [(RunState.FAILED, 3)]


def test_a_shutdown_hands_back_without_using_up_an_attempt() -> None:
    """S45: a run that its worker hands back waits in the queue with its counts as they were."""
    run = EndingRun("r", RunState.RUNNING, failures=1, losses=1, retry=RetryPolicy(limit=1))
    settled = settle(run, HandedBack(), NOW)
    assert (settled.state, settled.failures, settled.losses, settled.not_before) == (RunState.QUEUED, 1, 1, None)


def test_a_snoozed_run_waits_as_long_as_it_asked() -> None:
    """S41: a snooze is no failure."""
    settled = settle(RUNNING, Snoozed(90), NOW)
    assert (settled.event, settled.not_before, settled.failures) == (Event.SNOOZE, NOW + 90, 0)


def test_a_run_that_waited_too_long_for_a_worker_expires() -> None:
    """S47: `expires` ends what was queued and not started; what runs goes on."""
    assert settle(EndingRun("r"), TooLate(), NOW).state is RunState.EXPIRED
    with pytest.raises(TickwiseError, match="running cannot meet too_late"):
        settle(RUNNING, TooLate(), NOW)


@pytest.mark.parametrize(
    ("outcome", "same"), [(None, True), (Succeeded(), True), (Failed(), False), (Cancelled(), False)]
)
def test_a_key_is_unique_until_its_run_fails(outcome: Outcome | None, same: bool) -> None:
    """S48: a repeat returns the queued, running or succeeded run unchanged; a failure frees the key."""
    world = World()
    world.define(job("mail"), job("other"))
    first = world.ledger.enqueue("mail", Trigger.ENQUEUE, world.now, key="order-7")
    assert world.ledger.enqueue("mail", Trigger.ENQUEUE, world.now, key="order-7") is first
    world.ledger.lease(first.id, world.now)
    if outcome:
        world.ledger.finish(first.id, outcome, world.now)
    again = world.ledger.enqueue("mail", Trigger.ENQUEUE, world.now, key="order-7")
    assert (again is first) == same
    assert world.ledger.enqueue("other", Trigger.ENQUEUE, world.now, key="order-7") is not again
    assert world.ledger.enqueue("mail", Trigger.ENQUEUE, world.now) is not again
