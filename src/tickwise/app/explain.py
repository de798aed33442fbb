"""Explains what became of a slot or a run, from what the store has kept."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..core.blackout import window_at
from ..core.cron.calendar_days import OnCalendar
from ..core.cron.zone import Zone
from ..core.errors import ConflictError, no_such
from ..core.event_inbox import events_of
from ..core.events import OnEvent, events_of_params
from ..core.model import Schedule, Trigger
from ..core.payload import error_line
from ..core.reasons import Reason, Verdict
from ..core.slots import due_until, next_slot, previous_slot, recorded_times
from ..core.states import FAILURES, RunState
from ..core.step_waits import APPROVAL
from ..core.timeparse import floor_second, iso, to_datetime
from ..runtime.context import FUNCTION_STEP, StepState
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, DecisionFilter, DecisionRow, Node, QueueLimit, RunFilter, RunRow, ScheduleRow
from .deadline_forecasts import forecast_notes
from .explain_steps import (
    ReasonStep,
    SlotFacts,
    local_time,
    most_ahead,
    reason_steps,
    run_outcome,
    run_steps,
    run_timing,
    sentence,
)
from .sources import APP, find_orphans
from .values import instant
from .worker_advice import is_live, live_workers, start_command, worker_required

_INSTANT = re.compile(r"(?<!--from )(?<!--to )\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")  # as `iso` writes it
_KIND_SUFFIX = re.compile(r"\.(stop|restart)$")  # of the names of schedules that stop or restart a job (S21)
_STEP_WAIT = re.compile(r"step (\S+): (.*)")  # as the steps of a pipeline are joined
_MAX_KEYS = 20  # of events that are named
_MAX_UNENDED = 16  # running runs of a job that are looked at
_END_IT = 'Let the function look at run.cancelled, or set pool="process"; to end it now, restart its worker.'
_REPAIR_ORPHAN = "Declare it again, or remove it: tickwise schedules remove --orphaned."
_RAN = {
    Trigger.SCHEDULE: Reason.ON_TIME,
    Trigger.CATCHUP: Reason.CATCH_UP,
    Trigger.BACKFILL: Reason.BACKFILL,
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What happened to a slot, why, and what can be done about it."""

    schedule: str
    slot: datetime | None
    verdict: str
    reason: str
    text: str
    advice: str
    run: str | None = None
    notes: tuple[str, ...] = ()
    chain: tuple[ReasonStep, ...] = ()  # the same step by step, from the definition to the worker

    def __str__(self) -> str:
        when = "" if self.slot is None else f" at {self.slot:%Y-%m-%d %H:%M:%S} UTC"
        lines = [f"{self.schedule}{when}: {self.verdict}", f"  {self.text}", f"  {self.advice}"]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


async def schedule_row(store: Store, name: str) -> ScheduleRow:
    row = await store.insights.schedule(name)
    if row is None:
        known = await all_pages(lambda after: store.insights.schedules(after=after, limit=1_000))
        raise no_such("schedule", name, [one.schedule.name for one in known])
    return row


async def why(store: Store, name: str, slot: int | None = None, zone: Zone | None = None) -> Explanation:
    """Explain a slot; without one, the newest that is due. Times are told in the zone, or else in UTC."""
    row = await schedule_row(store, name)
    if row.unreadable:
        raise ConflictError(f"the schedule {name} is there, but cannot be read: {row.unreadable}")
    facts = replace(await _read_facts(store, row, slot), zone=zone)
    explanation = await _explain_slot(store, facts, given=slot is not None)
    if explanation.reason == Reason.NO_WORKER.code:
        explanation = replace(explanation, advice=await _advise_on_worker(store, facts.schedule.job))
    if orphaned := await _orphaned_note(store, facts.schedule.job, facts.schedule.definition.source):
        succeeded = facts.run is not None and facts.run.state is RunState.SUCCEEDED
        advice = explanation.advice if succeeded else f"{orphaned} {_REPAIR_ORPHAN}"
        explanation = replace(explanation, advice=advice, notes=(orphaned, *explanation.notes))
    notes = (*explanation.notes, *await forecast_notes(store, row))
    explanation = replace(explanation, notes=notes)
    if facts.unended:
        explanation = replace(explanation, advice=_END_IT)
    steps = reason_steps(facts, explanation.verdict, explanation.reason, explanation.text, explanation.advice)
    return _localized(replace(explanation, chain=tuple(steps)), zone)


def _localized(explanation: Explanation, zone: Zone | None) -> Explanation:
    """The same with the instants of its sentences in a zone; those that a command takes stay as they are."""
    if zone is None:
        return explanation

    def local(text: str) -> str:
        return _INSTANT.sub(lambda found: local_time(floor_second(datetime.fromisoformat(found[0])), zone), text)

    return replace(
        explanation, text=local(explanation.text), advice=local(explanation.advice),
        notes=tuple(map(local, explanation.notes)),
        chain=tuple(replace(step, text=local(step.text)) for step in explanation.chain),
    )  # fmt: skip


