"""A store that comes from a backup: what a person says of it, and what is done again or not (S78)."""

from dataclasses import replace

import pytest

from tickwise.app.restoration import Restoration, mark_restored, set_backs
from tickwise.core.errors import InputError
from tickwise.core.handover import Began
from tickwise.core.states import RunState
from tickwise.stores.records import Node, Role
from tickwise.testing.conformance.handover import hand_over
from tickwise.testing.conformance.world import HOURLY, World, instant, job

from ..support.app import new_world, patiently


async def of_a_backup() -> World:
    """It has a run that waits, and one whose worker is gone; three hours have passed since."""
    world = await new_world()
    await world.define(job("nightly", HOURLY), job("order"))
    for _ in range(2):
        await world.enqueue("order")
    await world.lease(capacity=1, seconds=30)
    world.go("03:30")
    return world


@patiently
async def test_nothing_of_the_lost_store_is_done_again() -> None:
    """Neither its slots nor the runs that the backup has as unfinished; the next run has a number of its own."""
    world = await of_a_backup()
    done = await mark_restored(world.store, instant("02:15"), "ann")
    assert done == Restoration(schedules=1, runs=2, next_run=world.micro // 1_000)
    await world.store.expire()
    await world.tick()
    await world.work()
    runs = (await world.insights.runs()).items
    assert [(run.job, run.state) for run in runs] == [
        ("nightly", RunState.SUCCEEDED), ("order", RunState.CANCELLED), ("order", RunState.CANCELLED),
    ]  # fmt: skip
    assert (await world.ran("nightly"), int(runs[0].id)) == (["03:00 catchup"], done.next_run)
    (entry,) = (await world.store.access.audit("store")).items
    assert (entry.who, entry.action) == ("ann", "restored")


@patiently
async def test_what_is_under_way_goes_on() -> None:
    """A run whose worker renews its lease, and one that was made since."""
    world = await of_a_backup()
    (held,) = await world.lease(seconds=30)
    await world.enqueue("order")
    done = await mark_restored(world.store, instant("03:29"), "ann")
    assert done.runs == 1
    states = {run.id: run.state for run in (await world.insights.runs()).items}
    assert states[held.id] is RunState.RUNNING
    assert list(states.values()).count(RunState.QUEUED) == 1


@pytest.mark.parametrize("has_begun", [True, False])
@patiently
async def test_work_on_an_engine_goes_on_if_it_has_begun(has_begun: bool) -> None:
    """It reports its end itself; an order that has not begun would be sent again, so it never begins (S53)."""
    world = await new_world()
    lease = await hand_over(world)
    if has_begun:
        await world.store.hand_over(lease.id, lease.token, Began("ticket", "claim"))
    world.go("00:05")
    done = await mark_restored(world.store, world.now, "ann")
    assert done.runs == (not has_begun)
    assert (await world.run(lease.id)).cancelling is not has_begun
    gate = await world.store.hand_over(lease.id, lease.token, Began("ticket", "claim"))
    assert (gate is not None) is has_begun


@patiently
async def test_it_may_be_said_again() -> None:
    """The second time finds nothing to do, and a time to come is refused."""
    world = await of_a_backup()
    await mark_restored(world.store, instant("02:15"), "ann")
    await world.store.expire()
    assert (await mark_restored(world.store, instant("02:15"), "ann"))[:2] == (0, 0)
    with pytest.raises(InputError, match="is to come: give the time at which the lost store stopped"):
        await mark_restored(world.store, instant("03:31"), "ann")


@patiently
async def test_what_nodes_noticed_is_told_until_it_is_answered() -> None:
    """Once somebody has said until when the lost store worked, only what was forgotten since is told."""
    world = await new_world()
    node = Node("n1", (Role.TICKER,), host="box", set_back=(0, world.micro - 1))
    (found,) = await set_backs(world.store, [node, replace(node, set_back=())], 0)
    assert found.repair == "tickwise store restored --until 2026-01-01T00:00:00Z"
    await mark_restored(world.store, world.now, "ann")
    assert await set_backs(world.store, [node], 0) == []
    assert await set_backs(world.store, [replace(node, set_back=(1, world.micro + 1))], 0) != []
