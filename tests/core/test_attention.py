"""What needs a person: one story for each rule, and what is no reason to call anybody."""

from dataclasses import replace
from typing import Any

import pytest

from tickwise.core import fleet_attention
from tickwise.core.attention import Attention, Cause, Severity, ranked, summary
from tickwise.core.cron import parse
from tickwise.core.definition import Policy, ScheduleDefinition
from tickwise.core.model import Deferral, Disabled, Pause, Schedule, SeenFire, Shadow
from tickwise.core.reasons import Reason
from tickwise.core.schedule_attention import LateSlot, ScheduleHealth, cause
from tickwise.core.slot_history import SlotRecord, SlotRun, SlotState, state_of_run
from tickwise.core.states import RunState
from tickwise.core.step_waits import StepWait
from tickwise.core.timeparse import iso

NOW = 1_767_236_700  # 2026-01-01T03:05:00Z, a Thursday
MICRO = 1_000_000
S = RunState


def schedule(times: str = "*/5 * * * *", zone: str = "UTC", **state: Any) -> Schedule:
    definition = ScheduleDefinition("load", "load", parse(times, zone), times, policy=Policy.of())
    return Schedule(definition, NOW, NOW, 0, 0, 0, **state)


def ran(ago: int, state: RunState, error: str = "", took: int = 10) -> SlotRecord:
    slot = NOW - ago
    started = slot * MICRO
    ended = None if state is S.RUNNING else (slot + took) * MICRO
    found, reason = state_of_run(state, retried=False)
    return SlotRecord(slot, found, reason, run=SlotRun(slot, f"r{ago}", state, 1, started, started, ended, error))


def skipped(ago: int, reason: Reason, detail: str = "", slots: int = 1) -> SlotRecord:
    return SlotRecord(NOW - ago, SlotState.SKIPPED, reason.code, detail, slots=slots)


def due(ago: int, reason: str = "not_decided") -> SlotRecord:
    return SlotRecord(NOW - ago, SlotState.WAITING, reason)


def health(
    *slots: SlotRecord, state: Schedule | None = None, next_in: int | None = 300, **more: Any
) -> ScheduleHealth:
    next_slot = None if next_in is None else NOW + next_in
    return ScheduleHealth(state or schedule(), slots, NOW, next_slot, **more)


def needs(*slots: SlotRecord, **more: Any) -> Attention:
    found = cause(health(*slots, **more))
    assert found is not None
    return found


def does(item: Attention) -> list[str]:
    return [remedy.do for remedy in item.remedies]


def test_a_failing_streak_with_the_first_line_of_its_error() -> None:
    """Three failures in a row need somebody; the sentence counts all recent runs."""
    error = "LedgerMismatch: payment 8841 has no ledger entry\n  at match"
    item = needs(
        *(ran(ago, S.FAILED, error) for ago in (300, 600, 900)), ran(1_200, S.SUCCEEDED), ran(1_500, S.LOST)
    )
    assert (item.kind, item.severity) == (Cause.FAILING, Severity.ERROR)
    assert (item.subject.kind, item.subject.name, item.subject.job) == ("schedule", "load", "load")
    assert item.text == "4 of its last 5 runs failed"
    assert item.detail == "LedgerMismatch: payment 8841 has no ledger entry"
    assert item.counts == {"failed": 4, "of": 5}
    assert item.since == NOW - 900 + 10
    assert [(remedy.do, remedy.run) for remedy in item.remedies] == [("retry", "r300"), ("log", "r300")]


def test_one_failure_counts_if_no_slot_comes_soon_to_mend_it() -> None:
    """A nightly job that failed once needs somebody at once; a probe does not, nor one that ended well since."""
    assert needs(ran(60, S.FAILED), next_in=86_000).text == "its last run failed"
    assert needs(ran(60, S.FAILED), ran(900, S.SUCCEEDED), next_in=None).text == "1 of its last 2 runs failed"
    assert needs(ran(700, S.FAILED), next_in=60).kind is Cause.FAILING
    assert cause(health(ran(60, S.FAILED), next_in=60)) is None
    assert cause(health(ran(60, S.SUCCEEDED), *(ran(ago, S.FAILED) for ago in (120, 180, 240)))) is None
    assert cause(health()) is None


def test_timeouts_in_a_row() -> None:
    """They have a cause of their own, with the timeout; one other failure among them makes it a failing streak."""
    late = [ran(ago, S.FAILED, "the run timed out after 20s") for ago in (300, 600, 900)]
    item = needs(*late, ran(1_200, S.SUCCEEDED))
    assert (item.kind, item.text) == (Cause.TIMEOUTS, "3 runs in a row hit the timeout of 20s")
    assert item.counts == {"timeouts": 3}
    assert needs(*late, ran(1_200, S.FAILED, "boom")).kind is Cause.FAILING
    assert needs(*late[:1], next_in=None).kind is Cause.FAILING


