"""A process that is stopped in the middle holds up nobody for long."""

import asyncio
import signal
from typing import Any

import asyncpg

from ...support.races.file_clock import START
from ...support.races.processes import Child, Crew, tell
from ...support.races.race import Race, check_each_once, job, pair, slots_of_pairs
from ...support.servers import mariadb

ENOUGH = 30.0  # seconds: five, and whatever a busy machine adds
_IDLE = """
    SELECT pid, extract(epoch FROM clock_timestamp() - state_change) FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'
        AND clock_timestamp() - state_change > '50 ms'
"""
_IDLE_ON_MYSQL = """
    SELECT p.id, p.time_ms / 1000 FROM information_schema.processlist p
    JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id
    WHERE p.db = database() AND p.command = 'Sleep' AND p.time_ms > 50
"""
SAYS = {"postgresql": "PostgreSQL does not answer", "mysql": "MySQL does not answer"}


def test_a_stopped_claimer_blocks_nobody_for_long(on_server: Race, crew: Crew) -> None:
    """The server ends its transaction after five seconds: others go on with its job, and never wait for theirs."""
    place = on_server
    place.install(pair("a"), job("b", queue="other"))
    place.clock.advance(120)
    crew.one("stop.claim_one", **place.address, node="first").heard_last()
    finisher = crew.one("stop.hold_and_finish", **place.address, node="finisher")
    assert finisher.hear() == 1
    place.clock.advance(60)
    stopped = crew.one("stop.stop_while_claiming", **place.address, node="stopped")
    assert stopped.hear() == "stopping"
    session, _ = asyncio.run(_idle_session(place.url))
    other = crew.one("stop.claim_one", **place.address, node="other")
    finisher.say("finish")
    rounds, blocked_for = _serve_others_until_it_is_over(place, crew, session)
    assert (finisher.heard_last(), other.heard_last() > 1) == (1, True)
    tell(f"stopped for {blocked_for:.1f} s by the server's clock, {rounds} rounds for other jobs meanwhile")
    assert rounds
    _check_that_it_goes_on(place, crew, stopped)
    check_each_once(place.runs(), slots_of_pairs(["a"], START, START + 180))


def _serve_others_until_it_is_over(place: Race, crew: Crew, session: int) -> tuple[int, float]:
    """How often another job was served while the stopped session stood, and for how long that was."""
    server = crew.one("stop.serve_others", **place.address, node="server", job="b", queue="other")
    rounds, age = 0, 0.0
    while True:
        server.say("go")
        assert server.hear() == 1
        now = asyncio.run(_sessions(place.url)).get(session)
        if now is None:
            return rounds, age
        assert now < ENOUGH, "the server lets a stopped process hold its locks"
        rounds, age = rounds + 1, now


def _check_that_it_goes_on(place: Race, crew: Crew, stopped: Child) -> None:
    """Continued, the process hears that the store did not answer, and its next tick is like any other."""
    stopped.signal(signal.SIGCONT)
    assert stopped.hear().startswith(f"unavailable: {SAYS[place.kind]}")
    stopped.heard_last()
    rescuer = crew.one("crash.rescue_on_word", **place.address, node="rescuer")
    place.clock.set(START + 180 + 31)
    rescuer.say("go")
    assert rescuer.hear() == "settled"


async def _idle_session(url: str) -> tuple[int, float]:
    """The one session that stands idle in its transaction, as soon as the server says so."""
    while True:
        for session in (await _sessions(url)).items():
            return session


async def _sessions(url: str) -> dict[int, float]:
    if url.startswith("mysql"):
        with mariadb.connected(url) as cursor:
            cursor.execute(_IDLE_ON_MYSQL)
            return {id_: float(age) for id_, age in cursor.fetchall()}
    connection: Any = await asyncpg.connect(url)
    try:
        return {pid: float(age) for pid, age in await connection.fetch(_IDLE)}
    finally:
        await connection.close()
