"""S70 and S71: the same key is one event, each ends in one run or decision, groups depend on times only."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.change import Added, Change, Paused, Rescheduled, Reset, Resumed, Updated
from tickwise.core.change import apply_change as changed
from tickwise.core.codec import decode_rest, decode_schedule, encode_rest, encode_schedule
from tickwise.core.cron import parse
from tickwise.core.definition import Catchup, Command, JobDefinition, Overlap, Policy, ScheduleDefinition, Step
from tickwise.core.errors import ConflictError, InputError, TickwiseError
from tickwise.core.event_inbox import (
    MAX_BYTES,
    MAX_DATA,
    MAX_EVENTS,
    MAX_PENDING,
    MAX_SECONDS_AHEAD,
    EventsReceived,
    InboxFullError,
    check_new_events,
    events_of,
    find_event,
    short_key,
    with_decided,
)
from tickwise.core.event_sources import NewEvent
from tickwise.core.events import (
    START_WINDOW,
    Coalesce,
    DecidedEvent,
    EventInbox,
    MachineStart,
    OnEvent,
    ReceivedEvent,
    Webhook,
    events_of_params,
    groups_of,
    known_slots,
    own_params,
    run_params_text,
)
from tickwise.core.model import Decision, Facts, Holder, JobFacts, Schedule, ScheduleFacts, Trigger
from tickwise.core.parameters import Parameters
from tickwise.core.payload import decode
from tickwise.core.planner import plan
from tickwise.core.reasons import Reason, Verdict
from tickwise.core.slot_history import SlotLedger, SlotState
from tickwise.core.slots import due_at, recorded_times

EACH, GROUPS = OnEvent(), OnEvent(coalesce=Coalesce(30, 100))
BEGIN = 1_000_000
ALL = Policy.of(catchup=Catchup.ALL)


def event_schedule(times: OnEvent = EACH, policy: Policy = ALL) -> Schedule:
    definition = ScheduleDefinition("a", "a", times, times.text, policy=policy)
    return changed(None, Added(definition), BEGIN).schedules[0]


class Desk:
    """A schedule of events, its job's only run, and what became of each event."""

    def __init__(self, times: OnEvent = EACH, policy: Policy = ALL) -> None:
        self.schedule = event_schedule(times, policy)
        self.now = BEGIN
        self.active: str | None = None
        self.last_slot: int | None = None
        self.runs: list[list[str]] = []
        self.slots: list[int] = []
        self.decisions: list[Decision] = []
        self.accepted: dict[tuple[str, int], str] = {}  # by key and slot: what became of it

    def change(self, change: Change) -> None:
        result = changed(self.schedule, change, self.now)
        self._account(result.schedules[0], result.decisions, [])
        self.decisions += result.decisions

    def send(self, *keys: str, data: str = "null") -> None:
        events = tuple(NewEvent(key, "sent", data) for key in keys)
        self.change(EventsReceived(events, self.last_slot or 0))

    def tick(self) -> None:
        holders = (Holder(self.active, 0, Trigger.SCHEDULE),) if self.active else ()
        facts = Facts({"a": JobFacts(holders)}, {"a": ScheduleFacts(frozenset(self.slots), self.last_slot)})
        made = plan(self.now, [self.schedule], facts)
        [planned] = made.schedules
        for start in made.starts:
            assert start.slot not in self.slots
            self.slots.append(start.slot)
            self.active, self.last_slot = f"run {start.slot}", start.slot
            self.runs.append([event.key for event in start.events])
        started = [event for start in made.starts for event in start.events]
        self._account(planned.schedule, made.decisions, started)
        self.decisions += made.decisions

    def end(self) -> None:
        self.active = None

    def _account(self, after: Schedule, decisions: Any, started: Sequence[ReceivedEvent]) -> None:
        """What is no longer pending has a run, or lies in a decision about how it ended; never in both."""
        times = self.schedule.definition.times
        left = {event.key for event in after.inbox.pending}
        gone = groups_of(times, self.schedule.inbox.pending) if isinstance(times, OnEvent) else []
        for group in gone:
            for event in group.events:
                ran = event in started
                every = [*self.decisions, *decisions]
                told = any(
                    one.first <= group.slot <= one.last and one.reason.verdict is not Verdict.DEFERRED
                    for one in every
                )
                if event.key not in left:
                    assert ran is not told, (event, ran, decisions)
                else:
                    assert not ran
        self.schedule = after

    def finish(self, *, end_runs: bool = True) -> None:
        """Let everything that waits be decided."""
        if self.schedule.paused:
            self.change(Resumed())
        self.now += 10_000
        for _ in range(2_000 if len(self.schedule.inbox.pending) > 500 else 400):
            if not self.schedule.inbox.pending:
                return
            if end_runs:
                self.end()
            self.tick()
        raise AssertionError(f"{len(self.schedule.inbox.pending)} events wait for ever")


