"""Everything that can be done to a store, at once and in no order."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random

from tickwise.core.change import Paused, Resumed
from tickwise.core.errors import ConflictError
from tickwise.core.model import Pause, Trigger
from tickwise.core.planner import plan
from tickwise.core.settle import Failed, HandedBack, Outcome, Succeeded
from tickwise.core.states import FINAL
from tickwise.stores.contract import Store
from tickwise.stores.records import Enqueue, Finish, LeaseRequest, RunFilter
from tickwise.testing.conformance.world import worker_node

from ....support.races.channel import Line
from ....support.races.race import SOURCE, opened, pair

_OUTCOMES: tuple[Outcome, ...] = (Succeeded(), Succeeded(), Succeeded(), Failed(), HandedBack())


async def meddle(line: Line, url: str, clock: str, node: str, seed: int, turns: int) -> int:
    """So many moves drawn by chance; how often the store said no, which it may."""
    store = opened(url, clock)
    chance, refused = Random(seed), 0
    line.say("ready")
    line.hear()
    for _ in range(turns):
        moves = chance.choices(_MOVES, k=3)
        for answer in await asyncio.gather(*(m(store, node, chance) for m in moves), return_exceptions=True):
            if isinstance(answer, ConflictError):
                refused += 1
            elif isinstance(answer, BaseException):
                raise answer
    await store.close()
    return refused


async def _tick(store: Store, node: str, chance: Random) -> None:
    reserve = LeaseRequest(node, 3) if chance.random() < 0.5 else None
    ticked = await store.tick(plan, node, limit=chance.randint(1, 5), reserve=reserve)
    await store.finish([Finish(lease.id, lease.token, Succeeded()) for lease in ticked.leases])


async def _work(store: Store, node: str, chance: Random) -> None:
    leases = list(await store.lease(LeaseRequest(node, 5)))
    chance.shuffle(leases)
    ends = [Finish(lease.id, lease.token, chance.choice(_OUTCOMES)) for lease in leases]
    await asyncio.gather(
        store.finish(ends), store.beat(worker_node(node), {lease.id: lease.token for lease in leases})
    )


async def _trigger(store: Store, _: str, chance: Random) -> None:
    await store.enqueue([Enqueue(chance.choice(JOBS), Trigger.MANUAL, key=chance.choice([None, "k"]))])


async def _enqueue(store: Store, _: str, chance: Random) -> None:
    await store.enqueue([Enqueue(name, key=f"k{chance.randint(0, 9)}") for name in chance.sample(JOBS, 3)])


async def _cancel(store: Store, _: str, chance: Random) -> None:
    page = await store.insights.runs(limit=20)
    for run in chance.sample(page.items, min(2, len(page.items))):
        await store.cancel(run.id)


async def _put_back(store: Store, _: str, chance: Random) -> None:
    page = await store.insights.runs(RunFilter(states=FINAL), limit=20)
    for run in chance.sample(page.items, min(2, len(page.items))):
        await store.retry(run.id)


async def _define(store: Store, _: str, chance: Random) -> None:
    await store.define(replace(chance.choice(_DEFINED), description=str(chance.random())), SOURCE)


async def _pause(store: Store, node: str, chance: Random) -> None:
    schedule = f"{chance.choice(JOBS)}{chance.choice(['', '.1'])}"
    await store.change(schedule, Paused(node))
    await store.change(schedule, Resumed())


async def _pause_all(store: Store, node: str, _: Random) -> None:
    await store.pause(Pause(0, node))
    await store.pause(None)


async def _look(store: Store, _: str, __: Random) -> None:
    await asyncio.gather(
        store.insights.counts(), store.insights.schedules(), store.insights.hourly_stats(), store.expire()
    )


async def _prune(store: Store, _: str, __: Random) -> None:
    await store.prune()


JOBS = ["a", "b", "c", "d"]
_DEFINED = [pair(name) for name in JOBS]
_Move = Callable[[Store, str, Random], Awaitable[None]]
_MOVES: list[_Move] = [
    *([_tick] * 4), *([_work] * 4), *([_enqueue] * 2),
    _trigger, _cancel, _put_back, _define, _pause, _pause_all, _look, _prune,
]  # fmt: skip
