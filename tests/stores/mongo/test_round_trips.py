"""How many commands a move sends: over a slow network each of them costs a round trip."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pymongo import monitoring

from tickwise.stores.url import open_store
from tickwise.testing.conformance.world import HOURLY, World, job, worker_node

from ...support.app import Clock, patiently


class Commands(monitoring.CommandListener):
    """Their names, in order."""

    def __init__(self) -> None:
        self.sent: list[str] = []

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.sent.append(event.command_name)

    def succeeded(self, _event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, _event: monitoring.CommandFailedEvent) -> None:
        pass


@contextmanager
def listening() -> Iterator[Commands]:
    """To all clients that are made meanwhile."""
    commands, before = Commands(), monitoring._LISTENERS.command_listeners[:]
    monitoring.register(commands)
    try:
        yield commands
    finally:
        monitoring._LISTENERS.command_listeners[:] = before


async def counted(commands: Commands, move: Callable[[], Awaitable[Any]]) -> list[str]:
    commands.sent.clear()
    await move()
    return list(commands.sent)


@patiently
async def test_commands_of_a_beat_and_of_an_idle_pass(emptied_mongodb: str) -> None:
    """A beat renews all runs of its node by four commands, two at a time; a pass finds nothing by three (E4)."""
    clock = Clock()
    with listening() as commands:
        store = open_store(emptied_mongodb, clock)
        world = World(store, clock)
        await world.begin()
        await world.define(job("a", HOURLY), *(job(f"b{n}") for n in range(5)))
        await world.tick()
        for n in range(5):
            await world.enqueue(f"b{n}")
        held = {lease.id: lease.token for lease in await world.lease(5)}
        assert len(held) == 5
        beat = await counted(commands, lambda: store.beat(worker_node("w1"), held))
        idle = await counted(commands, world.tick)
        await store.close()
    assert (sorted(beat), idle) == (["find", "find", "update", "update"], ["find"] * 3)
