"""The slots of schedules as people see them: lists of one, and counts in bins of many."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..core.model import Decision
from ..core.reasons import Reason
from ..core.slot_history import Bins, SlotLedger, SlotRecord, SlotState
from ..core.timeparse import to_datetime
from ..stores.records import DecisionRow, PauseInterval, ScheduleRow
from ..stores.statistics import RecentSlots, SlotCounts
from .values import moment

LISTED_SLOTS = 30  # of each schedule in a list
_GOOD = (SlotState.RAN, SlotState.RAN_AFTER_RETRIES)
_DECIDED = (*_GOOD, SlotState.FAILED, SlotState.SKIPPED)
_TEXTS = {
    "failed": "its run failed",
    "lost": "the worker of its run vanished",
    "precondition": "a precondition of its run was not met",
    "cancelled": "its run was cancelled",
    "expired": "its run was queued for too long",
    "queued": "its run is queued",
    "paused": "no slot is decided during the pause",
    "not_decided": "it is due, and nothing has decided it yet",
}


@dataclass(frozen=True, slots=True)
class SlotMark:
    """What became of a slot, in short."""

    slot: datetime
    state: str
    reason: str | None
    run: str | None
    late: bool = False  # it missed a deadline (S65)

    @classmethod
    def of(cls, record: SlotRecord, *, late: bool) -> "SlotMark":
        run = record.run and record.run.run
        return cls(to_datetime(record.slot), str(record.state), record.reason, run, late)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotInfo:
    """What became of a slot."""

    slot: datetime
    state: str
    reason: str | None = None
    text: str = ""
    run: str | None = None
    due_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    attempt: int | None = None
    count: int = 1
    late: bool = False

    @classmethod
    def of(cls, record: SlotRecord, *, late: bool) -> "SlotInfo":
        run = record.run
        return cls(
            slot=to_datetime(record.slot), state=str(record.state), reason=record.reason, text=slot_text(record),
            count=record.slots, late=late,
            run=run and run.run, due_at=moment(run and run.due_at), started_at=moment(run and run.started_at),
            finished_at=moment(run and run.finished_at), attempt=run and run.attempt,
        )  # fmt: skip


def slot_text(record: SlotRecord) -> str:
    """Why a slot is as it is, in words."""
    if record.reason is None:
        return ""
    if record.state is SlotState.WAITING or record.run is not None:
        if known := _TEXTS.get(record.reason):
            return known
        reason = Reason.of(record.reason)
        return reason.explain(record.detail) if record.detail else reason.text.partition("{")[0].strip()
    is_told = record.state is SlotState.SKIPPED or record.detail
    return Reason.of(record.reason).explain(record.detail) if is_told else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ribbon:
    """The slots of a schedule, or of a group of them, in bins."""

    bins: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    totals: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)  # of the skipped ones

    @property
    def good(self) -> float | None:
        """The share of decided slots that ran."""
        decided = sum(self.totals[state] for state in _DECIDED)
        return sum(self.totals[state] for state in _GOOD) / decided if decided else None

    def add(self, place: int, state: SlotState, reason: str | None, number: int) -> None:
        self.bins[place][str(state)] += number
        self.totals[str(state)] += number
        if state is SlotState.SKIPPED and reason is not None:
            self.reasons[reason] += number


class SlotReader:
    """Turns what a store gives into slots; one for one look at it."""

    def __init__(self, now: int, pauses: Iterable[PauseInterval]) -> None:
        self.now = now  # in seconds
        self.everything_paused = any(pause.until is None for pause in pauses)

    def newest(
        self, row: ScheduleRow, recent: RecentSlots, since: int, before: int, limit: int
    ) -> list[SlotRecord]:
        """At most so many slots in `[since, before)`, the newest first."""
        return self._ledger(row, recent.decisions).newest(recent.runs, since, before, limit)

    def ribbon(self, row: ScheduleRow, counts: SlotCounts, bins: Bins) -> Ribbon:
        ribbon = Ribbon()
        drawn = self._ledger(row, counts.decisions).binned(bins, counts.runs, counts.again)
        for place in sorted(drawn):
            for (state, reason), number in drawn[place].items():
                ribbon.add(place, state, reason, number)
        return ribbon

    def _ledger(self, row: ScheduleRow, decisions: Sequence[DecisionRow]) -> SlotLedger:
        made = sorted(decisions, key=lambda each: (each.made_at, each.first))
        return SlotLedger(
            row.schedule,
            [Decision(row.schedule.name, each.reason, each.first, each.last, each.count, each.detail)
             for each in made],
            self.now, paused=self.everything_paused or row.schedule.paused is not None,
            readable=not row.unreadable,
        )  # fmt: skip
