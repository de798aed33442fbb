"""How PostgreSQL does what the store asks for: by its indexes, with plans that are made once, and in place.

No answer shows any of it, but the rates of a large store do: they fell where one of these was missing.
"""

import re
from collections.abc import Iterator
from typing import Any

import psycopg

from tickwise.stores.sql import (
    batch,
    claim,
    claimed_rows,
    define,
    enqueue,
    finish,
    fleet,
    jobs,
    lease,
    postgres,
    runs,
    tick,
)
from tickwise.stores.sql.statement import Statement, compiled
from tickwise.testing.conformance.world import HOURLY, World, job

from ..support.table_stories import PostgresStories

MOVES = (claim, define, finish, runs, fleet, batch, enqueue, jobs, tick, lease, claimed_rows)
FEW_ROWS = {"tickwise_nodes", "tickwise_pauses", "tickwise_queues"}  # tables that do not grow
MANY = 60
KEPT = "SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements"
FLUSH = "SELECT pg_stat_force_next_flush()"
UPDATED = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'tickwise_runs'"


def texts() -> dict[str, str]:
    """All that moves ask for, by their names; not what is only said as a part of something else."""
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": compiled(value, postgres.DIALECT)[0].text
        for module in MOVES for name, value in vars(module).items()
        if isinstance(value, Statement) and not (":made[" in value.text and len(value.parts) == 1)
    }  # fmt: skip


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


class TestPlans(PostgresStories):
    async def plan_of(self, text: str) -> list[dict[str, Any]]:
        """What a move of this text would do, whatever its values are."""
        values = ", ".join(["NULL"] * max(map(int, re.findall(r"\$(\d+)", text)), default=0))
        async with await psycopg.AsyncConnection.connect(self.url) as connection:
            await connection.execute(postgres._BEGIN.encode())
            await connection.execute(f"PREPARE asked AS {text}".encode())
            asked = f"EXPLAIN (FORMAT JSON) EXECUTE asked{f'({values})' if values else ''}"
            [(found,)] = await (await connection.execute(asked.encode())).fetchall()
        return [*nodes(found[0]["Plan"])]

    async def test_every_move_goes_by_index(self, world: World) -> None:
        """No table that grows is read from its beginning to its end, whatever the planner believes of its size."""
        await world.begin()
        whole, asked = {}, texts()
        for name, text in asked.items():
            scans = {n["Relation Name"] for n in await self.plan_of(text) if n["Node Type"] == "Seq Scan"}
            whole[name] = scans - FEW_ROWS
        assert {name: tables for name, tables in whole.items() if tables} == {}
        assert len(asked) > 60

    async def test_no_list_of_values_is_walked_for_each_row(self, world: World) -> None:
        """What a move costs grows with the number of its rows, and not with its square: 400 leases as 40 (E2)."""
        await world.begin()
        walked = {}
        for name, text in texts().items():
            loops = [n["Plans"][1] for n in await self.plan_of(text) if n["Node Type"] == "Nested Loop"]
            walked[name] = [
                n["Node Type"] for inner in loops for n in nodes(inner) if n["Node Type"] == "Function Scan"
            ]
        assert {name: scans for name, scans in walked.items() if scans} == {}

    async def test_a_batch_is_updated_by_row_ids(self, world: World) -> None:
        """The update of a batch finds the rows that the claim has locked by their row ids."""
        await world.begin()
        plan = await self.plan_of(compiled(batch._START, postgres.DIALECT)[0].text)
        of_state = {n["Node Type"] for n in plan if n.get("Relation Name") == "tickwise_job_state"}
        assert of_state == {"ModifyTable", "Tid Scan"}

    async def test_pages_of_job_state_are_full(self, world: World) -> None:
        """A page that is to keep room is swept at every look at it; rows that move have no use for the room."""
        await world.begin()
        [(options,)] = await self.say("SELECT reloptions FROM pg_class WHERE relname = 'tickwise_job_state'")
        assert options is None  # the default fills them

    async def test_plans_are_made_once(self, world: World) -> None:
        """Batches and single jobs fire and finish for hours: no statement is planned again for its values."""
        odd = [job(f"odd-{n}", HOURLY, overlap="queue", jitter=n + 1) for n in range(3)]
        await world.define(*(job(f"j{n}", HOURLY) for n in range(MANY)), *odd)
        for hour in range(1, 8):
            await world.pass_time(f"0{hour}:00")
            await world.pass_time(f"0{hour}:01")
            await world.work()
        moves = {text: name for name, text in texts().items()}
        made = {moves[text]: (once, anew) for text, once, anew in await self.say(KEPT) if text in moves}
        assert {name for name, (once, _) in made.items() if once >= 7} >= {
            "claim._DUE",
            "batch._START",
            "tick._INSERT",
        }
        assert {name: anew for name, (_, anew) in made.items() if anew} == {}

    async def test_an_end_is_written_beside_its_beginning(self, world: World) -> None:
        """No index of all runs hears of it: on the page of each run there is room for its end."""
        await world.define(*(job(f"j{n}", HOURLY) for n in range(MANY)))
        world.go("01:00")
        ticked = await world.tick(reserve=world.reservation(MANY))
        before = await self.updated()
        for leased in ticked.leases:
            await world.end(leased)
        changed, in_place = (now - then for now, then in zip(await self.updated(), before, strict=True))
        assert (changed, in_place) == (MANY, MANY)

    async def updated(self) -> tuple[int, int]:
        await self.say(FLUSH)
        async with await psycopg.AsyncConnection.connect(self.url) as connection:
            [(changed, in_place)] = await (await connection.execute(UPDATED)).fetchall()
        return changed, in_place
