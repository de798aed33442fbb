"""The slots of a time that has passed and have no run: which they are, and what may be asked of them (S32)."""

from collections.abc import Iterator
from dataclasses import dataclass

from .definition import Kind, Overlap
from .errors import ConflictError, InputError
from .model import Backfill, Schedule, ScheduleFacts
from .timeparse import iso


@dataclass(frozen=True, slots=True)
class BackfillAsked:
    """Slots of [start, end) without a run are to be enqueued (S32)."""

    start: int
    end: int
    overlap: Overlap = Overlap.QUEUE
    most: int = 1_000
    history_from: int | None = None  # before this, runs may have been removed (S51)
    again: bool = False  # go before it all the same


@dataclass(frozen=True, slots=True)
class BackfillCancelled:
    """What it has enqueued stays; the rest is not."""


def backfill_slots(schedule: Schedule, own: ScheduleFacts, start: int, end: int) -> Iterator[int]:
    """The slots of [start, end) that have no run, oldest first: what a dry run lists."""
    slot = schedule.definition.times.after(start - 1)
    while slot is not None and slot < end:
        if slot not in own.slots_with_run:
            yield slot
        slot = schedule.definition.times.after(slot)


def begin_backfill(schedule: Schedule, asked: BackfillAsked, now: int) -> Schedule:
    """The schedule with a backfill under way; refused if it cannot be."""
    if schedule.backfill:
        end = iso(schedule.backfill.end)
        raise ConflictError(f"{schedule.name} has a backfill under way, up to {end}: cancel it first")
    if schedule.in_shadow:
        raise ConflictError(f"{schedule.name} is in shadow: another scheduler starts it. Adopt it first")
    if not asked.start < asked.end <= now:
        between = f"from {iso(asked.start)} to {iso(asked.end)}"
        raise InputError(f"a backfill goes from one time to a later one that has passed, not {between}")
    if schedule.definition.kind is not Kind.START:
        raise InputError(f"{schedule.name} is a {schedule.definition.kind} schedule: it never catches up")
    if asked.overlap not in (Overlap.QUEUE, Overlap.ALLOW):
        raise InputError(f"a backfill waits (queue) or runs side by side (allow), but overlap is {asked.overlap}")
    if asked.history_from is not None and asked.start < asked.history_from and not asked.again:
        raise InputError(
            f"runs before {iso(asked.history_from)} may have been removed, so those slots could run twice: "
            "start later, or ask for them again"
        )
    return schedule._replace(backfill=Backfill(asked.start - 1, asked.end, asked.overlap, asked.most))
