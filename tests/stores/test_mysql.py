"""What only MySQL and MariaDB do: grammar that both know, wake-ups that are looked for, locks, and settings."""

import asyncio
import re
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlglot

from bench.stores.prepared_store import PreparedStore
from tickwise.clock import monotonic
from tickwise.core.errors import InputError
from tickwise.core.planner import plan
from tickwise.stores import sql
from tickwise.stores.contract import StatementError, StoreUnavailableError
from tickwise.stores.records import Enqueue
from tickwise.stores.sql import mysql, schema
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.mysql_tickets import TICKET_NAMES
from tickwise.stores.sql.statement import Procedure, Statement, compiled
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store
from tickwise.testing.conformance.world import HOURLY, World, job

from ..support.app import patiently
from ..support.servers import mariadb
from ..support.store import StoreAddress
from ..support.table_stories import MysqlStories

OF_OTHERS = ("postgres", "sqlite")
UNKNOWN_TO_ONE = (  # of the two servers
    "RETURNING", "FOR SHARE", "SHARE MODE SKIP", "MATERIALIZED", "ON CONFLICT", "EXCLUDED", "::", "ILIKE",
    "INTERSECT", "EXCEPT", "LATERAL", "MEMBER OF", "->>", "AS OF",
)  # fmt: skip


def texts() -> list[str]:
    """All statements of the store in the words of MySQL, with what stands for values."""
    found = [
        each.text for migration in schema.migrations() for each in schema.statements(migration, mysql.DIALECT)
    ]
    for module in iter_modules(sql.__path__):
        if not module.name.startswith(OF_OTHERS):
            for value in vars(import_module(f"{sql.__name__}.{module.name}")).values():
                found += [made.text for each in _statements(value) for made in compiled(each, mysql.DIALECT)]
    return [re.sub(r"%\(v\d+\)s", "1", re.sub(r"IN %\(v\d+\)s", "IN (1)", text)) for text in found]


def _statements(value: object) -> Iterator[Statement]:
    if isinstance(value, Statement):
        yield value
    elif isinstance(value, list | tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _statements(each)


def test_the_grammar_of_mysql() -> None:
    """Every statement can be read as MySQL reads it, which runs comments that are meant for it alone."""
    asked = texts()
    for text in asked:
        sqlglot.parse_one(re.sub(r"/\*!80000 (.*?)\*/", r"\1", text), read="mysql")
    assert len(asked) > 200


def test_words_that_only_one_of_them_knows() -> None:
    """None is used outside of a comment that only this one reads."""
    plain = [re.sub(r"/\*.*?\*/", "", text) for text in texts()]
    assert [(word, text) for word in UNKNOWN_TO_ONE for text in plain if word in text] == []


class TestWakeUps(MysqlStories):
    async def test_a_notification_that_is_committed_late(self, world: World) -> None:
        """It is seen, although one with a higher id was seen before."""
        await world.begin()
        other = open_store(self.url)
        try:
            assert await other.wait(60), "the first look"
            with mariadb.connected(self.url) as early, mariadb.connected(self.url) as late:
                early.execute("BEGIN")
                early.execute("INSERT INTO tickwise_notifications () VALUES ()")
                late.execute("INSERT INTO tickwise_notifications () VALUES ()")
                assert await other.wait(60)
                assert not await other.wait(0.6), "nothing is new"
                early.execute("COMMIT")
            assert await other.wait(60)
        finally:
            await other.close()

    async def test_another_process_is_woken_in_time(self, world: World) -> None:
        """S22: it looks at least twice in half a second, so a cancel is seen within that."""
        await world.define(job("a", HOURLY))
        other = open_store(self.url)
        try:
            await other.wait(60)
            waiting = asyncio.ensure_future(other.wait(60))
            await world.store.enqueue([Enqueue("a")])
            told_at = monotonic()
            assert await waiting
            assert monotonic() - told_at < 60, "it did not wait for its end"
        finally:
            await other.close()

    async def test_old_notifications_are_forgotten(self, world: World) -> None:
        """The table stays small, and what is forgotten wakes nobody for long."""
        await world.begin()
        await self.say(
            "INSERT INTO tickwise_notifications (id) SELECT n FROM :rows[n bigint] AS v",
            rows=[(n,) for n in range(1, 2_001)],
        )
        while await world.store.wait(0.3):
            pass
        assert (await self.say("SELECT count(*) FROM tickwise_notifications"))[0][0] <= 1_000


class TestTicketsOfMysql(MysqlStories):
    async def test_who_is_turned_away(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """It decides nothing, is named by the check, waits in line after a while, and goes on when one is free."""
        await world.define(job("a", HOURLY))
        await world.tick()
        world.go("01:00")
        with mariadb.connected(self.url) as other:
            for name in TICKET_NAMES:
                other.execute(f"SELECT GET_LOCK({name}, 0)")
            assert (await world.tick()).turned_away
            other.execute("SELECT CONNECTION_ID()")
            [(session,)] = other.fetchall()
            while not (found := await world.store.schema.check()):
                await world.store.wait(0.2)
            assert f"KILL {session}" in found[0]
            monkeypatch.setattr("tickwise.stores.sql.tickets.monotonic", lambda: monotonic() + 1)
            assert (await world.tick()).turned_away
            waiting = asyncio.create_task(world.tick())
            while not other.execute("SELECT 1 FROM information_schema.processlist WHERE state = 'User lock'"):
                await world.store.now()
            other.execute("DO RELEASE_ALL_LOCKS()")
            assert (await waiting).runs == 1
        assert await world.store.schema.check() == ()


@pytest.fixture
def place(mysql_database: str) -> StoreAddress:
    place = StoreAddress(mysql_database)
    place.upgrade()
    return place


def test_an_upgrade_that_was_interrupted(mysql_database: str) -> None:
    """Wherever it ended, the next one finishes it: statements that make tables cannot be undone."""
    place = StoreAddress(mysql_database)

    def end_at(point: int) -> Any:
        passed: list[str] = []

        def watch(text: str) -> None:
            passed.append(text)
            if len(passed) == point:
                raise KeyError(text)

        return watch

    async def upgraded(store: SqlStore, point: int) -> bool:
        store.driver.watch = end_at(point)
        try:
            await store.schema.upgrade()
        except KeyError:
            return False
        return True

    point = 1
    while not place.do(lambda store, point=point: upgraded(store, point)):  # type: ignore[misc]
        point += 7
    assert point > 40
    assert place.check() == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("ENGINE=Aria", "tickwise_audit has the engine Aria"),
        ("CONVERT TO CHARACTER SET latin1", "the collation latin1_swedish_ci"),
    ],
)
def test_tables_that_were_changed(place: StoreAddress, change: str, words: str) -> None:
    """The check names the table, and what it needs."""
    with mariadb.connected(place.url) as cursor:
        cursor.execute(f"ALTER TABLE tickwise_audit {change}")
    [problem] = place.check()
    assert words in problem
    assert "needs InnoDB and a utf8mb4 collation" in problem


