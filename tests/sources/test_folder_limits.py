"""A watched folder where things go wrong: it may not be read, strangers may write it, the kernel does not help."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from watchfiles import Change, awatch

from tickwise.ownership import WriterCheck
from tickwise.sources.defaults import Defaults
from tickwise.sources.folder import scan, watch
from tickwise.sources.yaml import Template

from ..support.folder import names, problems, watched, write
from ..support.ownership import TRUST


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    folder = tmp_path / "the jobs"
    write(folder / "a.yaml", "queue: first")
    write(folder / "sub" / "b.yaml", "queue: first")
    return folder


def refuse(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """A call of the system that is refused for paths of this name."""

    def call(path: Any, *arguments: Any, **options: Any) -> Any:
        if Path(path).name == name:
            raise PermissionError(13, "Permission denied")
        return original(path, *arguments, **options)

    return call


def test_a_file_that_may_not_be_read(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is broken and not deleted: its job goes on; that it may be read again is noticed without a change."""

    async def whole() -> None:
        async with watched(jobs, poll=True, thorough_every=0) as stream:
            await stream.next()
            with monkeypatch.context() as patched:
                patched.setattr(Path, "open", refuse("a.yaml", Path.open))
                change = await stream.next()
                assert (change.removed, problems(change)) == ((), ["the file cannot be read: Permission denied"])
            assert (await stream.next()).errors == ()

    asyncio.run(whole())


