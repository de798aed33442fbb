"""What is wrong with a store is said when a scheduler starts, with the fix."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tickwise.core.errors import InputError
from tickwise.documents import (
    DocumentScheduler,
    Fields,
    JobStore,
    MemoryJobStore,
    MongoJobStore,
    MysqlJobStore,
    PostgresJobStore,
    RedisJobStore,
    Sleep,
    SqliteJobStore,
)
from tickwise.documents import mongodb as mongodb_module
from tickwise.documents import mysql as mysql_module
from tickwise.documents import postgres as postgres_module

from ..support.documents.user_collections import (
    HOUR,
    MemoryCollection,
    MongoCollection,
    MysqlPlace,
    PostgresPlace,
    RedisCollection,
    SqlitePlace,
    ago,
    lock,
    run,
)

NOWHERE = "127.0.0.1:1"


def told(store: JobStore) -> str:
    """What a start says; nothing is left running."""
    scheduler = DocumentScheduler(store, print)
    with pytest.raises(InputError) as caught:
        run(scheduler.start())
    assert not scheduler.is_running
    return str(caught.value)


@pytest.mark.parametrize(
    ("module", "extra", "kind"),
    [
        ("asyncpg", "postgres", PostgresJobStore),
        ("asyncmy", "mysql", MysqlJobStore),
        ("pymongo", "mongodb", MongoJobStore),
        ("redis.asyncio", "redis", RedisJobStore),
    ],
)
def test_missing_driver(monkeypatch: pytest.MonkeyPatch, module: str, extra: str, kind: Any) -> None:
    """Without its driver a store cannot be made, and the exact command that installs it is told."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"{module} is not installed: pip install 'tickwise\[{extra}\]'"):
        kind("url", "jobs")


