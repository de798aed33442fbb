"""`tickwise exec`: a process for one attempt, as an engine starts and ends it (S42, S53)."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import psutil
import pytest

from tickwise.core.definition import Script, Step
from tickwise.core.states import RunState

from ..support.app import patiently
from ..support.handed_over import TICKET, Handed, Served, handed, served

PROGRAM = Path(sys.executable).parent / "tickwise"
STUBBORN = """
import threading

def stubborn():
    print("started", flush=True)
    threading.Event().wait()
"""


async def start(there: Served, one: Handed, folder: Path) -> Process:
    environment = {**os.environ, **one.environment(there.address)}
    return await asyncio.create_subprocess_exec(
        PROGRAM, "exec", cwd=folder, env=environment, stdout=PIPE, stderr=PIPE
    )


async def ended(process: Process) -> tuple[int | None, str]:
    """Its exit code, and what it said."""
    out, err = await process.communicate()
    return process.returncode, (out + err).decode()


def job_steps(text: str) -> tuple[Step, ...]:
    return (Step("one", Script(text)),)


@patiently
async def test_an_attempt_is_executed(tmp_path: Path) -> None:
    """Its programs see the run and not the ticket; a second delivery leaves quietly, with exit code 0."""
    async with served() as there:
        one = await handed(there.api, steps=job_steps("env; pwd"))
        assert (await ended(await start(there, one, tmp_path)))[0] == 0
        assert (await one.run()).state is RunState.SUCCEEDED
        lines = (await one.printed()).splitlines()
        assert {"TICKWISE_JOB=a", "TICKWISE_ATTEMPT=1", str(tmp_path)} <= set(lines)
        assert not [line for line in lines if "TICKET" in line or TICKET in line or "TICKWISE_API" in line]
        code, said = await ended(await start(there, one, tmp_path))
        assert code == 0
        assert "nothing to do" in said
        assert TICKET not in said


@patiently
async def test_a_function_of_the_folder_is_called(tmp_path: Path) -> None:
    """Modules of the folder in which it is started are found, and do not see the ticket either."""
    (tmp_path / "sums.py").write_text("import os\n\ndef names():\n    return sorted(os.environ)\n")
    async with served() as there:
        one = await handed(there.api, target="sums:names")
        assert (await ended(await start(there, one, tmp_path)))[0] == 0
        run = await one.run()
        assert run.state is RunState.SUCCEEDED
        assert isinstance(run.result, list)
        assert "TICKWISE_TICKET" not in run.result


@pytest.mark.parametrize(
    ("cancelled", "state", "error"),
    [(False, RunState.FAILED, "the engine ended the work"), (True, RunState.CANCELLED, "it was asked to end")],
)
@patiently
async def test_an_engine_ends_the_process(tmp_path: Path, cancelled: bool, state: RunState, error: str) -> None:
    """SIGTERM: its programs end with it, and the run fails; it is cancelled, if that is why the engine does so."""
    pid = tmp_path / "pid"
    async with served() as there:
        one = await handed(there.api, steps=job_steps(f"echo $$ > {pid}; echo started; sleep 600"))
        process = await start(there, one, tmp_path)
        await there.wire.printed(one, "started")
        if cancelled:
            await one.world.store.cancel(one.lease.id)
        process.send_signal(signal.SIGTERM)
        assert (await ended(process))[0] == 0
        run = await one.run()
        assert (run.state, run.error) == (state, error)
        assert not psutil.pid_exists(int(pid.read_text()))


@patiently
async def test_a_process_that_is_killed_leaves_no_program(tmp_path: Path) -> None:
    """S42: nobody needs to fear what an engine has killed."""
    pid = tmp_path / "pid"
    async with served() as there:
        one = await handed(there.api, steps=job_steps(f"echo $$ > {pid}; echo started; sleep 600"))
        process = await start(there, one, tmp_path)
        await there.wire.printed(one, "started")
        program = psutil.Process(int(pid.read_text()))
        process.kill()
        await ended(process)
        await asyncio.to_thread(program.wait)


@patiently
async def test_work_that_does_not_end_is_ended_with_its_process(tmp_path: Path) -> None:
    """S42: a thread cannot be killed, but a process can, before others may think that it is dead."""
    (tmp_path / "stuck.py").write_text(STUBBORN)
    async with served() as there:
        there.wire.told = {"lease": 1.5}
        one = await handed(there.api, target="stuck:stubborn")
        process = await start(there, one, tmp_path)
        await there.wire.printed(one, "started")
        there.wire.loses_request = lambda _move: True
        assert (await ended(process))[0] == 70
        assert (await one.run()).state is RunState.RUNNING


@patiently
async def test_an_engine_ends_work_that_does_not_end(tmp_path: Path) -> None:
    """SIGTERM ends the process, though its thread goes on and nobody hears of it."""
    (tmp_path / "stuck.py").write_text(STUBBORN)
    async with served() as there:
        there.wire.told = {"lease": 1.5}
        one = await handed(there.api, target="stuck:stubborn")
        process = await start(there, one, tmp_path)
        await there.wire.printed(one, "started")
        there.wire.loses_request = lambda move: move == "finish"
        process.send_signal(signal.SIGTERM)
        assert (await ended(process))[0] == 70
        assert there.wire.moves["finish"] == 1


@patiently
async def test_an_end_outlives_the_lease(tmp_path: Path) -> None:
    """S56: work that is over harms nobody, so its process stays until the API has heard of the end."""
    (tmp_path / "sums.py").write_text("def three():\n    return 3\n")
    async with served() as there:
        there.wire.told = {"lease": 0.6}
        there.wire.loses_request = lambda move: move in ("alive", "finish") and there.wire.moves["finish"] < 3
        one = await handed(there.api, target="sums:three")
        assert (await ended(await start(there, one, tmp_path)))[0] == 0
        run = await one.run()
        assert (run.state, run.result) == (RunState.SUCCEEDED, 3)


@patiently
async def test_a_missing_variable_is_an_error(tmp_path: Path) -> None:
    """With its name, and the exit code of bad input."""
    async with served() as there:
        one = await handed(there.api)
        process = await start(there._replace(address=""), one, tmp_path)
        code, said = await ended(process)
        assert code == 2
        assert "the variable TICKWISE_API is not set" in said