def test_a_run_that_is_queued_or_cancelled_ends_no_streak() -> None:
    """Only what succeeded or failed says how things are."""
    failed = [ran(ago, S.FAILED) for ago in (600, 900, 1_200)]
    item = needs(ran(1, S.QUEUED), ran(30, S.RUNNING), ran(300, S.CANCELLED), *failed)
    assert item.counts == {"failed": 3, "of": 3}


def test_a_slot_that_missed_its_deadline() -> None:
    """S65: until the work of a newer slot is done; a streak of failures says more."""
    missed = LateSlot(NOW - 600, "its work was not done by its deadline, 5m after its slot")
    item = needs(ran(300, S.RUNNING), ran(600, S.SUCCEEDED), late=missed)
    assert (item.kind, item.severity, item.since) == (Cause.LATE, Severity.WARNING, NOW - 600)
    assert (item.text, item.detail) == ("missed its deadline for Thu 02:55 UTC", missed.text)
    assert does(item) == ["why", "edit"]
    assert cause(health(ran(300, S.SUCCEEDED), ran(600, S.SUCCEEDED), late=missed)) is None
    assert needs(*(ran(ago, S.FAILED) for ago in (300, 600, 900)), late=missed).kind is Cause.FAILING


def test_a_slot_missed_while_paused() -> None:
    """Who paused it and why; the way out is to resume, or to run it now (S29)."""
    state = schedule("0 3 * * *", "Europe/Berlin", manual_pause=Pause(NOW - 2_000, "Ada", "db-migration #482"))
    item = needs(due(300, "paused"), state=state)
    assert (item.kind, item.severity) == (Cause.MISSED_WHILE_PAUSED, Severity.WARNING)
    assert item.text == "did not run at Thu 04:00 Europe/Berlin: paused by Ada"
    assert (item.detail, item.since, item.counts) == ("db-migration #482", NOW - 2_000, {"missed": 1})
    assert does(item) == ["resume", "run"]
    several = needs(due(60, "paused"), due(360, "paused"), state=schedule(manual_pause=Pause(NOW - 900)))
    assert several.text == "did not run at Thu 03:04 UTC, nor at 1 slot before: paused"
    assert cause(health(due(60, "paused"), state=state, everything_paused=True)) is None
    assert cause(health(state=state)) is None
    assert cause(health(due(60, "paused"), state=schedule(disabled=Disabled(0)))) is None


def test_a_schedule_that_nothing_looks_at() -> None:
    """A slot that is due for more than a minute and was not decided (S15)."""
    item = needs(due(100), due(400))
    assert (item.kind, item.severity, item.counts) == (Cause.SILENT, Severity.ERROR, {"overdue": 2})
    assert item.text == "is overdue: nothing has decided 2 slots"
    assert (item.since, does(item)) == (NOW - 400, ["why"])
    assert needs(due(61)).text.endswith("1 slot")
    assert cause(health(due(60))) is None
    assert cause(health(due(100, "no_worker"))) is None
    assert cause(health(due(100), everything_paused=True)) is None


def test_a_precondition_that_is_never_met() -> None:
    """Three runs or more that were skipped one after the other."""
    error = "the precondition test -f flag is not met: exit status 1"
    unmet = [ran(ago, S.SKIPPED, error) for ago in (300, 600, 900)]
    item = needs(*unmet)
    assert (item.kind, item.text, item.detail) == (Cause.UNMET, "has skipped all of its last 3 runs", error)
    assert needs(*unmet, ran(1_200, S.SUCCEEDED)).text == "has skipped the last 3 runs"
    assert does(item) == ["why", "log"]
    assert cause(health(*unmet[:2])) is None


def test_runs_that_outlast_their_slot() -> None:
    """How long a run takes, and how often a slot comes."""
    slots = [
        record
        for start in range(0, 320, 80)
        for record in (
            *(skipped(start + ago, Reason.OVERLAP) for ago in (0, 20, 40)),
            ran(start + 60, S.SUCCEEDED, took=76),
        )
    ]
    item = needs(*slots)
    assert (item.kind, item.severity) == (Cause.OUTLASTED, Severity.WARNING)
    assert item.text == "skips 12 of its last 16 slots: a run takes 1m16s, a slot comes every 20s"
    assert (item.detail, item.counts) == ("overlap: skip", {"skipped": 12, "of": 16, "run_seconds": 76})
    assert [(remedy.do, remedy.field) for remedy in item.remedies] == [("edit", "overlap"), ("why", None)]
    running = needs(*(skipped(ago, Reason.LANES_FULL) for ago in (10, 30, 50)), ran(70, S.RUNNING))
    assert running.text == "skips 3 of its last 4 slots: a run takes 1m10s, a slot comes every 20s"
    assert needs(skipped(10, Reason.OVERLAP, slots=5)).text == "skips 5 of its last 5 slots"
    assert cause(health(skipped(10, Reason.OVERLAP), skipped(30, Reason.OVERLAP))) is None
    assert (
        cause(
            health(*(skipped(n, Reason.OVERLAP) for n in (1, 2, 3)), *(ran(n, S.SUCCEEDED) for n in range(4, 9)))
        )
        is None
    )