def test_postgres_is_too_old(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that cannot do what is needed is named with its version and the one that can."""
    monkeypatch.setattr(postgres_module, "_OLDEST_VERSION", (99, 1))
    said = told(PostgresPlace(postgres_url).store())
    assert "this is PostgreSQL" in said
    assert "upgrade the server to 99.1 or later" in said


def test_mongodb_is_too_old(mongodb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that cannot do what is needed is named with its version and the one that can."""
    monkeypatch.setattr(mongodb_module, "_OLDEST_VERSION", (99, 1))
    said = told(MongoCollection(mongodb_url).store())
    assert "this is MongoDB" in said
    assert "upgrade the server to 99.1 or later" in said


def test_postgres_without_permission(postgres_url: str) -> None:
    """A user who may only read is told what to grant."""
    place = PostgresPlace(postgres_url)
    place.execute("DO $$ BEGIN CREATE USER tickwise_reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    place.execute(f"GRANT SELECT ON {place.table} TO tickwise_reader")
    url = postgres_url.replace("postgres@", "tickwise_reader@")
    said = told(PostgresJobStore(url, place.table))
    assert "permission denied" in said
    assert f'GRANT SELECT, UPDATE, DELETE ON "{place.table}" TO tickwise_reader' in said


def test_postgres_user_who_may_do_all_but_delete(postgres_url: str) -> None:
    """Also what only `auto_remove` needs is checked at the start."""
    place = PostgresPlace(postgres_url)
    place.execute("DO $$ BEGIN CREATE USER tickwise_writer; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    place.execute(f"GRANT SELECT, UPDATE ON {place.table} TO tickwise_writer")
    url = postgres_url.replace("postgres@", "tickwise_writer@")
    assert "DELETE" in told(PostgresJobStore(url, place.table))
    place.execute(f"GRANT DELETE ON {place.table} TO tickwise_writer")
    place.add(sleep_until=ago(hours=1))

    async def work() -> Any:
        async with PostgresJobStore(url, place.table) as store:
            return await store.lock_next(HOUR)

    assert run(work()) is not None


def test_mongodb_without_permission(standalone_mongodb: str) -> None:
    """A user who may only read is told what to grant."""
    said = told(MongoJobStore(f"mongodb://reader:secret@{standalone_mongodb}/shop?authSource=admin", "jobs"))
    assert "not authorized" in said
    assert "db.grantRolesToUser('reader', [{role: 'readWrite', db: 'shop'}])" in said
    assert "secret" not in said


def test_mongodb_with_a_wrong_password(standalone_mongodb: str) -> None:
    """A login that fails points at the URL, and does not repeat the password."""
    said = told(MongoJobStore(f"mongodb://reader:wrongword@{standalone_mongodb}/shop?authSource=admin", "jobs"))
    assert "Authentication failed" in said
    assert "see the user and the password in the URL" in said
    assert "wrongword" not in said


def test_mongodb_that_is_no_replica_set(standalone_mongodb: str) -> None:
    """Change streams need a replica set; who asks for them without one is told how to make one, or do without."""
    url = f"mongodb://root:secret@{standalone_mongodb}/shop?authSource=admin"
    said = told(MongoJobStore(url, "jobs", watch=True))
    assert "start mongod with --replSet rs0 and run rs.initiate() once" in said
    assert "leave watch out" in said


def test_mongodb_standalone_works(standalone_mongodb: str) -> None:
    """Without change streams a standalone server will do."""
    place = MongoCollection(f"mongodb://root:secret@{standalone_mongodb}/?authSource=admin")
    key = place.add(sleep_until=ago(hours=1), auto_remove=True)

    async def work() -> None:
        async with place.store() as store:
            locked = await store.lock_next(HOUR)
            assert locked is not None
            await store.remove(locked)

    run(work())
    assert place.raw(key) is None


def test_a_url_that_names_a_replica_set_where_there_is_none(standalone_mongodb: str) -> None:
    """The driver finds no member then (and leaves a socket open); the fix names the part of the URL."""
    url = f"mongodb://{standalone_mongodb}/shop?replicaSet=rs0&serverSelectionTimeoutMS=500"
    program = (
        "import asyncio, sys; from tickwise.documents import *; "
        "asyncio.run(DocumentScheduler(MongoJobStore(sys.argv[1], 'jobs'), print).start())"
    )
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True, check=False)
    assert "take replicaSet= out of the URL" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "store",
    [
        PostgresJobStore(f"postgresql://ada:secret@{NOWHERE}/shop", "jobs"),
        MongoJobStore(f"mongodb://ada:secret@{NOWHERE}/shop?serverSelectionTimeoutMS=100", "jobs"),
        MysqlJobStore(f"mysql://ada:secret@{NOWHERE}/shop", "jobs"),
        RedisJobStore(f"redis://ada:secret@{NOWHERE}/0", "jobs"),
    ],
    ids=["postgres", "mongodb", "mysql", "redis"],
)
def test_nobody_answers(store: JobStore) -> None:
    """A server that does not answer is named by its address, without the password."""
    said = told(store)
    assert "is the server running, and is the address right?" in said
    assert NOWHERE in said
    assert "secret" not in said


def test_postgres_without_the_database(postgres_url: str) -> None:
    """A database that is not there is told with what to do."""
    said = told(PostgresJobStore(postgres_url.removesuffix("/postgres") + "/nowhere", "jobs"))
    assert '"nowhere" does not exist' in said
    assert "create the database" in said


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mongodb://127.0.0.1/", "name the database at the end of the address"),
        ("mongo://127.0.0.1/shop", "must begin with 'mongodb://'"),
    ],
)
def test_a_url_that_does_not_fit(url: str, said: str) -> None:
    """What the URL lacks is told."""
    assert said in told(MongoJobStore(url, "jobs"))


@pytest.mark.parametrize("kind", [PostgresJobStore, MongoJobStore])
def test_a_url_that_cannot_be_read(kind: Any) -> None:
    """It is refused as soon as the store is made."""
    with pytest.raises(InputError, match="the URL cannot be read: Invalid IPv6 URL"):
        kind("postgresql://[", "jobs")


def test_missing_table(postgres_url: str, tmp_path: Path) -> None:
    """A table that is not there is named."""
    SqlitePlace(tmp_path)
    for store in (PostgresJobStore(postgres_url, "shop.jobs"), SqliteJobStore(tmp_path / "own.db", "shop.jobs")):
        assert "there is no table shop.jobs" in told(store)


