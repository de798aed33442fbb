"""Plans that somebody left undone, and who comes late with one that others have long fulfilled."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from unittest.mock import patch

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tickwise.core.change import Paused
from tickwise.core.definition import Overlap, Policy
from tickwise.core.planner import plan
from tickwise.stores.contract import Store
from tickwise.stores.job_document import Document
from tickwise.stores.mongo import intents
from tickwise.stores.mongo.base import MOVE_SECONDS, Mongo
from tickwise.stores.mongo.intents import SOON
from tickwise.stores.records import MICRO, LeaseRequest

from ...support.races.file_clock import START
from ...support.races.race import Race, check_each_once, job, opened
from ...support.twins import reusable_stores
from ...support.twins.machine import machine
from ..races.roles.crash import settle_everything
from ..races.roles.worker import finish
from ..test_state_machine import MORE

LATE = 5  # plans that are fulfilled once more
FEW = settings(max_examples=3 * MORE, stateful_step_count=40)


def test_who_comes_late_changes_nothing(mongodb_database: str) -> None:
    """Plans that were fulfilled are fulfilled again, by who was stopped meanwhile: nobody can tell (S1)."""
    fulfil, earlier = intents.apply, list[tuple[str, Document]]()

    async def twice(mongo: Mongo, made: Mapping[str, Document], now: int) -> None:
        await fulfil(mongo, made, now)
        for name, old in [*earlier[-LATE:], *made.items()]:
            if abs(now - old["at"]) < MOVE_SECONDS * MICRO:
                await fulfil(mongo, {name: old}, now)
        earlier.extend(made.items())

    async def anew(clock: Callable[[], int]) -> Store:
        earlier.clear()
        return await empty(clock)

    with (
        asyncio.Runner() as loop,
        reusable_stores.mongodb(loop, mongodb_database) as empty,
        patch.object(intents, "apply", twice),
    ):
        run_state_machine_as_test(machine(loop, anew, looks_every=5), settings=FEW)


class Died(Exception):  # noqa: N818  (it is what the test wants)
    """A process did, after its move and before what follows from it."""


async def _die(_: Mongo, made: Mapping[str, Document], __: int) -> None:
    if made:
        raise Died


def test_a_plan_that_was_left_while_another_was_fulfilled(on_mongodb: Race) -> None:
    """A pass that finds a plan, and then the next one, fulfils both before it decides: no slot is lost (S1)."""
    on_mongodb.install(job("a", "* * * * *", policy=Policy.of(overlap=Overlap.QUEUE)))
    on_mongodb.clock.advance(180)
    fulfil = intents.apply

    async def pass_and_die(store: Store) -> None:
        with patch.object(intents, "apply", _die), suppress(Died):
            await store.tick(plan, "dies")

    async def story(store: Store) -> None:
        other = opened(**on_mongodb.address)
        await pass_and_die(other)
        on_mongodb.clock.advance(SOON)

        async def meanwhile(mongo: Mongo, made: Mapping[str, Document], now: int) -> None:
            await fulfil(mongo, made, now)
            with patch.object(intents, "apply", fulfil):
                await finish(store, await store.lease(LeaseRequest("w", 1)))
            await pass_and_die(other)
            fulfilling.stop()

        fulfilling = patch.object(intents, "apply", meanwhile)
        fulfilling.start()
        await store.tick(plan, "goes on", jobs=["a"])
        await settle_everything(store, "settles")
        await other.close()

    on_mongodb.do(story)
    check_each_once(on_mongodb.runs(), [("a", START + 60 * n) for n in (1, 2, 3)])


def test_a_plan_that_is_young_is_left_to_its_process(on_mongodb: Race) -> None:
    """A job whose plan is being applied is not due; once the plan is late, `expire` applies it, too (S1)."""
    on_mongodb.install(job("a", "* * * * *"))
    on_mongodb.clock.advance(60)

    async def story(store: Store) -> None:
        other = opened(**on_mongodb.address)
        with patch.object(intents, "apply", _die), suppress(Died):
            await other.tick(plan, "dies")
        await other.close()
        await store.expire()
        assert (await store.tick(plan, "goes on")).jobs == 0
        assert not (await store.insights.runs()).items
        on_mongodb.clock.advance(SOON)
        await store.expire()

    on_mongodb.do(story)
    check_each_once(on_mongodb.runs(), [("a", START + 60)], state=None)


def test_a_plan_that_is_in_the_way_of_a_person(on_mongodb: Race) -> None:
    """What a person asks of a job whose plan is left is done after the plan, and the plan is settled then (S1)."""
    on_mongodb.install(job("a", "* * * * *"))
    on_mongodb.clock.advance(60)

    async def story(store: Store) -> None:
        other = opened(**on_mongodb.address)
        with patch.object(intents, "apply", _die), suppress(Died):
            await other.tick(plan, "dies")
        await other.close()
        assert (await store.change("a", Paused("somebody"))).paused
        [run] = (await store.insights.runs()).items
        assert run.slot == START + 60

    on_mongodb.do(story)