def test_the_same_key_is_the_same_event_within_its_window() -> None:
    """S70: in one call, while it waits, and when it has been decided; after the window it is another."""
    desk = Desk()
    desk.now += 10
    desk.send("k1", "k1", "k2")
    desk.send("k1")
    for _ in range(2):
        desk.tick()
        desk.end()
    desk.send("k2")
    assert desk.schedule.inbox.pending == ()
    assert [event.key for event in desk.schedule.inbox.decided] == ["k1", "k2"]
    desk.now += EACH.window
    desk.send("k2")
    desk.tick()
    assert desk.runs == [["k1"], ["k2"], ["k2"]]
    assert [event.at for event in desk.schedule.inbox.decided] == [desk.now]
    found = find_event(desk.schedule, "k2")
    assert found is not None
    assert found.at == desk.now
    assert find_event(desk.schedule, "k1") is None


def test_events_of_one_second_have_slots_of_their_own_and_are_due_at_once() -> None:
    """S71: their slots lie ahead, but nothing waits for them; after the newest run, wherever that is."""
    desk = Desk(policy=Policy.of(catchup=Catchup.ALL, overlap=Overlap.QUEUE))
    desk.now += 10
    desk.send("k1", "k2", "k3")
    assert [event.slot - desk.now for event in desk.schedule.inbox.pending] == [0, 1, 2]
    assert {due_at(desk.schedule, event.slot) for event in desk.schedule.inbox.pending} == {desk.now}
    assert due_at(desk.schedule, desk.now + 9) == desk.now + 9
    desk.tick()
    [waits] = [one for one in desk.decisions if one.reason is Reason.WAITS_FOR_RUN]
    assert waits.first == desk.now + 1
    desk.end()
    desk.tick()
    desk.end()
    desk.tick()
    assert desk.runs == [["k1"], ["k2"], ["k3"]]
    desk.last_slot = desk.now + 100  # a schedule that was deleted a while ago has left this run
    desk.send("k4")
    assert desk.schedule.inbox.pending[0].slot == desk.now + 101


@pytest.mark.parametrize("grace", [None, 60])
@pytest.mark.parametrize("catchup", [Catchup.SKIP, Catchup.ALL, Catchup.ONCE])
def test_catch_up_judges_events_by_when_they_came(catchup: Catchup, grace: int | None) -> None:
    """S9, S10: late ones are skipped, run, or stand for one another; one that came just now is on time."""
    desk = Desk(policy=Policy.of(catchup=catchup, overlap=Overlap.ALLOW, max_active_runs=9, grace=grace))
    desk.now += 10
    desk.send("k1", "k2")
    desk.now += 100
    desk.send("k3")
    for _ in range(3):
        desk.tick()
        desk.end()
    ran = {Catchup.SKIP: [["k3"]], Catchup.ALL: [["k1"], ["k2"], ["k3"]], Catchup.ONCE: [["k3"]]}
    assert desk.runs == ran[catchup]
    assert desk.schedule.inbox.pending == ()


def test_a_run_by_hand_is_not_the_run_of_an_event() -> None:
    """S17 is about slots of times: what a person started does not know the event."""
    desk = Desk()
    desk.now += 10
    desk.send("k1")
    facts = Facts({"a": JobFacts(last_manual_start=desk.now + 5)})
    assert [start.slot for start in plan(desk.now, [desk.schedule], facts).starts] == [desk.now]


@pytest.mark.parametrize(
    ("gaps", "groups"),
    [([0, 29, 29], [3]), ([0, 30], [1, 1]), ([0, 29, 29, 29, 29], [4, 1]), ([0, 25, 25, 25, 24], [5]), ([0], [1])],
)
def test_a_group_closes_after_a_quiet_time_or_its_longest(gaps: list[int], groups: list[int]) -> None:
    """S71: the second at which it closes is its slot, and belongs to the next group."""
    at, events = BEGIN, []
    for number, gap in enumerate(gaps):
        at += gap
        events.append(ReceivedEvent(str(number), at, at))
    found = groups_of(GROUPS, events)
    assert [len(group.events) for group in found] == groups
    for group in found:
        assert group.slot == min(group.events[-1].at + 30, group.events[0].at + 100)


