"""A store is backed up as its database is, lost, and restored: what happens then is a rule (S78, ADR 93)."""

import shutil
import sqlite3
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from redis import Redis

from tickwise.app.audit import audit
from tickwise.app.restoration import mark_restored
from tickwise.core.states import RunState
from tickwise.stores.url import open_store
from tickwise.testing.conformance.world import HOURLY, World, instant, job

from ..support.app import Clock, patiently
from ..support.servers import mariadb, mongodb, postgres, valkey
from ..support.servers.process import PATIENCE, packaged
from .mongo import servers as mongo


class Backup(ABC):
    """A store, and how its backup is made and restored; afterwards it may have another address."""

    url: str

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.copy = folder / "backup"

    @abstractmethod
    def take(self) -> None:
        """Make a backup while the store is used."""

    @abstractmethod
    def restore(self) -> None:
        """Lose the store, and come back with the backup."""


class SqliteBackup(Backup):
    """By SQLite's own backup, of both files."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        super().__init__(folder, stack)
        self.copy.mkdir()
        self.url = f"sqlite:///{folder / 'shop.db'}"

    def take(self) -> None:
        for name in ("shop.db", "shop-logs.db"):
            with (
                closing(sqlite3.connect(self.folder / name)) as one,
                closing(sqlite3.connect(self.copy / name)) as other,
            ):
                one.backup(other)

    def restore(self) -> None:
        for file in self.folder.glob("shop*"):
            file.unlink()
        shutil.copytree(self.copy, self.folder, dirs_exist_ok=True)


class PostgresBackup(Backup):
    """By pg_dump and pg_restore, into another database."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        super().__init__(folder, stack)
        self.url = stack.enter_context(postgres.server()).url

    def take(self) -> None:
        self._program("pg_dump", "-Fc", "-f", str(self.copy), "-d", self.url)

    def restore(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CREATE DATABASE restored")
        self.url = urlsplit(self.url)._replace(path="/restored").geturl()
        self._program("pg_restore", "-d", self.url, str(self.copy))

    def _program(self, name: str, *words: str) -> None:
        programs = packaged(postgres.PACKAGE, str(postgres.INSTALLED)) / "bin"
        subprocess.run([programs / name, *words], check=True, capture_output=True)


class MariadbBackup(Backup):
    """By mariadb-dump, into another database."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        super().__init__(folder, stack)
        self._server = stack.enter_context(mariadb.server()).url
        self.url = self._new("shop")

    def _new(self, name: str) -> str:
        with mariadb.connected(self._server) as cursor:
            cursor.execute(f"CREATE DATABASE {name}")
        return urlsplit(self._server)._replace(path=f"/{name}").geturl()

    def _program(self, name: str, *words: str, **pipes: Any) -> None:
        where = urlsplit(self._server)
        reach = ["--no-defaults", "--protocol=tcp", "-h127.0.0.1", f"-P{where.port}", "-uroot"]
        subprocess.run([name, *reach, *words], check=True, stderr=subprocess.PIPE, **pipes)

    def take(self) -> None:
        with self.copy.open("wb") as file:
            self._program("mariadb-dump", "--single-transaction", "shop", stdout=file)

    def restore(self) -> None:
        self.url = self._new("restored")
        with self.copy.open("rb") as file:
            self._program("mariadb", "restored", stdin=file)


class MongodbBackup(Backup):
    """By a copy of the data of a server that was stopped for it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        super().__init__(folder, stack)
        self._server = stack.enter_context(mongodb.server())
        self.url = urlsplit(self._server.url)._replace(path="/shop").geturl()

    def _copied(self, source: Path, target: Path) -> None:
        self._server.process.kill()
        self._server.process.wait(PATIENCE)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        self._server = self.stack.enter_context(mongo.restarted(self._server))

    def take(self) -> None:
        self._copied(self._server.folder / "data", self.copy)

    def restore(self) -> None:
        self._copied(self.copy, self._server.folder / "data")


class ValkeyBackup(Backup):
    """By a copy of the file that SAVE writes."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        super().__init__(folder, stack)
        self._server = stack.enter_context(valkey.server())
        self.url = self._server.url

    def take(self) -> None:
        with Redis.from_url(self.url) as client:
            client.save()
        shutil.copy(self._server.folder / "dump.rdb", self.copy)

    def restore(self) -> None:
        shutil.copy(self.copy, self._server.folder / "dump.rdb")
        self._server = self.stack.enter_context(valkey.restarted(self._server))


@pytest.fixture(params=[SqliteBackup, PostgresBackup, MariadbBackup, MongodbBackup, ValkeyBackup])
def backup(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backup]:
    with ExitStack() as stack:
        yield request.param(tmp_path, stack)


async def _lost(backup: Backup, clock: Clock) -> tuple[list[str], set[str]]:
    """A store is backed up at half past two and lost at half past five: its slots, and ids of runs made since."""
    store = open_store(backup.url, clock)
    await store.schema.upgrade()
    world = World(store, clock)
    await world.begin()
    await world.define(job("nightly", HOURLY, catchup="all"), job("order"))
    await _live(world, 1, 2)
    await world.enqueue("order")
    known = {run.id for run in (await store.insights.runs()).items}
    await store.close()
    backup.take()
    world = await _opened(backup, clock)
    await _live(world, 3, 4, 5)
    since = {run.id for run in (await world.insights.runs()).items} - known
    ran = await world.ran("nightly")
    await world.store.close()
    return ran, since


async def _opened(backup: Backup, clock: Clock) -> World:
    world = World(open_store(backup.url, clock), clock)
    await world.begin()
    return world


async def _live(world: World, *hours: int) -> None:
    """Each of these hours comes, and its run is executed."""
    for hour in hours:
        await world.pass_time(f"{hour:02}:30")
        await world.work()


async def _catch_up(world: World) -> list[str]:
    """Execute all that is pending, one after the other."""
    for _ in range(5):
        await world.tick()
        await world.work()
    await _live(world, 6)
    found = await audit(world.store)
    assert found.findings == []
    return await world.ran("nightly")


@patiently
async def test_a_backup_alone_decides_again(backup: Backup) -> None:
    """S78: the store is the truth as it is. Slots since the backup run a second time, with numbers used before."""
    clock = Clock()
    ran, since = await _lost(backup, clock)
    backup.restore()
    world = await _opened(backup, clock)
    assert await world.ran("nightly") == ran[:2]
    again = await _catch_up(world)
    assert [text.split()[0] for text in again] == [*ran, "06:00"]
    assert since & {run.id for run in (await world.insights.runs()).items} == since
    await world.store.close()


@patiently
async def test_a_store_that_is_said_to_be_restored_repeats_nothing(backup: Backup) -> None:
    """S78: what the lost store did is recorded as that; later slots are caught up, under numbers of their own."""
    clock = Clock()
    ran, since = await _lost(backup, clock)
    backup.restore()
    world = await _opened(backup, clock)
    done = await mark_restored(world.store, instant("04:15"), "ann")
    assert (done.schedules, done.runs) == (1, 1)
    again = await _catch_up(world)
    assert again == [*ran[:2], "05:00 catchup", "06:00"]
    assert await world.decided("nightly") == ["restored 03:00 to 04:00 (2)"]
    runs = (await world.insights.runs()).items
    assert not since & {run.id for run in runs}
    assert {run.state for run in runs if run.job == "order"} == {RunState.CANCELLED}
    await world.store.close()
