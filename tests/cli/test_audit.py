"""`tickwise doctor --audit`: the ledger of a store, matched slot by slot."""

import asyncio
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tickwise import AsyncTickwise
from tickwise.testing import FakeClock
from tickwise.testing.conformance.world import World, job

from .conftest import Command


async def _lived(file: Path) -> None:
    """Four slots of one job, the last of them just now: three have runs, one was skipped."""
    now = datetime.now(UTC).replace(minute=0, second=30, microsecond=0)
    clock = FakeClock(now - timedelta(hours=4))
    async with AsyncTickwise(f"sqlite:///{file}", clock=clock) as app:
        world = World(await app.store(), clock)
        await world.begin()
        await world.define(job("load", "0 * * * *"))
        for hour in range(4, 0, -1):
            clock.set(now - timedelta(hours=hour - 1))
            await world.tick()
            if hour != 3:
                await world.work()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    file = tmp_path / "lived.db"
    asyncio.run(_lived(file))
    return file


def test_a_ledger_that_is_whole(command: Command, store: Path) -> None:
    """Each slot has its run or its reason, and nothing of it needs to be mended (S7)."""
    _, out, _ = command("doctor", "--audit", "--store", f"sqlite:///{store}")
    assert "1 schedules, 4 slots: 3 runs, 1 reasons." in out
    assert "missed" not in out


def test_a_slot_that_was_lost(command: Command, store: Path) -> None:
    """What is missing is named with the command that mends it, and the answer is no."""
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DELETE FROM tickwise_decisions")
        connection.commit()
    code, out, _ = command("doctor", "--audit", "--store", f"sqlite:///{store}")
    assert code == 1
    assert "load: the slot" in out
    assert "passed without a run or a reason (missed)" in out
    assert "→ tickwise schedules backfill load --from " in out


def test_only_if_it_is_asked_for(command: Command, store: Path) -> None:
    """Without --audit the ledger is left alone; with --json the sums stand beside the findings."""
    url = f"sqlite:///{store}"
    assert json.loads(command("doctor", "--json", "--store", url)[1])["audit"] is None
    audit = json.loads(command("doctor", "--audit", "--json", "--store", url)[1])["audit"]
    assert audit == {"schedules": 1, "slots": 4, "runs": 3, "reasons": 1}
