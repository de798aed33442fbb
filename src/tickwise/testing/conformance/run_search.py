"""Runs found by their errors, and counted in groups."""
# ruff: noqa: S101  (a suite of tests asserts)

from ...core.model import Trigger
from ...core.settle import Failed, Succeeded
from ...core.states import RunState
from ...stores.records import RunFilter
from ...stores.statistics import ErrorGroup, RunGroups, RunKind
from .stories import Stories
from .world import World, job

S = RunState
FAILED = frozenset({S.FAILED, S.LOST})
ERRORS = ("LedgerMismatch: payment 8841\nat match", "HTTP 502 100%", "HTTP 502 100%", "x_y")


class RunSearchStories(Stories):
    async def _fail_and_succeed(self, world: World) -> list[str]:
        """Runs of `a` that fail with these errors, one that succeeds, and one of `b`."""
        await world.define(job("a"), job("b", queue="other"))
        ids = []
        for error in (*ERRORS, ""):
            ids.append(await world.enqueue("a"))
            world.clock.advance(1)
            await world.end(await world.start(), Failed() if error else Succeeded(), error=error)
        return [*ids, await world.trigger("b")]

    async def test_runs_by_their_errors(self, world: World) -> None:
        """A pattern is part of the error in any case; what is special elsewhere stands for itself."""
        ids = await self._fail_and_succeed(world)

        async def found(**wanted: object) -> list[int]:
            page = await world.insights.runs(RunFilter(**wanted))  # type: ignore[arg-type]
            return sorted(ids.index(row.id) for row in page.items)

        assert await found(error="ledger*MATCH") == [0]
        assert await found(error="http 5*") == [1, 2]
        assert await found(error="100%") == [1, 2]
        assert await found(error="_") == [3]
        assert await found(error="%") == [1, 2]
        assert await found(error=".") == []
        assert await found(error="h*") == [0, 1, 2]
        assert await found(words=("a", "502")) == [1, 2]
        assert await found(words=("other",)) == []
        assert 4 in await found(words=(ids[4],))
        assert await found(words=("\0",)) == await found(error="\ud800") == []

    async def test_runs_in_groups(self, world: World) -> None:
        """By what they have in common; those that failed by their errors, with the newest of each."""
        ids = await self._fail_and_succeed(world)
        whole = await world.insights.run_groups()
        assert sorted(whole.kinds) == [
            RunKind(S.FAILED, Trigger.ENQUEUE, "default", 4), RunKind(S.QUEUED, Trigger.MANUAL, "other", 1),
            RunKind(S.SUCCEEDED, Trigger.ENQUEUE, "default", 1),
        ]  # fmt: skip
        assert (whole.jobs, whole.schedules) == ({"a": 5, "b": 1}, {})
        second = world.micro - 3_000_000
        assert ErrorGroup("a", ERRORS[1], 2, second, second + 1_000_000, ids[2]) in whole.errors
        assert {each.error: each.runs for each in whole.errors} == {ERRORS[0]: 1, ERRORS[1]: 2, ERRORS[3]: 1}
        few = await world.insights.run_groups(RunFilter(states=FAILED), 3)
        assert (sum(kind.runs for kind in few.kinds) >= 3, few.more) == (True, True)
        assert (await world.insights.run_groups(RunFilter(states=FAILED), 4)).more is False
        assert await world.insights.run_groups(RunFilter(text="none")) == RunGroups()
        assert await world.insights.run_groups(RunFilter(text="\0")) == RunGroups()
