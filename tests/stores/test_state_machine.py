"""Whatever is done to a store, in whatever order, it answers and looks as the memory store does.

Hypothesis makes up the moves, the clock's included; what both stores answer and show is compared after each.
`TICKWISE_EXAMPLES=30` looks thirty times as long, and with `TICKWISE_EXPLORE=1` elsewhere each time.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tickwise.core.errors import TickwiseError
from tickwise.stores.contract import Store
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.sql import batch, claimed_rows, finish, lease, sqlite
from tickwise.stores.sql.statement import Compound, Statement

from ..support.twins import reusable_stores
from ..support.twins.machine import machine
from ..support.twins.twins import FIRST_RUN, Emptied

MORE = int(os.environ.get("TICKWISE_EXAMPLES", "1"))
QUICKLY = settings(max_examples=200, stateful_step_count=30, phases=[Phase.generate], report_multiple_bugs=False)
both_ways = pytest.mark.parametrize("long_way", [False, True])  # simple jobs, too, go the long way


@both_ways
def test_sqlite_is_as_memory(tmp_path: Path, long_way: bool) -> None:
    """SQLite answers every move as the reference does, and looks the same after every few."""
    with (
        asyncio.Runner() as loop,
        reusable_stores.sql(loop, f"sqlite:///{tmp_path}/twin.db") as empty,
        _simple_jobs(long_way=long_way),
    ):
        few = settings(max_examples=16 * MORE, stateful_step_count=40)
        run_state_machine_as_test(machine(loop, empty, looks_every=4), settings=few)


@both_ways
def test_postgres_is_as_memory(postgres_database: str, long_way: bool) -> None:
    """PostgreSQL answers every move as the reference does, and looks the same after every few."""
    with (
        asyncio.Runner() as loop,
        reusable_stores.sql(loop, postgres_database) as empty,
        _simple_jobs(long_way=long_way),
    ):
        few = settings(max_examples=7 * MORE, stateful_step_count=50)
        run_state_machine_as_test(machine(loop, empty, looks_every=5), settings=few)


@both_ways
def test_mysql_is_as_memory(mysql_database: str, long_way: bool) -> None:
    """MySQL answers every move as the reference does, and looks the same after every few."""
    with (
        asyncio.Runner() as loop,
        reusable_stores.sql(loop, mysql_database) as empty,
        _simple_jobs(long_way=long_way),
    ):
        few = settings(max_examples=7 * MORE, stateful_step_count=50)
        run_state_machine_as_test(machine(loop, empty, looks_every=5), settings=few)


def test_mongodb_is_as_memory(mongodb_database: str) -> None:
    """MongoDB answers every move as the reference does, and looks the same after every few."""
    with asyncio.Runner() as loop, reusable_stores.mongodb(loop, mongodb_database) as empty:
        few = settings(max_examples=6 * MORE, stateful_step_count=40)
        run_state_machine_as_test(machine(loop, empty, looks_every=5), settings=few)


def test_redis_is_as_memory(redis_database: str) -> None:
    """Redis answers every move as the reference does, and looks the same after every few."""
    with asyncio.Runner() as loop, reusable_stores.redis(loop, redis_database) as empty:
        few = settings(max_examples=8 * MORE, stateful_step_count=50)
        run_state_machine_as_test(machine(loop, empty, looks_every=5), settings=few)


MISTAKES: dict[str, Callable[[Any], None]] = {
    "a lost wake-up": lambda memory: setattr(memory, "wake", lambda _entry, _second: None),
    "tokens that are not checked": lambda memory: setattr(
        memory, "held", lambda run, _token: memory.active.get(run)
    ),
    "records that are forgotten": lambda memory: setattr(memory, "record", lambda _decisions, _now: None),
    "a clock of its own": lambda memory: setattr(memory, "clock", lambda clock=memory.clock: clock() + 1_000_000),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_store_that_is_wrong_is_found_out(mistake: str) -> None:
    """The machine is worth something: it tells a store that differs in one point from one that does not."""

    async def wrong(clock: Callable[[], int]) -> Store:
        store = MemoryStore(clock)
        store._memory._numbers = FIRST_RUN
        MISTAKES[mistake](store._memory)
        return store

    with asyncio.Runner() as loop:
        _check_that_it_is_found_out(loop, wrong)


SLIPS: dict[str, tuple[ModuleType, str, str, str]] = {  # a statement, what it says, and what it says by mistake
    "a lease that ignores priority": (lease, "_PICK", "ORDER BY {urgent_first}, due_at", "ORDER BY due_at"),
    "a lease before its time": (lease, "_PICK", f"AND due_at <= {lease._AT}", ""),
    "a finish that ignores the token": (finish, "_SUCCEED", "AND token = :token", ""),
    "a report that ignores the token": (lease, "_FENCE", "AND token = :token", ""),
    "simple jobs whose newest slots are forgotten": (batch, "_ADVANCE", ", last_slot = v.slot", ""),
    "simple jobs that hold their lane as if they waited": (batch, "_INSERT", "token IS NOT NULL AS", "FALSE AS"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_statement_that_is_wrong_is_found_out(slip: str, tmp_path: Path) -> None:
    """A few words too many or too few in one statement of SQLite's are enough."""
    with (
        asyncio.Runner() as loop,
        reusable_stores.sql(loop, f"sqlite:///{tmp_path}/wrong.db") as empty,
        _mistaken(*SLIPS[slip]),
    ):
        _check_that_it_is_found_out(loop, empty)


def _simple_jobs(*, long_way: bool) -> AbstractContextManager[object]:
    return patch.object(claimed_rows, "cached_job", lambda *_: None) if long_way else nullcontext()


@contextmanager
def _mistaken(module: ModuleType, name: str, right: str, wrong: str) -> Iterator[None]:
    """The statement says it by mistake, also where it is one of several in one."""
    statement = getattr(module, name)
    [step] = statement.steps(sqlite.DIALECT)
    assert right in step.text
    mistake = Statement(step.text.replace(right, wrong))
    with ExitStack() as patches:
        for other, found in list(vars(module).items()):
            if isinstance(found, Statement) and statement in found.parts:
                parts = [mistake if part is statement else part for part in found.parts]
                new = Compound(*parts) if isinstance(found, Compound) else mistake
                patches.enter_context(patch.object(module, other, new))
        yield


def _check_that_it_is_found_out(loop: asyncio.Runner, empty: Emptied) -> None:
    """The two stores differ, or the wrong one finds itself in a state that cannot be."""
    with pytest.raises((AssertionError, TickwiseError)) as caught:
        run_state_machine_as_test(machine(loop, empty, looks_every=4), settings=QUICKLY)
    assert " is not " in str(caught.value) or "cannot meet" in str(caught.value)
