"""Marks on slots to come that a person does not want (S66)."""

from operator import attrgetter

from .errors import ConflictError, InputError
from .model import Schedule, SlotSkip
from .slots import next_slot, previous_slot
from .timeparse import iso

_MAX_MARKS = 1_000  # of one schedule


def mark_skip(schedule: Schedule, mark: SlotSkip, now: int) -> Schedule:
    """The schedule with one slot more that is not to run; refused unless it is a slot to come."""
    slot = mark.slot
    if schedule.skip_of(slot):
        return schedule
    if next_slot(schedule, slot - 1) != slot:
        near = [iso(t) for t in (previous_slot(schedule, slot), next_slot(schedule, slot)) if t is not None]
        raise InputError(f"{iso(slot)} is none of its times; nearest: {' and '.join(near) or 'none'}")
    if slot <= max(schedule.cursor, now):
        raise InputError(f"the slot {iso(slot)} has come already: only one to come can be skipped")
    if len(schedule.skips) >= _MAX_MARKS:
        raise ConflictError(f"{len(schedule.skips)} slots are to be skipped: pause the schedule instead")
    return schedule._replace(skips=tuple(sorted((*schedule.skips, mark), key=attrgetter("slot"))))


def unmark_skip(schedule: Schedule, slot: int) -> Schedule:
    """The schedule with a marked slot running after all."""
    if schedule.skip_of(slot) is None:
        marked = ", ".join(iso(mark.slot) for mark in schedule.skips[:5])
        raise ConflictError(f"the slot {iso(slot)} is not to be skipped; marked: {marked or 'none'}")
    return schedule._replace(skips=tuple(mark for mark in schedule.skips if mark.slot != slot))


def without_lost_skips(schedule: Schedule) -> Schedule:
    """The schedule without marks on seconds that are no slots any more."""
    still = tuple(mark for mark in schedule.skips if next_slot(schedule, mark.slot - 1) == mark.slot)
    return schedule._replace(skips=still)
