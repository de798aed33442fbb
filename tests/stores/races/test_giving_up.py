"""A caller gives up in the middle of a move: the move is whole or not at all, and the next one works."""

import asyncio
from typing import Any

import asyncpg

from tickwise.stores.sql.driver import Pool

from ...support.races.file_clock import START
from ...support.races.processes import Crew, tell
from ...support.races.race import Race, check_each_once, pair, slots_of_pairs
from ...support.servers import mariadb


def test_cancelled_at_every_statement(on_sql: Race, crew: Crew) -> None:
    """Whichever statement a task is cancelled in, nothing is half done, and the store takes the next call."""
    place = on_sql
    place.install(pair("a"))
    points = crew.one("timeout.cancel_everywhere", **place.address, node="c").heard_last()
    tell(f"{points} points")
    assert points > 10
    check_each_once(place.runs(), slots_of_pairs(["a"], START, place.clock.second))


def test_a_loop_that_has_ended(on_sqlite: Race, crew: Crew) -> None:
    """A move whose event loop was closed before it was done takes nobody along: others can use the store."""
    on_sqlite.install(pair("a"))
    assert crew.one("timeout.leave_a_loop", **on_sqlite.address, node="c").heard_last() == "the next loop works"


def test_closed_while_moves_are_under_way(place: Race, crew: Crew) -> None:
    """Whoever is still waiting when the store is closed gets his answer, or hears that it is closed."""
    place.install(pair("a"))
    answered, refused = crew.one("timeout.close_under_way", **place.address, node="c").heard_last()
    assert answered + refused == 200


def test_a_call_behind_the_end(on_sqlite: Race, crew: Crew) -> None:
    """A call that comes when the store is about to be closed hears so, and does not wait for ever."""
    on_sqlite.install(pair("a"))
    said = crew.one("timeout.call_behind_the_end", **on_sqlite.address, node="c").heard_last()
    assert "has been closed" in said


def test_many_callers_on_one_store(place: Race, crew: Crew) -> None:
    """Hundreds of calls at once, half of them given up, use few connections and leave no transaction open."""
    place.install(pair("a"))
    child = crew.one("timeout.many_callers", **place.address, node="c")
    assert child.hear() == "done"
    if place.has_sessions:
        sessions, in_transaction = asyncio.run(_sessions(place.url))
        assert sessions <= len(Pool) + 2 + 3, "one a lane, two more that claim, and three more that read"
        assert in_transaction == 0
    child.say("end")
    child.heard_last()


async def _sessions(url: str) -> tuple[int, int]:
    if url.startswith("mysql"):
        with mariadb.connected(url) as cursor:
            cursor.execute(_MYSQL_SESSIONS)
            [found] = cursor.fetchall()
            return found[0] - 1, found[1]
    connection: Any = await asyncpg.connect(url)
    try:
        row = await connection.fetchrow(_SESSIONS)
    finally:
        await connection.close()
    return row[0], row[1]


_MYSQL_SESSIONS = """
    SELECT count(*), count(t.trx_id) FROM information_schema.processlist p
    LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id WHERE p.db = database()
"""
_SESSIONS = """
    SELECT count(*), count(xact_start) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