@given(
    st.lists(st.integers(0, 60), max_size=30), st.lists(st.integers(1, 400), max_size=60),
    st.integers(1, 60), st.integers(0, 120),
)  # fmt: skip
def test_how_many_runs_events_make_does_not_depend_on_the_scheduler(
    gaps: list[int], passes: list[int], quiet: int, more: int
) -> None:
    """S71: whenever passes come, the same events make the same groups, and each group has one run."""
    rule = OnEvent(coalesce=Coalesce(quiet, quiet + more))
    desk, at = Desk(rule), BEGIN
    pass_times, second = [], BEGIN
    for wait in passes:
        second += wait
        pass_times.append(second)
    expected = list[list[str]]()
    opened = closes = 0
    for number, gap in enumerate(gaps):
        at += gap
        for time in [time for time in pass_times if time <= at]:  # the pass sees what came before its second
            pass_times.remove(time)
            desk.now = time
            desk.tick()
            desk.end()
        desk.now = at
        desk.send(str(number))
        if not expected or at >= closes:
            expected.append([])
            opened = at
        expected[-1].append(str(number))
        closes = min(at + quiet, opened + quiet + more)
    desk.finish()
    assert desk.runs == expected


_POLICIES = st.sampled_from(
    [
        ALL, Policy.of(), Policy.of(catchup=Catchup.SKIP), Policy.of(overlap=Overlap.LATEST),
        Policy.of(overlap=Overlap.REPLACE), Policy.of(catchup=Catchup.ALL, overlap=Overlap.SKIP),
        Policy.of(catchup=Catchup.ALL, overlap=Overlap.ALLOW, max_active_runs=2), Policy.of(catchup_window=120),
    ]
)  # fmt: skip
_TIMES = st.sampled_from([EACH, GROUPS, OnEvent(window=50), OnEvent(coalesce=Coalesce(5, 5))])
_ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            "send send send burst tick tick end pause resume run_missed reset edit_times edit_policy".split()
        ),
        st.integers(0, 200),
        _TIMES,
        _POLICIES,
    ),
    max_size=40,
)


@given(_TIMES, _POLICIES, _ACTS)
def test_every_event_ends_in_one_run_or_one_decision(times: OnEvent, policy: Policy, acts: Any) -> None:
    """S71, whatever happens: events, bursts, late passes, pauses, resets, and edits of what is listened to."""
    desk, sent = Desk(times, policy), 0
    for verb, wait, new_times, new_policy in acts:
        desk.now += wait
        definition = desk.schedule.definition
        edits: dict[str, Change] = {
            "pause": Paused(),
            "resume": Resumed(),
            "run_missed": Resumed(run_missed=True),
            "reset": Reset(),
            "edit_times": Updated(_with(definition, times=new_times)),
            "edit_policy": Updated(_with(definition, policy=new_policy)),
        }
        if verb in ("send", "burst"):
            number = 1 if verb == "send" else 7
            desk.send(*(f"k{sent + n}" for n in range(number)))
            sent += number
        elif verb in edits:
            desk.change(edits[verb])
        else:
            desk.tick() if verb == "tick" else desk.end()
    desk.finish()
    rest = encode_rest(desk.schedule)
    assert desk.schedule._replace(**decode_rest(rest)) == desk.schedule


def _with(definition: ScheduleDefinition, **given: Any) -> ScheduleDefinition:
    return replace(definition, **given)


@pytest.mark.parametrize("drop", [[Reset()], [Paused(), Resumed(run_missed=False)]])
def test_what_was_dropped_does_not_run_after_an_edit(drop: list[Change]) -> None:
    """S71: neither if no pass has looked at the schedule between what dropped it and the edit of its times."""
    desk = Desk()
    desk.now += 10
    for change in drop[:-1]:
        desk.change(change)
    desk.now += 10
    desk.send("k1")
    desk.now += 10
    desk.change(drop[-1])
    desk.change(Updated(_with(desk.schedule.definition, times=GROUPS)))
    desk.now += 100
    desk.tick()
    assert desk.runs == []
    assert [one.count for one in desk.decisions] == [1]
    assert [event.key for event in desk.schedule.inbox.decided] == ["k1"]


def test_events_go_when_the_schedule_has_times_instead() -> None:
    """S71: what waited is recorded; a schedule of times takes no event, and none of events is moved by hand."""
    desk = Desk()
    desk.now += 10
    with pytest.raises(InputError, match="runs on events"):
        desk.change(Rescheduled(desk.now + 100))
    desk.send("k1")
    desk.change(Updated(_with(desk.schedule.definition, times=parse("0 * * * *"))))
    assert [one.reason for one in desk.decisions] == [Reason.NO_EVENTS]
    assert not any(desk.schedule.inbox)
    assert events_of(desk.schedule, desk.now) == ()
    assert with_decided(desk.schedule, desk.now) == desk.schedule.inbox
    assert recorded_times(desk.schedule) == desk.schedule.definition.times
    with pytest.raises(ConflictError, match="a runs at times and not on events"):
        desk.send("k2")


