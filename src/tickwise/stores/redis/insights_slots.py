"""Slots for people: the newest of some schedules, counts of them in bins, and which schedules ail."""

from collections.abc import Sequence

from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.slot_history import Bins
from ..slot_rows import recent_slots, slot_run
from ..slot_rows import slot_counts as counts_of
from ..statistics import AILING, RecentSlots, SlotCounts
from .base import RedisServer
from .decisions import decision_rows, decisions_of
from .insights_runs import BATCH_SIZE, read_in_batches


async def _live(server: RedisServer, names: Sequence[str]) -> list[str]:
    """Those that are not deleted, and each once."""
    wanted = list(dict.fromkeys(names))
    owners = await server.command("HMGET", server.key("owner"), *wanted) if wanted else []
    return [name for name, owner in zip(wanted, owners, strict=True) if owner]


async def recent(server: RedisServer, names: Sequence[str], limit: int, before: int) -> dict[str, RecentSlots]:
    found: dict[str, RecentSlots] = {}
    for name in await _live(server, names):
        newest = await server.command(
            "ZRANGE", server.key("slots", name), f"({before}", "-inf", "BYSCORE", "REV", "LIMIT", 0, limit
        )
        runs = [slot_run(run) for run in await read_in_batches(server, newest[::-1])]
        slots = recent_slots(runs, await decisions_of(server, name), limit, before)
        if any(slots):
            found[name] = slots
    return found


async def slot_counts(server: RedisServer, names: Sequence[str], bins: Bins) -> dict[str, SlotCounts]:
    found: dict[str, SlotCounts] = {}
    for name in await _live(server, names):
        ids = await server.command("ZRANGE", server.key("slots", name), bins.since, f"({bins.until}", "BYSCORE")
        runs = [(slot_run(run), Trigger.of(run["trigger"])) for run in await read_in_batches(server, ids)]
        counts = counts_of(runs, await decisions_of(server, name), bins)
        if any(counts):
            found[name] = counts
    return found


async def ailing(server: RedisServer, since: int, reasons: frozenset[Reason]) -> tuple[str, ...]:
    members = await server.command("ZRANGE", server.key("decisions_last"), since, "+inf", "BYSCORE")
    skipped = {row.schedule for row in await decision_rows(server, members) if row.reason in reasons}
    found = set(await _live(server, sorted(skipped)))
    names = await server.command("ZRANGE", server.key("schedules"), 0, -1)
    for first in range(0, len(names), BATCH_SIZE):
        newest = await server.call("newest_runs", names=names[first : first + BATCH_SIZE])
        found.update(name for name, state in newest.items() if state in AILING)
    return tuple(sorted(found))
