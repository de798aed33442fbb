"""Tables by numbered migrations: applied once, whoever comes first, and never against what is there already."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any
from unittest.mock import patch

import pytest

from tickwise.core.change import Paused, Resumed
from tickwise.core.errors import TickwiseError
from tickwise.core.model import Pause
from tickwise.core.planner import plan
from tickwise.stores.contract import StatementError, Store
from tickwise.stores.mongo import base
from tickwise.stores.mongo.store import MongoStore
from tickwise.stores.records import Enqueue, LeaseRequest, Node, Role
from tickwise.stores.sql import schema
from tickwise.stores.sql.driver import Pool, SchemaError
from tickwise.stores.sql.store import SqlStore
from tickwise.testing.conformance.world import HOURLY, instant, job, schedule

from ..support.store import StoreAddress

MADE_UP = schema.Migration(  # a step to come: it changes a table that has rows
    2, "0002_made_up", "ALTER TABLE tickwise_jobs ADD COLUMN owner text; -- nobody's yet\n", compatible_from=1
)
ALL = tuple(migration.name for migration in schema.migrations())
NAMES = {"mongodb": ("0001_begin", "0002_access"), "redis": ("0001_begin",)}
TOGETHER = 4
WORKER = Node("w", (Role.WORKER,), queues=("default",), seconds=10**9)


@pytest.fixture(params=["sqlite", "postgres", "mysql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StoreAddress:
    if request.param == "sqlite":
        return StoreAddress(f"sqlite:///{tmp_path}/own.db")
    return StoreAddress(request.getfixturevalue(f"{request.param}_database"))


def test_they_are_numbered_without_gaps() -> None:
    """Each has the number after the one before, and says from which version on programs can go on beside it."""
    known = schema.migrations()
    assert [migration.version for migration in known] == list(range(1, len(known) + 1))
    assert [f"{migration.version:04}_" for migration in known] == [migration.name[:5] for migration in known]
    assert [m.name for m in known if not 1 <= m.compatible_from <= m.version] == []


def test_an_upgrade_is_done_once(place: StoreAddress) -> None:
    """All is applied and kept with its checksum; the second time there is nothing to do, and nothing wrong."""
    assert (place.upgrade(), place.upgrade(), place.check()) == (ALL, (), ())
    rows = place.say("SELECT version, name, checksum, compatible_from FROM tickwise_migrations ORDER BY version")
    assert rows == [(m.version, m.name, m.checksum, m.compatible_from) for m in schema.migrations()]


def test_many_upgrade_at_once(place: StoreAddress) -> None:
    """One applies, the others wait for it and find nothing to do; all succeed."""
    together = Barrier(TOGETHER)

    def start(_number: int) -> tuple[str, ...]:
        together.wait(60)
        return place.upgrade()

    with ThreadPoolExecutor(TOGETHER) as pool:
        applied = sorted(pool.map(start, range(TOGETHER)), reverse=True)
    assert applied == [ALL, *[()] * (TOGETHER - 1)]
    assert place.check() == ()


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mysql", "mongodb", "redis"])
def test_two_processes_upgrade_at_once(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    """Both succeed; the second may find nothing to do."""
    at_server = kind != "sqlite"
    url = request.getfixturevalue(f"{kind}_database") if at_server else f"sqlite:///{tmp_path}/own.db"
    command = [sys.executable, "-m", "tickwise", "store", "upgrade", "--json", "--store", url]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert sorted(name for text in said for name in json.loads(text)["applied"]) == list(NAMES.get(kind, ALL))
    again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(again.stdout)["applied"] == []


def test_an_upgrade_that_fails_leaves_nothing(place: StoreAddress) -> None:
    """All of it or none: after the obstacle is gone, it is done from the beginning."""
    place.say("CREATE TABLE tickwise_audit (not_ours text)")
    with pytest.raises(Exception, match="tickwise_audit"):
        place.upgrade()
    place.say("DROP TABLE tickwise_audit")
    assert (place.upgrade(), place.check()) == (ALL, ())


def test_a_changed_migration(place: StoreAddress) -> None:
    """Tables that a changed copy made are refused, with what to do, and are left as they are."""
    place.upgrade()
    place.say("UPDATE tickwise_migrations SET checksum = 'other' WHERE version = 1")
    fix = "install the version that made them, or restore a backup"
    with pytest.raises(SchemaError, match=f"{ALL[0]}.*{fix}"):
        place.upgrade()
    (problem,) = place.check()
    assert ALL[0] in problem
    assert fix in problem


def _newer(place: StoreAddress, compatible_from: int) -> None:
    """The store is upgraded by a version to come."""
    place.upgrade()
    place.say(
        "INSERT INTO tickwise_migrations (version, name, checksum, compatible_from, applied_at) "
        "VALUES (:version, 'later', 'x', :compatible_from, 0)",
        version=schema.migrations()[-1].version + 1, compatible_from=compatible_from,
    )  # fmt: skip


def test_a_newer_version_that_gets_on_with_this_one(place: StoreAddress) -> None:
    """A rolling upgrade stops no older node: it finds nothing to do and nothing wrong."""
    _newer(place, compatible_from=schema.migrations()[-1].version)
    assert (place.upgrade(), place.check()) == ((), ())


def test_a_newer_version_that_does_not(place: StoreAddress) -> None:
    """An older node is told to be updated."""
    _newer(place, compatible_from=schema.migrations()[-1].version + 1)
    (problem,) = place.check()
    assert "newer version" in problem
    assert "update this one" in problem


def _upgrade_to(*known: schema.Migration) -> Callable[[Store], Awaitable[tuple[str, ...]]]:
    """A program that knows these migrations makes its tables."""

    async def upgraded(store: Store) -> tuple[str, ...]:
        assert isinstance(store, SqlStore)
        return await store.driver.run(lambda: schema.upgrade(store.driver, list(known)), Pool.OTHER)

    return upgraded


def _check_as(*known: schema.Migration) -> Callable[[Store], Awaitable[tuple[str, ...]]]:
    """A program that knows these migrations says what is wrong."""

    async def checked(store: Store) -> tuple[str, ...]:
        assert isinstance(store, SqlStore)
        return await store.driver.run(lambda: schema.check(store.driver, list(known)), Pool.READ)

    return checked


class TestFurtherMigration:
    """What happens to a store with rows when a migration follows the first; a made-up one stands for it."""

    OLD = tuple(schema.migrations())
    NEW = (*OLD, MADE_UP)

    @pytest.fixture
    def used(self, place: StoreAddress) -> StoreAddress:
        """A store at work: something has been defined and fired."""
        used = place._replace(clock=lambda: instant("01:00") * 1_000_000)
        used.upgrade()
        used.do(lambda store: store.beat(WORKER))
        used.do(lambda store: store.define(job("a", HOURLY), "app"))
        used.do(lambda store: store.tick(plan, "t"))
        return used

    def test_it_is_missing_until_it_is_applied(self, used: StoreAddress) -> None:
        """The check names it; the upgrade applies only it, once."""
        (problem,) = used.do(_check_as(*self.NEW))
        assert (MADE_UP.name in problem, ALL[0] in problem) == (True, False)
        assert [used.do(_upgrade_to(*self.NEW)) for _ in range(2)] == [(MADE_UP.name,), ()]
        assert used.do(_check_as(*self.NEW)) == ()
        assert used.say("SELECT name, owner FROM tickwise_jobs") == [("a", None)]

    def test_many_apply_it_at_once(self, used: StoreAddress) -> None:
        """One applies it under the lock, the others wait and find nothing to do."""
        together = Barrier(TOGETHER)

        def start(_number: int) -> tuple[str, ...]:
            together.wait(60)
            return used.do(_upgrade_to(*self.NEW))

        with ThreadPoolExecutor(TOGETHER) as pool:
            applied = sorted(pool.map(start, range(TOGETHER)), reverse=True)
        assert applied == [(MADE_UP.name,), *[()] * (TOGETHER - 1)]

    def test_a_node_of_the_schema_before_goes_on(self, used: StoreAddress) -> None:
        """One that is at work while another upgrades is not stopped: it fires what is due, once (S1)."""
        now = [instant("01:00") * 1_000_000]

        async def work(store: SqlStore) -> list[int]:
            await asyncio.to_thread(used.do, _upgrade_to(*self.NEW))
            now[0] = instant("02:00") * 1_000_000
            return [(await store.tick(plan, node)).runs for node in ("t1", "t2")]

        assert used._replace(clock=lambda: now[0]).do(work) == [1, 0]
        assert (used.do(_check_as(*self.OLD)), used.do(_upgrade_to(*self.OLD))) == ((), ())

    def test_a_node_that_cannot_go_on_is_told(self, used: StoreAddress) -> None:
        """A migration that says so keeps programs of the schema before away."""
        used.do(_upgrade_to(*self.OLD, MADE_UP._replace(compatible_from=2)))
        (problem,) = used.do(_check_as(*self.OLD))
        assert "update this one" in problem
        with pytest.raises(SchemaError, match="update this one"):
            used.do(_upgrade_to(*self.OLD))

    def test_a_changed_copy_of_it(self, used: StoreAddress) -> None:
        """Its checksum differs: the tables are left alone, and the way out is named."""
        used.do(_upgrade_to(*self.NEW))
        with pytest.raises(SchemaError, match=f"{MADE_UP.name}.*install the version that made them"):
            used.do(_upgrade_to(*self.OLD, MADE_UP._replace(text="ALTER TABLE tickwise_jobs ADD COLUMN x text")))

    def test_one_that_fails_leaves_nothing(self, used: StoreAddress) -> None:
        """What it did before it failed is undone."""
        bad = MADE_UP._replace(text=f"{MADE_UP.text}; INSERT INTO tickwise_nowhere VALUES (1)")
        with pytest.raises(Exception, match="tickwise_nowhere"):
            used.do(_upgrade_to(*self.OLD, bad))
        assert used.do(_upgrade_to(*self.NEW)) == (MADE_UP.name,)


def test_mongodb_from_the_first_version_to_the_second(mongodb_database: str) -> None:
    """Its indexes are added, and a program of the first version goes on beside it unless it is told otherwise."""

    async def started(store: MongoStore) -> None:
        try:
            await store.insights.next_due()
        finally:
            await store.close()

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
                await store.mongo.schema.update_one({"_id": 2}, {"$set": {"compatible_from": 2}})
                assert ["update this one" in problem for problem in await store.schema.check()] == [True]
            with patch.object(base, "SCHEMA_VERSION", 1), pytest.raises(TickwiseError, match="update this one"):
                await started(MongoStore(mongodb_database))
        finally:
            await store.close()

    asyncio.run(upgraded())


def test_before_the_first_upgrade(place: StoreAddress) -> None:
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


def test_a_column_that_is_missing(place: StoreAddress) -> None:
    """Older tables than a program needs are told in the same way."""
    place.upgrade()
    place.say("ALTER TABLE tickwise_runs RENAME COLUMN losses TO other")
    with pytest.raises(SchemaError, match=re.escape("run `tickwise store upgrade`")):
        place.do(lambda store: store.insights.run("1"))


ROOT = Path(__file__).parents[2]
SEEN = "SELECT name, job, times, timezone, next_run_at, last_run_at, last_state, paused, reason"


def test_the_view_for_people(place: StoreAddress) -> None:
    """Schedules by name, with times that people can read; servers have a type for these."""
    used = place._replace(clock=lambda: instant("01:00") * 1_000_000)
    used.upgrade()
    used.do(lambda store: store.beat(WORKER))
    used.do(lambda store: store.define(job("a", HOURLY), "app"))
    used.do(lambda store: store.define(job("b", "CRON_TZ=Europe/Berlin 30 2 * * *"), "app"))
    used.do(lambda store: store.change("b", Paused("ann", "holidays")))
    used.do(lambda store: store.define(replace(job("c", HOURLY), enabled=False), "app"))
    used.do(lambda store: store.tick(plan, "t"))
    later = used._replace(clock=lambda: instant("02:00") * 1_000_000)
    later.do(lambda store: store.tick(plan, "t"))
    rows = used.say(f"{SEEN} FROM tickwise_schedules_now ORDER BY name")
    at = TIMES[place.url.partition(":")[0]]
    assert [(*row[:7], bool(row[7]), *row[8:]) for row in rows] == [
        ("a", "a", HOURLY, "UTC", at("2026-01-01T03:00:00Z"), at("2026-01-01T02:00:00Z"), "queued", False, None),
        ("b", "b", "CRON_TZ=Europe/Berlin 30 2 * * *", "Europe/Berlin", None, None, None, True, "holidays"),
        ("c", "c", HOURLY, "UTC", None, None, None, True, "enabled: false"),
    ]


def _without_zone(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


TIMES: dict[str, Callable[[str], object]] = {
    "sqlite": str, "postgresql": datetime.fromisoformat, "mysql": _without_zone,
}  # fmt: skip


def _micro(time: str) -> int:
    return instant(time) * 1_000_000


def test_the_documented_queries(place: StoreAddress) -> None:
    """What docs/stores.md shows of SQL can be pasted into `psql` and `sqlite3` (A13)."""
    used = place._replace(clock=lambda: instant("01:00") * 1_000_000)
    used.upgrade()
    used.do(lambda store: store.beat(WORKER))
    used.do(lambda store: store.define(job("a", HOURLY), "app"))
    used.do(lambda store: store.define(job("b", HOURLY), "app"))
    used.do(lambda store: store.change("b", Paused("ann", "holidays")))
    for hour in ("02:00", "03:00", "04:00"):
        later = place._replace(clock=partial(_micro, hour))
        later.do(lambda store: store.tick(plan, "t"))
    blocks = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/stores.md").read_text(), re.DOTALL)
    queries = [query for block in blocks for query in block.strip().removesuffix(";").split(";\n")]
    answers = [[tuple(row) for row in used.say(query)] for query in queries]
    assert len(answers) == 5
    soon, paused, trouble, runs, reasons = answers
    assert [row[0] for row in soon] == ["a"]
    assert paused == [("b", "holidays")]
    assert trouble == []
    assert runs == [("a", "queued", 1)]
    assert reasons == [("a", "overlap", 2)]


def test_the_view_survives_damage(place: StoreAddress) -> None:
    """One damaged definition or state does not keep people from reading the others (A13)."""
    used = place._replace(clock=lambda: instant("01:00") * 1_000_000)
    used.upgrade()
    used.do(lambda store: store.define(job("a", HOURLY, grace=97), "app"))
    used.do(lambda store: store.define(job("b", HOURLY), "app"))
    used.say("UPDATE tickwise_definitions SET body = '{' WHERE body LIKE '%97%'")
    used.say("UPDATE tickwise_schedules SET rest = '{' WHERE name = 'a'")
    assert [row[0] for row in used.say("SELECT * FROM tickwise_schedules_now ORDER BY name")] == ["a", "b"]


@pytest.mark.parametrize("write", ["paused = TRUE", "paused = NOT paused"])
def test_a_pause_by_sql_is_refused(place: StoreAddress, write: str) -> None:
    """It would be counted and ignored: the refusal names the command to use, and nothing changes (A13)."""
    place.upgrade()
    place.do(lambda store: store.define(job("a", HOURLY), "app"))
    with pytest.raises(StatementError, match="use_tickwise_schedules_pause_or_resume"):
        place.say(f"UPDATE tickwise_schedules SET {write}")
    place.do(lambda store: store.change("a", Paused("ann", "holidays")))
    with pytest.raises(StatementError, match="use_tickwise_schedules_pause_or_resume"):
        place.say("UPDATE tickwise_schedules SET paused = FALSE")
    [(paused, reason)] = place.say("SELECT paused, reason FROM tickwise_schedules_now")
    assert (bool(paused), reason) == (True, "holidays")


def test_what_a_person_calls_things_pauses_nothing(place: StoreAddress) -> None:
    """Reasons and names that look like the words of the store do not count as a pause."""
    place.upgrade()
    words = '"manual_pause":{"disabled":{"overruled":'
    place.do(lambda store: store.define(replace(job("a", HOURLY), enabled=False), "app"))
    place.do(lambda store: store.change("a", Paused(words, words)))
    assert place.do(lambda store: store.change("a", Resumed())).paused is None
    place.do(lambda store: store.define(job("manual_pause", HOURLY, also=[schedule("disabled", HOURLY)]), "app"))


def test_the_view_shows_a_pause_of_everything(place: StoreAddress) -> None:
    """Nothing is next then, and the reason is that of the pause."""
    used = place._replace(clock=lambda: instant("01:00") * 1_000_000)
    used.upgrade()
    used.do(lambda store: store.define(job("a", HOURLY), "app"))
    used.do(lambda store: store.pause(Pause(instant("01:00"), "ann", "upgrade of the database")))
    [(next_run_at, paused, reason)] = used.say("SELECT next_run_at, paused, reason FROM tickwise_schedules_now")
    assert (next_run_at, bool(paused), reason) == (None, True, "upgrade of the database")