def test_a_schedule_that_waits_for_another() -> None:
    """Skipped for want of a success, or held for it for long (S35)."""
    missing = [skipped(ago, Reason.DEPENDENCY_MISSING, "billing") for ago in (300, 600)]
    item = needs(*missing, ran(900, S.SUCCEEDED))
    assert (item.kind, item.text) == (Cause.WAITS_FOR, "skipped 2 of its last 3 slots: waits for billing")
    assert (item.detail, item.since) == ("it goes on when billing succeeds", NOW - 600)
    assert [(remedy.do, remedy.schedule) for remedy in item.remedies] == [("schedule", "billing"), ("why", "load")]
    held = schedule(deferral=Deferral(NOW - 700, Reason.WAITS_FOR_SUCCESS, NOW - 700, "billing"))
    assert needs(state=held).text == "waits for billing"
    assert needs(ran(900, S.SUCCEEDED), *missing, state=held).since == NOW - 700
    assert cause(health(ran(60, S.SUCCEEDED), *missing)) is None
    early = schedule(deferral=Deferral(NOW - 60, Reason.WAITS_FOR_SUCCESS, NOW - 60, "billing"))
    assert cause(health(state=early)) is None


def test_a_schedule_that_is_silent() -> None:
    """Ten slots or more without a run, for a reason that somebody may not have meant."""
    item = needs(skipped(300, Reason.MISSED, slots=6), skipped(3_000, Reason.TOO_OLD, "6h", slots=5))
    assert (item.kind, item.severity, item.counts) == (Cause.SILENT, Severity.WARNING, {"skipped": 11})
    assert item.text == "made no run for its last 11 slots"
    assert item.detail.startswith("nothing looked at it")
    assert cause(health(skipped(300, Reason.MISSED, slots=9))) is None
    assert cause(health(skipped(300, Reason.ALREADY_SUCCESSFUL, slots=50))) is None


def test_a_schedule_that_cannot_be_planned() -> None:
    """It goes before all else: what is known of it may be wrong (S20)."""
    item = needs(ran(300, S.SUCCEEDED), unreadable="cron: 25 is out of range\nmore")
    assert (item.kind, item.detail, item.since) == (Cause.BROKEN_SCHEDULE, "cron: 25 is out of range", None)
    broken = schedule(deferral=Deferral(NOW - 9, Reason.BROKEN, NOW - 5, "no such zone"))
    assert (needs(state=broken).detail, needs(state=broken).since) == ("no such zone", NOW - 5)


def test_what_is_wrong_beside_the_schedules() -> None:
    """The fleet, queues, files and channels: each with the line that mends it, where there is one."""
    items = [
        fleet_attention.paused(NOW, "Ada", "moving"),
        fleet_attention.paused(NOW, "", ""),
        fleet_attention.no_ticker(3),
        fleet_attention.queue_unserved("gpu", 2, "tickwise worker --queues gpu"),
        fleet_attention.queue_unserved("gpu", 1, "x"),
        fleet_attention.jobs_held("gpu", "serves the queue gpu", 1, "Start one"),
        fleet_attention.jobs_held("gpu", "x", 2, "Start one"),
        fleet_attention.broken_file("host", "jobs/a.yaml: line 3: hour: 25"),
        fleet_attention.broken_file("", "app: boom"),
        fleet_attention.undelivered("host", "webhook: 404"),
        fleet_attention.approval("7", "etl", "ok", StepWait(1, NOW, role="admin", until=NOW + 60)),
        fleet_attention.approval("7", "etl", "ok", StepWait(1, NOW, role="operator")),
        fleet_attention.set_back(NOW, "tickwise store restored --until x"),
    ]
    assert [f"{item.subject.kind} {item.subject.name}: {item.text}" for item in items] == [
        "fleet everything: is paused by Ada",
        "fleet everything: is paused",
        "fleet the fleet: has no live ticker: no slot is decided",
        "queue gpu: has no live worker: 2 runs wait",
        "queue gpu: has no live worker: 1 run waits",
        "queue gpu: has no live worker that serves the queue gpu: 1 job holds its slots",
        "queue gpu: has no live worker that x: 2 jobs hold their slots",
        "file jobs/a.yaml: cannot be read on host",
        "file app: cannot be read",
        "channel webhook: did not take the last notification of host",
        f"step etl, run 7, step ok: waits for an approval by an admin, until {iso(NOW + 60)}",
        "step etl, run 7, step ok: waits for an approval by an operator",
        f"fleet the store: {items[-1].text}",
    ]
    assert [does(item) for item in items] == [
        ["resume_all"],
        ["resume_all"],
        ["command"],
        ["command"],
        ["command"],
        [],
        [],
        ["command"],
        [],
        ["test_channel"],
        ["answer"],
        ["answer"],
        ["command"],
    ]
    assert items[7].detail == "line 3: hour: 25"
    assert {item.kind for item in items} == {
        Cause.PAUSED,
        Cause.SILENT,
        Cause.NO_WORKER,
        Cause.BROKEN_FILE,
        Cause.UNDELIVERED,
        Cause.APPROVAL,
        Cause.SET_BACK,
    }


