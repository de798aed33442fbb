"""Small programs with the synchronous face: how they end, and what a fork does to them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tickwise import Tickwise

from ..support.fork_server import PATIENCE

HEAD = """
import os, signal, sys, threading
from tickwise import Tickwise
signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background, it is ignored
tw = Tickwise("sqlite:///jobs.db", poll=0.05, shutdown_grace=60)
begun, go_on = threading.Event(), threading.Event()

@tw.job()
def work(run, seconds: float = 0):
    os.write(1, b"begun\\n")
    begun.set()
    go_on.wait(seconds)
    return "done"
"""
RUNNING = f"{HEAD}\ntw.enqueue(work, {{'seconds': SECONDS}})\ntw.run()\nprint('over')"

TELLING = """
async def stop(stop=tw.awaited.stop, **given):
    print("stopping", flush=True)
    await stop(**given)

tw.awaited.stop = stop
tw.run()
"""


@contextmanager
def started(folder: Path, text: str) -> Iterator["subprocess.Popen[str]"]:
    """A program that runs; one that hangs is given up."""
    (folder / "program.py").write_text(text)
    pipe = subprocess.PIPE
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TICKWISE_")}
    command = [sys.executable, "program.py"]
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, env=environment) as program:
        give_up = Timer(PATIENCE, program.kill)
        give_up.start()
        yield program
        program.wait()
        give_up.cancel()


def told(folder: Path, text: str) -> list[str]:
    """What a program prints that ends well, and complains of nothing."""
    with started(folder, text) as program:
        printed, complaints = program.communicate()
    assert (program.returncode, warnings(complaints)) == (0, [])
    return printed.splitlines()


def warnings(log: str) -> list[str]:
    """What a log says beside that the program waits for its runs."""
    return [line for line in log.splitlines() if "waiting for runs to end" not in line]


def left_in(folder: Path) -> tuple[list[str], int]:
    """The states of the runs, oldest first, and how many nodes have not signed off."""
    with Tickwise(f"sqlite:///{folder / 'jobs.db'}") as tw:
        states = [run.state for run in tw.runs.list()[::-1]]
        nodes = tw._loop_thread.call(tw.store().insights.nodes())
        return states, len(nodes)


def test_the_end_of_a_program_is_the_end_of_its_node(tmp_path: Path) -> None:
    """A program that just ends lets its node sign off: work under way is done, and nothing hangs (S45)."""
    end = "tw.start()\ntw.enqueue(work, {'seconds': 0.2})\nbegun.wait()\nprint('over')"
    assert told(tmp_path, f"{HEAD}\n{end}") == ["begun", "over"]
    assert left_in(tmp_path) == (["succeeded"], 0)


def test_a_program_that_only_asks(tmp_path: Path) -> None:
    """A program that uses the face and closes nothing ends at once, and what it asked for is there."""
    assert told(tmp_path, f"{HEAD}\nprint(tw.enqueue(work).state)") == ["queued"]
    assert left_in(tmp_path) == (["queued"], 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    """`run` ends by SIGINT and by SIGTERM, after what runs has ended, and the program goes on behind it (S45)."""
    with started(tmp_path, RUNNING.replace("SECONDS", "0.3")) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "begun\n"
        program.send_signal(number)
        printed, complaints = program.communicate()
    assert (program.returncode, printed, warnings(complaints)) == (0, "over\n", [])
    assert "Ctrl-C again" in complaints
    assert left_in(tmp_path) == (["succeeded"], 0)


def test_a_second_signal_hurries(tmp_path: Path) -> None:
    """Who asks twice does not wait for work that goes on: it is handed back (S45)."""
    with started(tmp_path, RUNNING.replace("SECONDS", "3600").replace("tw.run()", TELLING)) as program:
        assert program.stdout is not None
        for word in ("begun\n", "stopping\n"):
            assert program.stdout.readline() == word
            program.send_signal(signal.SIGTERM)
        printed, complaints = program.communicate()
    assert (program.returncode, printed.splitlines()[-1]) == (0, "over")
    assert "handed_back" in complaints
    assert left_in(tmp_path) == (["queued"], 0)


def test_a_fork(tmp_path: Path) -> None:
    """A forked process has a thread and connections of its own; its parent goes on with the old ones."""
    fork = """
tw.enqueue(work)
child = os.fork()
if child == 0:
    print(tw.enqueue(work).state, flush=True)
    tw.close()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(tw.enqueue(work).state)
print(tw.drain())
tw.close()
"""
    assert told(tmp_path, HEAD + fork) == ["queued", "7", "queued", *["begun"] * 3, "3"]
    assert left_in(tmp_path) == (["succeeded"] * 3, 0)


def test_a_fork_beside_a_node(tmp_path: Path) -> None:
    """The child of a program whose node runs may enqueue, and its end does not end the node."""
    fork = """
tw.start()
child = os.fork()
if child == 0:
    tw.enqueue(work)
    sys.exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
begun.wait()
tw.close()
"""
    assert sorted(told(tmp_path, HEAD + fork)) == ["0", "begun"]
    assert left_in(tmp_path) == (["succeeded"], 0)
