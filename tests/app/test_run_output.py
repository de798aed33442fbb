"""What functions print and log: in the log of their own run, and on the terminal as ever."""

import asyncio
import logging
import sys
import threading
from io import StringIO
from typing import Any

import pytest

from tickwise import AsyncTickwise, Tickwise

from ..support.app import patiently

_logger = logging.getLogger("billing")


def say(name: str) -> None:
    print(f"{name} prints")
    print(f"{name} complains", file=sys.stderr)
    _logger.warning("%s warns", name)


def in_thread(name: str) -> None:
    say(name)


async def directly(name: str) -> None:
    say(name)


async def with_run(name: str, run: Any) -> None:
    say(name)
    run.log("and so does run.log")


async def in_tasks_and_threads(name: str) -> None:
    await asyncio.gather(asyncio.create_task(asyncio.to_thread(say, name)))


FUNCTIONS = (in_thread, directly, with_run, in_tasks_and_threads)


@pytest.mark.parametrize("function", FUNCTIONS)
@patiently
async def test_what_a_function_prints_and_logs_is_in_its_log(app: AsyncTickwise, function: Any) -> None:
    """A20: with its stream, and with the level of a log record."""
    app.job()(function)
    run = await app.enqueue(function, {"name": "ada"})
    await app.drain()
    page = await (await app.store()).insights.log(run.id, limit=100)
    assert [(part.stream, part.text) for part in page.items][:3] == [
        ("stdout", "ada prints\n"),
        ("stderr", "ada complains\n"),
        ("logging", "WARNING billing: ada warns\n"),
    ]
    assert (function is with_run) == ("and so does run.log\n" in [part.text for part in page.items])
    await app.close()


@pytest.mark.parametrize("url", ["memory://"])
def test_concurrent_runs_do_not_mix(tw: Tickwise) -> None:
    """A20: each log has the lines of its own run only, whether they run in threads or on the loop."""
    barrier = threading.Barrier(4)

    def threaded(name: str) -> None:
        for number in range(50):
            barrier.wait()
            print(name, number)

    async def on_loop(name: str) -> None:
        for number in range(50):
            await asyncio.sleep(0)
            print(name, number)

    runs: dict[str, str] = {}
    for function in (threaded, on_loop):
        tw.job()(function)
        runs |= {f"{function.__name__}-{i}": tw.enqueue(function, {"name": f"{i}"}).id for i in range(4)}
    tw.drain()
    for name, run in runs.items():
        assert tw.runs.logs(run) == "".join(f"{name[-1]} {number}\n" for number in range(50))


@pytest.mark.parametrize("url", ["memory://"])
def test_a_line_without_an_end_is_kept(tw: Tickwise) -> None:
    """A20: so are pieces of a line, texts of any length, and what two threads of one run print at once."""

    @tw.job()
    def pieces() -> None:
        print("a", "b", sep="+", end="=")
        sys.stdout.writelines(["c", "\n"])
        print("x" * 20_000)
        with pytest.raises(TypeError, match="must be str, not bytes"):
            sys.stdout.write(b"bytes")  # type: ignore[arg-type]
        sys.stdout.flush()
        print("no end", end="")

    run = tw.enqueue("pieces").id
    tw.drain()
    lines = tw.runs.logs(run).splitlines()
    assert (lines[0], lines[-1], "".join(lines[1:-1])) == ("a+b=c", "no end", "x" * 20_000)


@pytest.mark.parametrize("url", ["memory://"])
def test_it_still_reaches_the_terminal(tw: Tickwise, capsys: pytest.CaptureFixture[str]) -> None:
    """A20: what a function prints is passed on; a terminal that is gone fails no run."""

    @tw.job()
    def prints() -> None:
        print("to both")

    tw.enqueue("prints")
    tw.drain()
    assert capsys.readouterr().out == "to both\n"
    stream = sys.stdout
    run = tw.enqueue("prints")
    sys.stdout = StringIO()
    sys.stdout.close()
    try:
        tw.drain()
    finally:
        sys.stdout = stream
    assert (tw.runs.get(run.id).state, tw.runs.logs(run.id)) == ("succeeded", "to both\n")
    print("outside of a run")
    assert capsys.readouterr().out == "outside of a run\n"


@pytest.mark.parametrize("url", ["memory://"])
def test_the_application_sets_up_its_logging(tw: Tickwise, capsys: pytest.CaptureFixture[str]) -> None:
    """A20: its handlers and levels stay as they are, also if it sets them up within a run; no line comes twice."""
    root = logging.getLogger()
    before = root.handlers[:], root.level

    @tw.job()
    def sets_up() -> None:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("own format: %(message)s"))
        root.handlers[:], root.level = [], logging.WARNING
        try:
            logging.basicConfig(level=logging.INFO, handlers=[handler])
            _logger.info("seen")
            _logger.debug("not seen")
            _logger.info("%d", "no number")
        finally:
            root.handlers[:], root.level = before

    run = tw.enqueue("sets_up").id
    tw.drain()
    assert (root.handlers, root.level) == before
    assert "own format: seen\n" in capsys.readouterr().err
    assert tw.runs.logs(run) == "INFO billing: seen\n"
