"""Commands and scripts, as real processes."""

import asyncio
import os
import signal
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from tickwise.core.definition import Command, Script
from tickwise.core.errors import InputError
from tickwise.core.settle import Failed, Succeeded
from tickwise.core.variables import ORDINARY
from tickwise.runtime.executors.command import run_command, run_script
from tickwise.runtime.executors.log import HEAD_SIZE, TAIL_SIZE, StepLog
from tickwise.runtime.executors.result import AttemptResult

from ...support.executors import ExecutorHarness, Timers, deaths, ended, place, run, timed


def command(*arguments: str, there: ExecutorHarness | None = None) -> AttemptResult:
    return run(run_command(Command(arguments), (there or place()).context))


def script(text: str, there: ExecutorHarness | None = None) -> AttemptResult:
    return run(run_script(Script(text), (there or place()).context))


def test_output_comes_line_by_line_by_stream() -> None:
    """What a command prints is logged in lines, each with its stream."""
    there = place()
    assert command("sh", "-c", "echo one; echo two; echo three >&2", there=there) == AttemptResult(Succeeded())
    assert there.lines == ["one", "two"]
    assert there.witness.said("stderr") == ["three"]


def test_a_bad_exit_is_a_failure_with_the_last_words() -> None:
    """A code other than 0 fails, with the code and the end of stderr; a signal is named."""
    failed = command("sh", "-c", "echo before; echo disk full >&2; exit 3")
    assert failed == AttemptResult(Failed(), error="exit code 3\ndisk full")
    assert command("sh", "-c", "kill -9 $$").error == "ended by SIGKILL"


def test_the_environment_is_the_jobs_the_runs_and_what_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """B14: a command gets its own variables, the run's, ordinary ones of the worker, and those that are named."""
    for name in ("PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("LANG", "worker")
    monkeypatch.setenv("TICKWISE_STORE", "postgresql://user:secret@db")
    monkeypatch.setenv("TICKWISE_TOKEN", "secret")
    monkeypatch.setenv("TICKWISE_SLOT", "another run's")
    params = {"table": "a b", "limits": [1, None], "note": None}
    there = place(env={"LANG": "job"}, params=params, variables=(*ORDINARY, "AWS_REGION"))
    command("env", there=there)
    found = dict(line.split("=", 1) for line in there.lines if "=" in line)
    assert (found["LC_TIME"], found["LANG"], found["AWS_REGION"]) == ("C", "job", "eu-central-1")
    assert found["PATH"] == os.environ["PATH"]
    assert "secret" not in found.values()
    assert found.pop("TICKWISE_PROGRAM")
    assert {name: value for name, value in found.items() if name.startswith("TICKWISE_")} == {
        "TICKWISE_RUN_ID": "17",
        "TICKWISE_JOB": "etl",
        "TICKWISE_SCHEDULE": "nightly",
        "TICKWISE_SLOT": "1970-01-01T01:00:00Z",
        "TICKWISE_PREVIOUS_SLOT": "1970-01-01T00:00:00Z",
        "TICKWISE_TRIGGER": "schedule",
        "TICKWISE_ATTEMPT": "2",
        "TICKWISE_PARAM_TABLE": "a b",
        "TICKWISE_PARAM_LIMITS": "[1, null]",
        "TICKWISE_PARAM_NOTE": "null",
    }


def test_params_are_filled_in_after_the_splitting() -> None:
    """A param is one argument, whatever it holds: it is never split and no shell reads it."""
    there = place(params={"table": "a b; echo $HOME `id`", "most": 10})
    command("printf", "%s\\n", "${params.table}", "${params.most}", "${run.slot}", "${HOME}", there=there)
    assert there.lines == ["a b; echo $HOME `id`", "10", "1970-01-01T01:00:00Z", "${HOME}"]


def test_variables_are_filled_in() -> None:
    """B2: the text of a variable may hold references, with other text around them."""
    there = place(params={"table": "orders"}, env={"FILE": "${params.table}-${run.slot}.csv"})
    command("printenv", "FILE", there=there)
    assert there.lines == ["orders-1970-01-01T01:00:00Z.csv"]


def test_a_value_that_looks_like_an_option() -> None:
    """B2: it is refused when the attempt starts, unless a -- stands before it."""
    with pytest.raises(InputError, match=r"the value of \$\{params.table\} begins with -"):
        command("ls", "${params.table}", there=place(params={"table": "--help"}))
    there = place(params={"table": "-n"})
    command("printf", "--", "%s\\n", "${params.table}", there=there)
    assert there.lines == ["-n"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("echo", "${params.tabel}"), r"no value for \$\{params.tabel\} \(did you mean params.table\?\)"),
        (("echo", "${run.slit}"), r"no value for \$\{run.slit\} \(did you mean run.slot\?\)"),
        (("${params.table}", "x"), "does not choose the program"),
        (("sh", "-c", "ls ${params.table}"), "it must be an argument of its own"),
        (("sh", "-c", "ls", "${params.table}"), "sh with -c may have code in it"),
        (("no-such-program", "x"), "the program no-such-program was not found on this worker"),
        (("/etc/passwd",), "the program /etc/passwd is not executable"),
        (("echo", "a\0b"), "the program echo cannot be started"),
        (("echo", "x" * 3_000_000), "the program echo cannot be started"),
    ],
)
def test_what_cannot_be_started_is_told_in_words(arguments: tuple[str, ...], words: str) -> None:
    """S44: a command that cannot be started says what is wrong with it."""
    with pytest.raises(InputError, match=words):
        command(*arguments, there=place(params={"table": "orders"}))


