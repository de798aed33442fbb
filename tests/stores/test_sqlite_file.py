"""A store in a file: private, durable, shared with other processes, and refused rather than made worse."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import pytest

from tickwise.core.definition import JobDefinition
from tickwise.core.errors import InputError
from tickwise.core.requirements import Offers
from tickwise.core.settle import Succeeded
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import Enqueue, Finish, LeaseRequest, LogPart
from tickwise.stores.sql import sqlite
from tickwise.stores.sql.driver import Pool, SchemaError
from tickwise.stores.sql.sqlite_errors import DamagedError
from tickwise.stores.sql.statement import Procedure, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store

from ..support.servers.process import NOBODY
from ..support.store import StoreAddress

PATIENCE = 60  # seconds, against hanging
SAID = "what the run printed"
PAGE = 4096


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "own.db"


@pytest.fixture
def place(file: Path) -> StoreAddress:
    """A store with a run that has printed something."""
    place = StoreAddress(f"sqlite:///{file}")
    place.upgrade()
    place.do(print_something)
    return place


async def print_something(store: SqlStore) -> str:
    """The id of a run that does."""
    await store.define(JobDefinition("a"), "app")
    await store.enqueue([Enqueue("a")])
    (lease,) = await store.lease(LeaseRequest("w", 1, offers=Offers.of({"a"})))
    await store.report(lease.id, lease.token, log=[LogPart("s", "stdout", SAID, 0)])
    await store.finish([Finish(lease.id, lease.token, Succeeded())])
    return lease.id


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}


# Damage.

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a garbage header": lambda whole: b"garbage!" * 16 + whole[128:],
    "cut short": lambda whole: whole[: len(whole) // PAGE // 2 * PAGE],
    "another kind of file": lambda _: b"name,age\nann,41\n" * 1_000,
    "a few words": lambda _: b"hello",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file(place: StoreAddress, file: Path, damage: str) -> None:
    """It is refused with the way to recover, and neither it nor anything beside it is touched."""
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    before = files(file.parent)
    with pytest.raises(DamagedError, match=r"own\.db .*restore a backup, or run `sqlite3 FILE \.recover"):
        place.upgrade()
    assert files(file.parent) == before


def test_damage_in_the_middle(place: StoreAddress, file: Path) -> None:
    """A page of zeros is found by who reads it and by who checks; what is refused changes nothing."""
    with closing(sqlite3.connect(file)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'tickwise_runs'").fetchone()
    whole = file.read_bytes()
    file.write_bytes(whole[: (page - 1) * PAGE] + bytes(PAGE) + whole[page * PAGE :])
    before = files(file.parent)
    with pytest.raises(DamagedError, match="restore a backup"):
        place.do(lambda store: store.insights.runs())
    with pytest.raises(DamagedError, match="restore a backup"):
        place.do(lambda store: store.enqueue([Enqueue("a")]))
    assert "restore a backup" in place.check()[0]
    assert files(file.parent) == before


def test_damaged_logs(place: StoreAddress, file: Path) -> None:
    """The file of the logs is named, and need not be recovered: moved away, it is made anew."""
    logs = file.with_name("own-logs.db")
    logs.write_bytes(b"garbage!" * 1_000)
    before = files(file.parent)
    with pytest.raises(DamagedError, match=r"^own-logs\.db .*move it away"):
        place.upgrade()
    assert files(file.parent) == before
    logs.rename(file.with_name("away"))
    place.upgrade()
    run = place.do(print_something)
    assert [part.text for part in place.do(lambda store: store.insights.log(run)).items] == [SAID]


# Where it may be.


@contextmanager
def someone_else(mode: int) -> Iterator[Path]:
    """Be a user who has these rights in a folder."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(mode)
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(os.getuid())
            folder.chmod(0o700)


@pytest.mark.parametrize("mode", [0o000, 0o555], ids=["closed", "read only"])
def test_a_folder_without_permission(mode: int) -> None:
    """The error names the file and says why it cannot be made."""
    with (
        someone_else(mode) as folder,
        pytest.raises(InputError, match=r"own\.db cannot be made.*ermission denied"),
    ):
        open_store(f"sqlite:///{folder}/own.db")


def test_a_file_without_permission() -> None:
    """One that may only be read is no store."""
    with TemporaryDirectory() as name:
        file = Path(name) / "own.db"
        StoreAddress(f"sqlite:///{file}").upgrade()
        before = files(file.parent)
        file.chmod(0o444)
        file.parent.chmod(0o555)
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
        try:
            with pytest.raises(InputError, match=r"own\.db cannot be made or opened.*ermission denied"):
                open_store(f"sqlite:///{file}")
        finally:
            os.seteuid(os.getuid())
            file.parent.chmod(0o700)
        assert files(file.parent) == before


@pytest.mark.parametrize(
    "below", ["file/own.db", "file/deep/own.db", f"{'long' * 100}.db", f"{'long' * 100}/own.db"]
)
def test_a_path_that_cannot_be_made(tmp_path: Path, below: str) -> None:
    """A file where a folder should be, or a name that no disk takes: refused, and nothing is left behind."""
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made or opened"):
        open_store(f"sqlite:///{tmp_path}/{below}")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


