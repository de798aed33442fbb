"""Slots as stores without SQL find them: each counts and cuts what it has read in the same way."""

from collections import Counter
from collections.abc import Iterable, Sequence

from ..core.model import Trigger
from ..core.slot_history import AGAIN, Bins, RunCount, SlotRun
from ..core.states import RunState
from .job_document import Document
from .records import DecisionRow
from .statistics import ERROR_LENGTH, RecentSlots, SlotCounts


def slot_run(run: Document) -> SlotRun:
    """The document of a run, in short."""
    return SlotRun(
        slot=run["slot"], run=str(run["_id"]), state=RunState(run["state"]), attempt=run["attempt"],
        due_at=run["due_at"], started_at=run.get("started_at"), finished_at=run.get("finished_at"),
        error=run.get("error", "")[:ERROR_LENGTH],
    )  # fmt: skip


def in_slot_order(rows: Iterable[DecisionRow]) -> list[DecisionRow]:
    """Decisions that are final, by their slots."""
    return sorted((row for row in rows if row.is_final), key=lambda row: (row.first, row.reason.code))


def recent_slots(
    runs: Sequence[SlotRun], decisions: Iterable[DecisionRow], limit: int, before: int
) -> RecentSlots:
    """The newest so many runs, and all decisions about slots that are as new as the newest so many of these."""
    rows = [row for row in in_slot_order(decisions) if row.first < before]
    oldest = rows[-limit].first if len(rows) > limit else None
    return RecentSlots(
        tuple([run for run in runs if run.slot < before][-limit:]),
        tuple(row for row in rows if oldest is None or row.first >= oldest),
    )


def slot_counts(
    runs: Iterable[tuple[SlotRun, Trigger]], decisions: Iterable[DecisionRow], bins: Bins
) -> SlotCounts:
    """What became of the slots of a schedule in bins; runs in order of their slots."""
    found, again = Counter[tuple[int, RunState, bool]](), []
    for run, trigger in runs:
        if bins.since <= run.slot < bins.until:
            retried = run.state is RunState.SUCCEEDED and run.attempt > 1
            found[bins.of(run.slot), run.state, retried] += 1
            if trigger in AGAIN:
                again.append(run.slot)
    rows = [row for row in in_slot_order(decisions) if row.first < bins.until and row.last >= bins.since]
    counts = tuple(RunCount(*kind, number) for kind, number in sorted(found.items()))
    return SlotCounts(counts, tuple(again) if rows else (), tuple(rows))
