"""What happens to the engines of a world and to the work there: a table as in `trouble`, drawn for itself.

Engines end their faults by themselves. Work that asks no gate relies on an engine that has each reference once and
tells what it has, so such an engine is not made to forget, to deliver twice or to tell what is old.
"""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from .engines import EnginePlace
from .world import World

EVERY = 20.0  # seconds between two troubles, on average
_Trouble = Callable[[World, EnginePlace, Random], Coroutine[Any, Any, None]]


async def _lose(world: World, place: EnginePlace, chance: Random) -> None:
    place.lost = chance.choice((0.1, 0.4))
    world.truth.tell(place.name, f"loses {place.lost:.0%} of calls and of answers")
    await asyncio.sleep(chance.choice((20.0, 60.0)))
    place.lost = 0.0


async def _be_unreachable(world: World, place: EnginePlace, chance: Random) -> None:
    world.truth.tell(place.name, "is unreachable")
    place.cluster.faults.gone = True
    await asyncio.sleep(chance.choice((5.0, 25.0, 45.0, 90.0)))
    place.cluster.faults.gone = False
    world.truth.tell(place.name, "is reachable")


async def _kill_work(world: World, place: EnginePlace, chance: Random) -> None:
    """The engine notices, at once or later."""
    if place.living:
        work = chance.choice(place.living)
        work.die("is killed")
        world.truth.unsure.add(work.order.reference)
        await asyncio.sleep(chance.choice((0.0, 8.0, 50.0)))
        place.cluster.end(work.order.reference, error="its process is gone")


async def _freeze_work(world: World, place: EnginePlace, chance: Random) -> None:
    if place.living:
        work = chance.choice(place.living)
        work.freeze(chance.choice((5.0, 25.0, 45.0)))
        world.truth.unsure.add(work.order.reference)


async def _cut_work(world: World, place: EnginePlace, chance: Random) -> None:
    """It does not reach the API."""
    if place.living:
        work = chance.choice(place.living)
        world.truth.tell(work.owner, "is cut off")
        world.truth.unsure.add(work.order.reference)
        work.wire.is_cut = True
        await asyncio.sleep(chance.choice((5.0, 25.0, 45.0)))
        work.wire.is_cut = False


async def _deliver_twice(world: World, place: EnginePlace, chance: Random) -> None:
    if place.is_gated:
        world.truth.tell(place.name, "delivers twice")
        place.cluster.faults.deliveries, place.redelivered = 2, 0.3
        await asyncio.sleep(chance.choice((30.0, 90.0)))
        place.cluster.faults.deliveries, place.redelivered = 1, 0.0


async def _forget(world: World, place: EnginePlace, chance: Random) -> None:
    """The work goes on, if it has begun; an order that waits is lost, or not."""
    if place.is_gated and place.living:
        work = chance.choice(place.living)
        world.truth.tell(place.name, f"forgets {work.order.reference}")
        place.cluster.forget(work.order.reference)


async def _tell_what_is_old(world: World, place: EnginePlace, chance: Random) -> None:
    if place.is_gated:
        world.truth.tell(place.name, "tells what is old")
        place.cluster.faults.stale_looks = chance.choice((3, 20))


TROUBLES: dict[_Trouble, int] = {
    _lose: 4, _be_unreachable: 3, _kill_work: 4, _freeze_work: 3, _cut_work: 3, _deliver_twice: 4, _forget: 3,
    _tell_what_is_old: 3,
}  # fmt: skip


async def make_engine_trouble(world: World, seconds: float) -> None:
    """Draw and do until it is over; then the engines do what they are asked."""
    if not world.engines:
        return
    chance, doing = Random(f"{world.seed} engine trouble"), list[asyncio.Task[None]]()
    end, quiet = world.loop.time() + seconds, chance.random() < 0.15
    while world.loop.time() < end:
        await asyncio.sleep(chance.expovariate(1 / EVERY))
        place = chance.choice(list(world.engines.values()))
        kind = chance.choices(list(TROUBLES), list(TROUBLES.values()))[0]
        if not quiet:
            doing.append(asyncio.create_task(kind(world, place, chance)))
    await asyncio.gather(*doing)
    for place in world.engines.values():
        place.cluster.faults.stale_looks = 0