# What it is like.


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_it_is_private(tmp_path: Path) -> None:
    """Only its owner may read or write any of its files, and enter a folder that was made for them."""
    folder = tmp_path / "made" / "for it"

    async def look(_store: SqlStore) -> dict[str, str]:
        return modes(folder)

    place = StoreAddress(f"sqlite:///{folder}/own.db")
    place.upgrade()
    place.do(print_something)
    assert place.do(look) == dict.fromkeys(
        [f"{name}{end}" for name in ("own.db", "own-logs.db") for end in ("", "-wal", "-shm")], "0o600"
    )
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_was_there_stays_as_it_was(tmp_path: Path) -> None:
    """Who made it knows who may enter."""
    tmp_path.chmod(0o755)
    StoreAddress(f"sqlite:///{tmp_path}/own.db").upgrade()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.parametrize("lane", [Pool.CLAIM, Pool.OTHER, Pool.READ])
def test_it_is_durable(place: StoreAddress, lane: Pool) -> None:
    """Both files are written ahead, and every commit is on disk before anybody hears of it."""

    def ask() -> Procedure[list[Any]]:
        found = []
        for pragma in ("journal_mode", "synchronous"):
            for name in ("main", "logs"):
                found += [row[0] for row in (yield Statement(f"PRAGMA {name}.{pragma}")())]
        return found

    full = 2
    assert place.do(lambda store: store.driver.run(ask, lane)) == ["wal", "wal", full, full]


def test_logs_are_apart(place: StoreAddress, file: Path) -> None:
    """What runs print goes into a file of its own, however much it is."""
    with closing(sqlite3.connect(file.with_name("own-logs.db"))) as connection:
        assert connection.execute("SELECT text FROM tickwise_logs").fetchall() == [(SAID,)]
    assert SAID.encode() not in file.read_bytes()
    assert place.check() == ()


def test_a_lost_file_of_logs(place: StoreAddress, file: Path) -> None:
    """What was printed is gone, and nothing else: the file is made again, and takes what is printed next."""
    file.with_name("own-logs.db").unlink()
    (problem,) = place.check()
    assert "logs" in problem
    assert "tickwise store upgrade" in problem
    with pytest.raises(SchemaError, match="tickwise store upgrade"):
        place.do(lambda store: store.insights.log("1"))
    assert (place.upgrade(), place.check()) == ((), ())
    assert place.do(lambda store: store.insights.log("1")).items == ()
    run = place.do(print_something)
    assert [part.text for part in place.do(lambda store: store.insights.log(run)).items] == [SAID]


def test_logs_of_a_store_that_is_gone(place: StoreAddress, file: Path) -> None:
    """A new store begins with no logs, though its runs may have the ids of those whose logs are still there."""
    file.unlink()
    place.upgrade()
    place.do(lambda store: store.define(JobDefinition("a"), "app"))
    (made,) = place.do(lambda store: store.enqueue([Enqueue("a")]))
    assert (made.id, place.do(lambda store: store.insights.log(made.id)).items) == ("1", ())


# Others who use it.


def test_what_another_process_writes_is_noticed(place: StoreAddress) -> None:
    """Who waits hears of it, although no news are sent from process to process."""
    program = (
        "import asyncio, sys\n"
        "from tickwise.stores.url import open_store\n"
        "from tickwise.stores.records import Enqueue\n"
        "asyncio.run(open_store(sys.argv[1]).enqueue([Enqueue('a')]))\n"
    )

    async def hear(store: SqlStore) -> bool:
        waiting = asyncio.create_task(store.wait(PATIENCE))
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program, place.url], check=True)
        return await waiting

    assert place.do(hear)


def test_another_writer_is_waited_for(place: StoreAddress, file: Path) -> None:
    """Who asks while somebody else is writing waits a moment, and never hears of a lock."""
    held, asked = Event(), Event()

    def write() -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            held.set()
            asked.wait(PATIENCE)
            connection.execute("COMMIT")

    async def enqueue(store: SqlStore) -> int:
        writer: Any = store.driver._writer  # type: ignore[attr-defined]  # (the connection that has to wait)
        writer._connection.set_trace_callback(lambda text: asked.set() if text == "BEGIN IMMEDIATE" else None)
        other.start()
        await asyncio.to_thread(held.wait, PATIENCE)
        await store.enqueue([Enqueue("a")])
        return len((await store.insights.runs()).items)

    other = Thread(target=write)
    assert place.do(enqueue) == 2
    other.join()


def test_a_writer_gets_its_turn_beside_a_busy_one(place: StoreAddress, file: Path) -> None:
    """A process that writes nearly all the time leaves short gaps, and one of the next few is enough (E3)."""
    turns, done = 0, Event()

    def write() -> None:
        nonlocal turns
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            while not done.wait(0.001):
                connection.execute("BEGIN IMMEDIATE")
                done.wait(0.02)
                connection.execute("COMMIT")
                turns += 1

    async def enqueue(store: SqlStore) -> None:
        other.start()
        for _ in range(20):
            await store.enqueue([Enqueue("a")])
        done.set()

    other = Thread(target=write)
    place.do(enqueue)
    other.join()
    assert turns < 20 * 20


def test_a_writer_who_does_not_end(place: StoreAddress, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a long time it is said that somebody holds the file; later it goes on. Who reads is never held up."""
    monkeypatch.setattr(sqlite, "_LOCK_TIMEOUT", 0.001)

    async def try_to(store: SqlStore) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with pytest.raises(
                StoreUnavailableError, match="another connection, maybe one of your own, holds the file"
            ):
                await store.enqueue([Enqueue("a")])
            assert len((await store.insights.runs()).items) == 1
        await store.enqueue([Enqueue("a")])
        assert len((await store.insights.runs()).items) == 2

    place.do(try_to)
