"""Reads what the rules of `core.attention` look at, for as many schedules as may need somebody.

The store names the schedules that ail; with those that are paused or overdue they are few. Only of these the
newest slots are read, and at most of `_MAX_SCHEDULES`.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..core import fleet_attention
from ..core.attention import Attention, ranked, summary
from ..core.cron.zone import Zone
from ..core.deadline_attention import deadline_at_risk
from ..core.deadline_forecast import DeadlineForecast
from ..core.deadlines import LATE
from ..core.requirements import LiveWorkers
from ..core.schedule_attention import OVERDUE, SHADOWED, WITHOUT_RUN, ScheduleHealth, cause
from ..core.timeparse import floor_second
from ..runtime.approvals import open_approvals
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, Node, PauseInterval, Role, ScheduleFilter, ScheduleRow
from ..stores.statistics import Counts, RecentSlots
from .late_slots import late_slots
from .overview import unserved_queues
from .proposals import Proposal, open_proposals
from .restoration import set_backs
from .slots import LISTED_SLOTS, SlotReader
from .worker_advice import is_live, start_advice, start_command, unserved_jobs

T = TypeVar("T")
_MAX_SCHEDULES = 1_000
_BATCH_SIZE = 500
_LATELY = 86_400  # seconds within which slots that were skipped may need somebody


@dataclass(frozen=True, slots=True)
class Status:
    """How things are: one sentence, and what needs somebody, the worst first."""

    now: int
    summary: str
    schedules: int
    well: int
    count: int  # of what needs somebody
    items: tuple[Attention, ...]
    more: bool = False


async def status(
    store: Store,
    sees: Callable[[str], bool] | None = None,
    limit: int = 100,
    zone: Zone | None = None,
    forecasts: Iterable[DeadlineForecast] = (),
) -> Status:
    """Now, with times in a zone. With `sees`, only of jobs that the caller sees, and nothing of the fleet."""
    micro, insights = await store.now(), store.insights
    counts, pauses = await insights.counts(), await insights.pauses()
    nodes = [node for node in await insights.nodes() if is_live(node, micro)]
    reader = SlotReader(micro // MICRO, pauses)
    rows, is_cut = await _suspects(store, micro // MICRO)
    seen = [row for row in rows if sees is None or sees(row.schedule.job)]
    own = [found async for health in _healths(store, seen, reader, zone) if (found := cause(health))]
    own += _at_risk((each for each in forecasts if sees is None or sees(each.job)), own, zone)
    has_ticker = any(Role.TICKER in node.roles for node in nodes)
    if not has_ticker:  # one cause, not one for each schedule
        own = [item for item in own if not item.counts.get("overdue")]
    fleet = [] if sees else list(_of_fleet(counts, nodes, pauses, has_ticker=has_ticker))
    fleet += [] if sees else await _set_back(store, nodes, micro)
    asked = await open_proposals(store.access, micro // MICRO, sees)
    fleet += [fleet_attention.proposals([one.effect["text"] for one in asked], _oldest(asked))] if asked else []
    approvals = [
        fleet_attention.approval(one.run, one.job, one.step, one.wait)
        for one in await open_approvals(store)
        if sees is None or sees(one.job)
    ]
    items = ranked([*fleet, *approvals, *own])
    schedules = counts.schedules if sees is None else await _number_seen(store, sees)
    return Status(
        now=micro // MICRO, summary=summary(len(items), schedules), schedules=schedules,
        well=schedules - len(own), count=len(items), items=tuple(items[:limit]),
        more=is_cut or len(items) > limit,
    )  # fmt: skip


async def _set_back(store: Store, nodes: list[Node], micro: int) -> list[Attention]:
    """What the store has forgotten, if nobody has said yet what is to become of that time (S78)."""
    found = await set_backs(store, nodes, micro - _LATELY * MICRO)
    return [fleet_attention.set_back(each.until // MICRO, each.repair) for each in found[:1]]


async def _suspects(store: Store, now: int) -> tuple[list[ScheduleRow], bool]:
    """Schedules that may need somebody, by name; and whether there are more than these."""
    names = await store.insights.ailing(now - _LATELY, WITHOUT_RUN | SHADOWED | LATE)
    found: dict[str, ScheduleRow] = {}
    is_cut = len(names) > _MAX_SCHEDULES
    filters = [ScheduleFilter(paused=True), ScheduleFilter(due_before=now - OVERDUE)]
    for wanted in filters:
        page = await store.insights.schedules(wanted, limit=_BATCH_SIZE)
        found |= {row.schedule.name: row for row in page.items}
        is_cut = is_cut or page.after is not None
    for some in _batches([name for name in names if name not in found][:_MAX_SCHEDULES]):
        page = await store.insights.schedules(ScheduleFilter(names=frozenset(some)), limit=_BATCH_SIZE)
        found |= {row.schedule.name: row for row in page.items}
    return [row for _, row in sorted(found.items())], is_cut


async def _healths(
    store: Store, rows: list[ScheduleRow], reader: SlotReader, zone: Zone | None
) -> AsyncIterator[ScheduleHealth]:
    for some in _batches(rows):
        recent = await store.insights.recent([row.schedule.name for row in some], LISTED_SLOTS)
        late = await late_slots(store, some, reader.now - _LATELY)
        for row in some:
            slots = reader.newest(
                row, recent.get(row.schedule.name, RecentSlots()), 0, reader.now + 1, LISTED_SLOTS
            )
            yield ScheduleHealth(
                schedule=row.schedule, slots=tuple(slots), now=reader.now, next_slot=row.next_slot,
                everything_paused=reader.everything_paused, unreadable=row.unreadable,
                late=late[row.schedule.name].newest, zone=zone,
            )  # fmt: skip


def _of_fleet(
    counts: Counts, nodes: list[Node], pauses: tuple[PauseInterval, ...], *, has_ticker: bool
) -> Iterator[Attention]:
    """What is wrong beside the schedules."""
    workers = [node for node in nodes if Role.WORKER in node.roles]
    for pause in pauses:
        if pause.until is None:
            yield fleet_attention.paused(pause.at, pause.by, pause.reason, pause.resumes_at)
    if counts.schedules and not has_ticker:
        yield fleet_attention.no_ticker(counts.overdue)
    for queue, number in unserved_queues(counts, workers):
        yield fleet_attention.queue_unserved(queue, number, start_command(queue))
    for missing, number in unserved_jobs(counts, LiveWorkers((node.queues, node.offers) for node in workers)):
        yield fleet_attention.jobs_held(missing.queue, missing.text, number, start_advice(missing))
    for node in nodes:
        yield from (fleet_attention.broken_file(node.host, problem) for problem in node.problems)
        yield from (fleet_attention.undelivered(node.host, problem) for problem in node.undelivered)


def _oldest(proposals: Sequence[Proposal]) -> int:
    return floor_second(min(one.created_at for one in proposals))


def _at_risk(forecasts: Iterable[DeadlineForecast], own: list[Attention], zone: Zone | None) -> list[Attention]:
    """Deadlines that will probably be missed, of schedules of which nothing else is said."""
    said = {item.subject.name for item in own}
    found = (item for each in forecasts if (item := deadline_at_risk(each, zone)))
    return list({item.subject.name: item for item in found if item.subject.name not in said}.values())


async def _number_seen(store: Store, sees: Callable[[str], bool]) -> int:
    rows = await all_pages(lambda after: store.insights.jobs(after, _BATCH_SIZE))
    return sum(len(row.schedules) for row in rows if sees(row.definition.name))


def _batches(items: list[T]) -> Iterator[list[T]]:
    return (items[first : first + _BATCH_SIZE] for first in range(0, len(items), _BATCH_SIZE))