def test_missing_key(tmp_path: Path) -> None:
    """A table whose key has another name is told how to say so."""
    place = SqlitePlace(tmp_path)
    assert "name its primary key with key=…" in told(SqliteJobStore(place.path, place.table, key="number"))


def test_missing_columns(postgres_url: str, mysql_url: str, tmp_path: Path) -> None:
    """The columns that a table lacks are told as statements that add them; then the table can be worked off."""
    for place in (PostgresPlace(postgres_url), MysqlPlace(mysql_url), SqlitePlace(tmp_path)):
        place.execute(f"ALTER TABLE {place.table} DROP COLUMN lock_until")
        place.execute(f"ALTER TABLE {place.table} DROP COLUMN error")
        said = told(place.store())
        statements = [line.strip() for line in said.splitlines() if "ALTER TABLE" in line]
        assert len(statements) == 2
        for statement in statements:
            place.execute(statement)
        place.add(sleep_until=ago(hours=1))
        assert run(_lock(place.store())) is not None


async def _lock(store: JobStore) -> Any:
    async with store:
        return await store.lock_next(HOUR)


def test_mysql_that_does_not_fit(mysql_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too old, without the database, the table or the rights, or with a wrong condition: the fix is told."""
    place = MysqlPlace(mysql_url)
    assert "see the columns that the condition names" in told(place.store(condition="colour = 'red'"))
    assert "see the condition" in told(place.store(condition="kind = = 'mail'"))
    assert "there is no table shop.jobs" in told(MysqlJobStore(place.url, "shop.jobs"))
    assert "create the database" in told(MysqlJobStore(place.url.replace("tickwise_documents", "nowhere"), "jobs"))
    place.execute("CREATE USER IF NOT EXISTS tickwise_reader@'%'")
    place.execute(f"GRANT SELECT ON {place.table} TO tickwise_reader@'%'")
    said = told(MysqlJobStore(place.url.replace("root@", "tickwise_reader@"), place.table))
    assert f"GRANT SELECT, UPDATE, DELETE ON `{place.table}` TO 'tickwise_reader'" in said
    monkeypatch.setattr(mysql_module, "_OLDEST_VERSIONS", {"MySQL": (99, 1), "MariaDB": (99, 1)})
    assert "upgrade the server to 99.1 or later" in told(place.store())


def test_a_percent_sign_in_a_condition(mysql_url: str) -> None:
    """The condition is SQL, whatever the driver makes of its characters."""
    place = MysqlPlace(mysql_url)
    place.add(sleep_until=ago(hours=2), kind="letter")
    key = place.add(sleep_until=ago(hours=1), kind="mail")
    assert run(_lock(place.store(condition="kind LIKE 'm%'"))).facts.key == key


def test_redis_with_a_wrong_password(redis_url: str) -> None:
    """A login that fails points at the URL, and does not repeat the password."""
    said = told(RedisJobStore(redis_url.replace("redis://", "redis://ada:wrongword@"), "jobs"))
    assert "see the user and the password in the URL" in said
    assert "wrongword" not in said


def test_redis_documents_that_cannot_be_read(redis_url: str) -> None:
    """A text that is no JSON object is logged and stays as it is; the documents behind it are taken."""
    place = RedisCollection(redis_url)
    for text in ("{", "[]", "7"):
        place.write_text(f"bad {text}", text)
    key = place.add(sleep_until=ago(hours=1), kind="mail")
    with capture_logs() as lines:
        assert run(_lock(place.store())).facts.key == key
    assert {line["key"] for line in lines} == {"bad {", "bad []", "bad 7"}


def test_redis_keeps_what_it_does_not_know(redis_url: str) -> None:
    """Empty lists, large numbers and texts of a document are as they were after its run."""
    place = RedisCollection(redis_url)
    own = {"tags": [], "nothing": {}, "number": 12345678901234567890, "text": "käse", "ratio": 0.1}
    place.write_text("ada", json.dumps({"sleepUntil": ago(hours=1).isoformat(), **own}))

    async def work() -> None:
        async with place.store() as store:
            await store.update(await lock(store), Sleep(None))

    run(work())
    assert place.raw("ada") == {"_id": "ada", "sleepUntil": None, **own}


def test_redis_documents_are_added_by_the_store(redis_url: str) -> None:
    """`add`, `get`, `change` and `delete` keep the index; what is not there, or there already, is told."""
    store = RedisJobStore(redis_url, "letters")

    async def work() -> list[Any]:
        async with store:
            key = await store.add({"_id": "ada", "sleepUntil": ago(hours=1), "text": "hello"})
            with pytest.raises(InputError, match="there is a document 'ada' already"):
                await store.add({"_id": "ada"})
            with pytest.raises(InputError, match="there is no document 'bob'"):
                await store.change("bob", {"text": "hi"})
            with pytest.raises(InputError, match="cannot be written as JSON"):
                await store.add({"text": object()})
            await store.change(key, {"sleepUntil": None})
            found = [await store.lock_next(HOUR)]
            await store.change(key, {"sleepUntil": ago(hours=1)})
            found += [(await lock(store)).document["text"], (await store.get(key) or {})["text"]]
            await store.delete(key)
            return [*found, await store.get(key), await store.lock_next(HOUR)]

    assert run(work()) == [None, "hello", "hello", None, None]


def test_a_condition_that_cannot_be_read(postgres_url: str, mongodb_url: str) -> None:
    """A wrong condition is told at the start, not at the first document."""
    assert "see the columns that the condition names" in told(
        PostgresPlace(postgres_url).store(condition="colour = 'red'")
    )
    assert "see the condition" in told(PostgresPlace(postgres_url).store(condition="kind = = 'mail'"))
    assert "unknown operator" in told(MongoCollection(mongodb_url).store(condition={"kind": {"$is": "mail"}}))


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    """A missing or foreign file is named; none is made."""
    assert "must be an SQLite database that exists" in told(SqliteJobStore(tmp_path / "none.db", "jobs"))
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("not a database, but longer than a header would be " * 20)
    assert "file is not a database" in told(SqliteJobStore(tmp_path / "text.db", "jobs"))


def test_index_without_permission(postgres_url: str, standalone_mongodb: str) -> None:
    """An index that the user may not make is told like the rest."""
    place = PostgresPlace(postgres_url)
    place.execute("DO $$ BEGIN CREATE USER tickwise_guest; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    place.execute(f"GRANT SELECT, UPDATE, DELETE ON {place.table} TO tickwise_guest")
    store = PostgresJobStore(postgres_url.replace("postgres@", "tickwise_guest@"), place.table)
    with pytest.raises(InputError, match="by the owner only"):
        run(store.create_index())
    mongo = MongoJobStore(f"mongodb://reader:secret@{standalone_mongodb}/shop?authSource=admin", "jobs")
    with pytest.raises(InputError, match="grantRolesToUser"):
        run(mongo.create_index())


def test_a_start_that_failed_can_be_tried_again(tmp_path: Path) -> None:
    """After the fix, the same scheduler starts."""
    place = SqlitePlace(tmp_path)
    place.execute(f"ALTER TABLE {place.table} RENAME TO elsewhere")
    scheduler = DocumentScheduler(place.store(), print)

    async def work() -> None:
        with pytest.raises(InputError, match="there is no table"):
            await scheduler.start()
        place.execute(f"ALTER TABLE elsewhere RENAME TO {place.table}")
        async with scheduler:
            assert scheduler.is_running

    run(work())


def test_memory_refuses_what_it_does_not_have() -> None:
    """A key that is taken, and one that is unknown, are named."""
    store = MemoryJobStore([{"_id": 1}], fields=Fields())
    with pytest.raises(InputError, match="there is a document 1 already"):
        store.add({"_id": 1})
    with pytest.raises(InputError, match="there is no document 2"):
        store.change(2, {"sleepUntil": None})
    assert len(store) == 1
    assert MemoryCollection().raw(1) is None
