"""Lanes for runs that a person asks for: taken as a pass takes them, by a compare-and-set of the job."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from ...core.errors import ConflictError
from .base import Mongo
from .facts import holders_of
from .intents import Effects, Intent, LostRaceError, apply_all, commit, persist

OnLanes: TypeAlias = Callable[[Sequence[int]], Effects]  # what is to be done, once the lanes are known


async def with_lanes(mongo: Mongo, job: str, count: int, effects: OnLanes, now: int) -> None:
    """Take the lowest free lanes of a job (S16, S30)."""
    await persist(partial(_take, mongo, job, count, effects, now))


async def _take(mongo: Mongo, job: str, count: int, effects: OnLanes, now: int) -> None:
    document = await mongo.jobs.find_one({"_id": job})
    if document is None or await apply_all(mongo, [document], now):
        raise LostRaceError
    holders = (await holders_of(mongo, [job])).get(job, [])
    held = {holder.lane for holder in holders}
    free = [lane for lane in range(document["lanes"]) if lane not in held][:count]
    if len(free) < count:
        others = f"run {', '.join(holder.run for holder in holders)}" if holders else "another that you ask for"
        raise ConflictError(
            f"{job} is active: {others} is in the way; wait for it, cancel it, or ask to run beside it"
        )
    if not await commit(mongo, [Intent(document, document.get("wake_at"), effects=effects(free))], now):
        raise LostRaceError
