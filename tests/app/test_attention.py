"""What needs a person, read from a store: each cause from what really happened to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tickwise import AsyncTickwise
from tickwise.app.attention import Status, status
from tickwise.app.restoration import mark_restored
from tickwise.core.attention import Cause
from tickwise.core.change import Paused
from tickwise.core.definition import After
from tickwise.core.model import Pause
from tickwise.core.settle import Failed, Outcome, Succeeded, Unmet
from tickwise.core.shadow import FireSeen, ShadowAdopted
from tickwise.core.time_limit import Deadline, TimeLimit
from tickwise.stores.records import Node, Role
from tickwise.testing.conformance.world import HOURLY, World, job

from ..support.app import Clock, patiently

FOR_GOOD = 10**9


@dataclass
class Place:
    """A store with a node that ticks and works for good."""

    world: World

    async def live(self, *roles: Role, **given: object) -> None:
        node = {"host": "here", "queues": ("default", "other"), "capacity": 5, "seconds": FOR_GOOD, **given}
        await self.world.store.beat(Node("w1", roles or (Role.TICKER, Role.WORKER), **node))  # type: ignore[arg-type]

    async def look(self, **given: object) -> Status:
        return await status(self.world.store, **given)  # type: ignore[arg-type]

    async def causes(self) -> dict[str, Cause]:
        return {item.subject.name: item.kind for item in (await self.look()).items}


@asynccontextmanager
async def place() -> AsyncIterator[Place]:
    clock = Clock()
    async with AsyncTickwise("memory://", clock=clock) as app:
        here = Place(World(await app.store(), clock))
        await here.live()
        yield here


@patiently
async def test_nothing_needs_anybody() -> None:
    """One sentence, and an empty list; without schedules it says so."""
    async with place() as here:
        assert (await here.look()).summary == "There are no schedules yet."
        await here.world.define(job("a", HOURLY), job("b", HOURLY))
        await here.world.pass_time("01:00")
        await here.world.work()
        found = await here.look()
        assert (found.summary, found.items) == ("All 2 schedules are as they should be.", ())
        assert (found.schedules, found.well, found.more) == (2, 2, False)


@patiently
async def test_each_cause_is_found_where_it_happened() -> None:
    """Failures, preconditions, overlaps, dependencies and pauses, each under the name of its schedule."""
    async with place() as here:
        world, often = here.world, "*/5 * * * *"
        await world.define(
            job("fails", often), job("unmet", often), job("slow", often), job("paused", often), job("well", often)
        )
        await world.define(job("after", often, after=(After("fails", 300),)))
        await world.pass_time("00:02")
        await world.store.change("paused", Paused("Ada", "moving"))
        for minute in range(5, 35, 5):
            await world.pass_time(f"00:{minute:02}")
            for lease in await world.lease():
                if lease.job.name != "slow":
                    ends: dict[str, Outcome] = {"fails": Failed(), "unmet": Unmet()}
                    await world.end(lease, ends.get(lease.job.name, Succeeded()), error="boom")
        assert await here.causes() == {
            "fails": Cause.FAILING,
            "unmet": Cause.UNMET,
            "slow": Cause.OUTLASTED,
            "after": Cause.WAITS_FOR,
            "paused": Cause.MISSED_WHILE_PAUSED,
        }
        found = await here.look()
        assert (found.summary, found.schedules, found.well) == ("5 things need you.", 6, 1)
        assert found.items[0].subject.name == "fails"
        few = await here.look(limit=2)
        assert (len(few.items), few.more, few.summary) == (2, True, "5 things need you.")
        scoped = await here.look(sees=lambda name: name in {"fails", "well"})
        assert (scoped.summary, scoped.schedules, scoped.well) == ("1 thing needs you.", 2, 1)


@patiently
async def test_what_is_wrong_beside_the_schedules() -> None:
    """Files, channels, queues and the pause of everything; a token with scopes does not see them."""
    async with place() as here:
        await here.world.define(job("a", HOURLY), job("lonely", queue="gpu"))
        await here.live(problems=("jobs/b.yaml: line 3: hour: 25",), undelivered=("webhook: 404",))
        await here.world.enqueue("lonely")
        await here.world.store.pause(Pause(here.world.now, "Ada"))
        assert await here.causes() == {
            "jobs/b.yaml": Cause.BROKEN_FILE,
            "webhook": Cause.UNDELIVERED,
            "gpu": Cause.NO_WORKER,
            "everything": Cause.PAUSED,
        }
        assert (await here.look(sees=lambda _: True)).items == ()


@patiently
async def test_a_store_that_was_set_back() -> None:
    """It is told until a person has said what is to become of that time, or for a day (S78)."""
    async with place() as here:
        micro = here.world.micro
        await here.live(set_back=(0, micro))
        here.world.go("00:05")
        assert await here.causes() == {"the store": Cause.SET_BACK}
        await mark_restored(here.world.store, here.world.now, "Ada")
        assert await here.causes() == {}
        await here.live(set_back=(micro, here.world.micro + 1))
        assert await here.causes() == {"the store": Cause.SET_BACK}
        here.world.go("2T00:06")
        assert await here.causes() == {}


@patiently
async def test_a_fleet_without_a_ticker() -> None:
    """It is one cause, however many schedules are overdue; with a ticker each of them is one."""
    async with place() as here:
        await here.world.define(*(job(name, HOURLY) for name in "abc"))
        here.world.go("01:05")
        assert await here.causes() == dict.fromkeys("abc", Cause.SILENT)
        await here.live(Role.WORKER)
        assert await here.causes() == {"the fleet": Cause.SILENT}


@patiently
async def test_slots_held_for_a_worker() -> None:
    """The queue is named, not each schedule (S47)."""
    async with place() as here:
        await here.live(Role.TICKER)
        await here.world.define(job("a", HOURLY), job("b", HOURLY))
        await here.world.pass_time("01:10")
        assert await here.causes() == {"default": Cause.NO_WORKER}
        (item,) = (await here.look()).items
        assert item.text == "has no live worker that serves the queue default: 2 jobs hold their slots"


@patiently
async def test_a_schedule_in_shadow() -> None:
    """S80: its decisions and fires bring it onto the list, until it is adopted."""
    async with place() as here:
        await here.world.define(job("a", HOURLY, shadow=True))
        for hour in ("01:00", "02:00", "03:00"):
            await here.world.pass_time(hour)
            await here.world.store.change("a", FireSeen(here.world.now, hour))
        assert await here.causes() == {"a": Cause.IN_SHADOW}
        await here.world.store.change("a", ShadowAdopted())
        assert await here.causes() == {}
        here.world.go("03:30")
        await here.world.store.change("a", FireSeen(here.world.now, "late"))
        assert await here.causes() == {"a": Cause.STARTED_TWICE}


@patiently
async def test_a_deadline_that_was_missed_needs_somebody() -> None:
    """S65: until the work of a newer slot has been done."""
    async with place() as here:
        await here.world.define(job("a", HOURLY, deadline=Deadline(finish=TimeLimit(600))), job("b", HOURLY))
        await here.world.pass_time("01:30")
        assert await here.causes() == {"a": Cause.LATE}
        await here.world.work()
        assert await here.causes() == {"a": Cause.LATE}
        await here.world.pass_time("02:01")
        await here.world.work()
        assert await here.causes() == {}
