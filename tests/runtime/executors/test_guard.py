"""The guard of programs, around the moments in which a worker can be killed."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from ...support.executors import deaths, run

WORKER = """
import os, signal, subprocess, sys
from tickwise.runtime.executors.guard import MARK, guard

program = ["sh", "-c", 'exec 9>"$0"; echo up >&9; sleep 1000 & sleep 1000', sys.argv[1]]
with guard.watched() as guarded:
    process = subprocess.Popen(program, env={**os.environ, MARK: guarded.mark}, start_new_session=True)
    MOMENT
    sys.stdin.read()
"""
MOMENTS = {
    "the group is not known yet": "",
    "a fork holds the pipe": "guarded.started(process.pid); os.fork() or (signal.alarm(60), signal.pause())",
    "the guard was told all": "guarded.started(process.pid)",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_program_is_killed_whenever_its_worker_dies(moment: str, tmp_path: Path) -> None:
    """A16: also if the worker dies before it can name the group, and if a child of it keeps the pipe open."""

    async def killing() -> None:
        async with deaths(tmp_path / "deaths") as living:
            worker = await asyncio.create_subprocess_exec(
                sys.executable, "-c", WORKER.replace("MOMENT", MOMENTS[moment]), str(tmp_path / "deaths"),
                stdin=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            assert await living.readline() == b"up\n"
            worker.send_signal(signal.SIGKILL)
            await worker.wait()
            assert await living.read() == b""

    run(killing())
