"""Why did it run, or not? The answer for one slot of one schedule, from what the store has kept."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from ..core.errors import ConflictError, no_such
from ..core.model import Schedule, Trigger
from ..core.reasons import Reason, Verdict
from ..core.slots import next_slot, previous_slot
from ..core.states import FAILURES, RunState
from ..core.timeparse import iso, to_datetime
from ..stores.contract import Store
from ..stores.records import MICRO, DecisionFilter, DecisionRow, Node, QueueLimit, RunFilter, RunRow, ScheduleRow
from ..stores.validation import all_pages
from .explain_steps import CURSOR_AHEAD, ReasonStep, SlotFacts, how, last_words, of_run, reason_steps, sentence
from .values import instant

_OF_JOB = re.compile(r"\.(stop|restart)$")  # what the name of a schedule has more than that of its job (S21)
_RAN = {Trigger.SCHEDULE: Reason.ON_TIME, Trigger.CATCHUP: Reason.CATCH_UP, Trigger.BACKFILL: Reason.BACKFILL}


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
    chain: tuple[ReasonStep, ...] = ()  # the same as a way of reasons, from the definition to the worker

    def __str__(self) -> str:
        when = "" if self.slot is None else f" at {self.slot:%Y-%m-%d %H:%M:%S} UTC"
        lines = [f"{self.schedule}{when}: {self.verdict}", f"  {self.text}", f"  {self.advice}"]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


async def schedule_row(store: Store, name: str) -> ScheduleRow:
    row = await store.insights.schedule(name)
    if row is None:
        await check_readable(store, name)
        known = await all_pages(lambda after: store.insights.schedules(after=after, limit=1_000))
        raise no_such("schedule", name, [one.schedule.name for one in known])
    return row


async def check_readable(store: Store, name: str) -> None:
    """Refuse a schedule that is there although nobody can read it; of others, nothing is said."""
    job = await store.insights.job(_OF_JOB.sub("", name))
    if job is not None and name in job.schedules:
        broken = DecisionFilter(schedule=name, reasons=frozenset({Reason.BROKEN}))
        told = [row.detail for row in (await store.insights.decisions(broken, limit=1)).items]
        repair = f"write it again, as its source ({job.source}) has it"
        raise ConflictError(f"the schedule {name} is there, but cannot be read: {repair}. {''.join(told)}")


async def why(store: Store, name: str, slot: int | None = None) -> Explanation:
    """The answer for a slot; without one, for the newest that is due."""
    case = await _case(store, await schedule_row(store, name), slot)
    answer = await _answer(store, case, asked=slot is not None)
    links = reason_steps(case, answer.verdict, answer.reason, answer.text, answer.advice)
    return replace(answer, chain=tuple(links))


async def _case(store: Store, row: ScheduleRow, slot: int | None) -> SlotFacts:
    now = await store.now() // MICRO
    everything = next((pause for pause in await store.insights.pauses() if pause.until is None), None)
    chosen = slot if slot is not None else previous_slot(row.schedule, now + 1)
    wanted = RunFilter(schedule=row.schedule.name, slot=chosen)
    run = None if chosen is None else next(iter((await store.insights.runs(wanted, limit=1)).items), None)
    waiting = () if run is None else tuple([text async for text in waits(store, run)])
    return SlotFacts(row, now, chosen, everything, run, waiting)


async def _answer(store: Store, case: SlotFacts, *, asked: bool) -> Explanation:
    name, notes = case.schedule.name, tuple(_notes(case))
    if case.slot is None:
        return _nothing_yet(case.schedule, notes)
    if case.run is not None:
        return _of_run(case, case.run, notes)
    decided = (await store.insights.decisions(DecisionFilter(schedule=name, slot=case.slot), limit=10)).items
    if decided:
        return _of_decisions(name, case.slot, decided, notes)
    if not asked and case.slot <= case.schedule.first_seen:
        return _nothing_yet(case.schedule, notes)
    return _undecided(case, case.slot, notes)


def _by(whom: str) -> str:
    return f" by {whom}" if whom else ""


def _told(
    name: str, slot: int, reason: Reason, detail: str = "", run: str | None = None, notes: tuple[str, ...] = ()
) -> Explanation:
    verdict, text = str(reason.verdict), reason.explain(detail)
    return Explanation(name, to_datetime(slot), verdict, reason.code, text, reason.advice, run, notes)


def _of_decisions(name: str, slot: int, decided: tuple[DecisionRow, ...], notes: tuple[str, ...]) -> Explanation:
    """What was decided for good, or else what the slot waits for."""
    one = next((row for row in decided if row.reason.verdict is not Verdict.DEFERRED), decided[0])
    of_many = f"It is one of {one.count} slots from {iso(one.first)} to {iso(one.last)}."
    return _told(name, slot, one.reason, one.detail, notes=((of_many,) if one.count > 1 else ()) + notes)


def _of_run(case: SlotFacts, run: RunRow, notes: tuple[str, ...]) -> Explanation:
    reason = _RAN.get(run.trigger, Reason.ON_TIME)
    said = [f"Run {run.id} is {run.state}{how(run)}."]
    if run.error:
        said.append(f"It said: {last_words(run)}")
    answer = _told(case.schedule.name, run.slot or 0, reason, run=run.id, notes=(*said, *case.waits, *notes))
    if run.state not in FAILURES:
        return answer
    mend = f"See what it printed: tickwise runs logs {run.id}; once mended, tickwise runs retry {run.id}."
    return replace(answer, advice=mend)


async def waits(store: Store, run: RunRow) -> AsyncIterator[str]:
    """Why a queued run has not started."""
    if run.state is not RunState.QUEUED:
        return
    now = await store.now()
    if run.due_at > now:
        yield f"It may not start before {iso(run.due_at // MICRO)}."
        return
    nodes = await store.insights.nodes()
    serving = [node for node in nodes if run.queue in node.queues and node.seen_at > now - node.seconds * MICRO]
    reasons = [*_no_room(run.queue, serving), *await _limited(store, run.queue)]
    for reason in reasons:
        yield reason
    if not reasons:
        yield (
            f"It can start at once. If it does not, no worker of the queue {run.queue} knows the job {run.job}: "
            "start one with the app that declares it."
        )


def _no_room(queue: str, serving: list[Node]) -> Iterator[str]:
    if not serving:
        yield f"No live worker serves the queue {queue}: start one (tickwise worker --queues {queue})."
    elif all(node.busy >= node.capacity for node in serving):
        yield f"All workers of the queue {queue} are busy ({sum(node.busy for node in serving)} runs)."


async def _limited(store: Store, queue: str) -> list[str]:
    limits = {limit.queue: limit for limit in await store.insights.limits()}
    _, most, rate = limits.get(queue, QueueLimit(queue))
    said = []
    if most is not None:
        running = RunFilter(queue=queue, states=frozenset({RunState.RUNNING}))
        if len((await store.insights.runs(running, limit=most)).items) >= most:
            said.append(f"The queue {queue} is limited to {most} at once, and so many are running.")
    if rate is not None:
        said.append(f"The queue {queue} is limited to {rate:g} starts a second.")
    return said


def _notes(case: SlotFacts) -> Iterator[str]:
    state, everything = case.schedule, case.everything
    if everything is not None:
        yield f"Everything is paused since {iso(everything.at)}{_by(everything.by)}."
    if state.paused:
        yield f"It is paused since {iso(state.paused.at)}{_by(state.paused.by)}."
    if state.cursor > case.now + CURSOR_AHEAD:
        yield f"Its cursor is ahead of the clock ({iso(state.cursor)}): reset the schedule to repair that."
    if case.row.next_slot is not None:
        yield f"Next: {iso(case.row.next_slot)}."
    elif not (state.paused or everything):
        yield "It has no further times."


def _nothing_yet(state: Schedule, notes: tuple[str, ...]) -> Explanation:
    return Explanation(
        state.name, None, "none", "not_due", "no slot of it has been due since it was added", "Wait for the next.",
        None, notes,
    )  # fmt: skip


def _undecided(case: SlotFacts, slot: int, notes: tuple[str, ...]) -> Explanation:
    """A slot without a run or a record."""
    state = case.schedule
    text, code = "it is due and has not been decided yet", "pending"
    advice = "See that a ticker runs: tickwise serve, or tickwise ticker."
    if next_slot(state, slot - 1) != slot:
        listing = f"See when it runs: tickwise upcoming {state.name}."
        text, code, advice = "that is not a time of the schedule", "no_slot", listing
    elif slot > case.now:
        text, code, advice = "it is not due yet", "future", "Wait for it."
    elif slot <= state.first_seen:
        backfill = f"tickwise schedules backfill {state.name} --from {iso(slot)} --to {iso(slot + 1)}"
        text, code = "the schedule was not there yet", "before_it_was_added"
        advice = f"If it must run: {backfill}."
    elif case.everything:
        text, code, advice = "everything is paused", "paused_now", "Resume everything: tickwise resume."
    elif state.paused:
        resume = f"Resume the schedule: tickwise schedules resume {state.name}."
        text, code, advice = "the schedule is paused", "paused_now", resume
    elif state.deferral is not None:
        behind = f"It comes after the slot {iso(state.deferral.slot)}, which waits."
        return _told(state.name, slot, state.deferral.reason, state.deferral.detail, notes=(behind, *notes))
    return Explanation(state.name, to_datetime(slot), "none", code, text, advice, None, notes)


# Why a run happened.

_ASKED = {
    Trigger.MANUAL: ("by hand", "somebody asked for it{by}, at {at}", "Nothing to do."),
    Trigger.ENQUEUE: ("by code", "code enqueued it{by}, at {at}", "Nothing to do."),
    Trigger.RESTART: ("restart", "the restart schedule asked for it, for {at}", "Nothing to do."),
}


async def why_run(store: Store, run: RunRow) -> Explanation:
    """By its slot if that is still told, else by what made it."""
    if run.schedule is not None and run.slot is not None and await store.insights.schedule(run.schedule):
        return await why(store, run.schedule, run.slot)
    label, text, advice = _ASKED.get(run.trigger, (str(run.trigger), Reason.ON_TIME.text, "Nothing to do."))
    by = f" ({run.by})" if run.by else ""
    waiting = tuple([reason async for reason in waits(store, run)])
    told = text.format(by=by, at=iso(run.created_at // MICRO))
    links = (
        ReasonStep("asked", sentence(told), "yes"),
        *of_run(run, waiting),
        ReasonStep("what to do", advice, "do"),
    )
    return Explanation(
        run.schedule or run.job, instant(run.slot), "fired", label.replace(" ", "_"), told, advice, run.id,
        (f"Run {run.id} is {run.state}.", *waiting), links,
    )  # fmt: skip
