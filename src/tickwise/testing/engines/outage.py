"""An engine that does not answer, and watchers that come and go (S54, S55)."""
# ruff: noqa: S101  (a suite of tests asserts)

from collections.abc import Awaitable, Callable, Mapping

from ...core.handover import Sight
from ...runtime.engines.contract import Engine, EngineUnavailableError, Order
from .stories import EngineStories
from .workplace import Work
from .world import EngineWorld

OPERATIONS: Mapping[str, Callable[[Engine, Order], Awaitable[object]]] = {
    "submit": lambda engine, order: engine.submit(order),
    "look": lambda engine, order: engine.look([order.reference]),
    "cancel": lambda engine, order: engine.cancel(order.reference),
    "kill": lambda engine, order: engine.kill(order.reference),
    "log": lambda engine, order: engine.log(order.reference),
    "forget": lambda engine, order: engine.forget(order.reference),
}


class OutageStories(EngineStories):
    async def test_an_engine_that_is_gone_is_told_by_every_operation(self, world: EngineWorld) -> None:
        """No operation guesses; when the engine is back, the work is found again and has begun once (S55)."""
        order = world.order(Work.WAITS)
        await world.engine.submit(order)
        await world.workplace.until_begun(order.reference)
        await world.until(order.reference, Sight.RUNNING)
        await self.cut()
        try:
            assert await _answering(world.engine, order) == []
            assert await _answering(await world.connect(), order) == []
        finally:
            await self.mend()
        await world.until_answering(order)
        await world.until(order.reference, Sight.RUNNING)
        world.workplace.release(order.reference)
        await world.until(order.reference, Sight.ENDED)
        assert world.workplace.begins(order.reference) == 1

    async def test_work_goes_on_without_its_watcher(self, world: EngineWorld) -> None:
        """Closing gives connections back and ends nothing; another watcher finds the work (S54)."""
        first = await self.open()
        order = world.order(Work.WAITS)
        await first.submit(order)
        await world.workplace.until_begun(order.reference)
        await first.close()
        await world.until(order.reference, Sight.RUNNING)
        world.workplace.release(order.reference)
        seen = await world.until(order.reference, Sight.ENDED, Sight.UNKNOWN)
        assert seen.error == ""
        assert world.workplace.begins(order.reference) == 1

    async def test_an_order_whose_watcher_left_at_once_is_carried_out(self, world: EngineWorld) -> None:
        """What `submit` has answered is with the engine, even if its watcher is gone in the next moment (S52)."""
        first = await self.open()
        order = world.order(Work.WAITS)
        await first.submit(order)
        await first.close()
        await world.workplace.until_begun(order.reference)
        assert world.workplace.begins(order.reference) == 1

    async def test_closing_twice_is_no_error(self, world: EngineWorld) -> None:
        """A watcher that shuts down in trouble may do so; an engine that was never used has nothing to close."""
        unused = await world.connect()
        await unused.close()
        await unused.close()


async def _answering(engine: Engine, order: Order) -> list[str]:
    """The operations that did not say that the engine does not answer."""
    answered = []
    for name, operation in OPERATIONS.items():
        try:
            await operation(engine, order)
        except EngineUnavailableError:
            continue
        answered.append(name)
    return answered
