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
AWAY_TWICE, OWN = 7, 5  # every so many worlds have engines that are away twice, those with this remainder
_Trouble = Callable[[EnginePlace, Random], Coroutine[Any, Any, None]]


async def _lose(place: EnginePlace, chance: Random) -> None:
    place.lost = chance.choice((0.1, 0.4))
    place.world.truth.tell(place.name, f"loses {place.lost:.0%} of calls and of answers")
    await asyncio.sleep(chance.choice((20.0, 60.0)))
    place.lost = 0.0


async def _be_unreachable(place: EnginePlace, chance: Random) -> None:
    await _be_unreachable_for(place, chance.choice((5.0, 25.0, 45.0, 90.0)))


async def _be_unreachable_for(place: EnginePlace, seconds: float) -> None:
    place.world.truth.tell(place.name, "is unreachable")
    place.be_unreachable()
    await asyncio.sleep(seconds)
    place.be_reachable()
    place.world.truth.tell(place.name, "is reachable")


async def _kill_work(place: EnginePlace, chance: Random) -> None:
    """The engine notices, at once or later."""
    if place.living:
        work = chance.choice(place.living)
        work.die("is killed")
        await asyncio.sleep(chance.choice((0.0, 8.0, 50.0)))
        place.cluster.end(work.order.reference, error="its process is gone")


async def _freeze_work(place: EnginePlace, chance: Random) -> None:
    if place.living:
        work = chance.choice(place.living)
        work.freeze(chance.choice((5.0, 25.0, 45.0)))


async def _cut_work(place: EnginePlace, chance: Random) -> None:
    """It does not reach the API."""
    if place.living:
        work = chance.choice(place.living)
        place.world.truth.tell(work.owner, "is cut off")
        work.wire.is_cut = True
        await asyncio.sleep(chance.choice((5.0, 25.0, 45.0)))
        work.wire.is_cut = False


async def _deliver_twice(place: EnginePlace, chance: Random) -> None:
    if place.is_gated:
        place.world.truth.tell(place.name, "delivers twice")
        place.cluster.faults.deliveries, place.redelivered = 2, 0.3
        await asyncio.sleep(chance.choice((30.0, 90.0)))
        place.cluster.faults.deliveries, place.redelivered = 1, 0.0


async def _forget(place: EnginePlace, chance: Random) -> None:
    """The work goes on, if it has begun; an order that waits is lost, or not."""
    if place.is_gated and place.living:
        work = chance.choice(place.living)
        place.world.truth.tell(place.name, f"forgets {work.order.reference}")
        place.cluster.forget(work.order.reference)


async def _tell_what_is_old(place: EnginePlace, chance: Random) -> None:
    if place.is_gated:
        place.world.truth.tell(place.name, "tells what is old")
        place.cluster.faults.stale_looks = chance.choice((3, 20))


TROUBLES: dict[_Trouble, int] = {
    _lose: 4, _be_unreachable: 3, _kill_work: 4, _freeze_work: 3, _cut_work: 3, _deliver_twice: 4, _forget: 3,
    _tell_what_is_old: 3,
}  # fmt: skip


async def _be_away_twice(place: EnginePlace) -> None:
    """When most runs are made. In between it is back, but all nodes stand still and do not ask."""
    world = place.world
    for minute in (60.0, 180.0, 300.0):
        await asyncio.sleep(minute - 10.0 - world.loop.time())
        away = asyncio.create_task(_be_unreachable_for(place, 28.0))
        await asyncio.sleep(26.0)
        for name in sorted(world.nodes):
            world.freeze(name, 22.0)
        await away
        await asyncio.sleep(18.0)
        await _be_unreachable_for(place, 40.0)


async def make_engine_trouble(world: World, seconds: float) -> None:
    """Draw and do until it is over; then the engines do what they are asked."""
    if not world.engines:
        return
    chance, doing = Random(f"{world.seed} engine trouble"), list[asyncio.Task[None]]()
    end, quiet = world.loop.time() + seconds, chance.random() < 0.15
    away_twice = world.engines.values() if world.seed % AWAY_TWICE == OWN else ()
    twice = [asyncio.create_task(_be_away_twice(place)) for place in away_twice]
    while world.loop.time() < end:
        await asyncio.sleep(chance.expovariate(1 / EVERY))
        place = chance.choice(list(world.engines.values()))
        kind = chance.choices(list(TROUBLES), list(TROUBLES.values()))[0]
        if not quiet:
            doing.append(asyncio.create_task(kind(place, chance)))
    await asyncio.gather(*doing, *twice)
    for place in world.engines.values():
        place.cluster.faults.stale_looks = 0
