"""A watched folder: real files, really watched, told of by the kernel and looked at twice a second."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ..support.folder import LONG, Stream, move, names, problems, watched, write

Story = Callable[[Stream, Path], Awaitable[None]]


@pytest.fixture(params=[False, True], ids=["told", "polled"])
def poll(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    folder = tmp_path / "jobs"
    write(folder / "a.yaml", "queue: first\nschedule: '@daily'")
    write(folder / "b.yaml", "queue: first")
    return folder


def story(test: Story) -> Callable[[Path, bool], None]:
    """A test of a stream over `jobs` whose first item has been taken."""

    def runs(jobs: Path, poll: bool) -> None:
        async def whole() -> None:
            async with watched(jobs, poll=poll) as stream:
                change = await stream.next()
                assert (names(change), change.removed, change.errors, change.full) == (["a", "b"], (), (), True)
                await test(stream, jobs)

        asyncio.run(whole())

    runs.__doc__ = test.__doc__
    return runs


async def nothing_more(stream: Stream, folder: Path) -> None:
    """Check that nothing is told before a change that is made now."""
    write(folder / "marker.yaml", "queue: marker")
    change = await stream.next()
    assert (names(change), change.removed, change.errors) == (["marker"], (), ())


@story
async def test_every_schedule_has_its_source(stream: Stream, jobs: Path) -> None:
    """S50: the source is the resolved path of the folder."""
    assert [schedule.source for schedule in stream.jobs["a"].schedules] == [f"folder:{jobs}"]


@story
async def test_a_file_is_added(stream: Stream, jobs: Path) -> None:
    """S23, S27: its job is told, also from a new folder below, and no other."""
    write(jobs / "c.yaml", "queue: x")
    write(jobs / "new" / "folder" / "d.yaml", "queue: x")
    change = await stream.next()
    assert (names(change), change.removed, change.errors, change.full) == (["c", "d"], (), (), False)


@story
async def test_a_file_is_changed(stream: Stream, jobs: Path) -> None:
    """S24, S27: each change is told, also when one follows at once upon the other."""
    for queue in ("second", "third"):
        write(jobs / "a.yaml", f"queue: {queue}")
        assert names(await stream.next()) == ["a"]
        assert stream.queues() == {"a": queue, "b": "first"}


@story
async def test_the_same_is_written_again(stream: Stream, jobs: Path) -> None:
    """S28: nothing is told."""
    write(jobs / "a.yaml", "schedule: '@daily'  # in other words\nqueue: first")
    os.utime(jobs / "b.yaml")
    await nothing_more(stream, jobs)


@story
async def test_a_file_is_renamed(stream: Stream, jobs: Path) -> None:
    """S28: a job that keeps its name in another file is the same; the file's name may be the job's (S26)."""
    write(jobs / "c.yaml", "name: stays")
    assert names(await stream.next()) == ["stays"]
    (jobs / "c.yaml").rename(jobs / "moved.yaml")
    await nothing_more(stream, jobs)
    (jobs / "b.yaml").rename(jobs / "bee.yaml")
    change = await stream.next()
    assert (change.removed, names(change)) == (("b",), ["bee"])


@story
async def test_a_job_is_renamed(stream: Stream, jobs: Path) -> None:
    """S26: that is a removal and a definition, in one item."""
    write(jobs / "a.yaml", "name: new")
    change = await stream.next()
    assert (change.removed, names(change)) == (("a",), ["new"])


@story
async def test_a_file_is_deleted(stream: Stream, jobs: Path) -> None:
    """S23: its job is removed."""
    (jobs / "a.yaml").unlink()
    change = await stream.next()
    assert (change.removed, change.defined, change.errors) == (("a",), (), ())


@story
async def test_a_file_is_replaced(stream: Stream, jobs: Path) -> None:
    """S24: a file that is written aside and put in the place of the old one is one update."""
    write(jobs / "4913", "what vim tries first")
    write(jobs / ".a.yaml.swp", "no job")
    write(jobs / "a.yaml.tmp", "queue: second")
    (jobs / "a.yaml.tmp").replace(jobs / "a.yaml")
    change = await stream.next()
    assert (names(change), change.removed, stream.queues()["a"]) == (["a"], (), "second")
    await nothing_more(stream, jobs)


@story
async def test_what_editors_leave_is_no_job(stream: Stream, jobs: Path) -> None:
    """Hidden files, backups and locks are left out, as everywhere."""
    for name in (".c.yaml", ".c.yaml.swp", "c.yaml~", "#c.yaml#", "4913", ".git/c.yaml"):
        write(jobs / name, "no job")
    (jobs / ".#a.yaml").symlink_to("user@host.1234")
    await nothing_more(stream, jobs)


@story
async def test_a_thousand_files_at_once(stream: Stream, jobs: Path) -> None:
    """S27: none is lost, and the burst is one item."""
    for number in range(1_000):
        write(jobs / f"bulk-{number:03}.yaml", "queue: bulk")
    assert len(names(await stream.next())) == 1_000
    await nothing_more(stream, jobs)


@story
async def test_a_half_written_file(stream: Stream, jobs: Path) -> None:
    """The last good definition goes on, and the error stands, until the file is whole."""
    with (jobs / "a.yaml").open("w") as file:
        file.write("queue: second\ndescription: 'half")
        file.flush()
        change = await stream.next()
        assert (change.defined, change.removed, len(change.errors)) == ((), (), 1)
        assert stream.queues()["a"] == "first"
        file.write(" and half'\n")
    change = await stream.next()
    assert (names(change), change.errors, stream.queues()["a"]) == (["a"], (), "second")


@story
async def test_a_new_file_is_broken(stream: Stream, jobs: Path) -> None:
    """A file that was never good has nothing but its error; another error takes its place; then it is fixed."""
    write(jobs / "c.yaml", "queue: x\nfoo: 1")
    assert problems(await stream.next()) == ["unknown field"]
    write(jobs / "c.yaml", "queue: x\npriority: much")
    assert problems(await stream.next()) == ['must be a whole number, not the text "much"']
    write(jobs / "c.yaml", "queue: x")
    change = await stream.next()
    assert (names(change), change.errors) == (["c"], ())


@story
async def test_a_name_is_taken(stream: Stream, jobs: Path) -> None:
    """S26: the second is refused with both places, though its file comes first; once the first goes, it stands."""
    write(jobs / "0.yaml", "name: b\nqueue: second")
    (error,) = (await stream.next()).errors
    assert str(error) == (
        f"{jobs / '0.yaml'}:1:7: name: the job b is already defined in {jobs / 'b.yaml'}:1, which goes on"
    )
    (jobs / "b.yaml").unlink()
    change = await stream.next()
    assert (names(change), change.removed, change.errors) == (["b"], (), ())
    assert stream.queues()["b"] == "second"


@story
async def test_the_folder_vanishes_and_returns(stream: Stream, jobs: Path) -> None:
    """A folder that is not there is an error and removes nothing; when it is back, what changed is told."""
    away = jobs.with_name("away")
    move(jobs, away)
    change = await stream.next()
    assert (change.defined, change.removed) == ((), ())
    assert problems(change) == ["there is no such file or folder; what it held goes on until that is mended"]
    (away / "a.yaml").unlink()
    move(away, jobs)
    change = await stream.next()
    assert (change.defined, change.removed, change.errors) == ((), ("a",), ())
    write(jobs / "b.yaml", "queue: second")
    assert names(await stream.next()) == ["b"]


@story
async def test_the_folder_vanishes_with_the_one_around_it(stream: Stream, jobs: Path) -> None:
    """It makes no difference how much is gone."""
    around, away = jobs.parent, jobs.parent.with_name(f"{jobs.parent.name}-away")
    move(around, away)
    assert len((await stream.next()).errors) == 1
    move(away, around)
    assert (await stream.next()).errors == ()
    write(jobs / "b.yaml", "queue: second")
    assert names(await stream.next()) == ["b"]


@pytest.mark.parametrize("poll", [None, True])
def test_a_path_that_is_not_there_yet(tmp_path: Path, poll: bool | None) -> None:
    """S50: it does not claim to hold nothing; when it appears, its content is all there is."""

    async def whole() -> None:
        async with watched(tmp_path / "jobs", poll=poll) as stream:
            change = await stream.next()
            assert (change.defined, len(change.errors), change.full) == ((), 1, False)
            write(tmp_path / "jobs" / "a.yaml", "queue: x")
            change = await stream.next()
            assert (names(change), change.errors, change.full) == (["a"], (), True)

    asyncio.run(whole())


def test_a_link_that_leads_nowhere(tmp_path: Path, poll: bool) -> None:
    """It is an error for as long as it does."""
    (tmp_path / "a.yaml").symlink_to("real")

    async def whole() -> None:
        async with watched(tmp_path, poll=poll) as stream:
            assert problems(await stream.next()) == ["there is no such file or folder"]
            write(tmp_path / "real", "queue: x")
            change = await stream.next()
            assert (names(change), change.errors) == (["a"], ())

    asyncio.run(whole())


def test_a_config_map(tmp_path: Path, poll: bool) -> None:
    """S27: files are links into a folder behind a hidden link, and all change when that link is swapped."""

    def publish(version: str) -> None:
        for name in ("a", "b"):
            write(tmp_path / f"..{version}" / f"{name}.yaml", f"queue: {version}")
        (tmp_path / "..data_tmp").symlink_to(f"..{version}")
        (tmp_path / "..data_tmp").rename(tmp_path / "..data")

    async def whole() -> None:
        async with watched(tmp_path, poll=poll) as stream:
            assert names(await stream.next()) == ["a", "b"]
            for version in ("second", "third"):
                publish(version)
                assert names(await stream.next()) == ["a", "b"]
                assert stream.queues() == {"a": version, "b": version}

    publish("first")
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    asyncio.run(whole())


def test_the_folder_is_a_link(tmp_path: Path, poll: bool) -> None:
    """S27: a link to another release is noticed when it is swapped, and the new place is watched."""

    def release(number: int) -> None:
        write(tmp_path / str(number) / "a.yaml", f"queue: q{number}")
        (tmp_path / "next").symlink_to(str(number))
        (tmp_path / "next").rename(tmp_path / "jobs")

    async def whole() -> None:
        async with watched(tmp_path / "jobs", poll=poll) as stream:
            await stream.next()
            release(2)
            await stream.next()
            assert stream.queues() == {"a": "q2"}
            write(tmp_path / "2" / "a.yaml", "queue: q3")
            await stream.next()
            assert stream.queues() == {"a": "q3"}

    release(1)
    asyncio.run(whole())


def test_a_single_file(jobs: Path, poll: bool) -> None:
    """A file by itself is watched too, also when it is replaced; that it is gone is an error and no removal."""

    async def whole() -> None:
        async with watched(jobs / "a.yaml", poll=poll) as stream:
            assert names(await stream.next()) == ["a"]
            for queue in ("second", "third"):
                write(jobs / "aside", f"queue: {queue}")
                (jobs / "aside").replace(jobs / "a.yaml")
                assert names(await stream.next()) == ["a"]
                assert stream.queues() == {"a": queue}
            (jobs / "a.yaml").unlink()
            change = await stream.next()
            assert (change.removed, len(change.errors)) == ((), 1)

    asyncio.run(whole())


@story
async def test_stop_ends_the_stream(stream: Stream, jobs: Path) -> None:
    """A stream that waits ends when it is told to, and stays ended."""
    waiting = asyncio.ensure_future(anext(stream.items, None))
    await asyncio.sleep(0)
    stream.stop.set()
    async with asyncio.timeout(LONG):
        assert await waiting is None
    write(jobs / "c.yaml", "queue: x")
    assert await anext(stream.items, None) is None


def test_stop_while_it_reads(jobs: Path) -> None:
    """What has been read in part is not told."""

    async def whole() -> None:
        async with watched(jobs) as stream:
            reading = asyncio.ensure_future(anext(stream.items, None))
            await asyncio.sleep(0)
            stream.stop.set()
            assert await reading is None

    asyncio.run(whole())


@story
async def test_a_cancelled_reader_stops_nobody_else(stream: Stream, jobs: Path) -> None:
    """Whoever is cancelled while he waits for an item leaves the event alone, which others may share."""
    await nothing_more(stream, jobs)  # so that it watches by now
    waiting = asyncio.ensure_future(anext(stream.items))
    await asyncio.sleep(0)
    waiting.cancel()
    async with asyncio.timeout(LONG):
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert not stream.stop.is_set()
