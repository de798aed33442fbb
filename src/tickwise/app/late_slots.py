"""Slots that missed a deadline, as they are recorded (S65); nothing is read of schedules that have none."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..core.deadlines import LATE
from ..core.schedule_attention import LateSlot
from ..stores.contract import Store
from ..stores.records import DecisionFilter, DecisionRow, ScheduleRow

_MAX_RECORDS = 1_000


class LateSlots(NamedTuple):
    """The records of one schedule, the newest first."""

    records: tuple[DecisionRow, ...] = ()

    def has(self, slot: int) -> bool:
        return any(row.first <= slot <= row.last for row in self.records)

    @property
    def newest(self) -> LateSlot | None:
        if not self.records:
            return None
        row = max(self.records, key=lambda row: row.last)
        return LateSlot(row.last, row.reason.explain(row.detail))


async def late_slots(store: Store, rows: Iterable[ScheduleRow], since: int) -> Mapping[str, LateSlots]:
    """Of some schedules, those about slots since an instant."""
    names = [row.schedule.name for row in rows if row.schedule.definition.policy.deadline]
    found: dict[str, LateSlots] = defaultdict(LateSlots)
    if not names:
        return found
    wanted = DecisionFilter(schedule=names[0] if len(names) == 1 else None, reasons=LATE, since=since)
    records: dict[str, list[DecisionRow]] = defaultdict(list)
    for row in (await store.insights.decisions(wanted, limit=_MAX_RECORDS)).items:
        records[row.schedule].append(row)
    return found | {name: LateSlots(tuple(own)) for name, own in records.items()}