async def _orphaned_note(store: Store, job: str, source: str) -> str:
    """That no code declares the job any more, if so (S50)."""
    if source.startswith(APP) and job in [row.definition.name for row in await find_orphans(store)]:
        return f"No code declares {job} any more: {source} lives, and does not have it."
    return ""


async def _advise_on_worker(store: Store, job: str) -> str:
    row = await store.insights.job(job)
    start = start_command(*worker_required(row.definition), row.source) if row else ""
    return f"Start one: {start}." if start else Reason.NO_WORKER.advice


async def _read_facts(store: Store, row: ScheduleRow, slot: int | None) -> SlotFacts:
    now = await store.now() // MICRO
    everything = next((pause for pause in await store.insights.pauses() if pause.until is None), None)
    chosen = slot if slot is not None else _newest_due(row.schedule, now)
    filters = RunFilter(schedule=row.schedule.name, slot=chosen)
    run = None if chosen is None else next(iter((await store.insights.runs(filters, limit=1)).items), None)
    waiting = () if run is None else tuple([text async for text in waits(store, run)])
    unended = tuple([text async for text in _unended(store, row.schedule.definition.job)])
    return SlotFacts(row=row, now=now, slot=chosen, everything=everything, run=run, waits=waiting, unended=unended)


def _newest_due(schedule: Schedule, now: int) -> int | None:
    """The newest slot that is due; of an event job, that of the newest event."""
    until = due_until(schedule, now) + 1
    is_of_events = isinstance(schedule.definition.times, OnEvent)
    return recorded_times(schedule).before(until) if is_of_events else previous_slot(schedule, until)


async def _unended(store: Store, job: str) -> AsyncIterator[str]:
    """The runs of a job that were asked to end and whose function goes on."""
    running = RunFilter(job=job, states=frozenset({RunState.RUNNING}))
    for run in (await store.insights.runs(running, limit=_MAX_UNENDED)).items:
        for step in await store.insights.steps(run.id):
            if step.name == FUNCTION_STEP and step.state == StepState.RUNNING:
                yield f"Run {run.id}, on {run.node}: {step.error}."


async def _explain_slot(store: Store, facts: SlotFacts, *, given: bool) -> Explanation:
    name, notes = facts.schedule.name, tuple(_notes(facts))
    if facts.slot is None:
        return _explain_nothing_due(facts.schedule, notes)
    told = (await store.insights.decisions(DecisionFilter(schedule=name, slot=facts.slot), limit=10)).items
    notes += tuple(_noted(row) for row in told if row.reason.verdict is Verdict.NOTED)
    if facts.run is not None:
        return _explain_run(facts, facts.run, notes)
    decided = [row for row in told if row.reason.verdict is not Verdict.NOTED]
    if decided:
        return _explain_decisions(name, facts.slot, decided, notes)
    if not given and facts.slot <= facts.schedule.first_seen:
        return _explain_nothing_due(facts.schedule, notes)
    return _explain_undecided(facts, facts.slot, notes)


def _by(name: str) -> str:
    return f" by {name}" if name else ""


def _explanation(
    name: str, slot: int, reason: Reason, detail: str = "", run: str | None = None, notes: tuple[str, ...] = ()
) -> Explanation:
    verdict, text = str(reason.verdict), reason.explain(detail)
    return Explanation(
        schedule=name, slot=to_datetime(slot), verdict=verdict, reason=reason.code, text=text,
        advice=reason.advice, run=run, notes=notes,
    )  # fmt: skip


def _noted(row: DecisionRow) -> str:
    """What is recorded about a slot besides how it ended."""
    text = row.reason.explain(row.detail)
    return f"{text[0].upper()}{text[1:]} (recorded at {iso(row.made_at // MICRO)})."


def _explain_decisions(
    name: str, slot: int, decided: Sequence[DecisionRow], notes: tuple[str, ...]
) -> Explanation:
    """The final decision or, without one, what the slot waits for."""
    one = next((row for row in decided if row.is_final), decided[0])
    of_many = f"It is one of {one.count} slots from {iso(one.first)} to {iso(one.last)}."
    return _explanation(name, slot, one.reason, one.detail, notes=((of_many,) if one.count > 1 else ()) + notes)


def _explain_run(facts: SlotFacts, run: RunRow, notes: tuple[str, ...]) -> Explanation:
    reason = _RAN.get(run.trigger, Reason.ON_TIME)
    lines = [f"{run_outcome(run)}{run_timing(run)}."]
    if run.error:
        lines.append(f"It said: {error_line(run.error)}")
    explanation = _explanation(
        facts.schedule.name, run.slot or 0, reason, run=run.id, notes=(*lines, *facts.waits, *notes)
    )
    if run.state not in FAILURES:
        return explanation
    repair = f"See what it printed: tickwise runs logs {run.id}; once mended, tickwise runs retry {run.id}."
    return replace(explanation, advice=repair)


