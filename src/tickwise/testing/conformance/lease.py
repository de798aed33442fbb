"""Workers take runs, and hold them by leases (S42, S46)."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from collections.abc import Iterable

from ...core.definition import Command, Precondition, Step
from ...core.model import Trigger
from ...core.requirements import ALL, Offers, command_digest, requirements_of
from ...core.states import RunState
from ...stores.records import MICRO, Enqueue
from .stories import Stories
from .world import HOURLY, World, instant, job, worker_node

STEP = Step("only", Command(("true",)))


class LeaseStories(Stories):
    async def test_a_lease(self, world: World) -> None:
        """It has all that a worker needs, and the run is running."""
        await world.define(job("a", "0 */2 * * *", params={"n": 1}))
        await world.pass_time("02:00")
        world.clock.advance(3.5)
        (lease,) = await world.lease(node="w9", seconds=20)
        assert (lease.job.name, dict(lease.job.params), lease.trigger) == ("a", {"n": 1}, Trigger.SCHEDULE)
        assert (lease.schedule, lease.slot, lease.previous_slot) == ("a", instant("02:00"), instant("00:00"))
        assert (lease.label, lease.attempt, lease.token) == ("0 */2 * * *", 1, "w9/1")
        assert (lease.due_at, lease.started_at) == (instant("02:00") * MICRO, world.micro)
        run = await world.run(lease.id)
        assert (run.state, run.node, run.attempt) == (RunState.RUNNING, "w9", 1)
        assert (run.started_at, run.lease_until) == (world.micro, world.micro + 20 * MICRO)

    async def test_by_priority_then_age(self, world: World) -> None:
        """Higher priority first; within it what was due earlier, then what was made earlier."""
        await world.define(job("low", priority=-1), job("mid"), job("high", priority=9))
        asked = [("low", 0), ("mid", 30), ("mid", 10), ("high", 50), ("mid", 10)]
        runs = [await world.enqueue(name, at=world.now + wait) for name, wait in asked]
        world.clock.advance(60)
        assert [lease.id for lease in await world.lease()] == [runs[n] for n in (3, 2, 4, 1, 0)]

    async def test_queues_in_the_order_asked_for(self, world: World) -> None:
        """A worker gets runs of its queues only, the first queue's before the second's whatever their priority."""
        await world.define(job("a", queue="q1"), job("b", queue="q2", priority=9), job("c", queue="q3"))
        runs = {name: await world.enqueue(name) for name in "abc"}
        leases = await world.lease(queues=("q1", "q2"))
        assert [lease.id for lease in leases] == [runs["a"], runs["b"]]

    async def test_no_more_than_it_can_take(self, world: World) -> None:
        """Capacity bounds what is leased, over all queues together."""
        await world.define(job("a"), job("b", queue="other"))
        await world.store.enqueue([Enqueue(name) for name in "ab" for _ in range(3)])
        sizes = [len(await world.lease(capacity, queues=("default", "other"))) for capacity in (0, 4, 5)]
        assert sizes == [0, 4, 2]

    async def test_unknown_functions_are_left_for_others(self, world: World) -> None:
        """A job without steps goes to workers that know its name (S46)."""
        await world.define(job("known"), job("unknown"))
        await world.store.enqueue([Enqueue(name) for name in ("unknown", "known")])
        leases = await world.lease(offers=Offers.of({"known"}))
        assert [lease.job.name for lease in leases] == ["known"]
        assert [lease.job.name for lease in await world.lease()] == ["unknown"]

    async def test_commands_from_elsewhere_are_left_for_others(self, world: World) -> None:
        """Commands go to workers whose source says the same words, or that may execute any (A1, S46)."""
        own, foreign = job("own", steps=(STEP,)), job("foreign", steps=(STEP,), env={"A": "b"})
        both = job("both", preconditions=(Precondition(Command(("true",))),))
        jobs = (own, foreign, both)
        await world.define(*jobs)
        await world.store.enqueue([Enqueue(each.name) for each in jobs for _ in range(2)])

        async def leased(*functions: str, commands: Iterable[str] = ()) -> list[str]:
            return [lease.job.name for lease in await world.lease(4, offers=Offers.of(functions, commands))]

        assert await leased("own", "foreign", "both") == []
        assert await leased(commands=[command_digest(own), command_digest(both)]) == ["own", "own"]
        assert await leased("both", commands=[command_digest(both)]) == ["both", "both"]
        assert await leased(commands=[ALL]) == ["foreign", "foreign"]

    async def test_a_run_keeps_what_it_requires(self, world: World) -> None:
        """A run is executed by a worker that has the words with which it was enqueued (S23, S46)."""
        before, after = (job("a", steps=(STEP,), env={"N": n}) for n in "12")
        await world.define(before)
        run = await world.enqueue("a")
        await world.define(after)
        assert (await world.run(run)).requires == requirements_of(before)
        assert await world.lease(offers=Offers.of(commands=[command_digest(after)])) == ()
        (lease,) = await world.lease(offers=Offers.of(commands=[command_digest(before)]))
        assert (lease.id, lease.job.env) == (run, {"N": "1"})

    async def test_many_that_it_may_not_execute(self, world: World) -> None:
        """What others must execute does not keep a worker from what is behind it in the queue (S46)."""
        foreign = [job(f"foreign-{n}", steps=(STEP,), env={"N": str(n)}, priority=1) for n in range(12)]
        await world.define(job("known"), *foreign)
        await world.store.enqueue([Enqueue(each.name) for each in foreign] + [Enqueue("known")])
        (lease,) = await world.lease(1, offers=Offers.of(["known"]))
        assert lease.job.name == "known"

    async def test_no_run_is_handed_out_twice(self, world: World) -> None:
        """Workers that ask at once get different runs, and together all of them."""
        await world.define(job("a"))
        await world.store.enqueue([Enqueue("a") for _ in range(30)])
        taken = await asyncio.gather(*(world.lease(4, f"w{n}") for n in range(8)))
        ids = [lease.id for leases in taken for lease in leases] + [lease.id for lease in await world.lease()]
        assert (len(ids), len(set(ids))) == (30, 30)

    async def test_renewal_extends_the_lease(self, world: World) -> None:
        """From now on for as long as is asked; it says which runs still are the node's (S42)."""
        await world.define(job("a"))
        await world.enqueue("a")
        (lease,) = await world.lease(seconds=30)
        world.clock.advance(20)
        renewed = await world.store.beat(worker_node("w1"), {lease.id: lease.token})
        assert renewed[:2] == (frozenset({lease.id}), frozenset())
        assert (await world.run(lease.id)).lease_until == lease.started_at + 50 * MICRO
        world.clock.advance(25)
        assert (await world.store.expire()).leases == 0

    async def test_a_node_learns_of_leases_it_did_not_know(self, world: World) -> None:
        """If the answer to a lease was lost, the next renewal brings it, whole; other nodes' stay theirs."""
        await world.define(job("a", HOURLY))
        await world.pass_time("01:00")
        await world.enqueue("a", params={"n": 1})
        mine = await world.lease(capacity=1, seconds=30)
        lost = await world.lease(capacity=1, seconds=30)
        await world.enqueue("a")
        await world.lease(node="w2")
        renewed = await world.store.beat(worker_node("w1"), {mine[0].id: mine[0].token})
        assert renewed[:3] == (frozenset({mine[0].id}), frozenset(), lost)
        world.clock.advance(31)
        assert (await world.store.beat(worker_node("w1"))).unknown == ()
