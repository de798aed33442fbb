"""The fleet's limits on queues."""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio

from ...core.definition import RetryPolicy
from ...core.model import Pause
from ...core.settle import Failed
from ...stores.records import Enqueue, QueueLimit
from .stories import Stories
from .world import World, job


async def crowded(world: World, number: int = 10) -> None:
    """Many runs wait in the queue `default`."""
    await world.define(job("a", retry=RetryPolicy(1, 3_600)))
    await world.store.enqueue([Enqueue("a") for _ in range(number)])


class LimitStories(Stories):
    async def test_concurrency_counts_the_whole_fleet(self, world: World) -> None:
        """No more than so many runs of the queue are running, whoever runs them; an end makes room."""
        await crowded(world)
        await world.store.limit(QueueLimit("default", concurrency=3))
        first = await world.lease(2, "w1")
        second = await world.lease(5, "w2")
        assert (len(first), len(second), len(await world.lease(5, "w3"))) == (2, 1, 0)
        await world.end(first[0])
        await world.end(second[0], Failed())
        assert len(await world.lease(5, "w3")) == 2

    async def test_concurrency_under_pressure(self, world: World) -> None:
        """Workers that ask at once do not break through it."""
        await crowded(world)
        await world.store.limit(QueueLimit("default", concurrency=3))
        taken = await asyncio.gather(*(world.lease(2, f"w{n}") for n in range(6)))
        assert sum(map(len, taken)) <= 3
        assert sum(map(len, taken)) + len(await world.lease()) == 3

    async def test_starts_per_second(self, world: World) -> None:
        """A second's worth can start at once; after that as many as time brings."""
        await crowded(world)
        await world.store.limit(QueueLimit("default", starts_per_second=2))
        started = [len(await world.lease())]
        for pause in (0, 0.5, 0.25, 0.25, 60):
            world.clock.advance(pause)
            started.append(len(await world.lease()))
        assert started == [2, 0, 1, 0, 1, 2]

    async def test_less_than_one_a_second(self, world: World) -> None:
        """One may start, and the next when time has brought it."""
        await crowded(world)
        await world.store.limit(QueueLimit("default", starts_per_second=0.25))
        started = [len(await world.lease())]
        for pause in (3, 1, 3, 1):
            world.clock.advance(pause)
            started.append(len(await world.lease()))
        assert started == [1, 0, 1, 0, 1]

    async def test_what_is_not_taken_is_not_spent(self, world: World) -> None:
        """Asking without getting anything uses up no start."""
        await world.define(job("a"))
        await world.store.limit(QueueLimit("default", starts_per_second=1))
        assert await world.lease() == ()
        await world.enqueue("a")
        assert len(await world.lease()) == 1

    async def test_a_limit_is_of_one_queue(self, world: World) -> None:
        """Other queues go on; both none lifts it."""
        await crowded(world)
        await world.define(job("b", queue="other"))
        await world.enqueue("b")
        await world.store.limit(QueueLimit("default", concurrency=1))
        await world.store.limit(QueueLimit("rare", starts_per_second=1.5))
        assert len(await world.lease(queues=("default", "other"))) == 2
        assert await world.insights.limits() == (
            QueueLimit("default", concurrency=1), QueueLimit("rare", starts_per_second=1.5),
        )  # fmt: skip
        await world.store.limit(QueueLimit("rare"))
        await world.store.limit(QueueLimit("default"))
        assert (await world.insights.limits(), len(await world.lease())) == ((), 9)

    async def test_a_paused_queue_starts_nothing(self, world: World) -> None:
        """S66: what is queued waits until the queue is resumed, what runs goes on, and other queues do too."""
        await crowded(world)
        await world.define(job("b", queue="other"))
        await world.enqueue("b")
        (running,) = await world.lease(1)
        await world.store.pause_queue("default", Pause(0, "me", "repair"))
        (limit,) = await world.insights.limits()
        assert limit.pause == Pause(world.now, "me", "repair")
        assert [one.job.name for one in await world.lease(queues=("default", "other"))] == ["b"]
        await world.end(running)
        await world.store.pause_queue("default", None)
        assert (await world.insights.limits(), len(await world.lease())) == ((), 9)

    async def test_a_pause_of_a_queue_ends_by_itself(self, world: World) -> None:
        """S66: from its end on the queue is leased again."""
        await crowded(world)
        end = world.now + 60
        await world.store.pause_queue("default", Pause(0, until=end))
        world.clock.advance(59)
        assert await world.lease() == ()
        world.clock.advance(1)
        assert len(await world.lease()) == 10

    async def test_a_pause_and_the_limits_of_a_queue(self, world: World) -> None:
        """S66: each stays while the other changes."""
        await crowded(world)
        await world.store.limit(QueueLimit("default", concurrency=2))
        await world.store.pause_queue("default", Pause(0))
        await world.store.limit(QueueLimit("default", concurrency=3))
        assert await world.lease() == ()
        await world.store.pause_queue("default", None)
        assert len(await world.lease()) == 3

    async def test_a_pass_leases_nothing_of_a_paused_queue(self, world: World) -> None:
        """S66: a node that leases what it has just made waits as well."""
        await world.define(job("a", "* * * * *"))
        await world.store.pause_queue("default", Pause(0))
        world.clock.advance(60)
        made = await world.tick(reserve=world.reservation(5))
        assert (made.runs, made.leases) == (1, ())