def test_the_worst_come_first() -> None:
    """By severity, then by how long they last, then by name."""
    warning, error = needs(skipped(10, Reason.OVERLAP, slots=5)), needs(due(400))
    older = replace(error, since=NOW - 9_000)
    assert ranked([warning, error, older]) == [older, error, warning]
    found = filter(None, map(cause, [health(due(400)), health()]))
    assert [item.kind for item in found] == [Cause.SILENT]


@pytest.mark.parametrize(
    ("items", "schedules", "sentence"),
    [
        (6, 17, "6 things need you."),
        (1, 17, "1 thing needs you."),
        (0, 17, "All 17 schedules are as they should be."),
        (0, 1, "The schedule is as it should be."),
        (0, 0, "There are no schedules yet."),
        (1_200, 0, "1,200 things need you."),
    ],
)
def test_one_sentence(items: int, schedules: int, sentence: str) -> None:
    """How things are."""
    assert summary(items, schedules) == sentence


def shaded(*fires: int, since: int = 1_800, adopted: int | None = None) -> Schedule:
    """A schedule of every five minutes in shadow, with fires so many seconds ago."""
    state = schedule()
    policy = replace(state.definition.policy, shadow=True)
    heard = tuple(SeenFire(NOW - ago, str(ago)) for ago in fires)
    shadow = Shadow(NOW - since, heard, None if adopted is None else NOW - adopted)
    return state._replace(definition=replace(state.definition, policy=policy), shadow=shadow)


def test_a_schedule_in_shadow_whose_fires_agree_can_be_adopted() -> None:
    """S80: after three fires; before, nobody is called."""
    agrees = needs(state=shaded(600, 300, 0, since=700))
    assert (agrees.kind, agrees.severity) == (Cause.IN_SHADOW, Severity.NOTE)
    assert agrees.text == "is in shadow since 2026-01-01; 3 of 3 fires agree: adopt it"
    assert [one.command for one in agrees.remedies] == [
        "tickwise shadow adopt load",
        "tickwise shadow report load",
    ]
    assert cause(health(state=shaded(300, 0, since=400))) is None
    assert cause(health(state=shaded(since=100))) is None


def test_a_schedule_in_shadow_whose_fires_differ_is_compared() -> None:
    """S80: fires without a slot, slots without a fire, and no fire at all."""
    differs = needs(state=shaded(600, 300, 100, 0, since=700))
    assert (differs.severity, differs.text) == (
        Severity.WARNING, "is in shadow since 2026-01-01: 3 of 4 fires agree",
    )  # fmt: skip
    lacks = needs(state=shaded(900, 300, since=1_000))
    assert lacks.text == "is in shadow since 2026-01-01: 2 of 2 fires agree, 1 slot without a fire"
    unheard = needs(state=shaded())
    assert unheard.text == "is in shadow since 2026-01-01, and no fire of the other scheduler was heard"


def test_an_adopted_schedule_that_is_still_started_elsewhere() -> None:
    """S80: as long as it was heard within a day."""
    found = needs(state=shaded(600, 300, 0, adopted=400))
    assert (found.kind, found.text) == (
        Cause.STARTED_TWICE, "is also started by another scheduler, 2 times since its adoption",
    )  # fmt: skip
    assert "once since" in needs(state=shaded(300, adopted=400)).text
    assert cause(health(state=shaded(600, adopted=400))) is None
    assert cause(health(state=shaded(86_401, adopted=90_000))) is None
    assert cause(health(state=schedule(shadow=Shadow(NOW)))) is None


def test_proposals_that_wait() -> None:
    """They are one item, which ends when somebody has decided about all of them."""
    one = fleet_attention.proposals(["pause a: 2 starts would not come"], 5)
    assert (one.subject.name, one.text, one.detail) == (
        "1 proposal", "waits for you", "pause a: 2 starts would not come",
    )  # fmt: skip
    two = fleet_attention.proposals(["pause a", "pause b"], 5)
    assert (two.subject.name, two.text, two.counts["open"]) == ("2 proposals", "wait for you", 2)
