"""`tw.shadow`: fires of another scheduler, how they compare with the slots here, and the cut-over (S80)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import uuid4

from ..core.change import apply_change
from ..core.model import Schedule
from ..core.parity import (
    EARLY,
    Agreement,
    Parity,
    ParityRow,
    fires_between,
    parity_at_a_glance,
    parity_of,
    parity_rows,
    tolerance_of,
)
from ..core.reasons import Reason
from ..core.shadow import FireSeen, ShadowAdopted, ShadowResumed, is_ours
from ..core.slots import next_slot
from ..core.timeparse import floor_second, to_datetime
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, DecisionFilter, ScheduleFilter, ScheduleRow
from ..stores.statistics import RecentSlots
from .explain import schedule_row
from .slots import SlotReader, slot_text
from .values import instant, shadow_fields

_PAGE_SIZE = 1_000
_MAX_PENDING = 100  # slots that an adoption lists
LISTED_ROWS = 1_000  # of a report


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowStatus:
    """A schedule in shadow, or one that has been; and how its newest fires compare with its slots."""

    schedule: str
    job: str
    in_shadow: bool
    since: datetime
    adopted_at: datetime | None
    adopted_by: str
    last_fire: datetime | None
    fires: int  # of those that it remembers
    both: int
    theirs: int
    ours: int

    @classmethod
    def of(cls, state: Schedule, found: Parity) -> Self:
        return cls(
            schedule=state.name, job=state.job, fires=found.fires, both=found.both, theirs=found.theirs,
            ours=found.ours, **shadow_fields(state),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowSlot:
    """A slot, a fire, or both: who started it, or would have."""

    agreement: str  # both, theirs, ours
    slot: datetime | None
    fire: datetime | None
    reason: str | None  # a code: why Tickwise would not start it
    text: str  # the same in words

    @classmethod
    def of(cls, row: ParityRow, tolerance: int) -> "ShadowSlot":
        reason, text = _reason_of(row, tolerance)
        return cls(
            agreement=str(row.agreement), slot=instant(row.slot), fire=instant(row.fire), reason=reason, text=text
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowReport:
    """Slots and fires of a time, compared one by one."""

    status: ShadowStatus  # with the numbers of this report
    begin: datetime
    end: datetime
    tolerance: int  # seconds that a fire may come after its slot
    rows: tuple[ShadowSlot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowAdoption:
    """What an adoption did, or would do."""

    schedule: str
    cursor: datetime  # Tickwise goes on after this
    pending: tuple[datetime, ...]  # slots that nobody has started: catch-up decides
    next_slot: datetime | None  # the old scheduler must not start this any more
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardFire:
    """What was noted of a fire, and whether the other scheduler is to start the job."""

    schedule: str
    in_shadow: bool
    run: bool


class Shadows:
    """Schedules in shadow."""

    def __init__(self, store: Callable[[], Awaitable[Store]]) -> None:
        self._store = store

    async def seen(
        self, name: str, *, age: float = 0, at: datetime | None = None, key: str | None = None,
        unless_adopted: bool = False,
    ) -> HeardFire:  # fmt: skip
        """Note that another scheduler has started the job, `age` seconds ago or at an instant; once per key.

        With `unless_adopted` nothing is noted after an adoption: then the other scheduler is not to start it.
        """
        store = await self._store()
        second = floor_second(at) if at is not None else int(await store.now() / MICRO - age)
        fire = FireSeen(max(0, second), key or uuid4().hex, unless_adopted)
        state = await store.change(name, fire)
        return HeardFire(
            schedule=name, in_shadow=state.in_shadow, run=not unless_adopted or not is_ours(state, fire.at)
        )

    async def list(self) -> list[ShadowStatus]:
        """Schedules that are in shadow or were adopted from it, by name; compared by their newest fires."""
        store = await self._store()
        rows = await all_pages(lambda after: store.insights.schedules(ScheduleFilter(), after, _PAGE_SIZE))
        now = await store.now() // MICRO
        known = [row.schedule for row in rows if row.schedule.shadow is not None and not row.unreadable]
        return [ShadowStatus.of(state, parity_at_a_glance(state, now)) for state in known]

    async def report(
        self, name: str, *, since: datetime | None = None, until: datetime | None = None,
        tolerance: int | None = None,
    ) -> ShadowReport:  # fmt: skip
        """The newest slots and fires one by one, since the shadow began and until the adoption if there is one."""
        store = await self._store()
        return await _report(store, await schedule_row(store, name), since, until, tolerance)

    async def adopt(
        self, name: str, *, stopped: bool = False, by: str = "", dry_run: bool = False
    ) -> ShadowAdoption:
        """Take over from the other scheduler after its last fire; `stopped`: it starts nothing more."""
        store = await self._store()
        change, row, now = ShadowAdopted(by, stopped), await schedule_row(store, name), await store.now() // MICRO
        state = (
            apply_change(row.schedule, change, now).schedules[0] if dry_run else await store.change(name, change)
        )
        pending = list[datetime]()
        slot = next_slot(state, state.cursor)
        while slot is not None and slot <= now and len(pending) < _MAX_PENDING:
            pending.append(to_datetime(slot))
            slot = next_slot(state, slot)
        return ShadowAdoption(
            schedule=name, cursor=to_datetime(state.cursor), pending=tuple(pending), dry_run=dry_run,
            next_slot=instant(next_slot(state, max(now, state.cursor))),
        )  # fmt: skip

    async def resume(self, name: str) -> ShadowStatus:
        """Take an adoption back: the other scheduler starts the job again."""
        store = await self._store()
        return ShadowStatus.of(await store.change(name, ShadowResumed()), Parity())


async def _report(
    store: Store, row: ScheduleRow, since: datetime | None, until: datetime | None, tolerance: int | None
) -> ShadowReport:
    state, now = row.schedule, await store.now() // MICRO
    shadow = state.shadow
    begin = max(shadow.since if shadow else now, floor_second(since) if since else 0)
    adopted = shadow.adopted_at if shadow and shadow.adopted_at else now
    end = min(now, adopted, floor_second(until) if until else now)
    late = tolerance_of(state) if tolerance is None else tolerance
    recent = await store.insights.recent([state.name], LISTED_ROWS, end + 1)
    reader = SlotReader(now, await store.insights.pauses())
    records = reader.newest(row, recent.get(state.name, RecentSlots()), begin + 1, end + 1, LISTED_ROWS)[::-1]
    if len(records) == LISTED_ROWS:
        begin = records[0].slot - 1
    fires = [*fires_between(state, await _heard(store, state.name, begin, end + late), begin, end + late, late)]
    rows = parity_rows(state, records, fires, now, late)
    return ShadowReport(
        status=ShadowStatus.of(state, parity_of(rows)), begin=to_datetime(begin), end=to_datetime(end),
        tolerance=late, rows=tuple(ShadowSlot.of(each, late) for each in rows),
    )  # fmt: skip


async def _heard(store: Store, name: str, begin: int, end: int) -> Sequence[int]:
    """The fires that were heard between two seconds, in order."""
    wanted = DecisionFilter(schedule=name, reasons=frozenset({Reason.SEEN}), since=begin - EARLY, until=end + 1)
    found = await all_pages(lambda after: store.insights.decisions(wanted, after, _PAGE_SIZE))
    return sorted(row.first for row in found for _ in range(row.count))


_WITHOUT_REASON: Mapping[str, str] = {"ran": "it ran", "to_come": "it has not come yet"}


def _reason_of(row: ParityRow, tolerance: int) -> tuple[str | None, str]:
    """Why Tickwise would not have started what the other scheduler has, or the other way round."""
    if row.agreement is Agreement.BOTH:
        return None, ""
    if row.agreement is Agreement.OURS:
        return None, "the other scheduler did not start it, or was not heard"
    if row.record is not None:
        reason: Any = row.record.reason
        return reason, slot_text(row.record) or _WITHOUT_REASON.get(str(row.record.state), "")
    if row.nearest is not None and -EARLY <= (row.fire or 0) - row.nearest <= tolerance:
        return "again", "another fire was heard of this slot"
    near = "" if row.nearest is None else f"; the nearest is {to_datetime(row.nearest):%Y-%m-%d %H:%M:%S} UTC"
    return "no_slot", f"the schedule has no slot there{near}"