def test_an_inbox_is_bounded() -> None:
    """S70: what does not fit is refused with the time after which it may, and changes nothing."""
    desk = Desk(GROUPS)
    desk.now += 10
    big = '"' + "x" * (MAX_BYTES // 4) + '"'
    for number in range(3):
        desk.send(f"b{number}", data=big)
    assert refused(desk, "b3", data=big).retry_after == 60
    desk = Desk(OnEvent(window=10_000))
    desk.now += 10
    desk.send(*(f"k{n}" for n in range(MAX_PENDING)))
    assert "1000 events wait for a" in str(refused(desk, "more"))
    decided = tuple(DecidedEvent(f"d{n}", desk.now, desk.now) for n in range(MAX_EVENTS))
    desk.schedule = desk.schedule._replace(inbox=EventInbox((), decided))
    problem = refused(desk, "more")
    assert "remembers 2000 keys" in str(problem)
    assert problem.retry_after == 10_000
    desk.schedule = desk.schedule._replace(inbox=EventInbox(), cursor=desk.now + MAX_SECONDS_AHEAD)
    problem = refused(desk, "more")
    assert "more than one event a second" in str(problem)
    assert problem.retry_after == 1


def refused(desk: Desk, *keys: str, data: str = "null") -> InboxFullError:
    before = desk.schedule
    with pytest.raises(InboxFullError) as caught:
        desk.send(*keys, data=data)
    assert desk.schedule == before
    return caught.value


@pytest.mark.parametrize(
    "bad",
    [
        NewEvent(""), NewEvent("k" * 81), NewEvent("é"), NewEvent("k", "s" * 81), NewEvent("k", data="NaN"),
        NewEvent("k", data=f'"{"x" * MAX_DATA}"'), NewEvent("k", data="[" * 51 + "]" * 51),
    ],
)  # fmt: skip
def test_what_cannot_be_kept_is_no_event(bad: NewEvent) -> None:
    """A key that is empty, long or not plain, data that is large, deep or no JSON."""
    check_new_events([NewEvent("k", "sent", '{"a": 1}')])
    with pytest.raises(TickwiseError):
        check_new_events([bad])


def test_a_long_key_is_kept_as_its_digest() -> None:
    """Two long keys are two events, and what is kept of them is short."""
    assert short_key("k1") == "k1"
    kept = {short_key("k" * 100), short_key("k" * 101), short_key("é")}
    assert len(kept) == 3
    assert all(len(key) <= 80 and key.startswith("sha256:") for key in kept)


def test_a_run_has_its_events_beside_its_params() -> None:
    """They are stored with the params, and are none of them."""
    event = ReceivedEvent("k1", BEGIN, BEGIN, "webhook", '{"n": 1}')
    text = run_params_text([event])
    assert text is not None
    stored = decode(text)
    assert events_of_params(stored) == (
        {"key": "k1", "at": "1970-01-12T13:46:40Z", "source": "webhook", "data": {"n": 1}},
    )
    assert own_params({**stored, "table": "x"}) == {"table": "x"}
    assert own_params({"table": "x"}) == {"table": "x"}
    assert (events_of_params({}), events_of_params({"@events": "x"}), run_params_text(())) == ((), (), None)
    job = JobDefinition("a", (Step("main", Command(("true",))),), parameters=Parameters())
    job.check_params(stored)


@pytest.mark.parametrize(
    "times",
    [
        EACH, GROUPS, OnEvent(Webhook("s")), OnEvent(Webhook("s", "github", "json:a.b"), window=5),
        OnEvent(MachineStart(), window=START_WINDOW),
    ],
)  # fmt: skip
def test_what_is_listened_to_is_kept_and_explained(times: OnEvent) -> None:
    """A definition comes back from its text, says what it means, and names no time."""
    definition = event_schedule(times).definition
    assert decode_schedule(encode_schedule(definition), "a", "a") == definition
    assert times.explain().startswith("On each event" if times.coalesce is None else "Once for all events")
    assert (times.after(0), times.before(1 << 40), times.count(0, 1 << 40), times.zone.name) == (
        None,
        None,
        0,
        "UTC",
    )
    assert str(times) == times.text
    assert str(times.source or "sent") in times.text


def test_the_history_of_slots_knows_events() -> None:
    """What waits and what was decided a short time ago is told slot by slot."""
    desk = Desk(policy=Policy.of(catchup=Catchup.ALL, overlap=Overlap.SKIP))
    desk.now += 10
    desk.send("k1", "k2", "k3")
    desk.tick()
    desk.send("k4")
    ledger = SlotLedger(desk.schedule, desk.decisions, desk.now, paused=False)
    told = {one.slot - desk.now: one.state for one in ledger.newest([], BEGIN, desk.now + 100, 10)}
    assert told == {1: SlotState.SKIPPED, 2: SlotState.SKIPPED, 3: SlotState.WAITING}
    times = desk.schedule.definition.times
    assert isinstance(times, OnEvent)
    assert [slot - desk.now for slot in known_slots(times, desk.schedule.inbox).slots] == [0, 1, 2, 3]