async def waits(store: Store, run: RunRow) -> AsyncIterator[str]:
    """Why a queued run has not started."""
    if run.state is not RunState.QUEUED:
        return
    now = await store.now()
    if run.waits_for:
        for line in run.waits_for.splitlines():
            yield _wait_sentence(run, line)
        return
    if run.due_at > now:
        yield f"It may not start before {iso(run.due_at // MICRO)}."
        return
    nodes = [node for node in await store.insights.nodes() if is_live(node, now)]
    reasons = [*await _lacks_worker(store, run, nodes, now), *await _queue_limits(store, run.queue, now)]
    for reason in reasons or ["It can start at once."]:
        yield reason


def _wait_sentence(run: RunRow, line: str) -> str:
    """One line of what a run waits for: that alone, or with the step before it if the run has several."""
    step, what = found.groups() if (found := _STEP_WAIT.fullmatch(line)) else ("", line)
    command = f": tickwise runs approve {run.id} {step}".rstrip() if what.startswith(APPROVAL) else ""
    return f"It waits for {what}{f' (step {step})' if step else ''}{command}."


async def _lacks_worker(store: Store, run: RunRow, nodes: list[Node], now: int) -> list[str]:
    if missing := live_workers(nodes, now).missing(run.queue, run.requires):
        job = await store.insights.job(run.job)
        start = start_command(run.queue, run.requires, job.source if job else "another version")
        return [f"No live worker {missing.text}: start one: {start}."]
    able = [node for node in nodes if run.queue in node.queues and node.offers.allow(run.requires)]
    if all(node.busy >= node.capacity for node in able):
        return [f"All workers of the queue {run.queue} are busy ({sum(node.busy for node in able)} runs)."]
    return []


