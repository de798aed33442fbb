"""Everything at once: nothing fails, nothing hangs, and the law holds afterwards."""

import asyncio
import os

import asyncpg

from tickwise.core.cron import parse
from tickwise.core.reasons import Reason
from tickwise.core.states import FINAL
from tickwise.stores.contract import Store
from tickwise.stores.records import DecisionFilter

from ...support.races.file_clock import START
from ...support.races.processes import ROUNDS, Crew, say, tell
from ...support.races.race import Race, check_each_once, pair, slots_of, slots_of_pairs
from .roles.crowd import JOBS

SEED = int(os.environ.get("TICKWISE_SEED", "0"))


def test_a_crowd_does_everything_at_once(place: Race, crew: Crew) -> None:
    """People, tickers and workers of several processes meet no error but refusals; each slot runs once (S1)."""
    place.install(*(pair(name) for name in JOBS))
    place.clock.advance(600)
    crowd = [
        crew.one("crowd.meddle", **place.address, node=f"n{n}", seed=SEED + n, turns=40 * ROUNDS) for n in range(5)
    ]
    assert {child.hear() for child in crowd} == {"ready"}
    say(crowd, "go")
    tell(f"refused: {[child.heard_last() for child in crowd]}")
    if place.kind == "postgresql":
        tell(f"deadlocks: {asyncio.run(_deadlocks(place.url))}")
    place.clock.advance(31)
    rescuer = crew.one("crash.rescue_on_word", **place.address, node="rescuer")
    rescuer.say("go")
    assert rescuer.hear() == "settled"
    runs = place.runs()
    assert {run.state for run in runs} <= FINAL
    wanted = slots_of_pairs(JOBS, START, place.clock.second)
    check_each_once(runs, set(wanted) - place.do(_done_by_hand), None)


async def _done_by_hand(store: Store) -> set[tuple[str, int]]:
    """Slots that were skipped because a run by hand had done their work: the only ones without a run (S7, S17)."""
    page = await store.insights.decisions(DecisionFilter(reasons=frozenset({Reason.ALREADY_DONE})), limit=1_000)
    return {
        (row.schedule, slot)
        for row in page.items
        for slot in slots_of(parse("* * * * *"), row.first - 1, row.last)
    }


async def _deadlocks(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval(_DEADLOCKS))
    finally:
        await connection.close()


_DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
