"""Looks: many at once, how work ended, and what is unknown (S55)."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...core.handover import Sight
from ...core.settle import Failed, Succeeded
from .stories import EngineStories
from .workplace import Work
from .world import EngineWorld


class LookStories(EngineStories):
    async def test_one_look_sees_many(self, world: EngineWorld) -> None:
        """Each reference has its own answer, and one that nobody ordered is told as the engine's facts say."""
        over = await world.submit(Work.FINISHES)
        await world.until(over, Sight.ENDED)
        runs = await world.begin(Work.WAITS)
        await world.until(runs, Sight.RUNNING)
        unheard = "999999999999999999.7"
        seen = await world.engine.look([over, runs, unheard])
        assert (seen[over].sight, seen[runs].sight) == (Sight.ENDED, Sight.RUNNING)
        if world.engine.tells_unknown:
            assert unheard not in seen or seen[unheard].sight is Sight.UNKNOWN
        else:
            assert seen[unheard].sight is Sight.WAITING

    async def test_a_look_at_nothing_sees_nothing(self, world: EngineWorld) -> None:
        """A watcher without work asks for nothing."""
        assert dict(await world.engine.look([])) == {}

    async def test_the_end_of_work_that_finishes(self, world: EngineWorld) -> None:
        """It has ended well, or the engine does not know how."""
        reference = await world.submit(Work.FINISHES)
        seen = await world.until(reference, Sight.ENDED)
        assert seen.outcome in {Succeeded(), None}
        assert seen.error == ""

    async def test_the_end_of_work_that_fails(self, world: EngineWorld) -> None:
        """An engine that knows of the failure says why; none calls it a success."""
        reference = await world.submit(Work.FAILS)
        seen = await world.until(reference, Sight.ENDED)
        assert seen.outcome in {Failed(), None}
        assert seen.error or seen.outcome is None

    async def test_a_look_changes_nothing(self, world: EngineWorld) -> None:
        """What has ended stays ended until it is forgotten, however often it is looked at (S56)."""
        reference = await world.submit(Work.FINISHES)
        seen = await world.until(reference, Sight.ENDED)
        assert [await world.look(reference) for _ in range(3)] == [seen] * 3
