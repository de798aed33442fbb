"""Whether a ledger is whole: every slot has one run or one reason, in order, and nothing else is there.

A schedule's history is given as spans: the slots of `(after, until]` are those that these times name. Within one,

- runs are points. A run for a slot that the times do not name was moved there by hand, or is extra;
- decisions are ranges with a count. Where they overlap, they form a patch, and only their sum is certain: of the
  slots in a patch, as many must have been decided as its runs and counts say, and no more;
- what lies between the patches must have runs, slot for slot.

Two things may come after a decision without contradicting it: a backfill, and the catch-up of a slot that was
recorded as missed and re-opened (S25, S32). Waiting is no end, so decisions that say it do not count.

Only what rows can prove is found. Instants are believed as far as they agree with the order in which runs were
made: where they do not, a clock was set back, and nothing is said about order or overlap.
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
from .model import Decision, Trigger
from .reasons import Reason
from .states import FINAL, RunState
from .timeparse import iso

LONGEST_SLEEP = 60  # seconds that a schedule with a pending slot may not be looked at (S15)
_slot = attrgetter("slot")


class Fault(StrEnum):
    """What can be wrong with a ledger."""

    MISSED = "missed"  # a slot that was passed without a run or a reason
    EXTRA = "extra"  # a run or a reason for what is no slot
    DOUBLED = "doubled"  # two runs of one slot, or a run and a reason why there is none
    OUT_OF_ORDER = "out_of_order"  # a slot that ran after a later one
    UNEXPLAINED = "unexplained"  # a state without what leads to it, or a slot that waits for nothing
    OVERLAP = "overlap"  # more runs of a job at once than it allows
    FENCING = "fencing"  # an attempt whose end nobody recorded, although another followed


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
    times: Recurrence

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
    due_at: int = 0  # moved by a retry, and by who puts it back
    started_at: int | None = None
    finished_at: int | None = None
    lease_until: int | None = None
    expires_at: int | None = None
    failures: int = 0
    ended: frozenset[int] = frozenset()  # attempts whose end is recorded: all but the last


@dataclass(frozen=True, slots=True)
class Ledger:
    """All that is recorded about a schedule."""

    schedule: str
    spans: tuple[DefinedSpan, ...]
    runs: tuple[AuditedRun, ...]  # in the order in which they were made
    decisions: tuple[Decision, ...] = ()
    moves: frozenset[int] | None = None  # where fires were moved to by hand; none: not known
    pending: int | None = None  # the oldest slot that is due and not decided, if it may be
    wake_at: int | None = None
    now: int = 0


class Checked(NamedTuple):
    """How much was matched, and what was wrong."""

    slots: int
    runs: int
    reasons: int
    findings: tuple[AuditFinding, ...]


def check(ledger: Ledger) -> Checked:
    """Match every slot of a schedule with its run or its reason."""
    told = sorted((d for d in ledger.decisions if not d.waits), key=lambda decision: decision.first)
    books = [_LedgerCheck(ledger, span, told) for span in ledger.spans]
    found = [*_asleep(ledger), *_doubled(ledger), *_out_of_order(ledger)]
    found += [finding for run in ledger.runs for finding in _unexplained(run)]
    found += [finding for book in books for finding in book.check()]
    return Checked(
        sum(span.times.count(span.after, span.until) for span in ledger.spans),
        sum(len(book.runs) for book in books),
        sum(patch.decided for book in books for patch in book.patches),
        tuple(found),
    )


class _Patch(NamedTuple):
    """Decisions that overlap, as one."""

    first: int
    last: int
    decisions: tuple[Decision, ...]

    @property
    def decided(self) -> int:
        return sum(decision.count for decision in self.decisions)

    @property
    def edges(self) -> set[int]:
        """Slots that certainly were decided by it."""
        return {edge for one in self.decisions for edge in (one.first, one.last)}

    @property
    def reopens(self) -> bool:
        """Whether its slots may have been decided again (S25)."""
        return any(decision.reason is Reason.MISSED for decision in self.decisions)


def _patches(decisions: Iterable[Decision]) -> Iterator[_Patch]:
    """In the order of their slots."""
    patch: _Patch | None = None
    for one in decisions:
        if patch and one.first <= patch.last:
            patch = _Patch(patch.first, max(patch.last, one.last), (*patch.decisions, one))
            continue
        if patch:
            yield patch
        patch = _Patch(one.first, one.last, (one,))
    if patch:
        yield patch


class _LedgerCheck:
    """A span of a schedule, with what is recorded in it. A patch across its border covers, and is not counted."""

    def __init__(self, ledger: Ledger, span: DefinedSpan, told: Sequence[Decision]) -> None:
        self.ledger, self.span = ledger, span
        within = [one for one in told if one.last > span.after and one.first <= span.until]
        self.patches = list(_patches(within))
        self.runs = sorted((r for r in ledger.runs if span.after < r.slot <= span.until), key=_slot)

    def check(self) -> Iterator[AuditFinding]:
        yield from self._extra()
        end = self.span.after
        for patch in self.patches:
            yield from self._missed(end, patch.first - 1)
            if self.span.after < patch.first and patch.last <= self.span.until:
                yield from self._check_patch(patch)
            end = max(end, patch.last)
        yield from self._missed(end, self.span.until)

    def _runs_of(self, first: int, last: int) -> list[AuditedRun]:
        """Of its slots from one to another, whatever a person asked for afterwards left out."""
        runs = self.runs[bisect_left(self.runs, first, key=_slot) : bisect_left(self.runs, last + 1, key=_slot)]
        return [run for run in runs if run.trigger is not Trigger.BACKFILL]

    def _missed(self, after: int, until: int) -> Iterator[AuditFinding]:
        """Slots between patches that have no run."""
        times = self.span.times
        for before, behind in pairwise([after, *(run.slot for run in self._runs_of(after + 1, until)), until + 1]):
            first = times.after(before)
            if first is not None and first < behind:
                last, count = times.before(behind) or first, times.count(before, behind - 1)
                yield self._passed(first, last, f"{_slots(count, first, last)} passed without a run or a reason")

    def _check_patch(self, patch: _Patch) -> Iterator[AuditFinding]:
        """As many slots as its counts and runs say, and no more."""
        again = Trigger.CATCHUP if patch.reopens else None
        ran = {run.slot for run in self._runs_of(patch.first, patch.last) if run.trigger is not again}
        slots = self.span.times.count(patch.first - 1, patch.last) + self._unnamed(ran, patch)
        decided, these = patch.decided + len(ran), _slots(slots, patch.first, patch.last)
        if decided < slots:
            text = f"{slots - decided} of {these} passed without a run or a reason"
            yield self._passed(patch.first, patch.last, text)
        more = decided > slots + self._moved(ran, patch) and not (patch.reopens and len(patch.decisions) > 1)
        both = min(ran & patch.edges, default=patch.first if more and ran else None)
        name = self.ledger.schedule
        if both is not None:
            text = f"{iso(both)} has a run and also a reason why there is none: {patch.decisions[0].reason.code}"
            yield AuditFinding(Fault.DOUBLED, name, both, text, _why(name, both))
        elif more:
            text = f"{decided} decisions on {these}"
            yield AuditFinding(Fault.EXTRA, name, patch.first, text, _why(name, patch.first))

    def _moved(self, ran: AbstractSet[int], patch: _Patch) -> int:
        """How many moved fires its counts may include; each may hold one that nobody knows of."""
        if self.ledger.moves is None:
            return self._unnamed(patch.edges - ran, patch) + len(patch.decisions)
        return self._unnamed(self.ledger.moves - ran, patch)

    def _passed(self, first: int, last: int, text: str) -> AuditFinding:
        name = self.ledger.schedule
        repair = f"tickwise schedules backfill {name} --from {iso(first)} --to {iso(last + 1)}"
        return AuditFinding(Fault.MISSED, name, first, text, repair)

    def _unnamed(self, slots: Iterable[int], patch: _Patch) -> int:
        """How many of these lie in it although the times do not name them: fires that were moved by hand."""
        return sum(patch.first <= slot <= patch.last and not self.span.names(slot) for slot in slots)

    def _extra(self) -> Iterator[AuditFinding]:
        for run in self.runs:
            if not self._is_meant(run):
                text = f"run {run.id} is for {iso(run.slot)}, which is none of its times"
                yield AuditFinding(
                    Fault.EXTRA, self.ledger.schedule, run.slot, text, f"tickwise runs show {run.id}"
                )

    def _is_meant(self, run: AuditedRun) -> bool:
        """A backfill goes by the times of a later day; any other run may have been moved by hand."""
        if run.trigger is Trigger.BACKFILL:
            return any(span.names(run.slot) for span in self.ledger.spans)
        moves = self.ledger.moves
        return moves is None or run.slot in moves or self.span.names(run.slot)


def _asleep(ledger: Ledger) -> Iterator[AuditFinding]:
    """A slot waits, and nobody will look at it within a minute (S15)."""
    wake_at, slot = ledger.wake_at, ledger.pending
    if slot is not None and (wake_at is None or wake_at > ledger.now + LONGEST_SLEEP):
        until = "for ever" if wake_at is None else f"until {iso(wake_at)}"
        text, repair = f"{iso(slot)} is pending, but sleeps {until}", _why(ledger.schedule, slot)
        yield AuditFinding(Fault.UNEXPLAINED, ledger.schedule, slot, text, repair)


def _doubled(ledger: Ledger) -> Iterator[AuditFinding]:
    """Two runs of one slot (S1)."""
    for slot, number in Counter(run.slot for run in ledger.runs).items():
        if number > 1:
            text = f"{iso(slot)} has {number} runs: {', '.join(run.id for run in ledger.runs if run.slot == slot)}"
            yield AuditFinding(Fault.DOUBLED, ledger.schedule, slot, text, _why(ledger.schedule, slot))


def _out_of_order(ledger: Ledger) -> Iterator[AuditFinding]:
    """A slot that was begun after a later one (S12), unless it was asked for again."""
    missed = [decision for decision in ledger.decisions if decision.reason is Reason.MISSED]
    newest: AuditedRun | None = None
    for run in ledger.runs:
        if run.trigger is Trigger.BACKFILL or not any(s.after < run.slot <= s.until for s in ledger.spans):
            continue
        later = newest is not None and run.slot < newest.slot and run.made_at > newest.made_at
        if newest and later and not any(one.first <= run.slot <= one.last for one in missed):
            text = f"{iso(run.slot)} became run {run.id} after the later slot {iso(newest.slot)} had become one"
            yield AuditFinding(
                Fault.OUT_OF_ORDER, ledger.schedule, run.slot, text, _why(ledger.schedule, run.slot)
            )
        newest = run if newest is None or run.slot > newest.slot else newest


_CAUSES: dict[RunState, tuple[Callable[[AuditedRun], bool], str]] = {
    RunState.QUEUED: (lambda run: run.lease_until is None, "somebody holds a lease of it"),
    RunState.RUNNING: (lambda run: run.attempt > 0 and run.lease_until is not None, "nobody holds a lease of it"),
    RunState.SUCCEEDED: (lambda run: run.attempt > 0 and run.started_at is not None, "it never started"),
    RunState.FAILED: (lambda run: run.failures > 0, "no attempt of it has failed"),
    RunState.LOST: (lambda run: run.attempt > 0, "it never started"),
    RunState.EXPIRED: (lambda run: run.expires_at is not None, "it may wait as long as it must"),
}


def _unexplained(run: AuditedRun) -> Iterator[AuditFinding]:
    """A state without what leads to it, and attempts that did not end before the next began (S41, S42)."""
    repair, told = f"tickwise runs show {run.id}", f"run {run.id} is {run.state}, but "
    is_so, otherwise = _CAUSES.get(run.state, (None, ""))
    if is_so and not is_so(run):
        yield AuditFinding(Fault.UNEXPLAINED, run.schedule, run.slot, told + otherwise, repair)
    if (run.finished_at is not None) is not (run.state in FINAL):
        ended = "it has no end" if run.finished_at is None else "it has ended"
        yield AuditFinding(Fault.UNEXPLAINED, run.schedule, run.slot, told + ended, repair)
    unended = set(range(1, run.attempt)) - run.ended
    if unended:
        text = f"attempt {min(unended)} of run {run.id} was followed by another, and nobody recorded its end"
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
