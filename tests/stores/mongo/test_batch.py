"""Simple jobs are moved together, and each of them still by itself."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from itertools import count
from threading import Thread
from typing import Any

import pytest
from pymongo import MongoClient, monitoring

from tickwise.core.change import Paused
from tickwise.core.planner import plan
from tickwise.core.states import RunState
from tickwise.stores.contract import Store

from ...support.races.failpoints import Writes
from ...support.races.file_clock import START
from ...support.races.processes import Crew, Gone, tell
from ...support.races.race import Race, check_each_once, job, opened

NAMES = [f"j{n}" for n in range(5)]
INTERVAL, TIMES = 600, "*/10 * * * *"  # seconds, and the same as a cron text
LEFT_ALONE = 61  # seconds after which leases have run out


@pytest.fixture
def writes() -> Iterator[Writes]:
    """Points before each write of the stores that the test opens."""
    before = monitoring._LISTENERS.command_listeners[:]
    yield Writes()
    monitoring._LISTENERS.command_listeners[:] = before


def test_killed_before_every_write_of_a_pass(on_mongodb: Race, crew: Crew) -> None:
    """Wherever a pass dies that starts simple jobs, each slot gets its run, and only one (S1)."""
    place = on_mongodb
    place.install(*(job(name, TIMES) for name in NAMES))
    rescuer = crew.one("crash.rescue_on_word", **place.address, node="rescuer")
    for point in count(1):
        place.clock.set(START + INTERVAL * point)
        victim = crew.one("mongo.die_in_a_pass", **place.address, node=f"victim-{point}", die_at=point)
        try:
            writes = victim.heard_last()
        except Gone:
            writes = None
        place.clock.advance(LEFT_ALONE)
        rescuer.say("go")
        assert rescuer.hear() == "settled"
        if writes is not None:
            break
    tell(", ".join(writes))
    wanted = ("insert intents", "update jobs", "insert runs", "delete intents")
    assert [each.replace("tickwise_", "") for each in writes] == list(wanted)
    check_each_once(place.runs(), _slots(NAMES, point))
    with MongoClient[Any](place.url) as client:
        assert client.get_default_database()["tickwise_intents"].count_documents({}) == 0


def test_a_job_that_is_changed_meanwhile_stays_as_it_is(on_mongodb: Race, writes: Writes) -> None:
    """A pause that is written just before the moves of a pass holds its job; the others start (S16, S29)."""
    place = on_mongodb
    place.install(*(job(name, TIMES) for name in NAMES))
    place.clock.set(START + INTERVAL)
    paused, *others = NAMES

    async def story(store: Store) -> None:
        writes.arm(1, lambda: _elsewhere(lambda other: other.change(paused, Paused("somebody")), place))
        ticked = await store.tick(plan, "t")
        assert (ticked.jobs, ticked.runs, ticked.more) == (len(others), len(others), True)
        again = await store.tick(plan, "t")
        assert (again.runs, again.more) == (0, False)

    place.do(story)
    check_each_once(place.runs(), _slots(others, 1), RunState.QUEUED)


def test_two_passes_at_the_same_moment(on_mongodb: Race, writes: Writes) -> None:
    """A pass that is overtaken by a whole other one before its moves starts nothing (S1)."""
    place = on_mongodb
    place.install(*(job(name, TIMES) for name in NAMES))
    place.clock.set(START + INTERVAL)

    async def story(store: Store) -> None:
        writes.arm(1, lambda: _elsewhere(lambda other: other.tick(plan, "faster"), place))
        ticked = await store.tick(plan, "slower")
        assert (ticked.jobs, ticked.runs) == (0, 0)

    place.do(story)
    check_each_once(place.runs(), _slots(NAMES, 1), RunState.QUEUED)


def _slots(names: list[str], last: int) -> list[tuple[str, int]]:
    return [(name, START + INTERVAL * n) for name in names for n in range(1, last + 1)]


def _elsewhere(move: Callable[[Store], Coroutine[Any, Any, Any]], place: Race) -> None:
    """Make a move on another store, in a thread of its own, and wait for it."""

    async def on_another_store() -> None:
        store = opened(**place.address)
        await move(store)
        await store.close()

    thread = Thread(target=lambda: asyncio.run(on_another_store()))
    thread.start()
    thread.join()
