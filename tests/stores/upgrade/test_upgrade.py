"""Stores as released versions left them: upgraded with all that is in them, they go on as if nothing had been."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pymongo import MongoClient

from tickwise.core.errors import TickwiseError
from tickwise.core.planner import plan
from tickwise.stores.contract import Store
from tickwise.stores.mongo import base
from tickwise.stores.records import ALL_RUNS
from tickwise.stores.sql import schema
from tickwise.stores.sql.driver import Pool, SchemaError
from tickwise.stores.sql.store import SqlStore

from .make import FOLDER
from .old import ALL, ALL_OF_MONGODB, LATER, STORES, Old
from .story import DUE, seen

RELEASED = [(kind, version) for kind, names in STORES.items() for version in range(1, len(names) + 1)]


@pytest.fixture
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    def url(kind: str) -> str:
        at_server = kind != "sqlite"
        return str(request.getfixturevalue(f"{kind}_database")) if at_server else f"sqlite:///{tmp_path}/own.db"

    return url


@pytest.fixture(params=RELEASED, ids=lambda each: f"{each[0]}-{each[1]}")
def old(request: pytest.FixtureRequest, store_url: Callable[[str], str]) -> Old:
    kind, version = request.param
    found = Old(kind, store_url(kind), version)
    found.restore()
    return found


@pytest.fixture(params=STORES)
def first(request: pytest.FixtureRequest, store_url: Callable[[str], str]) -> Old:
    found = Old(request.param, store_url(request.param), 1)
    found.restore()
    return found


def test_every_schema_is_kept() -> None:
    """Who adds a migration makes fixtures of the schema before it, in every store."""
    wanted = {f"{kind}-{version}" for kind, version in RELEASED if version < len(STORES[kind])}
    wanted |= {f"seen-{version}" for version in range(1, len(ALL))}
    assert wanted - {path.stem for path in FOLDER.iterdir()} == set()
    assert (len(ALL_OF_MONGODB), ALL_OF_MONGODB[-1]) == (base.SCHEMA_VERSION, base.SCHEMA_NAME)


def test_all_that_was_there_is_there(old: Old) -> None:
    """The upgrade applies what is missing, and people see what they saw before; a second one has nothing to do."""
    assert old.upgrade() == old.newer
    assert (old.upgrade(), old.check()) == ((), ())
    assert old.do(lambda store: seen(store, old.version)) == old.was_seen


def test_it_goes_on_where_it_was(old: Old) -> None:
    """The next pass fires what is due then, each slot once, and the pass after it nothing more (S1)."""

    async def fired(store: Store) -> list[str]:
        before = {run.id for run in (await store.insights.runs(ALL_RUNS, limit=1_000)).items}
        await store.tick(plan, "t1")
        await store.tick(plan, "t2")
        after = (await store.insights.runs(ALL_RUNS, limit=1_000)).items
        return sorted(str(run.schedule) for run in after if run.id not in before)

    old.upgrade()
    assert old.do(fired, LATER) == sorted(DUE)


def test_two_processes_upgrade_at_once(first: Old) -> None:
    """Both succeed; whoever comes second may find nothing to do."""
    command = [sys.executable, "-m", "tickwise", "store", "upgrade", "--json", "--store", first.url]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    applied = [name for text in said for name in json.loads(text)["applied"]]
    assert (applied, first.check()) == (list(first.newer), ())


def _as_known_to(old: Old, version: int) -> tuple[str, ...]:
    """What a program that knows the schemas up to this one says of the store."""

    async def check(store: Store) -> tuple[str, ...]:
        if isinstance(store, SqlStore):
            known = schema.migrations()[:version]
            return await store.driver.run(lambda: schema.check(store.driver, known), Pool.READ)
        with patch.object(base, "SCHEMA_VERSION", version):
            return await store.schema.check()

    return old.do(check)


def _start(old: Old, version: int) -> None:
    """What a node of that schema does first."""

    async def start(store: Store) -> None:
        if isinstance(store, SqlStore):
            known = schema.migrations()[:version]
            await store.driver.run(lambda: schema.upgrade(store.driver, known), Pool.OTHER)
        with patch.object(base, "SCHEMA_VERSION", version):
            await store.insights.next_due()

    old.do(start)


def _say_compatible_from(old: Old, version: int) -> None:
    """The newest schema says which programs it gets on with."""
    if old.kind == "mongodb":
        with MongoClient[Any](old.url) as client:
            marks = client.get_default_database()[f"{base.PREFIX}schema"]
            marks.update_one({"_id": old.newest}, {"$set": {"compatible_from": version}})
        return
    old.say(f"UPDATE tickwise_migrations SET compatible_from = {version} WHERE version = {old.newest}")


def test_a_program_of_the_schema_before(first: Old) -> None:
    """It goes on beside the newer schema if that says so, and is told to be updated otherwise."""
    first.upgrade()
    before = first.newest - 1
    _say_compatible_from(first, before)
    assert _as_known_to(first, before) == ()
    _say_compatible_from(first, first.newest)
    assert ["update this one" in problem for problem in _as_known_to(first, before)] == [True]
    with pytest.raises(TickwiseError, match="update this one"):
        _start(first, before)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_migration_that_was_changed(kind: str, store_url: Callable[[str], str]) -> None:
    """Tables that other statements have made are left alone, and the way out is named."""
    old = Old(kind, store_url(kind), 1)
    old.restore()
    old.say("UPDATE tickwise_migrations SET checksum = 'other'")
    with pytest.raises(SchemaError, match="install the version that made them, or restore a backup"):
        old.upgrade()
