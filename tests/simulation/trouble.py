"""What happens to a world: each line of the table is one kind of trouble, with how often it is drawn.

Nodes and wires have accidents that end by themselves; people do things that others undo, or that stay.
"""

import asyncio
from collections.abc import Awaitable, Callable

from tickwise.core.backfill import BackfillAsked, BackfillCancelled
from tickwise.core.change import Rescheduled
from tickwise.core.errors import ConflictError, InputError
from tickwise.core.model import Trigger
from tickwise.stores.records import Enqueue, QueueLimit, RunFilter

from .jobs import NARROW
from .world import NODES, World

EVERY = 15.0  # seconds between two troubles, on average
LIMIT = 1


async def _crash(world: World) -> None:
    name = world.chance.choice(NODES)
    if name in world.nodes:
        world.crash(name)
        await asyncio.sleep(world.chance.choice((0.5, 10.0, 70.0)))
        world.start(name)


async def _freeze(world: World) -> None:
    name = world.chance.choice(NODES)
    if name in world.nodes:
        world.freeze(name, world.chance.choice((5.0, 25.0, 45.0, 100.0)))


async def _cut(world: World) -> None:
    member = world.nodes.get(world.chance.choice(NODES))
    if member:
        world.truth.tell(member.name, "is cut off")
        member.wire.is_cut = True
        await asyncio.sleep(world.chance.choice((5.0, 25.0, 45.0, 100.0)))
        member.wire.is_cut = False
        world.truth.tell(member.name, "is connected again")


async def _storm(world: World) -> None:
    likely = world.chance.choice((0.05, 0.3))
    world.truth.tell("wires", f"lose {likely:.0%} of what they carry")
    weather = world.weather
    weather.before, weather.after, weather.slow, weather.lost_news = likely, likely, likely / 3, likely * 2
    await asyncio.sleep(world.chance.choice((20.0, 60.0)))
    weather.before = weather.after = weather.slow = weather.lost_news = 0.0


async def _clock(world: World) -> None:
    world.set_clock(world.chance.choice((7, 45, 400, -3, -40, -200)))


async def _edit(world: World) -> None:
    name = world.chance.choice(sorted(world.editions))
    world.truth.tell("ann", f"edits {name}")
    first, second = world.editions[name]
    await world.define(second if world.jobs[name] == first else first)


async def _pause(world: World) -> None:
    name = world.chance.choice(await world.schedules())
    world.truth.tell("ann", f"pauses {name}")
    await world.pause(name)
    await asyncio.sleep(world.chance.choice((30.0, 150.0)))
    world.truth.tell("ann", f"resumes {name}")
    await world.resume(name, world.chance.choice((None, None, True, False)))


async def _pause_everything(world: World) -> None:
    world.truth.tell("ann", "pauses everything")
    await world.pause(None)
    await asyncio.sleep(world.chance.choice((15.0, 130.0)))
    world.truth.tell("ann", "resumes everything")
    await world.resume(None)


async def _move(world: World) -> None:
    name, to = world.chance.choice(await world.schedules()), world.second + world.chance.choice((5, 47, 200))
    moved = (await world.store.change(name, Rescheduled(to))).moved
    if moved:
        world.truth.tell("ann", f"moves {name} by {moved.to - world.second} s")
        world.truth.moves[name].add(moved.to)


async def _backfill(world: World) -> None:
    name, now = world.chance.choice(await world.schedules()), world.second
    world.truth.tell("ann", f"backfills {name}")
    await world.store.change(name, BackfillAsked(now - 400, now - 30, most=3))


async def _cancel_backfill(world: World) -> None:
    await world.store.change(world.chance.choice(await world.schedules()), BackfillCancelled())


async def _reset(world: World) -> None:
    await world.reset(world.chance.choice(await world.schedules()))


async def _trigger(world: World) -> None:
    name = world.chance.choice(sorted(world.jobs))
    world.truth.tell("ann", f"triggers {name}")
    await world.store.enqueue([Enqueue(name, Trigger.MANUAL, by="ann")])


async def _enqueue(world: World) -> None:
    name = world.chance.choice(sorted(world.jobs))
    key = world.chance.choice((None, "key"))
    await world.store.enqueue([Enqueue(name, key=key, at=world.second + world.chance.choice((0, 90)))])


async def _cancel(world: World) -> None:
    rows = (await world.store.insights.runs(limit=5)).items
    if rows:
        run = world.chance.choice(rows).id
        world.truth.tell("ann", f"cancels run {run}: {await world.store.cancel(run)}")


async def _put_back(world: World) -> None:
    rows = [row for row in (await world.store.insights.runs(RunFilter(), limit=20)).items if row.finished_at]
    if rows:
        run = world.chance.choice(rows).id
        await world.store.retry(run)
        world.truth.retry[run] += 1
        world.truth.tell("ann", f"puts run {run} back")


TROUBLES: dict[Callable[[World], Awaitable[None]], int] = {
    _crash: 6, _freeze: 6, _cut: 6, _storm: 6, _clock: 1, _edit: 4, _pause: 3, _pause_everything: 1, _move: 2,
    _backfill: 2, _cancel_backfill: 1, _reset: 1, _trigger: 3, _enqueue: 2, _cancel: 3, _put_back: 2,
}  # fmt: skip


async def make_trouble(world: World, seconds: float) -> None:
    """Draw and do, one beside the other, until it is over; then wait for what ends by itself."""
    await world.store.limit(QueueLimit(NARROW, concurrency=LIMIT))
    end, doing = world.loop.time() + seconds, list[asyncio.Task[None]]()
    quiet = world.chance.random() < 0.15  # some worlds only work
    while world.loop.time() < end:
        await asyncio.sleep(world.chance.expovariate(1 / EVERY))
        kind = world.chance.choices(list(TROUBLES), list(TROUBLES.values()))[0]
        if not quiet:
            doing.append(asyncio.create_task(_do(world, kind)))
    await asyncio.gather(*doing)


async def _do(world: World, kind: Callable[[World], Awaitable[None]]) -> None:
    """What the state forbids is not done."""
    try:
        await kind(world)
    except (ConflictError, InputError) as no:
        world.truth.tell("ann", f"is refused: {no}")
