"""Slots that no live worker may execute are held, and go on when one comes alive (S46, S47)."""
# ruff: noqa: S101  (a suite of tests asserts)

from typing import Any

import pytest

from ...core.definition import Command, Precondition, Step
from ...core.model import Trigger
from ...core.requirements import Offers, command_digest, requirements_of
from ...stores.records import Node, Role
from .stories import Stories
from .world import HOURLY, World, job

STEP = Step("only", Command(("true",)))
FUNCTION = "of the queue default knows the function a"
COMMANDS = "of the queue default may execute its commands"
JOBS: dict[str, dict[str, Any]] = {
    "a function": {},
    "commands": {"steps": (STEP,)},
    "both": {"preconditions": (Precondition(Command(("true",))),)},
}


def worker(name: str, offers: Offers, seconds: int = 10**9) -> Node:
    return Node(name, (Role.WORKER,), queues=("default",), seconds=seconds, offers=offers)


class WorkerStories(Stories):
    @pytest.mark.parametrize(
        ("lacks", "said"), [("a function", FUNCTION), ("commands", COMMANDS), ("both", FUNCTION)]
    )
    async def test_slots_that_no_worker_may_execute_are_held(self, world: World, lacks: str, said: str) -> None:
        """They wait for a worker that offers what the job requires, and the record says what that is (A1, S47)."""
        mine, others = job("a", HOURLY, **JOBS[lacks]), job("b", steps=(STEP,), env={"A": "b"})
        await world.store.leave("w1")
        await world.store.beat(worker("w2", Offers.of(["b"], [command_digest(others)])))
        await world.define(mine)
        await world.pass_time("02:30")
        assert (await world.ran("a"), await world.decided("a", waits=True)) == ([], ["no_worker 01:00"])
        held = (await world.schedule("a")).deferral
        assert held
        assert held.detail == said
        assert dict((await world.insights.counts()).unserved) == {("default", requirements_of(mine)): 1}
        await world.store.beat(worker("w3", Offers.of(["a"], [command_digest(mine)])))
        await world.pass_time("02:31")
        assert (await world.ran("a"), await world.decided("a")) == (["02:00 catchup"], ["coalesced 01:00"])
        assert (await world.insights.counts()).held == {}

    async def test_no_worker_has_all_that_a_job_requires(self, world: World) -> None:
        """Two workers that offer one half each are none that may execute the job (S47)."""
        mine = job("a", HOURLY, **JOBS["both"])
        await world.store.leave("w1")
        await world.store.beat(worker("w2", Offers.of(["a"])))
        await world.store.beat(worker("w3", Offers.of(commands=[command_digest(mine)])))
        await world.define(mine)
        await world.pass_time("01:00")
        assert (await world.ran("a"), await world.decided("a", waits=True)) == ([], ["no_worker 01:00"])

    async def test_a_worker_that_comes_alive_wakes_what_is_held(self, world: World) -> None:
        """Held slots go on at once when a worker that may execute them begins, or offers more (E8, S47)."""
        await world.store.leave("w1")
        await world.define(*(job(name, HOURLY, grace=30) for name in "abc"))
        await world.pass_time("01:00")
        for functions in ("", "a", "a", "ab"):
            world.clock.advance(3)
            await world.store.beat(worker("w2", Offers.of(functions)))
            await world.tick()
            assert {run.job for run in await world.runs()} == set(functions)
        assert {run.trigger for run in await world.runs()} == {Trigger.SCHEDULE}

    async def test_tickers_hear_of_a_worker_that_comes_alive(self, world: World) -> None:
        """What it wakes is announced to nodes that wait (E8)."""
        await world.store.leave("w1")
        await world.define(job("a", HOURLY))
        await world.pass_time("01:00")
        assert await world.is_notified(lambda: world.store.beat(worker("w2", Offers.of(["a"]))))

    async def test_a_worker_that_comes_back_wakes_what_is_held(self, world: World) -> None:
        """A node that was silent for too long and is heard again is a worker that comes alive (E8, S47)."""
        node = worker("w2", Offers.of(["a"]), seconds=90)
        await world.store.leave("w1")
        await world.store.beat(node)
        await world.define(job("a", HOURLY, grace=30))
        await world.pass_time("01:00")
        assert await world.ran("a") == []
        world.clock.advance(4)
        await world.store.beat(node)
        await world.tick()
        assert await world.ran("a") == ["01:00"]

    async def test_a_node_shows_what_it_offers(self, world: World) -> None:
        """What a worker last said that it offers is read back."""
        for offers in (Offers.of("ab", ["c"]), Offers.of("a")):
            await world.store.beat(worker("w2", offers))
            assert {node.id: node.offers for node in await world.insights.nodes()}["w2"] == offers
