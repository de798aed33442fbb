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
from ..stores.records import MICRO, DecisionFilter, RunFilter, RunRow, ScheduleRow

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


async def why(store: Store, name: str, slot: int | None = None) -> Answer:
    """The answer for a slot; without one, for the newest that is due."""
    row = await store.insights.schedule(name)
    if row is None:
        known = [r.schedule.name for r in (await store.insights.schedules(limit=1_000)).items]
        raise InputError(f"there is no schedule {name!r}{nearest(name, known)}")
    now = await store.now() // MICRO
    state = row.schedule
    chosen = slot if slot is not None else _newest(state, now)
    notes = tuple(_notes(row, now))
    if chosen is None:
        return _nothing_yet(state, notes)
    run = (await store.insights.runs(RunFilter(schedule=name, slot=chosen), limit=1)).items
    if run:
        return await _of_run(store, state, run[0], notes)
    decided = (await store.insights.decisions(DecisionFilter(schedule=name, slot=chosen), limit=10)).items
    final = [d for d in decided if d.reason.verdict is not Verdict.DEFERRED] or list(decided)
    if final:
        one = final[0]
        more = (
            (f"It is one of {one.count} slots from {iso(one.first)} to {iso(one.last)}.",) if one.count > 1 else ()
        )
        return _told(name, chosen, one.reason, one.detail, notes=(*more, *notes))
    return _undecided(state, chosen, now, notes)


def _newest(state: Schedule, now: int) -> int | None:
    slot = previous_slot(state, now + 1)
    return slot if slot is not None and slot > state.first_seen else None


def _told(
    name: str, slot: int, reason: Reason, detail: str = "", run: str | None = None, notes: tuple[str, ...] = ()
) -> Answer:
    return Answer(
        name,
        to_datetime(slot),
        str(reason.verdict),
        reason.code,
        reason.explain(detail),
        reason.advice,
        run,
        notes,
    )


async def _of_run(store: Store, state: Schedule, run: RunRow, notes: tuple[str, ...]) -> Answer:
    reason = _RAN.get(run.trigger, Reason.ON_TIME)
    said = [f"Run {run.id} is {run.state}{_how(run)}."]
    if run.error:
        said.append(f"It said: {run.error.strip().splitlines()[-1][:200]}")
    if run.state is RunState.QUEUED:
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
    now = await store.now()
    if run.due_at > now:
        yield f"It may not start before {iso(run.due_at // MICRO)}."
    nodes = await store.insights.nodes()
    serving = [n for n in nodes if run.queue in n.queues and n.seen_at > now - n.seconds * MICRO]
    if not serving:
        yield f"No live worker serves the queue {run.queue}: start one (tickwise worker --queues {run.queue})."
    elif all(n.busy >= n.capacity for n in serving):
        yield f"All {len(serving)} workers of the queue {run.queue} are busy."
    for limit in await store.insights.limits():
        if limit.queue == run.queue:
            yield f"The queue {run.queue} is limited to {limit.concurrency or 'any number'} at once."


def _notes(row: ScheduleRow, now: int) -> Iterator[str]:
    state = row.schedule
    if state.paused:
        yield f"It is paused since {iso(state.paused.at)}{' by ' + state.paused.by if state.paused.by else ''}."
    if state.cursor > now + _CURSOR_AHEAD:
        yield f"Its cursor is ahead of the clock ({iso(state.cursor)}): reset the schedule to repair that."
    if row.next_slot is not None:
        yield f"Next: {iso(row.next_slot)}."
    elif not state.paused:
        yield "It has no further times."


def _nothing_yet(state: Schedule, notes: tuple[str, ...]) -> Answer:
    return Answer(
        state.name, None, "none", "not_due", "no slot of it has been due since it was added", "Wait for the next.",
        None, notes,
    )  # fmt: skip


def _undecided(state: Schedule, slot: int, now: int, notes: tuple[str, ...]) -> Answer:
    """A slot without a run or a record."""
    text, code = "it is due and has not been decided yet", "pending"
    advice = "See that a ticker runs: tickwise serve, or tickwise ticker."
    if slot > now:
        text, code, advice = "it is not due yet", "future", "Wait for it."
    elif state.paused:
        text, code, advice = "the schedule is paused", "paused_now", "Resume the schedule."
    elif slot <= state.first_seen:
        text, code, advice = "the schedule was not there yet", "before_it_was_added", "Backfill it if it must run."
    elif next_slot(state, slot - 1) != slot:
        text, code, advice = "that is not a time of the schedule", "no_slot", "See `tickwise upcoming`."
    return Answer(state.name, to_datetime(slot), "none", code, text, advice, None, notes)
