"""The steps of an explanation: from the definition of a schedule to the worker, one sentence each.

A step holds (`yes`), prevents the run (`no`) or is waited for (`wait`); the last says what to do (`do`). Times are
in the schedule's own zone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..core.blackout import BlackoutWindow, rest_end, window_at
from ..core.cron.zone import Zone
from ..core.event_inbox import MAX_SECONDS_AHEAD
from ..core.events import OnEvent
from ..core.handover import HandOver
from ..core.model import Pause, Schedule
from ..core.parity import fires_of_slot
from ..core.payload import error_line, first_line
from ..core.slots import due_at, next_slot, previous_slot
from ..core.states import HandOverState, RunState
from ..core.timeparse import format_duration, iso, to_datetime
from ..stores.records import MICRO, PauseInterval, RunRow, ScheduleRow

CURSOR_AHEAD = 60  # seconds that a cursor may be ahead of now (S4)
_VERDICT_MARKS = {"fired": "yes", "caught_up": "yes", "deferred": "wait"}
_STATE_VERBS = dict.fromkeys((RunState.QUEUED, RunState.RUNNING), "is ")
_STATE_VERBS |= dict.fromkeys((RunState.SKIPPED, RunState.CANCELLED, RunState.LOST), "was ")
_RUN_MARKS = {RunState.SUCCEEDED: "yes", RunState.RUNNING: "yes", RunState.QUEUED: "wait"}
_UNDECIDED = frozenset(
    {"not_due", "future", "before_it_was_added", "no_slot", "day_left_out"}
)  # nothing was to be decided


@dataclass(frozen=True, slots=True)
class ReasonStep:
    """One sentence, and whether it holds."""

    what: str
    text: str
    mark: str  # yes, no, wait, do


@dataclass(frozen=True, slots=True)
class SlotFacts:
    """What an explanation of a slot is made from."""

    row: ScheduleRow
    now: int
    slot: int | None
    everything: PauseInterval | None = None  # the pause of everything, if there is one now
    run: RunRow | None = None
    waits: tuple[str, ...] = ()  # what a queued run waits for
    unended: tuple[str, ...] = ()  # runs of the job that were asked to end, and why they have not
    zone: Zone | None = None  # in which times are told; none: the schedule's

    @property
    def schedule(self) -> Schedule:
        return self.row.schedule

    @property
    def window(self) -> BlackoutWindow | None:
        """The blackout in which it rests now, and when it goes on (S62)."""
        blackouts = self.schedule.blackouts
        found, end = window_at(blackouts, self.now), rest_end(blackouts, self.now)
        return found and found._replace(end=end or found.end)

    def at(self, second: int) -> str:
        return local_time(second, self.zone or self.schedule.definition.times.zone)


def local_time(second: int, zone: Zone) -> str:
    return f"{to_datetime(second, zone.tzinfo):%a %Y-%m-%d %H:%M:%S} {zone.name}"


def reason_steps(facts: SlotFacts, verdict: str, code: str, text: str, advice: str) -> Iterator[ReasonStep]:
    """All steps, given the verdict on the slot."""
    yield _definition_step(facts)
    yield _slot_step(facts, code, text)
    if code not in _UNDECIDED:
        yield _cursor_step(facts)
    yield _pause_step(facts, code)
    if verdict != "none":
        yield _rules_step(facts)
        yield ReasonStep("verdict", sentence(text), _VERDICT_MARKS.get(verdict, "no"))
        yield from _fire_steps(facts)
    elif code == "pending":
        yield ReasonStep("ticker", "No ticker has looked at it yet.", "wait")
    if facts.run is not None:
        yield from run_steps(facts.run, facts.waits)
    yield from (ReasonStep("worker", unended, "wait") for unended in facts.unended)
    yield _next_step(facts)
    yield ReasonStep("what to do", advice, "do")


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _definition_step(facts: SlotFacts) -> ReasonStep:
    definition = facts.schedule.definition
    source = f", as {definition.source} has it" if definition.source else ""
    return ReasonStep("definition", f"{definition.times.explain()} ({definition.label}){source}.", "yes")


def _slot_step(facts: SlotFacts, code: str, text: str) -> ReasonStep:
    state, slot = facts.schedule, facts.slot
    if slot is None or code == "not_due":
        return ReasonStep("slot", f"None has been due since it was added, {facts.at(state.first_seen)}.", "wait")
    if code == "future":
        return ReasonStep("slot", f"It comes in {format_duration(slot - facts.now)}.", "wait")
    if code == "before_it_was_added":
        return ReasonStep("slot", f"The schedule was added later, {facts.at(state.first_seen)}.", "no")
    if code in ("no_slot", "day_left_out"):
        around = (previous_slot(state, slot), next_slot(state, slot))
        near = " and ".join(facts.at(one) for one in around if one is not None)
        why_not = text if code == "day_left_out" else f"{facts.at(slot)} is none of its times"
        return ReasonStep("slot", f"{why_not}; nearest: {near or 'none'}.", "no")
    due = due_at(state, slot)
    late = f", {format_duration(due - slot)} after the slot by its jitter" if due > slot else ""
    return ReasonStep("slot", f"It was due {format_duration(max(0, facts.now - due))} ago{late}.", "yes")


def most_ahead(schedule: Schedule) -> int:
    """Seconds that its cursor may be ahead of now: slots of events in one second lie behind one another (S71)."""
    return MAX_SECONDS_AHEAD if isinstance(schedule.definition.times, OnEvent) else CURSOR_AHEAD


def _cursor_step(facts: SlotFacts) -> ReasonStep:
    cursor, slot = facts.schedule.cursor, facts.slot
    if cursor > facts.now + most_ahead(facts.schedule):
        repair = f"tickwise schedules reset {facts.schedule.name}"
        return ReasonStep("cursor", f"It is ahead of the clock, {facts.at(cursor)}: {repair}.", "no")
    if slot is not None and slot <= cursor:
        return ReasonStep("cursor", f"All slots up to {facts.at(cursor)} are decided, this one too.", "yes")
    return ReasonStep("cursor", f"Slots are decided up to {facts.at(cursor)}, this one is not.", "wait")


def _pause_step(facts: SlotFacts, code: str) -> ReasonStep:
    mark = "no" if code == "paused_now" else "wait"
    for pause, what in ((facts.everything, "Everything"), (facts.schedule.paused, "The schedule")):
        if pause is not None:
            end = "" if pause.until is None else f" until {facts.at(pause.until)}"
            return ReasonStep("pause", f"{what} is paused since {facts.at(pause.at)}{end}{by_whom(pause)}.", mark)
    if window := facts.window:
        text = f"The schedule rests until {facts.at(window.end)}, by the blackout {window.detail}."
        return ReasonStep("pause", text, "no" if code == "blackout_now" else "wait")
    return ReasonStep("pause", "Neither the schedule nor everything is paused.", "yes")


def by_whom(pause: Pause | PauseInterval) -> str:
    """By whom, and why, as far as it is known."""
    return (f" by {pause.by}" if pause.by else "") + (f": {pause.reason}" if pause.reason else "")


def _rules_step(facts: SlotFacts) -> ReasonStep:
    policy = facts.schedule.definition.policy
    rules = [f"catchup: {policy.catchup}", f"overlap: {policy.overlap}"]
    rules += [f"after: {one} within {format_duration(one.within)}" for one in policy.after]
    rules += ["skip_if_successful"] if policy.skip_if_successful else []
    return ReasonStep("rules", f"{', '.join(rules)}.", "yes")


def _fire_steps(facts: SlotFacts) -> Iterator[ReasonStep]:
    """Whether another scheduler has started the slot, as far as the schedule remembers (S80)."""
    fires = [] if facts.slot is None else fires_of_slot(facts.schedule, facts.slot)
    for fire in fires:
        yield ReasonStep("fire", f"Another scheduler started it, {facts.at(fire)}.", "yes")
    if facts.schedule.in_shadow and not fires:
        yield ReasonStep("fire", "No fire of another scheduler belongs to it.", "wait")


def run_steps(run: RunRow, waits: tuple[str, ...]) -> Iterator[ReasonStep]:
    """The state of a run, what it waits for, and its error."""
    place = f", {'watched by' if run.hand_over else 'on'} {run.node}" if run.node else ""
    yield ReasonStep("run", f"{run_outcome(run)}{run_timing(run)}{place}.", _RUN_MARKS.get(run.state, "no"))
    if run.hand_over and run.state is RunState.RUNNING:
        yield from hand_over_steps(run.hand_over)
    for text in waits:
        yield ReasonStep("worker", text, "wait")
    if run.error:
        yield ReasonStep("error", error_line(run.error), "no")


_ON_ENGINE = {
    HandOverState.INTENDED: (
        "the engine {engine} is asked to run {reference}, and has not said yet that it has it", "wait"
    ),
    HandOverState.ACCEPTED: (
        "the engine {engine} has {reference} since {accepted_at}, and the work has not begun{place}", "wait"
    ),
    HandOverState.BEGUN: ("the work runs on {engine} as {reference}{place}", "yes"),
    HandOverState.ENDING: ("{reference} was told to end on {engine}, and may still run there{place}", "wait"),
}  # fmt: skip
_UNHEARD = (
    "the engine {engine} said at {unheard_at} that it never heard of {reference}, so it is sent again",
    "wait",
)


def hand_over_steps(record: HandOver) -> Iterator[ReasonStep]:
    """Where the work is that an engine executes, and what the engine's silence means (S55)."""
    is_unheard = record.state is HandOverState.INTENDED and record.unheard_at is not None
    text, mark = _UNHEARD if is_unheard else _ON_ENGINE[record.state]
    instants = {name: _moment(getattr(record, name)) for name in ("accepted_at", "unheard_at", "alive_at")}
    place = f" ({record.address})" if record.address else ""
    said = text.format(engine=record.engine, reference=record.reference, place=place, **instants)
    alive = f"; its last sign of life was at {instants['alive_at']}" if record.alive_at else ""
    yield ReasonStep("engine", sentence(f"{said}{alive}"), mark)
    if record.silent_since is not None:
        since, patience = iso(record.silent_since // MICRO), format_duration(record.patience)
        waited = f"It is waited for up to {patience}, then the run is lost."
        said = first_line(record.silence).removeprefix(f"{record.engine} does not answer: ")
        answer = f"The engine {record.engine} does not answer since {since}: {said}. {waited}"
        yield ReasonStep("engine", answer, "wait")


def _moment(microseconds: int | None) -> str:
    return "" if microseconds is None else iso(microseconds // MICRO)


def run_outcome(run: RunRow) -> str:
    """Where a run is, as the beginning of a sentence."""
    return f"Run {run.id} {_STATE_VERBS.get(run.state, '')}{run.state}"


def run_timing(run: RunRow) -> str:
    """The attempt, how late it started and how long it took; nothing if it has not started."""
    if run.started_at is None:
        return ""
    late = max(0, run.started_at - run.due_at) / MICRO
    took = "" if run.finished_at is None else f", took {(run.finished_at - run.started_at) / MICRO:.1f} s"
    return f" (attempt {run.attempt}, started {late:.1f} s after it was due{took})"


def _next_step(facts: SlotFacts) -> ReasonStep:
    if facts.row.next_slot is not None:
        return ReasonStep("next", f"{facts.at(facts.row.next_slot)}.", "yes")
    if facts.schedule.paused or facts.everything:
        return ReasonStep("next", "None while it is paused.", "wait")
    return ReasonStep("next", "It has no further times.", "no")
