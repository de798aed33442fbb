"""Slots of many schedules in bins, the worst schedules first.

The store names the schedules that ail, and those whose runs failed most often in this time, though they may have
succeeded since; these are ranked by the share of their slots that ran. All others follow by name. A page is asked
for by the place of the last schedule seen, so the ranking may change between two pages.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..core.errors import InputError
from ..core.schedule_attention import WITHOUT_RUN
from ..core.slot_history import Bins
from ..core.states import FAILURES
from ..stores.contract import Store
from ..stores.records import MICRO, RunFilter, ScheduleFilter, ScheduleRow
from ..stores.statistics import SlotCounts
from .slots import Ribbon, SlotReader

_MAX_RANKED = 200
_MAX_FAILURES = 1_000  # runs that failed, the newest, which are counted by schedule
_MAX_READS = 20  # pages that are read to fill one page of what is seen


@dataclass(frozen=True, slots=True)
class ScheduleRibbon:
    row: ScheduleRow
    ribbon: Ribbon
    labels: Mapping[str, str] = field(default_factory=dict)  # of its job

    @property
    def good(self) -> float | None:
        """The share of decided slots that ran; none in shadow, where another scheduler runs them."""
        return None if self.row.schedule.in_shadow else self.ribbon.good


@dataclass(frozen=True, slots=True)
class RibbonPage:
    now: int
    items: tuple[ScheduleRibbon, ...]
    after: str | None


class _Place(NamedTuple):
    """Where a page ended: among those that ail, or among the others."""

    good: float  # more than 1 for the others
    name: str

    @classmethod
    def read(cls, text: str | None) -> "_Place":
        if text is None:
            return cls(-1.0, "")
        good, _, name = text.partition(" ")
        try:
            return cls(float(good), name)
        except ValueError:
            raise InputError("after: this is not the `next` of a page of slots") from None

    def __str__(self) -> str:
        return f"{self.good!r} {self.name}"


_OTHERS = 2.0


async def ribbons(
    store: Store, sees: Callable[[str], bool], wanted: ScheduleFilter, bins: Bins, after: str | None, limit: int
) -> RibbonPage:
    """A page of schedules that match a filter, with their slots in bins."""
    place, insights = _Place.read(after), store.insights
    reader = SlotReader(await store.now() // MICRO, await insights.pauses())
    names = (await _worst(store, bins))[:_MAX_RANKED]
    found: list[tuple[_Place, ScheduleRibbon]] = []
    if place.good < _OTHERS:
        ranked = await insights.schedules(replace(wanted, names=frozenset(names)), limit=_MAX_RANKED)
        drawn = await _draw(store, reader, (row for row in ranked.items if sees(row.schedule.job)), bins)
        ordered = sorted((_Place(_share(each), each.row.schedule.name), each) for each in drawn)
        found = [item for item in ordered if item[0] > place]
    last = place.name if place.good >= _OTHERS else ""
    others, more = await _others(store, sees, wanted, set(names), last, limit + 1 - len(found))
    page = [(_Place(_OTHERS, row.schedule.name), row) for row in others][: max(0, limit - len(found))]
    found = found[: limit + 1]
    drawn = await _draw(store, reader, (row for _, row in page), bins)
    items = await _labelled(store, [*(each for _, each in found[:limit]), *drawn])
    ends = [*(each for each, _ in found[:limit]), *(each for each, _ in page)]
    is_more = len(found) > limit or len(others) > len(page) or more
    return RibbonPage(reader.now, tuple(items), str(ends[-1]) if is_more and ends else None)


async def _labelled(store: Store, items: list[ScheduleRibbon]) -> list[ScheduleRibbon]:
    jobs = await store.insights.jobs_named([each.row.schedule.job for each in items])
    own = {name: row.definition.labels for name, row in jobs.items()}
    return [replace(each, labels=own.get(each.row.schedule.job, {})) for each in items]


async def _worst(store: Store, bins: Bins) -> list[str]:
    """Schedules that may be the worst: first those with most failures among the newest, then those that ail."""
    failed = RunFilter(states=FAILURES, since=bins.since * MICRO)
    failures = (await store.insights.run_groups(failed, _MAX_FAILURES)).schedules
    return list(dict.fromkeys([*failures, *await store.insights.ailing(bins.since, WITHOUT_RUN)]))


def _share(ribbon: ScheduleRibbon) -> float:
    return 1.0 if ribbon.good is None else ribbon.good


async def _others(
    store: Store, sees: Callable[[str], bool], wanted: ScheduleFilter, but: set[str], after: str, limit: int
) -> tuple[list[ScheduleRow], bool]:
    """Schedules that are not among some, by name; and whether more may follow."""
    found: list[ScheduleRow] = []
    key: str | None = after
    for _ in range(_MAX_READS):
        if len(found) >= limit:
            return found, True
        page = await store.insights.schedules(wanted, key, max(1, limit))
        found += [row for row in page.items if row.schedule.name not in but and sees(row.schedule.job)]
        key = page.after
        if key is None:
            return found, False
    return found, True


async def _draw(store: Store, reader: SlotReader, rows: Iterable[ScheduleRow], bins: Bins) -> list[ScheduleRibbon]:
    """What is due is read again after the counts, since a slot decided meanwhile would be told twice."""
    chosen = {row.schedule.name: row for row in rows}
    counts = await store.insights.slot_counts([*chosen], bins) if chosen else {}
    due = frozenset(
        name for name, row in chosen.items() if row.next_slot is not None and row.next_slot <= reader.now
    )
    again = (await store.insights.schedules(ScheduleFilter(names=due), limit=len(due))).items if due else ()
    chosen |= {row.schedule.name: row for row in again}
    return [
        ScheduleRibbon(row, reader.ribbon(row, counts.get(name, SlotCounts()), bins))
        for name, row in chosen.items()
    ]
