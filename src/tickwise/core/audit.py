"""Check a schedule's history: every slot has exactly one run or one reason, in order, and nothing else is there.

A history is given as spans. In a span, the slots are the seconds of `(after, until]` that its times name. Then:

- A run decides one slot. If the times do not name its slot, a person moved it there, or it is extra.
- A decision covers a range of slots and has a count. Overlapping decisions form one block, of which
  only the sum is certain: its counts and runs must decide as many slots as it has, and no more.
- Between the blocks every slot must have a run.

Two things may follow a decision without contradicting it: a backfill, and the catch-up of a slot that was
recorded as missed and re-opened (S25, S32). A decision to wait, or a note, is not final, so it does not count.

The check reports only what the rows prove. It trusts instants as far as they agree with the order in which
the runs were made. Where they do not, a clock was set back, and the check says nothing about order or overlap.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from .cron import Recurrence
from .events import EventSlots
from .model import Decision, Trigger
from .reasons import Reason
from .states import FINAL, RunState
from .timeparse import iso

LONGEST_SLEEP = 60  # seconds that a schedule with a pending slot may not be looked at (S15)
_slot = attrgetter("slot")


class Fault(StrEnum):
    """What can be wrong with a history."""

    MISSED = "missed"  # a slot that was passed without a run or a reason
    EXTRA = "extra"  # a run or a reason for a second that is no slot
    DOUBLED = "doubled"  # two runs of one slot, or a run and a reason why there is none
    OUT_OF_ORDER = "out_of_order"  # a slot that ran after a later one
    UNEXPLAINED = "unexplained"  # a state that its row does not explain, or a slot that waits for nothing
    OVERLAP = "overlap"  # more runs of a job at once than it allows
    FENCING = "fencing"  # an attempt without a recorded end, although another followed


class AuditFinding(NamedTuple):
    """One thing that is wrong, where, and what to do about it."""

    kind: Fault
    schedule: str
    slot: int | None
    text: str
    repair: str


class DefinedSpan(NamedTuple):
    """The slots of (after, until] are those that these times name, and all of them are decided."""

    after: int
    until: int
    times: Recurrence | EventSlots

    def names(self, slot: int) -> bool:
        return self.times.after(slot - 1) == slot


class AuditedRun(NamedTuple):
    """A run; its instants are in microseconds."""

    id: str
    schedule: str
    slot: int
    trigger: Trigger
    state: RunState
    attempt: int
    made_at: int
    due_at: int = 0  # moved by a retry
    started_at: int | None = None
    finished_at: int | None = None
    lease_until: int | None = None
    expires_at: int | None = None
    failures: int = 0
    ended: frozenset[int] = frozenset()  # attempts whose end is recorded: all but the last


@dataclass(frozen=True, slots=True)
class ScheduleHistory:
    """All that is recorded about a schedule."""

    schedule: str
    spans: tuple[DefinedSpan, ...]
    runs: tuple[AuditedRun, ...]  # in the order in which they were made
    decisions: tuple[Decision, ...] = ()
    moves: frozenset[int] | None = None  # where a person moved fires to; None: not known
    pending: int | None = None  # the oldest slot that is due and not decided, if it may be
    wake_at: int | None = None
    now: int = 0


class Checked(NamedTuple):
    """How much was matched, and what was wrong."""

    slots: int
    runs: int
    reasons: int
    findings: tuple[AuditFinding, ...]


def check(history: ScheduleHistory) -> Checked:
    """Match every slot of a schedule with its run or its reason."""
    final = sorted((d for d in history.decisions if d.is_final), key=lambda decision: decision.first)
    checks = [_SpanCheck(history, span, final) for span in history.spans]
    found = [*_asleep(history), *_doubled(history), *_out_of_order(history)]
    found += [finding for run in history.runs for finding in _unexplained(run)]
    found += [finding for check in checks for finding in check.findings()]
    return Checked(
        sum(span.times.count(span.after, span.until) for span in history.spans),
        sum(len(check.runs) for check in checks),
        sum(block.decided for check in checks for block in check.blocks),
        tuple(found),
    )


class _DecidedBlock(NamedTuple):
    """Overlapping decisions, as one."""

    first: int
    last: int
    decisions: tuple[Decision, ...]

    @property
    def decided(self) -> int:
        return sum(decision.count for decision in self.decisions)

    @property
    def edges(self) -> set[int]:
        """Slots that its decisions name, so they are certainly decided."""
        return {edge for one in self.decisions for edge in (one.first, one.last)}

    @property
    def reopens(self) -> bool:
        """Whether its slots may have been decided again (S25)."""
        return any(decision.reason is Reason.MISSED for decision in self.decisions)


def _decided_blocks(decisions: Iterable[Decision]) -> Iterator[_DecidedBlock]:
    """In the order of their slots."""
    block: _DecidedBlock | None = None
    for one in decisions:
        if block and one.first <= block.last:
            block = _DecidedBlock(block.first, max(block.last, one.last), (*block.decisions, one))
            continue
        if block:
            yield block
        block = _DecidedBlock(one.first, one.last, (one,))
    if block:
        yield block


class _SpanCheck:
    """A span of a schedule, with its runs and decisions. A block across its border is not counted."""

    def __init__(self, history: ScheduleHistory, span: DefinedSpan, decisions: Sequence[Decision]) -> None:
        self.history, self.span = history, span
        within = [one for one in decisions if one.last > span.after and one.first <= span.until]
        self.blocks = list(_decided_blocks(within))
        self.runs = sorted((r for r in history.runs if span.after < r.slot <= span.until), key=_slot)

    def findings(self) -> Iterator[AuditFinding]:
        yield from self._extra()
        end = self.span.after
        for block in self.blocks:
            yield from self._missed(end, block.first - 1)
            if self.span.after < block.first and block.last <= self.span.until:
                yield from self._check_block(block)
            end = max(end, block.last)
        yield from self._missed(end, self.span.until)

    def _runs_of(self, first: int, last: int) -> list[AuditedRun]:
        """Runs of the slots from `first` to `last`, without those that a person backfilled later."""
        runs = self.runs[bisect_left(self.runs, first, key=_slot) : bisect_left(self.runs, last + 1, key=_slot)]
        return [run for run in runs if run.trigger is not Trigger.BACKFILL]

    def _missed(self, after: int, until: int) -> Iterator[AuditFinding]:
        """Slots outside of blocks that have no run."""
        times = self.span.times
        for before, behind in pairwise([after, *(run.slot for run in self._runs_of(after + 1, until)), until + 1]):
            first = times.after(before)
            if first is not None and first < behind:
                last, count = times.before(behind) or first, times.count(before, behind - 1)
                yield self._passed(first, last, f"{_slots(count, first, last)} passed without a run or a reason")

    def _check_block(self, block: _DecidedBlock) -> Iterator[AuditFinding]:
        """Its counts and runs decide as many slots as it has, and no more."""
        again = Trigger.CATCHUP if block.reopens else None
        ran = {run.slot for run in self._runs_of(block.first, block.last) if run.trigger is not again}
        slots = self.span.times.count(block.first - 1, block.last) + self._unnamed(ran, block)
        decided, these = block.decided + len(ran), _slots(slots, block.first, block.last)
        if decided < slots:
            text = f"{slots - decided} of {these} passed without a run or a reason"
            yield self._passed(block.first, block.last, text)
        more = decided > slots + self._moved(ran, block) and not (block.reopens and len(block.decisions) > 1)
        both = min(ran & block.edges, default=block.first if more and ran else None)
        name = self.history.schedule
        if both is not None:
            text = f"{iso(both)} has a run and also a reason why there is none: {block.decisions[0].reason.code}"
            yield AuditFinding(Fault.DOUBLED, name, both, text, _why(name, both))
        elif more:
            text = f"{decided} decisions on {these}"
            yield AuditFinding(Fault.EXTRA, name, block.first, text, _why(name, block.first))

    def _moved(self, ran: AbstractSet[int], block: _DecidedBlock) -> int:
        """How many moved fires its counts may include: if the moves are not known, one per decision."""
        if self.history.moves is None:
            return self._unnamed(block.edges - ran, block) + len(block.decisions)
        return self._unnamed(self.history.moves - ran, block)

    def _passed(self, first: int, last: int, text: str) -> AuditFinding:
        name = self.history.schedule
        repair = f"tickwise schedules backfill {name} --from {iso(first)} --to {iso(last + 1)}"
        return AuditFinding(Fault.MISSED, name, first, text, repair)

    def _unnamed(self, slots: Iterable[int], block: _DecidedBlock) -> int:
        """How many of these slots lie in the block although the times do not name them: a person moved them."""
        return sum(block.first <= slot <= block.last and not self.span.names(slot) for slot in slots)

    def _extra(self) -> Iterator[AuditFinding]:
        for run in self.runs:
            if not self._is_meant(run):
                text = f"run {run.id} is for {iso(run.slot)}, which is none of its times"
                yield AuditFinding(
                    Fault.EXTRA, self.history.schedule, run.slot, text, f"tickwise runs show {run.id}"
                )

    def _is_meant(self, run: AuditedRun) -> bool:
        """A backfill may use the times of a later definition; any other run may have been moved by a person."""
        if run.trigger is Trigger.BACKFILL:
            return any(span.names(run.slot) for span in self.history.spans)
        moves = self.history.moves
        return moves is None or run.slot in moves or self.span.names(run.slot)


def _asleep(history: ScheduleHistory) -> Iterator[AuditFinding]:
    """A slot is pending, and no pass will look at it within a minute (S15)."""
    wake_at, slot = history.wake_at, history.pending
    if slot is not None and (wake_at is None or wake_at > history.now + LONGEST_SLEEP):
        until = "for ever" if wake_at is None else f"until {iso(wake_at)}"
        text, repair = f"{iso(slot)} is pending, but sleeps {until}", _why(history.schedule, slot)
        yield AuditFinding(Fault.UNEXPLAINED, history.schedule, slot, text, repair)


def _doubled(history: ScheduleHistory) -> Iterator[AuditFinding]:
    """Two runs of one slot (S1)."""
    for slot, number in Counter(run.slot for run in history.runs).items():
        if number > 1:
            text = (
                f"{iso(slot)} has {number} runs: {', '.join(run.id for run in history.runs if run.slot == slot)}"
            )
            yield AuditFinding(Fault.DOUBLED, history.schedule, slot, text, _why(history.schedule, slot))


def _out_of_order(history: ScheduleHistory) -> Iterator[AuditFinding]:
    """A slot that was begun after a later one (S12), unless it was re-opened."""
    missed = [decision for decision in history.decisions if decision.reason is Reason.MISSED]
    newest: AuditedRun | None = None
    for run in history.runs:
        if run.trigger is Trigger.BACKFILL or not any(s.after < run.slot <= s.until for s in history.spans):
            continue
        later = newest is not None and run.slot < newest.slot and run.made_at > newest.made_at
        if newest and later and not any(one.first <= run.slot <= one.last for one in missed):
            text = f"{iso(run.slot)} became run {run.id} after the later slot {iso(newest.slot)} had become one"
            yield AuditFinding(
                Fault.OUT_OF_ORDER, history.schedule, run.slot, text, _why(history.schedule, run.slot)
            )
        newest = run if newest is None or run.slot > newest.slot else newest


_CAUSES: dict[RunState, tuple[Callable[[AuditedRun], bool], str]] = {
    RunState.QUEUED: (lambda run: run.lease_until is None, "a worker holds its lease"),
    RunState.RUNNING: (lambda run: run.attempt > 0 and run.lease_until is not None, "no worker holds its lease"),
    RunState.SUCCEEDED: (lambda run: run.attempt > 0 and run.started_at is not None, "it never started"),
    RunState.FAILED: (lambda run: run.failures > 0, "no attempt of it has failed"),
    RunState.LOST: (lambda run: run.attempt > 0, "it never started"),
    RunState.EXPIRED: (lambda run: run.expires_at is not None, "it has no limit for waiting"),
}


def _unexplained(run: AuditedRun) -> Iterator[AuditFinding]:
    """A state that the row does not explain, and attempts that did not end before the next began (S41, S42)."""
    repair, state = f"tickwise runs show {run.id}", f"run {run.id} is {run.state}, but "
    is_so, otherwise = _CAUSES.get(run.state, (None, ""))
    if is_so and not is_so(run):
        yield AuditFinding(Fault.UNEXPLAINED, run.schedule, run.slot, state + otherwise, repair)
    if (run.finished_at is not None) is not (run.state in FINAL):
        ended = "it has no end" if run.finished_at is None else "it has ended"
        yield AuditFinding(Fault.UNEXPLAINED, run.schedule, run.slot, state + ended, repair)
    unended = set(range(1, run.attempt)) - run.ended
    if unended:
        text = f"attempt {min(unended)} of run {run.id} was followed by another, but its end is not recorded"
        yield AuditFinding(Fault.FENCING, run.schedule, run.slot, text, repair)


def overlapping(runs: Sequence[AuditedRun], most: int) -> Iterator[AuditFinding]:
    """Where a job had more runs at once than it allows: its slots' runs, in the order in which they were made."""
    if any(later.made_at < earlier.made_at for earlier, later in pairwise(runs)):
        return
    active: list[AuditedRun] = []
    lasting = [run for run in runs if run.finished_at is None or run.finished_at > _active_since(run)]
    for run in sorted(lasting, key=_active_since):
        since = _active_since(run)
        active = [one for one in active if one.finished_at is None or one.finished_at > since] + [run]
        if len(active) > most:
            ids = ", ".join(one.id for one in active)
            text = f"runs {ids} were active at once, and {most} may be"
            yield AuditFinding(Fault.OVERLAP, run.schedule, run.slot, text, f"tickwise runs cancel {run.id}")


def _active_since(run: AuditedRun) -> int:
    """From here on it certainly had its lane: before, it may have ended and been put back."""
    return max(run.made_at, run.due_at)


def _slots(count: int, first: int, last: int) -> str:
    return f"the slot {iso(first)}" if count == 1 else f"{count} slots from {iso(first)} to {iso(last)}"


def _why(schedule: str, slot: int) -> str:
    return f"tickwise why {schedule} --slot {iso(slot)}"
