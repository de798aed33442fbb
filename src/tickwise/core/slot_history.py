"""What became of the slots of a schedule: each has exactly one state, whatever the store recorded about it.

A slot is told by, in this order: its run; that it is pending again (S25); its newest final decision; what the
schedule's cursor says (it is due and not decided, or to come). A decision covers a range of slots in a row. If the
schedule's times still name as many seconds there as the decision counted, these are its slots. Else only their
number is known, and they are told as one record, at the last of them.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from .blackout import window_at
from .blackout_slots import waits_for_window
from .model import Decision, Schedule, Trigger
from .reasons import Reason, Verdict
from .slots import count_slots, due_at, due_until, previous_slot, recorded_times
from .states import RunState

_FAR = 1 << 40  # after all that is asked for
AGAIN = frozenset({Trigger.BACKFILL, Trigger.CATCHUP})  # what may make a run of a slot that was decided before


class SlotState(StrEnum):
    """What became of a slot."""

    RAN = "ran"
    RAN_AFTER_RETRIES = "ran_after_retries"
    FAILED = "failed"
    SKIPPED = "skipped"  # no run, or one that did not do its work; with a reason
    RUNNING = "running"
    WAITING = "waiting"  # due; not decided, or its run is queued
    TO_COME = "to_come"


class SlotRun(NamedTuple):
    """The run of a slot, in short; its instants are in microseconds."""

    slot: int
    run: str
    state: RunState
    attempt: int
    due_at: int
    started_at: int | None = None
    finished_at: int | None = None
    error: str = ""  # its beginning


class SlotRecord(NamedTuple):
    """What became of a slot; or of several that only their last one can stand for."""

    slot: int
    state: SlotState
    reason: str | None = None  # a code
    detail: str = ""  # of a decision
    run: SlotRun | None = None
    slots: int = 1


class RunCount(NamedTuple):
    """How many slots of a bin have runs of one kind."""

    bin: int
    state: RunState
    retried: bool  # they succeeded, after another attempt
    runs: int


class Bins(NamedTuple):
    """Stretches of `step` seconds each, from `since` on."""

    since: int
    step: int
    number: int

    @property
    def until(self) -> int:
        return self.since + self.step * self.number

    def of(self, slot: int) -> int:
        return (slot - self.since) // self.step

    def pieces(self, after: int, until: int) -> Iterator[tuple[int, int, int]]:
        """The part of `(after, until]` that lies in each bin, as such an interval."""
        after, until = max(after, self.since - 1), min(until, self.until - 1)
        while after < until:
            place = self.of(after + 1)
            end = min(until, self.since + (place + 1) * self.step - 1)
            yield place, after, end
            after = end


_OF_RUNS: Mapping[RunState, tuple[SlotState, str | None]] = {
    RunState.QUEUED: (SlotState.WAITING, "queued"),
    RunState.RUNNING: (SlotState.RUNNING, None),
    RunState.SUCCEEDED: (SlotState.RAN, None),
    RunState.FAILED: (SlotState.FAILED, "failed"),
    RunState.LOST: (SlotState.FAILED, "lost"),
    RunState.SKIPPED: (SlotState.SKIPPED, "precondition"),
    RunState.CANCELLED: (SlotState.SKIPPED, "cancelled"),
    RunState.EXPIRED: (SlotState.SKIPPED, "expired"),
}


def state_of_run(state: RunState, *, retried: bool) -> tuple[SlotState, str | None]:
    """The state of a slot whose run is in a state, and its reason."""
    if state is RunState.SUCCEEDED and retried:
        return SlotState.RAN_AFTER_RETRIES, None
    return _OF_RUNS[state]


def state_of_decision(decision: Decision) -> SlotState:
    """A stop slot that asked a run to end has done its work (S21)."""
    return SlotState.RAN if decision.reason.verdict is Verdict.FIRED else SlotState.SKIPPED


class _DecidedRange(NamedTuple):
    """The slots of `(after, until]` that a decision is about: all of its slots, or what later ones left."""

    decision: Decision
    after: int
    until: int


class SlotLedger:
    """The slots of one schedule, from what is recorded about them.

    `decisions` are in the order in which they were made; those that are not final do not count. `paused`: no
    slot is decided, because the schedule or everything is paused. Without `readable`, only what is recorded can
    be told.
    """

    def __init__(
        self, schedule: Schedule, decisions: Iterable[Decision], now: int, *, paused: bool, readable: bool = True
    ) -> None:
        self._schedule = schedule
        self._times = recorded_times(schedule)
        self._paused, self._readable = paused, readable
        self._window = window_at(schedule.blackouts, now)
        self._ranges = self._uncovered([decision for decision in decisions if decision.is_final])
        now = due_until(schedule, now)
        newest = previous_slot(schedule, now + 1)
        is_early = newest is not None and due_at(schedule, newest) > now  # by its jitter (S36)
        self._due_until = newest - 1 if is_early and newest is not None else now

    def newest(self, runs: Sequence[SlotRun], since: int, before: int, limit: int) -> list[SlotRecord]:
        """At most so many records of the slots in `[since, before)`, the newest first.

        `runs` are at least the newest so many of these slots.
        """
        own = {run.slot: _run_record(run) for run in runs if since <= run.slot < before}
        taken = sorted(own)
        found: dict[int, SlotRecord] = {}
        summed: list[SlotRecord] = []
        for each in self._ranges:
            state, reason, detail = (
                state_of_decision(each.decision),
                each.decision.reason.code,
                each.decision.detail,
            )
            if self._is_exact(each.decision):
                for slot in islice(self._walk_back(each, before), limit + len(own)):
                    if slot >= since:
                        found[slot] = SlotRecord(slot, state, reason, detail)
            elif since <= each.until < before and (number := self._count(each, each.after, each.until, taken)):
                summed.append(SlotRecord(each.until, state, reason, detail, slots=number))
        found |= {record.slot: record for record in self._undecided(since, before, limit + len(own))}
        records = [*(found | own).values(), *summed]
        return sorted(records, key=lambda record: (record.slot, record.slots), reverse=True)[:limit]

    def binned(
        self, bins: Bins, runs: Iterable[RunCount], again: Collection[int]
    ) -> dict[int, Counter[tuple[SlotState, str | None]]]:
        """How many slots of each bin have which state and reason; `again` are slots with a run made by `AGAIN`."""
        found: dict[int, Counter[tuple[SlotState, str | None]]] = defaultdict(Counter)

        def add(place: int, state: SlotState, reason: str | None, number: int) -> None:
            if number:
                found[place][state, reason] += number

        for each in runs:
            add(each.bin, *state_of_run(each.state, retried=each.retried), each.runs)
        told_otherwise = sorted({*again, *self._reopened})
        for decided in self._ranges:
            state, reason = state_of_decision(decided.decision), decided.decision.reason.code
            for place, after, until in bins.pieces(decided.after, decided.until):
                add(place, state, reason, self._count(decided, after, until, told_otherwise))
        for slot in {*self._reopened} - {*again}:
            if bins.since <= slot < bins.until:
                add(bins.of(slot), SlotState.WAITING, self._waits(slot), 1)
        for after, until, state in self._open:
            for place, start, end in bins.pieces(after, until):
                add(place, state, self._reason(state, start + 1), count_slots(self._schedule, start, end))
        return found

    def _uncovered(self, decisions: Sequence[Decision]) -> list[_DecidedRange]:
        """The range of each decision, without slots that a later one has decided again."""
        found: list[_DecidedRange] = []
        for block in _overlapping(decisions):
            ranges: list[_DecidedRange] = []
            for decision in block:
                own = _DecidedRange(decision, decision.first - 1, decision.last)
                if len(block) > 1 and self._is_exact(decision):
                    ranges = [part for known in ranges for part in self._without(known, own)]
                ranges.append(own)
            found += ranges
        return found

    def _without(self, known: _DecidedRange, later: _DecidedRange) -> Iterator[_DecidedRange]:
        """What is left of a range. If the slots of a decision are not known, others may lie between them."""
        if known.until <= later.after or known.after >= later.until or not self._is_exact(known.decision):
            yield known
            return
        if known.after < later.after:
            yield known._replace(until=later.after)
        if known.until > later.until:
            yield known._replace(after=later.until)

    @property
    def _reopened(self) -> tuple[int, ...]:
        return self._schedule.reopened if self._readable else ()

    @property
    def _open(self) -> Iterator[tuple[int, int, SlotState]]:
        """The intervals `(after, until]` that are not decided: what is due, and what is to come."""
        if self._readable:
            cursor = self._schedule.cursor
            yield cursor, self._due_until, SlotState.WAITING
            yield max(cursor, self._due_until), _FAR, SlotState.TO_COME

    def _undecided(self, since: int, before: int, limit: int) -> Iterator[SlotRecord]:
        for slot in self._reopened:
            if since <= slot < before:
                yield SlotRecord(slot, SlotState.WAITING, self._waits(slot), self._detail(slot))
        for after, until, state in self._open:
            back = self._slots_back(min(until + 1, before), max(after + 1, since))
            for slot in islice(back, limit):
                yield SlotRecord(slot, state, self._reason(state, slot), self._detail(slot))

    def _reason(self, state: SlotState, slot: int) -> str | None:
        if state is SlotState.TO_COME:
            if self._schedule.skip_of(slot):
                return Reason.SKIPPED_BY_HAND.code
            if window_at(self._schedule.blackouts, slot) and not waits_for_window(self._schedule):
                return Reason.BLACKOUT.code
            resumes_at = self._schedule.resumes_at
            return "paused" if self._paused and (resumes_at is None or slot <= resumes_at) else None
        return self._waits(slot)

    def _detail(self, slot: int) -> str:
        """The blackout into which a slot falls, or that it waits for."""
        window = window_at(self._schedule.blackouts, slot) or (self._window if slot <= self._due_until else None)
        return window.detail if window else ""

    def _waits(self, slot: int) -> str:
        """Why a slot that is due has not been decided."""
        deferral = self._schedule.deferral
        if self._paused:
            return "paused"
        if self._window:
            return Reason.BLACKOUT.code
        return deferral.reason.code if deferral and slot >= deferral.slot else "not_decided"

    def _is_exact(self, decision: Decision) -> bool:
        """Whether its slots can be named."""
        if decision.first == decision.last:
            return True
        return self._readable and self._times.count(decision.first - 1, decision.last) == decision.count

    def _count(self, each: _DecidedRange, after: int, until: int, but: Sequence[int]) -> int:
        """How many slots of a range lie in `(after, until]` as well, without some, given in order."""
        decision, after, until = each.decision, max(after, each.after), min(until, each.until)
        others = but[bisect_right(but, after) : bisect_right(but, until)]
        if (after, until) == (decision.first - 1, decision.last) and not others:
            return decision.count
        if self._is_exact(decision):
            named = sum(self._times.after(slot - 1) == slot for slot in others)
            return self._times.count(after, until) - named
        told = bisect_right(but, each.until) - bisect_right(but, each.after)
        return max(0, decision.count - told) if until == decision.last else 0

    def _slots_back(self, before: int, first: int) -> Iterator[int]:
        """The slots of the schedule as it stands in `[first, before)`, the newest first."""
        slot = previous_slot(self._schedule, before)
        while slot is not None and slot >= first:
            yield slot
            slot = previous_slot(self._schedule, slot)

    def _walk_back(self, each: _DecidedRange, before: int) -> Iterator[int]:
        """The slots of a decision before an instant, the newest first."""
        if each.decision.first == each.decision.last:
            yield from [each.until][: each.after < each.until < before]
            return
        slot = self._times.before(min(each.until + 1, before))
        while slot is not None and slot > each.after:
            yield slot
            slot = self._times.before(slot)


def _run_record(run: SlotRun) -> SlotRecord:
    state, reason = state_of_run(run.state, retried=run.attempt > 1)
    return SlotRecord(run.slot, state, reason, run=run)


def _overlapping(decisions: Sequence[Decision]) -> Iterator[list[Decision]]:
    """Blocks of decisions whose ranges overlap, each in the order given."""
    placed = sorted(enumerate(decisions), key=lambda item: item[1].first)
    block, until = list[tuple[int, Decision]](), 0
    for item in placed:
        if block and item[1].first > until:
            yield [decision for _, decision in sorted(block)]
            block = []
        until = max(until, item[1].last) if block else item[1].last
        block.append(item)
    if block:
        yield [decision for _, decision in sorted(block)]
