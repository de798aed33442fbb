"""Tables by numbered migrations: applied once, whoever comes first, and never against what is there already."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any
from unittest.mock import patch

import pytest

from tickwise.core.planner import plan
from tickwise.stores.contract import Store
from tickwise.stores.mongo import base
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.records import Enqueue, LeaseRequest
from tickwise.stores.sql import schema
from tickwise.stores.sql.driver import Pool, SchemaError
from tickwise.stores.sql.statement import Procedure, Statement
from tickwise.stores.sql.store import SqlStore

from .place import Place
from .upgrade.old import LATER, Old
from .upgrade.story import seen

ALL = tuple(migration.name for migration in schema.migrations())
TOGETHER = 4


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    at_server = request.param == "postgres"
    return Place(request.getfixturevalue("postgres_database") if at_server else f"sqlite:///{tmp_path}/own.db")


def test_they_are_numbered_without_gaps() -> None:
    """Each has the number after the one before, and says from which version on programs can go on beside it."""
    known = schema.migrations()
    assert [migration.version for migration in known] == list(range(1, len(known) + 1))
    assert [f"{migration.version:04}_" for migration in known] == [migration.name[:5] for migration in known]
    assert list(schema.COMPATIBLE_FROM) == [migration.version for migration in known]
    assert [v for v, oldest in schema.COMPATIBLE_FROM.items() if not 1 <= oldest <= v] == []


def test_an_upgrade_is_done_once(place: Place) -> None:
    """All is applied and kept with its checksum; the second time there is nothing to do, and nothing wrong."""
    assert (place.upgrade(), place.upgrade(), place.check()) == (ALL, (), ())
    rows = place.say("SELECT version, name, checksum, compatible_from FROM tickwise_migrations ORDER BY version")
    assert rows == [
        (m.version, m.name, m.checksum, schema.COMPATIBLE_FROM[m.version]) for m in schema.migrations()
    ]


def test_many_upgrade_at_once(place: Place) -> None:
    """One applies, the others wait for it and find nothing to do; all succeed."""
    together = Barrier(TOGETHER)

    def start(_number: int) -> tuple[str, ...]:
        together.wait(60)
        return place.upgrade()

    with ThreadPoolExecutor(TOGETHER) as pool:
        applied = sorted(pool.map(start, range(TOGETHER)), reverse=True)
    assert applied == [ALL, *[()] * (TOGETHER - 1)]
    assert place.check() == ()


def test_an_upgrade_that_fails_leaves_nothing(place: Place) -> None:
    """All of it or none: after the obstacle is gone, it is done from the beginning."""
    place.say("CREATE TABLE tickwise_audit (not_ours text)")
    with pytest.raises(Exception, match="tickwise_audit"):
        place.upgrade()
    place.say("DROP TABLE tickwise_audit")
    assert (place.upgrade(), place.check()) == (ALL, ())


def test_a_changed_migration(place: Place) -> None:
    """Tables that a changed copy made are refused, with what to do, and are left as they are."""
    place.upgrade()
    place.say("UPDATE tickwise_migrations SET checksum = 'other' WHERE version = 1")
    fix = "install the version that made them, or restore a backup"
    with pytest.raises(SchemaError, match=f"{ALL[0]}.*{fix}"):
        place.upgrade()
    (problem,) = place.check()
    assert ALL[0] in problem
    assert fix in problem


def _newer(place: Place, compatible_from: int) -> None:
    """The store is upgraded by a version to come."""
    place.upgrade()
    place.say(
        "INSERT INTO tickwise_migrations (version, name, checksum, compatible_from, applied_at) "
        "VALUES (:version, 'later', 'x', :compatible_from, 0)",
        version=schema.migrations()[-1].version + 1, compatible_from=compatible_from,
    )  # fmt: skip


def test_a_newer_version_that_gets_on_with_this_one(place: Place) -> None:
    """A rolling upgrade stops no older node: it finds nothing to do and nothing wrong."""
    _newer(place, compatible_from=schema.migrations()[-1].version)
    assert (place.upgrade(), place.check()) == ((), ())


def test_a_newer_version_that_does_not(place: Place) -> None:
    """An older node is told to be updated."""
    _newer(place, compatible_from=schema.migrations()[-1].version + 1)
    (problem,) = place.check()
    assert "newer version" in problem
    assert "update this one" in problem


@pytest.fixture
def first(place: Place) -> Old:
    """A store as the first version left it, with something of everything."""
    old = Old("sqlite" if place.url.startswith("sqlite") else "postgres", place.url, 1)
    old.restore()
    return old


def test_from_the_first_version_to_the_newest(first: Old) -> None:
    """What the first version kept is all there after the upgrade, and what is new works on it."""
    (problem,) = first.check()
    assert [name for name in ALL if name in problem] == [*ALL[1:]]
    assert (first.upgrade(), first.check()) == (ALL[1:], ())
    assert first.do(lambda store: seen(store, 1)) == first.was_seen
    changed = first.do(lambda store: store.insights.changes_since(0))
    runs = {number: run["job"] for number, run in first.was_seen["runs"].items()}
    assert {f"#{run.id}": run.job for run in changed.runs} == runs
    assert set(changed.schedules) == {*first.was_seen["schedules"], "gone"}  # its removal is news, too
    assert first.do(lambda store: store.access.claim("k", "m", 1)) is None


def _upgraded(version: int) -> Callable[[Store], Awaitable[tuple[str, ...]]]:
    """A program that knows the schemas up to this one makes its tables."""

    async def upgraded(store: Store) -> tuple[str, ...]:
        assert isinstance(store, SqlStore)
        return await store.driver.run(
            lambda: schema.upgrade(store.driver, schema.migrations()[:version]), Pool.OTHER
        )

    return upgraded


def _checked(version: int) -> Callable[[Store], Awaitable[tuple[str, ...]]]:
    """A program that knows the schemas up to this one says what is wrong."""

    async def checked(store: Store) -> tuple[str, ...]:
        assert isinstance(store, SqlStore)
        return await store.driver.run(lambda: schema.check(store.driver, schema.migrations()[:version]), Pool.READ)

    return checked


WORK_OF_THE_FIRST = (  # what its passes and its workers say to the tables, in short
    "SELECT * FROM tickwise_jobs WHERE wake_at <= :at AND NOT local ORDER BY wake_at FOR UPDATE SKIP LOCKED",
    "UPDATE tickwise_jobs SET waiting = FALSE, last_success = :at WHERE NOT guarded RETURNING name",
    "UPDATE tickwise_schedules SET met = :at, rest = NULL WHERE deleted IS NULL RETURNING name",
    "UPDATE tickwise_runs SET lease_until = :at WHERE state = 'running' RETURNING id",
)


def _work_of_the_first() -> Procedure[dict[str, list[Any]]]:
    found = {}
    for text in WORK_OF_THE_FIRST:
        found[text] = [tuple(row) for row in (yield Statement(text)(at=LATER))]
    return found


def test_a_node_of_the_first_version_goes_on_beside_the_second(first: Old) -> None:
    """One that is at work while another upgrades is not stopped, and finds nothing wrong."""
    tables = dict.fromkeys(re.findall(r"^INSERT INTO (\S+)", first.text, re.MULTILINE))
    rows = re.findall(r"^INSERT INTO .*?;$", first.text, re.MULTILINE | re.DOTALL)
    del tables["tickwise_migrations"]

    async def work(store: Store) -> tuple[Any, ...]:
        assert isinstance(store, SqlStore)
        await store.driver.run(_work_of_the_first, Pool.OTHER)
        before = await store.driver.run(_work_of_the_first, Pool.OTHER)
        made = await asyncio.to_thread(first.do, _upgraded(2))
        after = await store.driver.run(_work_of_the_first, Pool.OTHER)
        return before, after, made, await _checked(1)(store)

    before, after, made, problems = first.do(work)
    assert (after, made, problems, first.do(_checked(2))) == (before, ALL[1:2], (), ())
    assert all(after.values())
    first.say("".join(f"DELETE FROM {table};\n" for table in tables))
    first.say("\n".join(row for row in rows if "tickwise_migrations" not in row))  # it can write them all
    first.upgrade()
    assert first.do(lambda store: seen(store, 1)) == first.was_seen


GET_ON = {(1, 2), (3, 4)}  # a program that knows so many schemas, beside a later one


def test_programs_of_schemas_before(first: Old) -> None:
    """Each goes on beside the later schemas that allow it, and is told by the others that it must be updated."""
    for newer in range(2, len(ALL) + 1):
        first.do(_upgraded(newer))
        for known in range(1, newer):
            told = ["update this one" in problem for problem in first.do(_checked(known))]
            assert told == ([] if (known, newer) in GET_ON else [True]), f"{known} beside {newer}"
            if told:
                with pytest.raises(SchemaError, match="update this one"):
                    first.do(_upgraded(known))
            else:
                assert first.do(_upgraded(known)) == ()


def test_mongodb_from_the_first_version_to_the_second(mongodb_database: str) -> None:
    """Its indexes are added and its mark is left; a program of the first version finds nothing wrong with that."""

    async def upgraded() -> None:
        store = MongoStore(mongodb_database)
        try:
            assert await store.schema.upgrade() == ("0001_begin", "0002_access")
            await store.mongo.schema.delete_one({"_id": 2})
            await store.mongo.tokens.drop()
            assert ["0002_access" in problem for problem in await store.schema.check()] == [True]
            assert (await store.schema.upgrade(), await store.schema.check()) == (("0002_access",), ())
            with patch.object(base, "SCHEMA_VERSION", 1):
                assert await store.schema.check() == ()
        finally:
            await store.close()

    asyncio.run(upgraded())


def test_before_the_first_upgrade(place: Place) -> None:
    """Whatever is asked of a store without tables is refused with the command that makes them."""
    moves: list[Callable[[SqlStore], Awaitable[Any]]] = [
        lambda store: store.tick(plan, "t"),
        lambda store: store.lease(LeaseRequest("w", 1)),
        lambda store: store.enqueue([Enqueue("a")]),
        lambda store: store.expire(),
        lambda store: store.insights.runs(),
        lambda store: store.insights.next_due(),
        lambda store: store.insights.changes_since(0),
        lambda store: store.access.token("digest"),
        lambda store: store.access.claim("k", "m", 1),
    ]
    for move in moves:
        with pytest.raises(SchemaError, match=re.escape("run `tickwise store upgrade`")):
            place.do(move)
    assert [problem for problem in place.check() if "run `tickwise store upgrade`" not in problem] == []
    assert place.check() != ()


def test_a_column_that_is_missing(place: Place) -> None:
    """Older tables than a program needs are told in the same way."""
    place.upgrade()
    place.say("ALTER TABLE tickwise_runs RENAME COLUMN priority TO other")
    with pytest.raises(SchemaError, match=re.escape("run `tickwise store upgrade`")):
        place.do(lambda store: store.insights.runs())
