"""How far a backfill is (S32)."""

from dataclasses import dataclass
from itertools import islice

from ..core.change import backfill_slots
from ..core.model import ScheduleFacts, Trigger
from ..stores.contract import Store
from ..stores.records import RunFilter, RunRow
from .why import schedule_row

_PAGE, _MOST = 1_000, 10_000  # runs and slots that are counted


@dataclass(frozen=True, slots=True)
class Progress:
    """In slots; counted up to ten thousand."""

    active: bool
    asked: int  # those with a run by now, and those left
    made: int
    left: int


async def progress(store: Store, name: str, since: int = 0) -> Progress:
    """Counts the runs that backfills of the schedule have made; those made since an instant (microseconds)."""
    asked = (await schedule_row(store, name)).schedule
    runs = await _newest_runs(store, name)
    made = sum(run.trigger is Trigger.BACKFILL and run.created_at >= since for run in runs)
    known = {run.slot for run in runs if run.slot is not None}
    rest = asked.backfill
    if rest is None:
        return Progress(active=False, asked=made, made=made, left=0)
    slots = backfill_slots(asked, ScheduleFacts(frozenset(known)), rest.cursor + 1, rest.end)
    left = sum(1 for _ in islice(slots, min(rest.most, _MOST)))
    return Progress(active=True, asked=made + left, made=made, left=left)


async def _newest_runs(store: Store, name: str) -> list[RunRow]:
    found: list[RunRow] = []
    after: str | None = None
    while len(found) < _MOST:
        page = await store.insights.runs(RunFilter(schedule=name), after, _PAGE)
        found += page.items
        after = page.after
        if after is None:
            break
    return found
