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

from tickwise.core.change import Paused, Resumed
from tickwise.core.planner import plan
from tickwise.core.settle import Succeeded
from tickwise.core.states import RunState
from tickwise.stores.mongo import MongoStore, base
from tickwise.stores.records import Enqueue, Finish, Node, Reservation, Role
from tickwise.stores.sql import schema
from tickwise.stores.sql.driver import Lane, SchemaError
from tickwise.stores.sql.store import SqlStore
from tickwise.testing.conformance import Snapshot, snapshot
from tickwise.testing.conformance.world import job

from .place import Place

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


def _begin(place: Place) -> tuple[str, ...]:
    """Make the tables as the first version had them."""
    first = schema.migrations()[:1]
    return place.do(lambda store: store.driver.run(lambda: schema.upgrade(store.driver, first), Lane.OTHER))


async def _live(store: SqlStore) -> Snapshot:
    """Something of everything: a run that has ended, one that waits, a decision, a pause."""
    await store.beat(Node("w", (Role.WORKER,), queues=("default",)))
    await store.define(job("a", "* * * * *"), "app")
    await store.define(job("b"), "app")
    await store.enqueue([Enqueue("b"), Enqueue("b", params={"n": 1})])
    (lease,) = await store.lease(Reservation("w", 1, functions=frozenset({"b"})))
    await store.finish([Finish(lease.id, lease.token, Succeeded(), "fine")])
    await store.change("a", Paused("ann", "why"))
    await store.tick(plan, "t")
    return await snapshot(store)


def test_from_the_first_version_to_the_second(place: Place) -> None:
    """What the first version kept is all there after the upgrade, and what is new works on it."""
    assert _begin(place) == ALL[:1]
    assert ["0002_access" in problem for problem in place.check()] == [True]
    place = place._replace(clock=lambda: 1_767_225_600_000_000)
    before = place.do(_live)
    assert (place.upgrade(), place.check()) == (ALL[1:], ())
    assert place.do(snapshot) == before
    changed = place.do(lambda store: store.insights.changed(0))
    assert ([run.job for run in changed.runs], changed.schedules) == (["b", "b"], ("a",))
    assert place.do(lambda store: store.access.claim("k", "m", 1)) is None


def test_a_node_of_the_first_version_goes_on_beside_the_second(place: Place) -> None:
    """One that is at work while another upgrades is not stopped, and finds nothing wrong."""
    _begin(place)

    async def work(store: SqlStore) -> tuple[Any, ...]:
        await _live(store)
        (lease,) = await store.lease(Reservation("w", 1, functions=frozenset({"b"})))
        await asyncio.to_thread(place.upgrade)
        (settled,) = await store.finish([Finish(lease.id, lease.token, Succeeded())])
        await store.change("a", Resumed())
        await store.tick(plan, "t")
        first = schema.migrations()[:1]
        return settled, await store.driver.run(lambda: schema.check(store.driver, first), Lane.READ)

    settled, problems = place.do(work)
    assert (settled.state, problems, place.check()) == (RunState.SUCCEEDED, (), ())


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
        lambda store: store.lease(Reservation("w", 1)),
        lambda store: store.enqueue([Enqueue("a")]),
        lambda store: store.expire(),
        lambda store: store.insights.runs(),
        lambda store: store.insights.next_due(),
        lambda store: store.insights.changed(0),
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
