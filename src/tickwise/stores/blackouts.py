"""All blackouts of a store, and how they come to be in force for the schedules of the jobs they are for (ADR 73).

The list is one text, each time written over the version that was read. What a pass asks is in the state of each
schedule, so a claim, a commit and a compare-and-set need to know nothing of the list. Every writer of the list, or
of a job, then brings schedules in line with it, and reads it again: if it was written meanwhile, once more. So if
a list and a job are written at the same time, the later writer finds what the other wrote. A node finishes what
another has begun, by the version that was last in force everywhere.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from ..core.blackout import Blackout, blackouts_of
from ..core.change import BlackoutsSet
from ..core.codec import decode_blackouts, encode_blackouts
from ..core.errors import InputError
from ..core.model import Schedule
from .pages import all_pages
from .parts import ChangeableStore
from .records import MICRO, JobRow, ScheduleFilter

MAX_BLACKOUTS = 200
_LIST, _IN_FORCE = "blackouts", "blackouts in force"
_PAGE_SIZE, _BATCH_SIZE = 1_000, 16


class BlackoutList(NamedTuple):
    """The blackouts of a store, by name, and the version of the list."""

    version: int
    blackouts: tuple[Blackout, ...]


async def read_blackouts(store: ChangeableStore) -> BlackoutList:
    kept = await store.access.text(_LIST)
    return BlackoutList(kept.version, decode_blackouts(kept.text)) if kept else BlackoutList(0, ())


async def write_blackouts(
    store: ChangeableStore, change: Callable[[tuple[Blackout, ...], int], Sequence[Blackout]]
) -> BlackoutList:
    """Change the list, and bring it into force; when this returns, no pass goes by the list before."""
    while True:
        known, now = await read_blackouts(store), await store.now() // MICRO
        wanted = tuple(sorted(change(known.blackouts, now), key=lambda each: each.name))
        if len(wanted) > MAX_BLACKOUTS:
            raise InputError(f"a store keeps at most {MAX_BLACKOUTS} blackouts: remove one first")
        if await store.access.replace_text(_LIST, encode_blackouts(wanted), known.version):
            break
    await finish_blackouts(store)
    return BlackoutList(known.version + 1, wanted)


async def finish_blackouts(store: ChangeableStore) -> bool:
    """Bring the list into force for all schedules, unless it is; whether there was something to do."""
    listed, done = await store.access.text(_LIST), await store.access.text(_IN_FORCE)
    if listed is None or (done and int(done.text) >= listed.version):
        return False
    version = await enforce_blackouts(store)
    await store.access.replace_text(_IN_FORCE, str(version), done.version if done else 0)
    return True


async def enforce_blackouts(store: ChangeableStore, job: str | None = None) -> int:
    """Bring the schedules of a job, or all, in line with the list; the version that they are in line with."""
    known = -1
    while (listed := await read_blackouts(store)).version != known:
        known = listed.version
        if job is None or listed.blackouts:
            await _enforce(store, listed.blackouts, job)
    return known


async def _enforce(store: ChangeableStore, blackouts: Sequence[Blackout], job: str | None) -> None:
    now, insights = await store.now() // MICRO, store.insights
    wanted = {each.definition.name: blackouts_of(blackouts, each.definition.name, each.definition.labels, now)
              for each in await _wanted_jobs(store, job)}  # fmt: skip
    rows = await all_pages(lambda after: insights.schedules(ScheduleFilter(job=job), after, _PAGE_SIZE))
    changes = [
        (row.schedule.name, wanted.get(row.schedule.job, ()))
        for row in rows
        if not row.unreadable and wanted.get(row.schedule.job, ()) != row.schedule.blackouts
    ]
    for first in range(0, len(changes), _BATCH_SIZE):
        await asyncio.gather(*(_set(store, *each) for each in changes[first : first + _BATCH_SIZE]))


async def _wanted_jobs(store: ChangeableStore, job: str | None) -> Sequence[JobRow]:
    if job is not None:
        row = await store.insights.job(job)
        return [row] if row else []
    return await all_pages(lambda after: store.insights.jobs(after, _PAGE_SIZE))


async def _set(store: ChangeableStore, schedule: str, blackouts: tuple[Blackout, ...]) -> Schedule | None:
    with suppress(InputError):  # it was deleted meanwhile
        return await store.change(schedule, BlackoutsSet(blackouts))
    return None
