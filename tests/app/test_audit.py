"""The audit of a store: nothing is wrong with what a store does, and what is wrong with its rows is found."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tickwise import AsyncTickwise
from tickwise.app.audit import Audit, audit
from tickwise.core.audit import Fault
from tickwise.core.backfill import BackfillAsked
from tickwise.core.change import Paused, Rescheduled, Resumed
from tickwise.core.definition import Keep
from tickwise.core.model import Pause
from tickwise.testing.conformance.world import World, instant, job, once

from ..support.app import Clock, new_world, patiently

QUARTERS = "*/15 * * * *"


@asynccontextmanager
async def place(folder: Path) -> AsyncIterator[tuple[World, Path]]:
    """A world on SQLite, and its file."""
    clock, file = Clock(), folder / "tickwise.db"
    async with AsyncTickwise(f"sqlite:///{file}", clock=clock) as app:
        world = World(await app.store(), clock)
        await world.begin()
        yield world, file


def spoil(file: Path, statement: str) -> None:
    """Change the database behind everybody's back."""
    with sqlite3.connect(file) as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()


async def live(world: World, *times: str) -> None:
    """Let time pass, with all runs succeeding at once now and then."""
    for time in times:
        await world.pass_time(time)
        await world.work()


def told(found: Audit) -> list[tuple[Fault, str]]:
    return [(finding.kind, finding.schedule) for finding in found.findings]


@patiently
async def test_all_is_counted() -> None:
    """Each slot has its run or its reason, and the sums say so (S7)."""
    world = await new_world()
    await world.define(job("a", QUARTERS))
    await live(world, "00:15", "00:30", "01:00")
    assert await audit(world.store) == Audit(schedules=1, slots=4, runs=3, reasons=1, findings=[])


@patiently
async def test_people_may_do_what_they_may() -> None:
    """Pauses, moves, backfills, edits, one-offs, `after`, retention and a deletion leave nothing to be found."""
    world = await new_world()
    await world.define(
        job("a", QUARTERS, catchup="all"), job("b", QUARTERS, keep=Keep(days=1)), job("c", once("00:20", "03:00"))
    )
    await world.define(job("d", QUARTERS, after=(), overlap="allow", max_active_runs=2), job("gone", QUARTERS))
    await live(world, "00:30", "01:00")
    await world.store.change("a", Paused("ann"))
    await world.store.change("b", Rescheduled(instant("01:50")))
    await live(world, "02:00")
    await world.store.change("a", Resumed())
    await world.store.change("d", BackfillAsked(instant("00:10"), instant("01:50")))
    await world.store.pause(Pause(0, "ann"))
    world.go("03:10")
    await world.store.pause(None)
    await world.store.remove("gone", "app")
    assert not (await audit(world.store)).findings
    await live(world, "03:20", "04:00")
    await world.define(job("a", "*/10 * * * *", catchup="skip"))
    await live(world, "05:00", "3T05:00")
    assert await world.store.prune() > 0
    found = await audit(world.store)
    assert not found.findings
    assert found.schedules == 4


@patiently
async def test_a_run_that_vanished(tmp_path: Path) -> None:
    """A slot whose run is gone from the table is missed, and a backfill mends it (S1)."""
    async with place(tmp_path) as (world, file):
        await world.define(job("a", QUARTERS), job("b", QUARTERS))
        await live(world, "00:15", "00:30", "00:45", "01:00")
        spoil(file, f"DELETE FROM tickwise_runs WHERE slot = {instant('00:30')}")
        found = await audit(world.store)
        assert told(found) == [(Fault.MISSED, "a"), (Fault.MISSED, "b")]
        assert found.findings[0].repair.startswith("tickwise schedules backfill a --from 2026-01-01T00:30:00Z")
        assert (await audit(world.store, since=instant("00:31"))).findings == []
        assert (await audit(world.store, until=instant("00:30"))).findings == []


@patiently
async def test_a_decision_that_vanished(tmp_path: Path) -> None:
    """A slot that was skipped and has lost its reason is missed."""
    async with place(tmp_path) as (world, file):
        await world.define(job("a", QUARTERS))
        await world.pass_time("01:00")
        spoil(file, "DELETE FROM tickwise_decisions")
        (finding,) = (await audit(world.store)).findings
        assert finding.text.startswith("3 slots from 2026-01-01T00:30:00Z")


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("UPDATE tickwise_schedules SET wake_at = NULL", Fault.UNEXPLAINED),
        ("UPDATE tickwise_runs SET state = 'failed'", Fault.UNEXPLAINED),
        ("UPDATE tickwise_runs SET attempt = 2", Fault.FENCING),
        ("UPDATE tickwise_runs SET finished_at = finished_at + 3600000000", Fault.OVERLAP),
        ("UPDATE tickwise_decisions SET first_slot = first_slot - 900, slots = slots + 1", Fault.DOUBLED),
    ],
)
@patiently
async def test_rows_that_cannot_be_so(statement: str, wrong: Fault, tmp_path: Path) -> None:
    """Whatever made a store contradict itself is named: a sleeper, a state, a token, an overlap, a double."""
    async with place(tmp_path) as (world, file):
        await world.define(job("a", QUARTERS))
        await live(world, "00:15", "00:30", "01:00")
        world.go("01:15")
        assert not (await audit(world.store)).findings
        spoil(file, statement)
        assert {kind for kind, _ in told(await audit(world.store))} == {wrong}


@patiently
async def test_a_store_at_work(tmp_path: Path) -> None:
    """While slots are decided and runs end, nothing seems wrong that is not."""
    async with place(tmp_path) as (world, _):
        await world.define(*(job(f"j{number}", "* * * * *", catchup="all") for number in range(5)))

        async def work() -> None:
            for minute in range(1, 20):
                await live(world, f"00:{minute:02}")

        working = asyncio.create_task(work())
        looks = 0
        while not working.done():
            assert not (await audit(world.store)).findings
            looks += 1
        await working
        assert looks > 1
