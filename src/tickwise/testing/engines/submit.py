"""Orders: the reference is the id, and a second order begins nothing twice (S52, S53)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio

import pytest

from ...core.handover import Sight
from ...runtime.engines.contract import OrderRefusedError
from .stories import EngineStories
from .workplace import Work
from .world import EngineWorld


class SubmitStories(EngineStories):
    async def test_an_order_is_found_by_its_reference(self, world: EngineWorld) -> None:
        """The reference is the engine's own id: whoever has it finds the work, and so does another watcher."""
        order = world.order(Work.WAITS)
        submitted = await world.engine.submit(order)
        assert not submitted.existed
        await world.workplace.until_begun(order.reference)
        await world.until(order.reference, Sight.RUNNING)
        await world.until(order.reference, Sight.RUNNING, engine=await world.connect())

    async def test_the_same_order_again_begins_nothing(self, world: EngineWorld) -> None:
        """In doubt a watcher sends it again: the engine adopts it, or the gate turns the second away (S52)."""
        order = world.order(Work.WAITS)
        await world.engine.submit(order)
        again = await world.engine.submit(order)
        await world.workplace.until_begun(order.reference)
        other = await (await world.connect()).submit(order)
        if world.engine.creates_once:
            assert (again.existed, other.existed) == (True, True)
        world.workplace.release(order.reference)
        await world.until(order.reference, Sight.ENDED)
        assert world.workplace.begins(order.reference) == 1

    async def test_the_same_order_after_its_end_begins_nothing(self, world: EngineWorld) -> None:
        """A watcher that was slow orders work that is long over (S53)."""
        order = world.order(Work.FINISHES)
        await world.engine.submit(order)
        await world.until(order.reference, Sight.ENDED)
        again = await world.engine.submit(order)
        assert again.existed or not world.engine.creates_once
        await world.until(order.reference, Sight.ENDED)
        assert world.workplace.begins(order.reference) == 1

    async def test_of_many_orders_at_once_one_begins(self, world: EngineWorld) -> None:
        """Watchers that believe each other dead order the same reference at the same time."""
        order = world.order(Work.WAITS)
        engines = [world.engine, *[await world.connect() for _ in range(2)]]
        answers = await asyncio.gather(*(engine.submit(order) for engine in engines * 2))
        if world.engine.creates_once:
            assert [answer.existed for answer in answers].count(False) == 1
        await world.workplace.until_begun(order.reference)
        world.workplace.release(order.reference)
        await world.until(order.reference, Sight.ENDED)
        assert world.workplace.begins(order.reference) == 1

    async def test_another_order_under_the_reference_is_refused(self, world: EngineWorld) -> None:
        """An engine that has each reference once compares the fingerprint; any other begins nothing more."""
        order = world.order(Work.WAITS)
        await world.engine.submit(order)
        await world.workplace.until_begun(order.reference)
        await world.until(order.reference, Sight.RUNNING)
        other = world.order(Work.WAITS, fingerprint="another", reference=order.reference)
        if world.engine.creates_once:
            with pytest.raises(OrderRefusedError, match=order.reference):
                await world.engine.submit(other)
        else:
            await world.engine.submit(other)
        assert (await world.look(order.reference)).sight is Sight.RUNNING
        assert world.workplace.begins(order.reference) == 1
