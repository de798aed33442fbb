"""Slots for people: the newest of some schedules, counts of them in bins, and which schedules ail."""

from collections.abc import AsyncIterator, Sequence

from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.slot_history import Bins
from ..job_document import Document
from ..records import DecisionRow
from ..slot_rows import recent_slots, slot_run
from ..slot_rows import slot_counts as counts_of
from ..statistics import AILING, RecentSlots, SlotCounts
from .base import RedisServer
from .decisions import decision_row, decision_rows
from .insights_runs import BATCH_SIZE, read_in_batches

_SCHEDULES_AT_ONCE = 100  # nobody else is served meanwhile


async def _live(server: RedisServer, names: Sequence[str]) -> list[str]:
    """Those that are not deleted, and each once."""
    wanted = list(dict.fromkeys(names))
    owners = await server.command("HMGET", server.key("owner"), *wanted) if wanted else []
    return [name for name, owner in zip(wanted, owners, strict=True) if owner]


async def recent(server: RedisServer, names: Sequence[str], limit: int, before: int) -> dict[str, RecentSlots]:
    found: dict[str, RecentSlots] = {}
    async for name, runs, decisions in _slots_of(server, names, "-inf", before, limit):
        slots = recent_slots([slot_run(run) for run in runs], decisions, limit, before)
        if any(slots):
            found[name] = slots
    return found


async def slot_counts(server: RedisServer, names: Sequence[str], bins: Bins) -> dict[str, SlotCounts]:
    found: dict[str, SlotCounts] = {}
    async for name, runs, decisions in _slots_of(server, names, bins.since, bins.until):
        counts = counts_of([(slot_run(run), Trigger.of(run["trigger"])) for run in runs], decisions, bins)
        if any(counts):
            found[name] = counts
    return found


async def _slots_of(
    server: RedisServer, names: Sequence[str], first: int | str, before: int, limit: int = -1
) -> AsyncIterator[tuple[str, list[Document], list[DecisionRow]]]:
    """Of each schedule the runs of its newest slots in an interval, in order, and its decisions."""
    live = await _live(server, names)
    for start in range(0, len(live), _SCHEDULES_AT_ONCE):
        some = live[start : start + _SCHEDULES_AT_ONCE]
        found = await server.call("slots", names=some, first=first, last=f"({before}", limit=limit)
        ids = [id_ for each in found for id_ in each["ids"]]
        runs = {str(run["_id"]): run for run in await read_in_batches(server, ids)}
        for name, each in zip(some, found, strict=True):
            own = [runs[id_] for id_ in reversed([*each["ids"]]) if id_ in runs]
            fields = iter(each["decisions"])
            yield name, own, [decision_row(name, field, text) for field, text in zip(fields, fields, strict=True)]


async def ailing(server: RedisServer, since: int, reasons: frozenset[Reason]) -> tuple[str, ...]:
    members = await server.command("ZRANGE", server.key("decisions_last"), since, "+inf", "BYSCORE")
    skipped = {row.schedule for row in await decision_rows(server, members) if row.reason in reasons}
    found = set(await _live(server, sorted(skipped)))
    names = await server.command("ZRANGE", server.key("schedules"), 0, -1)
    for first in range(0, len(names), BATCH_SIZE):
        newest = await server.call("newest_runs", names=names[first : first + BATCH_SIZE])
        found.update(name for name, state in newest.items() if state in AILING)
    return tuple(sorted(found))
