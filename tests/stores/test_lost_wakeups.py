"""What a damaged row, or a clock that was set back, has put to sleep is found by the scan of all jobs (S15)."""

from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from tickwise import AsyncTickwise
from tickwise.app.doctor import doctor
from tickwise.stores.contract import Store
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.redis.store import RedisStore
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Procedure, Rows, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store
from tickwise.testing.conformance.stories import Stories
from tickwise.testing.conformance.world import HOURLY, World, job, once, schedule

from .test_conformance import URLS

_LOSE = Statement("""
    UPDATE tickwise_job_state SET wake_at = NULL
    WHERE job_id = (SELECT id FROM tickwise_jobs WHERE name = :job)
""")


def _forget(name: str) -> Procedure[Rows]:
    return (yield _LOSE(job=name))


class TestLostWakeups(Stories):
    @pytest.fixture(autouse=True, params=["sqlite", "postgres", "mysql", "mongodb", "redis"])
    def at(self, request: pytest.FixtureRequest) -> None:
        self.url = URLS[request.param](request)

    async def open(self, clock: Callable[[], int]) -> Store:
        store = open_store(self.url, clock)
        await store.schema.upgrade()
        return store

    async def lose(self, world: World, name: str) -> None:
        """The row of a job loses the time at which to look at it."""
        if isinstance(world.store, MongoStore):
            await world.store.mongo.jobs.update_one({"_id": name}, {"$unset": {"wake_at": ""}})
        elif isinstance(world.store, RedisStore):
            await world.store.server.command("ZREM", world.store.server.key("due"), name)
        else:
            assert isinstance(world.store, SqlStore)
            await world.store.driver.run(lambda: _forget(name), Pool.OTHER)

    async def found(self, world: World) -> list[tuple[str, str]]:
        async with AsyncTickwise(self.url, clock=lambda: world.micro) as app:
            return [(each.code, each.what) for each in await doctor(app, lambda: world.micro)]

    async def test_a_wake_up_that_is_lost(self, world: World) -> None:
        """The doctor names the schedule, the scan wakes it, and its next slot runs on time (A11)."""
        two = job("two", HOURLY, overlap="allow", also=[schedule("two.b", "30 * * * *", overlap="allow")])
        await world.define(job("one", HOURLY, overlap="allow"), two)
        await world.pass_time("01:10")
        for name in ("one", "two"):
            await self.lose(world, name)
        codes = [what.split()[0] for code, what in await self.found(world) if code == "wakeup_lost"]
        assert codes == ["one", "two", "two.b"]
        world.go("01:15")
        with capture_logs() as said:
            assert (await world.tick()).more
        assert [sorted(entry["jobs"]) for entry in said] == [["one", "two"]]
        await world.tick()
        assert "wakeup_lost" not in dict(await self.found(world))
        await world.pass_time("02:00")
        assert (await world.ran("one"), await world.ran("two")) == (["01:00", "02:00"], ["01:00", "02:00"])
        assert await world.ran("two.b") == ["00:30", "01:30"]

    async def test_what_is_never_due_is_left_alone(self, world: World) -> None:
        """Finished, removed and on-demand jobs have no wake-up, and nothing looks for one."""
        await world.define(job("once", once("00:20")), job("never"), job("gone", HOURLY))
        await world.store.remove("gone", "app")
        await world.pass_time("00:30")
        world.go("01:30")
        with capture_logs() as said:
            ticked = await world.tick()
        assert (ticked.more, ticked.next_due, said) == (False, None, [])
        assert [code for code, _ in await self.found(world) if code == "wakeup_lost"] == []

    async def test_a_clock_that_was_set_back(self, world: World) -> None:
        """A slot that waits is looked at within a minute by the new clock, too (S4, S15)."""
        await world.define(job("a", HOURLY, overlap="queue"))
        await world.pass_time("01:00")
        running = await world.start()
        await world.pass_time("05:00")
        world.go("03:00")
        await world.tick()
        await world.tick()
        due = await world.insights.next_due()
        assert due is not None
        assert due <= world.now + 60
        await world.end(running)
        await world.tick()
        assert await world.ran("a") == ["01:00", "02:00"]