def test_a_lock_that_is_not_to_be_had(place: StoreAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    """1205: the move is tried again as a whole, and then the store counts as unavailable."""
    short = mysql._WRITES[0].replace("innodb_lock_wait_timeout = 10", "innodb_lock_wait_timeout = 1")
    monkeypatch.setattr(mysql, "_WRITES", (short, *mysql._WRITES[1:]))
    monkeypatch.setattr(mysql, "_TRIES", 2)
    place.do(lambda store: store.define(job("a", HOURLY), "app"))
    seen: list[str] = []

    async def defined(store: SqlStore) -> None:
        store.driver.watch = seen.append
        await store.define(job("a", "30 * * * *"), "app")

    with mariadb.connected(place.url) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM tickwise_job_state FOR UPDATE")
        with pytest.raises(StoreUnavailableError, match=r"Lock wait timeout exceeded.*1205"):
            place.do(defined)
    assert len([text for text in seen if "WHERE j.name" in text]) == 2


@patiently
async def test_a_deadlock(mysql_database: str) -> None:
    """1213: of two moves that wait for each other the server ends one, which begins again: both are done."""
    drivers = [mysql.MysqlDriver(mysql_database) for _ in range(2)]
    tries = [0, 0]
    both_hold = asyncio.Barrier(2)

    async def cross(number: int) -> None:
        driver = drivers[number]
        connection_of = driver._ask

        async def ask(connection: Any, query: Any) -> Any:
            rows = await connection_of(connection, query)
            if tries[number] == 1 and "first" in query.values:
                await both_hold.wait()
            return rows

        driver._ask = ask  # type: ignore[method-assign]

        def procedure() -> Procedure[None]:
            tries[number] += 1
            mine, others = number + 1, 2 - number
            yield Statement("UPDATE deadlock SET n = n + 1 WHERE id = :first")(first=mine)
            yield Statement("UPDATE deadlock SET n = n + 1 WHERE id = :second")(second=others)

        await driver.run(procedure, Pool.OTHER)

    with mariadb.connected(mysql_database) as cursor:
        cursor.execute("CREATE TABLE deadlock (id bigint PRIMARY KEY, n bigint) ENGINE=InnoDB")
        cursor.execute("INSERT INTO deadlock VALUES (1, 0), (2, 0)")
        await asyncio.gather(cross(0), cross(1))
        cursor.execute("SELECT n FROM deadlock")
        assert cursor.fetchall() == ((2,), (2,))
    assert sorted(tries) == [1, 2]
    for driver in drivers:
        await driver.close()


def _count_twice() -> Procedure[tuple[int, int]]:
    count = Statement("SELECT count(*) FROM numbers")
    first = (yield count())[0][0]
    return first, (yield count())[0][0]


def test_a_read_is_of_one_instant(place: StoreAddress) -> None:
    """What is committed while a procedure reads is not seen by it, and by the next one."""
    with mariadb.connected(place.url) as other:
        other.execute("CREATE TABLE numbers (n bigint) ENGINE=InnoDB")

        async def read(store: SqlStore) -> list[tuple[int, int]]:
            seen: list[str] = []

            def write(text: str) -> None:
                seen.append(text)
                if len(seen) == 2:
                    other.execute("INSERT INTO numbers VALUES (1)")

            store.driver.watch = write
            return [await store.driver.run(_count_twice, Pool.READ) for _ in range(2)]

        assert place.do(read) == [(0, 0), (1, 1)]


@patiently
async def test_a_pass_reads_no_jobs_that_are_due_later(mysql_database: str) -> None:
    """However many there are: the server finds the end of what is due in the index, and stops there."""
    prepared = await PreparedStore.create(mysql_database, stored=2_000, due=1)
    try:
        await prepared.store.tick(plan, "t")  # the first pass looks at all jobs
        with mariadb.connected(mysql_database) as other:
            other.execute("ANALYZE TABLE tickwise_job_state")
            other.fetchall()
            before = _rows_read(other)
            await prepared.store.tick(plan, "t")
            assert _rows_read(other) - before < 200
    finally:
        await prepared.store.close()


def _rows_read(cursor: Any) -> int:
    cursor.execute("SHOW GLOBAL STATUS LIKE 'Handler_read%next'")
    return sum(int(number) for _, number in cursor.fetchall())


def test_a_server_that_is_read_only(place: StoreAddress) -> None:
    """1290: that says nothing about the work, so the store counts as unavailable."""
    where = urlsplit(place.url)
    with mariadb.connected(place.url) as root:
        root.execute("CREATE OR REPLACE USER plain@'%' IDENTIFIED BY 'word'")
        root.execute("GRANT ALL ON *.* TO plain@'%'")
        root.execute("REVOKE READ_ONLY ADMIN, SUPER ON *.* FROM plain@'%'")
        plain = place._replace(url=where._replace(netloc=f"plain:word@127.0.0.1:{where.port}").geturl())
        root.execute("SET GLOBAL read_only = 1")
        try:
            with pytest.raises(StoreUnavailableError, match="read-only"):
                plain.do(lambda store: store.define(job("a", HOURLY), "app"))
        finally:
            root.execute("SET GLOBAL read_only = 0")
        plain.do(lambda store: store.define(job("a", HOURLY), "app"))


def test_what_insert_ignore_would_hide(place: StoreAddress) -> None:
    """A value that does not fit is an error, and not cut; a key that is taken is none."""
    insert = "{insert_free} INTO tickwise_definitions (digest, body) VALUES (:digest, 'x') {if_free}"
    place.say(insert, digest="short")
    place.say(insert, digest="short")
    with pytest.raises(StatementError, match=r"Data (too long|truncated) for column 'digest'"):
        place.say(insert, digest="long" * 100)
    assert place.say("SELECT digest FROM tickwise_definitions") == [("short",)]


def test_keys_that_differ_by_a_space(place: StoreAddress) -> None:
    """S48: texts are compared letter by letter, also at their end."""
    place.do(lambda store: store.define(job("a"), "app"))
    keys = ["k", "k ", "K", "ḱ"]
    made = [place.do(lambda store, key=key: store.enqueue([Enqueue("a", key=key)])) for key in keys]  # type: ignore[misc]
    assert [one.new for [one] in made] == [True] * len(keys)


@patiently
async def test_a_connection_to_elsewhere(place: StoreAddress, mysql_url: str) -> None:
    """One to another database, or of another character set, is refused: the run would be elsewhere, or garbled."""
    store = open_store(place.url)
    try:
        await store.define(job("a"), "app")
        with (
            mariadb.connected(mysql_url) as cursor,
            pytest.raises(InputError, match="pass one to the same database"),
        ):
            await store.enqueue([Enqueue("a")], cursor.connection)
        with mariadb.connected(place.url) as cursor:
            cursor.connection.set_character_set("latin1")
            with pytest.raises(InputError, match="charset='utf8mb4'"):
                await store.enqueue([Enqueue("a")], cursor.connection)
    finally:
        await store.close()
