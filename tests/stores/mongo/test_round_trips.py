"""How many commands a move sends: over a slow network each of them costs a round trip."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from pymongo import monitoring

from tickwise.core.handover import Began, Intended
from tickwise.core.settle import Succeeded
from tickwise.stores.records import Finish
from tickwise.stores.url import open_store
from tickwise.testing.conformance.handover import WATCHER, handed, record_of
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


@contextmanager
def opened_world(url: str) -> Iterator[tuple[Commands, World]]:
    """A store whose commands are counted; its clock is the test's, so it never asks the server for the time."""
    clock = Clock()
    with listening() as commands:
        yield commands, World(open_store(url, clock), clock)


@patiently
async def test_commands_of_a_beat_and_of_an_idle_pass(emptied_mongodb: str) -> None:
    """A beat renews all runs of its node by three commands, all at once; a pass finds nothing by three (E4)."""
    with opened_world(emptied_mongodb) as (commands, world):
        await world.begin()
        await world.define(job("a", HOURLY), *(job(f"b{n}") for n in range(5)))
        await world.tick()
        for n in range(5):
            await world.enqueue(f"b{n}")
        held = {lease.id: lease.token for lease in await world.lease(5)}
        assert len(held) == 5
        beat = await counted(commands, lambda: world.store.beat(worker_node("w1"), held))
        idle = await counted(commands, world.tick)
        await world.store.close()
    assert (sorted(beat), idle) == (["find", "findAndModify", "update"], ["find", "aggregate", "find"])


@pytest.mark.parametrize("jobs", [2, 40])
@patiently
async def test_commands_of_a_pass_and_of_what_follows(emptied_mongodb: str, jobs: int) -> None:
    """However many simple jobs start, run and end: the number of commands is the same (E4)."""
    names = [f"j{n}" for n in range(jobs)]
    with opened_world(emptied_mongodb) as (commands, world):
        await world.begin()
        await world.define(*(job(name, HOURLY) for name in names))
        for hour in ("01:00", "02:00"):  # in the first one definitions are read
            world.go(hour)
            passed = await counted(commands, world.tick)
            commands.sent.clear()
            ends = [Finish(lease.id, lease.token, Succeeded()) for lease in await world.lease()]
            leased = list(commands.sent)
            ended = await counted(commands, partial(world.store.finish, ends))
        assert len(await world.runs()) == 2 * jobs
        await world.store.close()
    reads = ["aggregate", *["find"] * 5]  # one looks for lost jobs
    writes = ["findAndModify", "insert", "insert", "update", "update"]
    assert sorted(passed) == sorted([*reads, *writes, "delete"])
    assert (leased, sorted(ended)) == (["find", "find", "update"], ["find"] + ["update"] * 4)


@pytest.mark.parametrize("runs", [1, 40])
@patiently
async def test_commands_of_a_hand_over(emptied_mongodb: str, runs: int) -> None:
    """A change is read and written, one that changes nothing is read; runs are adopted all at once (E4)."""
    with opened_world(emptied_mongodb) as (commands, world):
        await world.begin()
        await world.define(handed())
        for _ in range(runs):
            await world.enqueue("a")
        leases = await world.lease(runs, offers=WATCHER, seconds=30)
        for lease in leases:
            intended = partial(world.store.hand_over, lease.id, lease.token, Intended(record_of(lease)))
            first, again = await counted(commands, intended), await counted(commands, intended)
        begun = await counted(
            commands, partial(world.store.hand_over, lease.id, lease.token, Began("ticket", "c"))
        )
        world.clock.advance(31)
        request = world.reservation(runs, node="w2", offers=WATCHER)
        adopted = await counted(commands, partial(world.store.adopt, request))
        none = await counted(commands, partial(world.store.adopt, request))
        assert len(leases) == runs
        assert {run.node for run in await world.runs()} == {"w2"}
        await world.store.close()
    assert (first, again, begun) == (["find", "update"], ["find"], ["find", "update"])
    assert (adopted, none) == (["find", "update"], ["find"])
