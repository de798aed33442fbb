"""`Tickwise`: the same names without await, on a thread of its own."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, assert_type

import pytest

from tickwise import AsyncTickwise, ConflictError, InputError, Tickwise, TickwiseError
from tickwise.app.hooks import Hooks, RunEvent
from tickwise.app.values import RunInfo, ScheduleInfo, UpcomingRun

from ..support.app import PATIENCE, Clock
from ..support.sync_stub import STUB, text


def names(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.fixture
def started() -> Callable[[], list[threading.Thread]]:
    """The threads that a test has started and that have not ended."""
    before = set(threading.enumerate())
    return lambda: [thread for thread in threading.enumerate() if thread not in before]


@pytest.fixture
def threads(started: Callable[[], list[threading.Thread]]) -> Callable[[], list[str]]:
    """Their names."""
    return lambda: [thread.name for thread in started()]


def test_both_faces_have_the_same_names() -> None:
    """Every public name of the asynchronous face exists on the other, and so in its parts."""
    one, other = AsyncTickwise("memory://"), Tickwise("memory://")
    assert names(other) - names(one) == {"awaited"}
    assert names(one) <= names(other)
    for part in ("schedules", "runs", "jobs"):
        assert names(type(getattr(one, part))) == names(type(getattr(other, part)))


def test_what_is_said_of_methods() -> None:
    """A method that was made from another has its words, for people who ask for help."""
    assert Tickwise.why.__doc__ == AsyncTickwise.why.__doc__
    assert Tickwise("memory://").schedules.reset.__doc__ == "Drop the backlog: go on from now."


def test_what_type_checkers_see(clock: Clock) -> None:
    """The stub is made from the classes that there are, so what editors offer is what there is."""
    assert STUB.read_text("utf-8") == text(), "run `make format`"
    with Tickwise("memory://", clock=clock) as tw:
        tw.job(name="a")(print)
        assert_type(tw.enqueue("a"), RunInfo)
        assert_type(tw.upcoming(), list[UpcomingRun])
        assert_type(tw.schedules.list(paused=True), list[ScheduleInfo])
        assert_type(tw.runs.get(tw.runs.list()[0].id), RunInfo)
        assert_type(tw.jobs.list(), list[str])


def test_a_thread_when_it_is_needed(clock: Clock, threads: Callable[[], list[str]]) -> None:
    """The thread begins with the first question and ends with `close`; then it can be asked again."""
    tw = Tickwise("memory://", clock=clock)
    assert threads() == []
    for _ in range(2):
        assert tw.jobs.list() == []
        assert threads() == ["tickwise"]
        tw.close()
        assert threads() == []


def test_a_node_in_the_background(url: str, clock: Clock, started: Callable[[], list[threading.Thread]]) -> None:
    """`start` returns while the node runs; leaving the block stops it, and no thread is left."""
    ended = threading.Event()
    hooks = Hooks(on_run=lambda event: ended.set() if event.what == "succeeded" else None)
    with Tickwise(url, clock=clock, hooks=hooks, poll=0.05) as tw:

        @tw.job()
        def work() -> str:
            return threading.current_thread().name

        tw.start()
        with pytest.raises(ConflictError, match="it is running already"):
            tw.start()
        run = tw.enqueue(work)
        assert ended.wait(PATIENCE)
        assert tw.runs.get(run.id).result == "tickwise-function"
        assert tw.node is not None
    for thread in started():
        thread.join(PATIENCE)
    assert started() == []


def test_run_in_a_thread(url: str, clock: Clock, threads: Callable[[], list[str]]) -> None:
    """`run` goes on until somebody stops it, in whichever thread it is; signals are then not its affair."""
    started = threading.Event()
    tw = Tickwise(url, clock=clock, hooks=Hooks(on_start=started.set), poll=0.05)
    running = threading.Thread(target=tw.run)
    running.start()
    assert started.wait(PATIENCE)
    tw.stop()
    running.join(PATIENCE)
    assert not running.is_alive()
    assert threads() == []


def test_jobs_use_the_face_they_were_declared_on(url: str, clock: Clock) -> None:
    """A job in a thread may enqueue others; one on the scheduler's own loop is told to await instead."""
    with Tickwise(url, clock=clock) as tw:

        @tw.job()
        def first() -> None:
            tw.enqueue(second)

        @tw.job()
        async def second() -> str:
            return str((await tw.awaited.enqueue(third)).job)

        @tw.job()
        async def third() -> None:
            tw.enqueue(second)

        tw.enqueue(first)
        assert tw.drain() == 3
        runs = {run.job: run for run in tw.runs.list()}
        assert [runs[job].state for job in ("first", "second", "third")] == ["succeeded", "succeeded", "failed"]
        assert (
            f"{TickwiseError.__name__}: this is the scheduler's own thread: use AsyncTickwise"
            in runs["third"].error
        )


def test_many_threads(url: str, clock: Clock) -> None:
    """Any number of threads may ask at once, also for the first time."""
    with Tickwise(url, clock=clock) as tw:

        @tw.job()
        async def work(number: int) -> int:
            return number

        with ThreadPoolExecutor(8) as pool:
            ids = list(pool.map(lambda number: tw.enqueue(work, {"number": number}).id, range(40)))
        assert tw.drain() == 40
        assert sorted(tw.runs.get(run).result for run in ids) == list(range(40))


def test_errors_come_to_the_caller(tw: Tickwise) -> None:
    """What is wrong is raised where it was asked, as by the other face."""
    with pytest.raises(InputError, match="there is no schedule 'nothing'"):
        tw.schedules.get("nothing")


def test_settings_and_hooks(tmp_path: Path) -> None:
    """Settings come from arguments, a file and `configure`; hooks may be set until the node starts."""
    (tmp_path / "own.toml").write_text('poll = "2s"\nconcurrency = 3\n')
    tw = Tickwise("memory://", config=tmp_path / "own.toml", concurrency=4)
    assert (tw.settings.poll, tw.settings.concurrency) == (2, 4)
    tw.configure(poll=0.05)
    told: list[Any] = []
    heard = threading.Event()

    def hear(event: RunEvent) -> None:
        told.append(event.what)
        if event.what == "succeeded":
            heard.set()

    tw.hooks.on_run = hear
    with tw:
        tw.enqueue(tw.job(name="work")(lambda: None))
        tw.start()
        assert heard.wait(PATIENCE)
    assert (tw.settings.poll, told) == (0.05, ["started", "succeeded"])
    with pytest.raises(InputError, match=r"there is no setting 'pol' \(did you mean poll\?\)"):
        Tickwise("memory://", pol=1)
