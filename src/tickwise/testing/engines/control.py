"""Cancel, kill, log and forget (S56)."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...core.handover import Sight
from ...core.settle import Succeeded
from .stories import EngineStories
from .work import LINES
from .workplace import Work
from .world import EngineWorld

_UNHEARD = "999999999999999999.8"


class ControlStories(EngineStories):
    async def test_work_that_is_cancelled_ends(self, world: EngineWorld) -> None:
        """The engine asks it to end, or its run's gate does; then it is over, and not a success."""
        reference = await world.begin(Work.WAITS)
        world.workplace.cancel(reference)
        await world.engine.cancel(reference)
        seen = await world.until(reference, Sight.ENDED, Sight.UNKNOWN)
        assert seen.outcome != Succeeded()

    async def test_a_cancel_does_not_touch_other_work(self, world: EngineWorld) -> None:
        """References that begin alike are different references."""
        longer = f"{await world.begin(Work.WAITS)}0"
        await world.engine.submit(world.order(Work.WAITS, reference=longer))
        await world.workplace.until_begun(longer)
        await world.until(longer, Sight.RUNNING)
        other = longer[:-1]
        world.workplace.cancel(other)
        await world.engine.cancel(other)
        await world.until(other, Sight.ENDED, Sight.UNKNOWN)
        assert (await world.look(longer)).sight is Sight.RUNNING

    async def test_work_that_does_not_listen_is_killed(self, world: EngineWorld) -> None:
        """Where the engine can end it by force, it is over; where it cannot, the call does no harm."""
        reference = await world.begin(Work.STUBBORN)
        world.workplace.cancel(reference)
        await world.engine.cancel(reference)
        await world.engine.kill(reference)
        if self.ends_by_force:
            seen = await world.until(reference, Sight.ENDED, Sight.UNKNOWN)
            assert seen.outcome != Succeeded()

    async def test_what_is_not_there_can_be_ended_and_forgotten(self, world: EngineWorld) -> None:
        """A watcher repeats itself after a crash, so nothing of this is an error."""
        for operation in (world.engine.cancel, world.engine.kill, world.engine.forget):
            await operation(_UNHEARD)
            await operation(_UNHEARD)
        assert (await world.engine.log(_UNHEARD)).text == ""

    async def test_work_that_is_over_can_be_cancelled(self, world: EngineWorld) -> None:
        """The cancel comes late and changes nothing."""
        reference = await world.submit(Work.FINISHES)
        seen = await world.until(reference, Sight.ENDED)
        await world.engine.cancel(reference)
        await world.engine.kill(reference)
        assert await world.look(reference) in (seen, await world.look(_UNHEARD))

    async def test_the_log_goes_on_at_its_cursor(self, world: EngineWorld) -> None:
        """Pieces put together are the whole, and a cursor at the end gives nothing more."""
        reference = await world.submit(Work.PRINTS)
        await world.until(reference, Sight.ENDED)
        first = await world.engine.log(reference)
        assert (LINES in first.text) == self.keeps_output
        second = await world.engine.log(reference, first.cursor)
        assert second.text == ""
        assert second.cursor == first.cursor

    async def test_what_is_forgotten_is_unknown(self, world: EngineWorld) -> None:
        """Forgetting twice is no error, and an order that comes late begins nothing (S53)."""
        order = world.order(Work.FINISHES)
        await world.engine.submit(order)
        await world.until(order.reference, Sight.ENDED)
        await world.engine.forget(order.reference)
        await world.engine.forget(order.reference)
        unheard = await world.look(_UNHEARD)
        await world.until(order.reference, unheard.sight)
        await world.engine.submit(order)
        await world.until(order.reference, Sight.ENDED, Sight.WAITING, Sight.UNKNOWN)
        assert world.workplace.begins(order.reference) == 1