def test_a_folder_is_where_it_runs(tmp_path: Path) -> None:
    """A step runs in its folder, from which a relative program counts; a missing one is named."""
    program = tmp_path / "here.sh"
    program.write_text("#!/bin/sh\npwd -P\n")
    program.chmod(0o755)
    there = place(folder=tmp_path)
    command("./here.sh", there=there)
    assert there.lines == [str(tmp_path.resolve())]
    with pytest.raises(InputError, match=r"the folder .*missing does not exist on this worker"):
        command("pwd", there=place(folder=tmp_path / "missing"))


def test_a_script_is_read_by_its_interpreter() -> None:
    """A script is for sh, or for what its first line names, with one argument at most, as the kernel reads it."""
    there = place()
    script("for i in 1 2; do echo $i; done; echo ${TICKWISE_JOB}", there)
    script("#!/usr/bin/env python3\nimport sys\nprint(6 * 7)\n", there)
    script("#! /bin/sh -eu\necho strict\nfalse\necho not reached\n", there)
    assert there.lines == ["1", "2", "etl", "42", "strict"]
    with pytest.raises(InputError, match="the program /no/such/interpreter was not found"):
        script("#!/no/such/interpreter\n")


def test_a_script_is_private_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script's file is readable by its owner only, and gone afterwards, also after a failure."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    there = place()
    script('ls -ld "$(dirname "$0")" | cut -c1-10; exit 1', there)
    assert there.lines == ["drwx------"]
    assert list(tmp_path.iterdir()) == []


def test_of_much_output_the_beginning_and_the_end_are_kept() -> None:
    """Of 100,000 lines the log has the first and the last, and says how much is missing."""
    there = place()
    command("seq", "1", "100000", there=there)
    lines = there.lines
    assert (lines[0], lines[-1]) == ("1", "100000")
    assert sum(len(line) + 1 for line in lines) <= HEAD_SIZE + TAIL_SIZE + 10
    assert "left out" in there.witness.said("tickwise")[0]