@pytest.mark.parametrize("name", ["sub", "the jobs"])
def test_a_folder_that_may_not_be_read(jobs: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it held goes on, be it the whole folder or one below."""

    async def whole() -> None:
        async with watched(jobs, poll=True) as stream:
            await stream.next()
            with monkeypatch.context() as patched:
                patched.setattr(os, "scandir", refuse(name, os.scandir))
                change = await stream.next()
                assert (change.defined, change.removed) == ((), ())
                assert problems(change) == ["the folder cannot be read: Permission denied"]
            assert (await stream.next()).errors == ()

    asyncio.run(whole())


@pytest.mark.parametrize("way", ["", "sub", "a.yaml"])
def test_everybody_may_write(jobs: Path, way: str) -> None:
    """A file or folder that all may write is refused with the command that mends it; what stands goes on."""
    path = jobs / way
    mode = path.stat().st_mode

    async def whole() -> None:
        async with watched(jobs) as stream:
            await stream.next()
            path.chmod(mode | stat.S_IWOTH)
            write(jobs / "a.yaml", "queue: second")
            write(jobs / "sub" / "b.yaml", "queue: second")
            change = await stream.next()
            assert f"everybody may write it, and so decide what runs here: chmod o-w '{path}'" in str(
                change.errors[0]
            )
            assert (len(change.errors), change.removed) == (1, ())
            refused = {"": {"a", "b"}, "sub": {"b"}, "a.yaml": {"a"}}[way]
            assert {name for name, queue in stream.queues().items() if queue == "first"} == refused
            path.chmod(mode)
            change = await stream.next()
            assert (set(names(change)), change.errors) == (refused, ())

    asyncio.run(whole())


def owned(mode: int, *, user: int = 0, group: int = 0) -> os.stat_result:
    return os.stat_result((mode, 1, 1, 1, user, group, 0, 0, 0, 0))


@pytest.mark.parametrize("mode", [0o600, 0o755])
def test_files_of_other_users(monkeypatch: pytest.MonkeyPatch, mode: int) -> None:
    """Only the user himself and root decide what he runs."""
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    trust, path = WriterCheck(), Path("a.yaml")
    assert trust.refusal(path, owned(mode, user=1_000)) is None
    assert trust.refusal(path, owned(mode, user=0)) is None
    why = trust.refusal(path, owned(mode, user=1_001))
    assert why
    assert "another user (number 1001)" in why
    assert f"chown 1000 a.yaml, or name it in the setting trusted_folders: {TRUST}={Path.cwd()}/a.yaml" in why


def test_a_group_may_write(tmp_path: Path) -> None:
    """That is refused unless the folder is trusted by name (B14); a group with the owner's number is private."""
    assert WriterCheck().refusal(tmp_path, owned(0o775)) is None
    why = WriterCheck().refusal(tmp_path / "a.yaml", owned(0o664, group=50))
    assert why
    assert f"the group 50 may write it, and so decide what runs here: chmod g-w {tmp_path}/a.yaml, or " in why
    assert WriterCheck([str(tmp_path)]).refusal(tmp_path / "a.yaml", owned(0o664, group=50)) is None


def test_a_read_only_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can write there, whatever the mode says: config maps have 0777."""
    assert WriterCheck().refusal(tmp_path, owned(0o777))
    assert WriterCheck().refusal(tmp_path / "just deleted", owned(0o777))
    read_only = os.statvfs_result((0, 0, 0, 0, 0, 0, 0, 0, os.ST_RDONLY, 0))
    monkeypatch.setattr(os, "statvfs", lambda _: read_only)
    assert WriterCheck().refusal(tmp_path, owned(0o777)) is None


def test_too_many_files(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with more files than the limit is not taken in parts: all goes on as it was."""
    monkeypatch.setattr(scan, "MAX_FILES", 2)

    async def whole() -> None:
        async with watched(jobs) as stream:
            await stream.next()
            write(jobs / "0.yaml", "queue: x")
            change = await stream.next()
            assert (change.defined, change.removed) == ((), ())
            assert problems(change)[0].startswith("there are more than 2 job files")

    asyncio.run(whole())


def test_a_disk_is_not_mounted(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is suddenly empty and on another device is a mount point without its disk: all goes on."""
    look = scan.FolderListing(jobs, WriterCheck())
    assert len(look.files()[0]) == 2
    (jobs / "a.yaml").unlink()
    (jobs / "sub" / "b.yaml").unlink()
    assert look.files() == ([], [])

    original = Path.stat

    def elsewhere(path: Path, **options: Any) -> os.stat_result:
        found = list(original(path, **options))
        found[stat.ST_DEV] += 1
        return os.stat_result(found)

    monkeypatch.setattr(Path, "stat", elsewhere)
    files, (error,) = look.files()
    assert (files, error.file) == ([], str(jobs))
    assert error.problem.startswith("the folder is empty and on another disk than before: is a disk not mounted?")
    write(jobs / "c.yaml", "queue: x")
    assert look.files() == ([jobs / "c.yaml"], [])


@pytest.mark.parametrize(("name", "left"), [("sub", ["a.yaml"]), ("the jobs", [])])
def test_a_folder_that_cannot_be_judged(
    jobs: Path, name: str, left: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whom it belongs to must be known, or it is not used."""
    monkeypatch.setattr(Path, "stat", refuse(name, Path.stat))
    files, (error,) = scan.FolderListing(jobs, WriterCheck()).files()
    assert ([file.name for file in files], Path(error.file).name) == (left, name)
    assert error.problem.startswith("it cannot be looked at: Permission denied")


def test_a_folder_that_vanishes_while_it_is_looked_at(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for a file that is broken beside nothing else."""
    monkeypatch.setattr(os.path, "isdir", lambda _: False)
    files, (error,) = scan.FolderListing(jobs, WriterCheck()).files()
    assert (files, error.file) == ([], str(jobs))


def test_a_change_that_leaves_no_mark(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S27: a file that an event names is read, though it has the size and, within a tick, the times it had."""
    mark = scan._stamp_of((jobs / "a.yaml").stat())
    monkeypatch.setattr(scan, "_stamp_of", lambda _: mark)
    asyncio.run(changes_are_seen(jobs, poll=False))


def test_events_that_never_come(jobs: Path, tmp_path: Path) -> None:
    """S27: a link to a file elsewhere has no events of its own; the regular full read finds the change."""
    write(tmp_path / "elsewhere", "queue: first")
    (jobs / "c.yaml").symlink_to(tmp_path / "elsewhere")

    async def whole() -> None:
        async with watched(jobs, poll=False, thorough_every=0) as stream:
            await stream.next()
            write(tmp_path / "elsewhere", "queue: second")
            assert names(await stream.next()) == ["c"]

    asyncio.run(whole())


def test_no_watches_left(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S27: when the kernel refuses to watch, the folder is polled, and a warning says why and what helps."""

    def refuses(*_: object, **__: object) -> AsyncIterator[Any]:
        raise OSError("OS file watch limit reached.")

    monkeypatch.setattr(watch, "awatch", refuses)
    with capture_logs() as logs:
        asyncio.run(changes_are_seen(jobs, poll=False))
    (warning,) = logs
    assert (warning["event"], warning["because"]) == ("folder_is_polled", "OS file watch limit reached.")
    assert "fs.inotify.max_user_watches" in warning["hint"]


def test_no_watches_left_for_a_new_folder(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S27: the watch may also break later, inside a group of tasks."""

    async def breaks(*_: object, **__: object) -> AsyncIterator[Any]:
        yield set()
        raise ExceptionGroup("unhandled", [RuntimeError("error in underlying watcher")])

    monkeypatch.setattr(watch, "awatch", breaks)
    with capture_logs() as logs:
        asyncio.run(changes_are_seen(jobs, poll=False))
    assert [log["because"] for log in logs] == ["error in underlying watcher"]


def test_more_changes_than_the_queue_holds(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S27: then a warning is logged and the folder is read in full; hidden files do not count."""

    async def floods(*_: object, **__: object) -> AsyncIterator[Any]:
        yield set()
        yield {(Change.added, str(jobs / ".git" / str(number))) for number in range(1_000)}
        yield {(Change.added, str(jobs / str(number))) for number in range(257)}

    monkeypatch.setattr(watch, "awatch", floods)
    with capture_logs() as logs:
        asyncio.run(changes_are_seen(jobs, poll=False))
    assert {(log["event"], log["changes"]) for log in logs} == {("many_changes", 257)}


async def changes_are_seen(jobs: Path, **options: Any) -> None:
    async with watched(jobs, **options) as stream:
        await stream.next()
        for queue in ("second", "third"):
            write(jobs / "a.yaml", f"queue: {queue}")
            await stream.next()
            assert stream.queues()["a"] == queue


@pytest.mark.parametrize(("said", "is_polled"), [("1", True), ("true", True), ("disabled", False), ("", False)])
def test_polling_is_asked_for(jobs: Path, said: str, is_polled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable of watchfiles is heard where nothing else was said."""
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", said)
    asked: list[Path] = []

    def counted(path: Path, **options: Any) -> AsyncIterator[Any]:
        asked.append(path)
        return awatch(path, **options)

    monkeypatch.setattr(watch, "awatch", counted)
    asyncio.run(changes_are_seen(jobs))
    assert bool(asked) is not is_polled


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_network_disks_are_polled(jobs: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S27: the kernel does not tell what other machines do there; the system says which disks are such."""
    device = jobs.stat().st_dev
    mounts = (
        "21 1 999:999 / / rw - ext4 /dev/root rw\n"
        f"36 21 {os.major(device)}:{os.minor(device)} / /mnt rw,relatime shared:1 - {kind} server:/jobs rw\n"
    )
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: mounts)
    monkeypatch.setattr(watch, "awatch", None)
    with capture_logs() as logs:
        asyncio.run(changes_are_seen(jobs))
    assert logs == []


def test_a_system_that_does_not_tell_its_disks(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S27: then the kernel is asked, as on a disk of its own."""
    monkeypatch.setattr(Path, "read_text", refuse("mountinfo", Path.read_text))
    asyncio.run(changes_are_seen(jobs))


def test_templates_and_other_schedules(jobs: Path) -> None:
    """S35: templates of one's own are known, and so are schedules of other sources, as soon as they exist."""
    write(jobs / "c.yaml", "schedule: {template: mine}\nafter: [{schedule: elsewhere, within: 1d}]")
    known = iter([set(), {"unrelated"}, {"unrelated"}, {"unrelated", "elsewhere"}])
    options = {
        "defaults": Defaults(templates={"mine": Template("@daily", "x")}),
        "other_schedules": lambda: frozenset(next(known)),
    }

    async def whole() -> None:
        async with watched(jobs, poll=True, **options) as stream:
            assert problems(await stream.next()) == ["the schedule elsewhere is unknown"]
            change = await stream.next()
            assert (names(change), change.full) == (["a", "b", "c"], True)

    asyncio.run(whole())