async def _queue_limits(store: Store, queue: str, now: int) -> list[str]:
    limits = {limit.queue: limit for limit in await store.insights.limits()}
    limit = limits.get(queue, QueueLimit(queue))
    most, rate = limit.concurrency, limit.starts_per_second
    lines = []
    if pause := limit.paused_at(now // MICRO):
        end = "" if pause.until is None else f", until {iso(pause.until)}"
        reason = f": {pause.reason}" if pause.reason else ""
        lines.append(f"The queue {queue} is paused since {iso(pause.at)}{end}{_by(pause.by)}{reason}.")
    if most is not None:
        running = RunFilter(queue=queue, states=frozenset({RunState.RUNNING}))
        if len((await store.insights.runs(running, limit=most)).items) >= most:
            lines.append(f"The queue {queue} is limited to {most} at once, and so many are running.")
    if rate is not None:
        lines.append(f"The queue {queue} is limited to {rate:g} starts a second.")
    return lines


def _notes(facts: SlotFacts) -> Iterator[str]:
    state, everything = facts.schedule, facts.everything
    if everything is not None:
        yield f"Everything is paused since {iso(everything.at)}{_by(everything.by)}."
    if state.paused:
        end = "" if state.paused.until is None else f", until {iso(state.paused.until)}"
        yield f"It is paused since {iso(state.paused.at)}{end}{_by(state.paused.by)}."
    if window := facts.window:
        yield f"It rests until {iso(window.end)}, by the blackout {window.detail}."
    if state.cursor > facts.now + most_ahead(state):
        yield f"Its cursor is ahead of the clock ({iso(state.cursor)}): reset the schedule to repair that."
    yield from facts.unended
    if facts.row.next_slot is not None:
        yield f"Next: {iso(facts.row.next_slot)}."
    elif not (state.paused or everything or facts.window):
        yield "It waits for events." if isinstance(state.definition.times, OnEvent) else "It has no further times."
    if keys := _keys_of_slot(facts):
        more = f" and {len(keys) - _MAX_KEYS:,} more" if len(keys) > _MAX_KEYS else ""
        yield f"Events of this slot: {', '.join(keys[:_MAX_KEYS])}{more}."


def _keys_of_slot(facts: SlotFacts) -> list[str]:
    """Of the events that a slot stands for, as far as they are remembered."""
    if facts.slot is None or not isinstance(facts.schedule.definition.times, OnEvent):
        return []
    if facts.run is not None:
        return [str(event.get("key")) for event in events_of_params(facts.run.params or {})]
    decided = [event.key for event in facts.schedule.inbox.decided if event.slot == facts.slot]
    return decided + [event.key for event in events_of(facts.schedule, facts.slot)]


def _explain_nothing_due(state: Schedule, notes: tuple[str, ...]) -> Explanation:
    return Explanation(
        schedule=state.name, slot=None, verdict="none", reason="not_due",
        text="no slot of it has been due since it was added", advice="Wait for the next.", notes=notes,
    )  # fmt: skip


def _explain_undecided(facts: SlotFacts, slot: int, notes: tuple[str, ...]) -> Explanation:
    """A slot without a run or a record."""
    state = facts.schedule
    text, code = "it is due and has not been decided yet", "pending"
    advice = "See that a ticker runs: tickwise serve, or tickwise ticker."
    if next_slot(state, slot - 1) != slot:
        listing = f"See when it runs: tickwise upcoming {state.name}."
        text, code, advice = "that is not a time of the schedule", "no_slot", listing
        if why_not := _left_out(state, slot):
            calendar, text = why_not
            code, advice = "day_left_out", f"See its days: tickwise calendars show {calendar}."
    elif slot > due_until(state, facts.now):
        code, (text, advice) = "future", _what_is_to_come(state, slot)
    elif slot <= state.first_seen:
        backfill = f"tickwise schedules backfill {state.name} --from {iso(slot)} --to {iso(slot + 1)}"
        text, code = "the schedule was not there yet", "before_it_was_added"
        advice = f"If it must run: {backfill}."
    elif facts.everything:
        text, code, advice = "everything is paused", "paused_now", "Resume everything: tickwise resume."
    elif state.paused:
        resume = f"Resume the schedule: tickwise schedules resume {state.name}."
        text, code, advice = "the schedule is paused", "paused_now", resume
    elif window := facts.window:
        text, code = f"it waits until the blackout {window.detail} has ended", "blackout_now"
        trigger = f"tickwise schedules trigger {state.name} --in-blackout"
        advice = f"Wait until {iso(window.end)}, or run the job by hand: {trigger}."
    elif state.deferral is not None:
        behind = f"It comes after the slot {iso(state.deferral.slot)}, which waits."
        return _explanation(state.name, slot, state.deferral.reason, state.deferral.detail, notes=(behind, *notes))
    return Explanation(
        schedule=state.name, slot=to_datetime(slot), verdict="none", reason=code, text=text, advice=advice,
        notes=notes,
    )  # fmt: skip


def _what_is_to_come(state: Schedule, slot: int) -> tuple[str, str]:
    """What will become of a slot that is not due yet, and what can be done."""
    if mark := state.skip_of(slot):
        take_back = f"tickwise schedules skip {state.name} {iso(slot)} --undo"
        text = f"it is not due yet, and will be skipped by hand ({mark.detail})"
        return text, f"To let it run after all: {take_back}."
    if window := window_at(state.blackouts, slot):
        text = f"it is not due yet, and falls into the blackout {window.detail}"
        return text, f"When that has ended, at {iso(window.end)}, catchup says what becomes of it."
    return "it is not due yet", "Wait for it."


def _left_out(state: Schedule, slot: int) -> tuple[str, str] | None:
    """The calendar that leaves a second of the schedule's times out, and why (S61)."""
    times = state.definition.times
    if isinstance(times, OnCalendar) and (why_not := times.reason_left_out(slot)):
        return times.calendar, why_not
    return None


_REQUESTED = {
    Trigger.MANUAL: ("by hand", "somebody asked for it{by}, at {at}", "Nothing to do."),
    Trigger.ENQUEUE: ("by code", "code enqueued it{by}, at {at}", "Nothing to do."),
    Trigger.STEP: ("by a step", "a step of another run waits for it{by}, since {at}", "Nothing to do."),
    Trigger.RESTART: ("restart", "the restart schedule asked for it, for {at}", "Nothing to do."),
}


async def why_run(store: Store, run: RunRow, zone: Zone | None = None) -> Explanation:
    """Explain a run: by its slot if its schedule still exists, else by its trigger."""
    if run.schedule is not None and run.slot is not None and await store.insights.schedule(run.schedule):
        return await why(store, run.schedule, run.slot, zone)
    label, text, advice = _REQUESTED.get(run.trigger, (str(run.trigger), Reason.ON_TIME.text, "Nothing to do."))
    by = f" ({run.by})" if run.by else ""
    waiting = tuple([reason async for reason in waits(store, run)])
    text = text.format(by=by, at=iso(run.created_at // MICRO))
    steps = (
        ReasonStep("asked", sentence(text), "yes"),
        *run_steps(run, waiting),
        ReasonStep("what to do", advice, "do"),
    )
    found = Explanation(
        schedule=run.schedule or run.job, slot=instant(run.slot), verdict="fired",
        reason=label.replace(" ", "_"), text=text, advice=advice, run=run.id,
        notes=(f"{run_outcome(run)}.", *waiting), chain=steps,
    )  # fmt: skip
    return _localized(found, zone)
