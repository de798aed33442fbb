"""Why did it run, or not? The answer for one slot of one schedule, from what the store has kept."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime

from ..core.errors import InputError, nearest
from ..core.instant import iso, to_datetime
from ..core.model import Schedule, Trigger
from ..core.reasons import Reason, Verdict
from ..core.slots import next_slot, previous_slot
from ..core.states import RunState
from ..stores.contract import Store
from ..stores.paging import every
from ..stores.records import MICRO, DecisionFilter, DecisionRow, Node, QueueLimit, RunFilter, RunRow, ScheduleRow

_RAN = {Trigger.SCHEDULE: Reason.ON_TIME, Trigger.CATCHUP: Reason.CATCH_UP, Trigger.BACKFILL: Reason.BACKFILL}
_CURSOR_AHEAD = 60  # seconds that a cursor may be ahead of now (S4)


@dataclass(frozen=True, slots=True)
class Answer:
    """What happened to a slot, why, and what can be done about it."""

    schedule: str
    slot: datetime | None
    verdict: str
    reason: str
    text: str
    advice: str
    run: str | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        when = "" if self.slot is None else f" at {self.slot:%Y-%m-%d %H:%M:%S} UTC"
        lines = [f"{self.schedule}{when}: {self.verdict}", f"  {self.text}", f"  {self.advice}"]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


async def schedule_row(store: Store, name: str) -> ScheduleRow:
    row = await store.insights.schedule(name)
    if row is None:
        known = await every(lambda after: store.insights.schedules(after=after, limit=1_000))
        raise InputError(f"there is no schedule {name!r}{nearest(name, [r.schedule.name for r in known])}")
    return row


async def why(store: Store, name: str, slot: int | None = None) -> Answer:
    """The answer for a slot; without one, for the newest that is due."""
    row = await schedule_row(store, name)
    now, state = await store.now() // MICRO, row.schedule
    pauses = [pause for pause in await store.insights.pauses() if pause.until is None]
    stop = f"Everything is paused since {iso(pauses[0].at)}{_by(pauses[0].by)}." if pauses else ""
    notes = tuple(_notes(row, now, stop))
    chosen = slot if slot is not None else previous_slot(state, now + 1)
    if chosen is None:
        return _nothing_yet(state, notes)
    runs = (await store.insights.runs(RunFilter(schedule=name, slot=chosen), limit=1)).items
    if runs:
        return await _of_run(store, state, runs[0], notes)
    decided = (await store.insights.decisions(DecisionFilter(schedule=name, slot=chosen), limit=10)).items
    if decided:
        return _of_decisions(name, chosen, decided, notes)
    if slot is None and chosen <= state.first_seen:
        return _nothing_yet(state, notes)
    return _undecided(state, chosen, now, notes, everything_rests=bool(stop))


def _by(whom: str) -> str:
    return f" by {whom}" if whom else ""


def _told(
    name: str, slot: int, reason: Reason, detail: str = "", run: str | None = None, notes: tuple[str, ...] = ()
) -> Answer:
    verdict, text = str(reason.verdict), reason.explain(detail)
    return Answer(name, to_datetime(slot), verdict, reason.code, text, reason.advice, run, notes)


def _of_decisions(name: str, slot: int, decided: tuple[DecisionRow, ...], notes: tuple[str, ...]) -> Answer:
    """What was decided for good, or else what the slot waits for."""
    one = next((row for row in decided if row.reason.verdict is not Verdict.DEFERRED), decided[0])
    of_many = f"It is one of {one.count} slots from {iso(one.first)} to {iso(one.last)}."
    return _told(name, slot, one.reason, one.detail, notes=((of_many,) if one.count > 1 else ()) + notes)


async def _of_run(store: Store, state: Schedule, run: RunRow, notes: tuple[str, ...]) -> Answer:
    reason = _RAN.get(run.trigger, Reason.ON_TIME)
    said = [f"Run {run.id} is {run.state}{_how(run)}."]
    if run.error:
        said.append(f"It said: {run.error.strip().splitlines()[-1][:200]}")
    said += [text async for text in waits(store, run)]
    return _told(state.name, run.slot or 0, reason, run=run.id, notes=(*said, *notes))


def _how(run: RunRow) -> str:
    if run.started_at is None:
        return ""
    late = max(0, run.started_at - run.due_at) / MICRO
    took = "" if run.finished_at is None else f", took {(run.finished_at - run.started_at) / MICRO:.1f} s"
    return f" (attempt {run.attempt}, started {late:.1f} s after it was due{took})"


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


def _notes(row: ScheduleRow, now: int, everything_rests: str) -> Iterator[str]:
    state = row.schedule
    if everything_rests:
        yield everything_rests
    if state.paused:
        yield f"It is paused since {iso(state.paused.at)}{_by(state.paused.by)}."
    if state.cursor > now + _CURSOR_AHEAD:
        yield f"Its cursor is ahead of the clock ({iso(state.cursor)}): reset the schedule to repair that."
    if row.next_slot is not None:
        yield f"Next: {iso(row.next_slot)}."
    elif not (state.paused or everything_rests):
        yield "It has no further times."


def _nothing_yet(state: Schedule, notes: tuple[str, ...]) -> Answer:
    return Answer(
        state.name, None, "none", "not_due", "no slot of it has been due since it was added", "Wait for the next.",
        None, notes,
    )  # fmt: skip


def _undecided(state: Schedule, slot: int, now: int, notes: tuple[str, ...], *, everything_rests: bool) -> Answer:
    """A slot without a run or a record."""
    text, code = "it is due and has not been decided yet", "pending"
    advice = "See that a ticker runs: tickwise serve, or tickwise ticker."
    if slot > now:
        text, code, advice = "it is not due yet", "future", "Wait for it."
    elif slot <= state.first_seen:
        text, code, advice = "the schedule was not there yet", "before_it_was_added", "Backfill it if it must run."
    elif next_slot(state, slot - 1) != slot:
        text, code, advice = "that is not a time of the schedule", "no_slot", "See `tickwise upcoming`."
    elif everything_rests:
        text, code, advice = "everything is paused", "paused_now", "Resume everything: tickwise resume."
    elif state.paused:
        text, code, advice = "the schedule is paused", "paused_now", "Resume the schedule."
    return Answer(state.name, to_datetime(slot), "none", code, text, advice, None, notes)
