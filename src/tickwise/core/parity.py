"""Whether two schedulers agree: the slots of a schedule in shadow, beside the fires that were heard of the other.

A fire belongs to a slot that is at most `tolerance` seconds older, or `EARLY` seconds newer: the other scheduler
may start late, and two clocks differ a little. Of all such pairs the nearest are matched first, each slot and each
fire at most once.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from .catchup import DEFAULT_GRACE
from .model import Schedule
from .reasons import Reason
from .slot_history import SlotRecord
from .slots import next_slot, previous_slot

EARLY = 5  # seconds that a fire may come before its slot
_MAX_SLOTS = 1_000  # that are looked at where only the remembered fires are known


class Agreement(StrEnum):
    """The scheduler that started a slot, or would have."""

    BOTH = "both"
    THEIRS = "theirs"  # only the other scheduler
    OURS = "ours"  # only Tickwise


class ParityRow(NamedTuple):
    """One slot, one fire, or a slot with its fire."""

    agreement: Agreement
    slot: int | None  # of a fire without one: none
    fire: int | None
    record: SlotRecord | None = None  # what Tickwise has decided of the slot
    nearest: int | None = None  # the slot that is nearest to a fire without one


class Parity(NamedTuple):
    """How many slots and fires agree."""

    both: int = 0
    theirs: int = 0
    ours: int = 0

    @property
    def fires(self) -> int:
        return self.both + self.theirs

    @property
    def agrees(self) -> bool:
        return not self.theirs and not self.ours


def tolerance_of(schedule: Schedule) -> int:
    """How late a fire still belongs to its slot, unless somebody says more: the schedule's grace (S9)."""
    grace = schedule.definition.policy.grace
    return DEFAULT_GRACE if grace is None else grace


def match_fires(slots: Sequence[int], fires: Sequence[int], tolerance: int) -> dict[int, int]:
    """Which fire belongs to which slot, as places in both, which are in order. The nearest are matched first."""
    near = sorted(
        (abs(fire - slots[place]), slots[place], number, place)
        for number, fire in enumerate(fires)
        for place in range(bisect_left(slots, fire - tolerance), bisect_right(slots, fire + EARLY))
    )
    fire_of: dict[int, int] = {}
    taken = set[int]()
    for _, _, number, place in near:
        if place not in fire_of and number not in taken:
            fire_of[place] = number
            taken.add(number)
    return fire_of


def slot_of_fire(schedule: Schedule, fire: int) -> int | None:
    """The slot that a fire most likely stands for: the newest that is not after it, or one that comes at once."""
    before, after = previous_slot(schedule, fire + 1), next_slot(schedule, fire)
    if after is not None and after - fire <= EARLY and (before is None or after - fire < fire - before):
        return after
    return before


def fires_of_slot(schedule: Schedule, slot: int) -> list[int]:
    """The fires that a schedule remembers of a slot."""
    late = range(-EARLY, tolerance_of(schedule) + 1)
    fires = (fire.at for fire in (schedule.shadow.fires if schedule.shadow else ()))
    return [fire for fire in fires if slot_of_fire(schedule, fire) == slot and fire - slot in late]


def fires_between(
    schedule: Schedule, fires: Iterable[int], after: int, until: int, tolerance: int
) -> Iterator[int]:
    """Fires from one second to another, but none that is late for an older slot: that is not compared."""
    for fire in fires:
        slot = slot_of_fire(schedule, fire)
        is_late = slot is not None and 0 <= fire - slot <= tolerance and slot <= after
        if after <= fire <= until and not is_late:
            yield fire


def parity_rows(
    schedule: Schedule, records: Sequence[SlotRecord], fires: Sequence[int], now: int, tolerance: int
) -> list[ParityRow]:
    """All slots that one of both has started or would have, in order of time.

    `records` and `fires` are in order. A slot whose fire may still come is left out.
    """
    fire_of = match_fires([record.slot for record in records], fires, tolerance)
    rows = []
    for place, record in enumerate(records):
        number, is_ours = fire_of.get(place), _would_run(record)
        if number is not None:
            agreement = Agreement.BOTH if is_ours else Agreement.THEIRS
            rows.append(ParityRow(agreement, record.slot, fires[number], record))
        elif is_ours and record.slot + tolerance < now:
            rows.append(ParityRow(Agreement.OURS, record.slot, None, record))
    taken = set(fire_of.values())
    for number, fire in enumerate(fires):
        if number not in taken:
            rows.append(ParityRow(Agreement.THEIRS, None, fire, nearest=_nearest(schedule, fire)))
    return sorted(rows, key=lambda row: row.slot if row.slot is not None else row.fire or 0)


def parity_of(rows: Sequence[ParityRow]) -> Parity:
    found = [row.agreement for row in rows]
    return Parity(*(found.count(each) for each in Agreement))


def parity_at_a_glance(schedule: Schedule, now: int) -> Parity:
    """The same from what the schedule itself remembers: its newest fires, and its times as they are."""
    shadow = schedule.shadow
    if shadow is None:
        return Parity()
    tolerance, now = tolerance_of(schedule), min(now, shadow.adopted_at or now)
    begin = max(shadow.since, min((fire.at for fire in shadow.fires), default=0) - tolerance - 1)
    slots = sorted(islice(_slots_back(schedule, now, begin), _MAX_SLOTS))
    begin = begin if len(slots) < _MAX_SLOTS else slots[0] - 1
    fires = [*fires_between(schedule, (fire.at for fire in shadow.fires), begin, now, tolerance)]
    both = match_fires(slots, fires, tolerance)
    alone = sum(slot + tolerance < now for place, slot in enumerate(slots) if place not in both)
    return Parity(len(both), len(fires) - len(both), alone)


def _would_run(record: SlotRecord) -> bool:
    return record.run is not None or record.reason == Reason.SHADOW.code


def _nearest(schedule: Schedule, fire: int) -> int | None:
    around = (previous_slot(schedule, fire + 1), next_slot(schedule, fire))
    return min((slot for slot in around if slot is not None), key=lambda slot: abs(slot - fire), default=None)


def _slots_back(schedule: Schedule, now: int, begin: int) -> Iterator[int]:
    slot = previous_slot(schedule, now + 1)
    while slot is not None and slot > begin:
        yield slot
        slot = previous_slot(schedule, slot)