def test_a_command_that_prints_for_ever_is_ended_in_bounded_memory() -> None:
    """Endless output costs a bounded amount of memory, and cancelling ends it."""
    much = asyncio.Event()

    class Counting(StepLog):
        taken = 0

        def feed(self, stream: str, data: bytes) -> None:
            super().feed(stream, data)
            self.taken += len(data)
            if self.taken > 32 * 2**20:
                much.set()

    async def cancelling() -> int:
        context = replace(place().context, log=Counting(lambda _stream, _line: None))
        tracemalloc.start()
        task = asyncio.create_task(run_command(Command(("yes", "all work and no play")), context))
        await much.wait()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        await ended(task)
        return peak

    assert run(cancelling()) < 8 * 2**20


FAMILY = """
exec 9>"$DEATHS"
trap "" $DEAF
sleep 1000 &
(trap "" $DEAF; sleep 1000 & wait) &
echo ready >&9
wait
"""


@pytest.mark.parametrize("deaf", ["", "TERM"])
def test_a_cancelled_command_takes_its_descendants_along(tmp_path: Path, deaf: str) -> None:
    """Cancelling ends the whole group: by SIGTERM, or by SIGKILL after the grace if that is ignored."""

    async def cancelling() -> None:
        timers = Timers()
        there = timed(place(env={"DEATHS": str(tmp_path / "deaths"), "DEAF": deaf}), timers)
        async with deaths(tmp_path / "deaths") as pipe:
            task = asyncio.create_task(run_command(Command(("sh", "-c", FAMILY)), there.context))
            assert await pipe.readline() == b"ready\n"
            task.cancel()
            if deaf:
                await timers.ring(there.context.services.kill_grace)
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            assert await pipe.read() == b""  # its end: nobody has it open any more

    run(cancelling())


def test_a_second_cancellation_kills_at_once(tmp_path: Path) -> None:
    """Who cancels again does not want to wait for the grace: what is left is killed."""

    async def cancelling() -> None:
        timers = Timers()
        there = timed(place(env={"DEATHS": str(tmp_path / "deaths"), "DEAF": "TERM"}), timers)
        async with deaths(tmp_path / "deaths") as pipe:
            task = asyncio.create_task(run_command(Command(("sh", "-c", FAMILY)), there.context))
            await pipe.readline()
            task.cancel()
            await timers.asleep(there.context.services.kill_grace)
            await ended(task)
            assert await pipe.read() == b""

    run(cancelling())


def test_a_command_that_ends_leaves_nobody_behind(tmp_path: Path) -> None:
    """When a command has ended by itself, what it left running in the background is ended too."""

    async def ending() -> AttemptResult:
        there = place(env={"DEATHS": str(tmp_path / "deaths")})
        async with deaths(tmp_path / "deaths") as pipe:
            text = 'exec 9>"$DEATHS"; echo ready >&9; sleep 1000 & exit 0'
            done = await run_command(Command(("sh", "-c", text)), there.context)
            assert await pipe.read() == b"ready\n"
            return done

    assert run(ending()) == AttemptResult(Succeeded())


DAEMON = """
import os, signal
os.setsid()
with open(os.environ["DEATHS"], "w") as pipe:
    print(os.getpid(), file=pipe, flush=True)
    signal.pause()
"""


def test_who_leaves_the_session_is_not_waited_for(tmp_path: Path) -> None:
    """A daemon that took the output into a session of its own does not hold up the step; that is remarked."""

    async def ending() -> None:
        timers = Timers()
        go = tmp_path / "go"
        os.mkfifo(go)
        there = timed(place(env={"DEATHS": str(tmp_path / "deaths"), "GO": str(go), "DAEMON": DAEMON}), timers)
        text = 'python3 -c "$DAEMON" & read -r word < "$GO"; echo "$word"'
        async with deaths(tmp_path / "deaths") as pipe:
            task = asyncio.create_task(run_command(Command(("sh", "-c", text)), there.context))
            daemon = int(await pipe.readline())
            await asyncio.to_thread(go.write_text, "bye\n")
            await timers.ring(1.0)
            done = await task
            os.kill(daemon, signal.SIGKILL)
            assert await pipe.read() == b""
        assert done == AttemptResult(Succeeded())
        assert there.lines == ["bye"]
        assert "left the program's session" in there.log.warnings[0]

    run(ending())
