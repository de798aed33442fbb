"""The other side of a hand-over, in a process that has other things to do too (S42, S53, S56)."""

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tickwise import Snooze
from tickwise.config import Settings
from tickwise.core.definition import Command, Handlers, JobDefinition, Script, Step
from tickwise.core.errors import InputError, TickwiseError
from tickwise.core.settle import LeaseExpired
from tickwise.core.states import RunState
from tickwise.engines.remote import execute_attempt
from tickwise.runtime.context import Run

from ..api.test_server import CERTIFICATE, KEY
from ..support.app import patiently
from ..support.handed_over import TICKET, Handed, Served, handed, served

SHORT = 1.5  # seconds of a lease, where a test waits for its end


async def execute(there: Served, one: Handed, function: Callable[..., Any] | None = None, **given: Any) -> bool:
    """Execute the attempt in a thread, as a worker of an engine does."""
    known: dict[str, Any] = {"function_of": lambda _job: function} if function else {}
    return await asyncio.to_thread(execute_attempt, one.environment(there.address) | given, **known)


def script(text: str, name: str = "one", **given: Any) -> Step:
    return Step(name, Script(text), **given)


@patiently
async def test_steps_are_executed_as_by_a_worker() -> None:
    """Steps, log, params and the variables of the run are the same; steps that are done are not repeated."""
    text = 'echo "$TICKWISE_JOB $TICKWISE_ATTEMPT $TICKWISE_PARAM_TABLE"; printf "a\\0b\\n" >&2'
    async with served() as there:
        one = await handed(
            there.api, steps=(script(text), script("exit 3", "two", depends=("one",))),
            params={"table": "orders"}, run_params={"table": "users"},
        )  # fmt: skip
        assert await execute(there, one)
        run = await one.run()
        assert (run.state, run.attempt) == (RunState.FAILED, 1)
        assert "two" in run.error
        steps = await one.world.insights.steps(one.lease.id)
        assert [(step.name, step.state) for step in steps] == [("one", "succeeded"), ("two", "failed")]
        assert all(step.started_at and step.finished_at for step in steps)
        assert [(part.step, part.stream, part.text) for part in await one.log()][:2] == [
            ("one", "stdout", "a 1 users\n"),
            ("one", "stderr", "a�b\n"),
        ]


@patiently
async def test_a_function_is_called_in_this_process() -> None:
    """It gets params and its run; what it returns is the result, and what it prints the log."""

    def report(table: str, run: Run) -> dict[str, Any]:
        print(f"about {table}")
        return {"pid": os.getpid(), "run": run.id, "slot": run.slot}

    async with served() as there:
        one = await handed(there.api, run_params={"table": "users"})
        assert await execute(there, one, report)
        run = await one.run()
        assert (run.state, run.result) == (
            RunState.SUCCEEDED,
            {"pid": os.getpid(), "run": one.lease.id, "slot": None},
        )
        assert await one.printed() == "about users\n"


@pytest.mark.parametrize(
    ("target", "state", "error"),
    [
        ("far_jobs:double", RunState.SUCCEEDED, ""),
        ("far_jobs:doubel", RunState.FAILED, "far_jobs has no function doubel (did you mean double?)"),
        ("nowhere:f", RunState.FAILED, "nowhere cannot be imported"),
    ],
)
@patiently
async def test_a_function_is_imported_by_name(
    target: str, state: RunState, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The definition says where it is; if it is not there, the run says so."""
    (tmp_path / "far_jobs.py").write_text("def double(n):\n    return 2 * n\n")
    monkeypatch.syspath_prepend(tmp_path)
    async with served() as there:
        one = await handed(there.api, target=target, run_params={"n": 21})
        assert await execute(there, one)
        run = await one.run()
        assert (run.state, run.result) == (state, 42 if state is RunState.SUCCEEDED else None)
        assert error in run.error


@patiently
async def test_a_second_delivery_leaves() -> None:
    """S53: whatever the engine delivers, the work is done once; the other learns it from the gate."""
    calls: list[int] = []
    async with served() as there:
        one = await handed(there.api)
        began = await asyncio.gather(*(execute(there, one, lambda: calls.append(1)) for _ in range(4)))
        assert sorted(began) == [False, False, False, True]
        assert len(calls) == 1
        assert not await execute(there, one, lambda: calls.append(1))


@pytest.mark.parametrize("lost", ["request", "answer"])
@patiently
async def test_a_gate_that_does_not_answer_is_asked_again(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S53: with the same claim, because the answer that was lost may have been a yes."""
    monkeypatch.setattr("tickwise.engines.remote._FIRST_DELAY", 0.01)
    calls: list[int] = []
    async with served() as there:
        one = await handed(there.api)
        setattr(there.wire, f"loses_{lost}", lambda move: move == "begin" and there.wire.moves["begin"] < 3)
        assert await execute(there, one, lambda: calls.append(1))
        assert (await one.run()).state is RunState.SUCCEEDED
        assert (there.wire.moves["begin"], len(calls)) == (3, 1)


@pytest.mark.parametrize("lost", ["request", "answer"])
@patiently
async def test_an_end_that_nobody_answers_is_reported_again(lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """S56: until the API answers; the log comes before it."""
    monkeypatch.setattr("tickwise.engines.remote._FIRST_DELAY", 0.01)
    async with served() as there:
        one = await handed(there.api)
        ends = {"finish", "report"} if lost == "request" else {"finish"}
        setattr(there.wire, f"loses_{lost}", lambda move: move in ends and there.wire.moves[move] < 3)
        assert await execute(there, one, lambda: print("done"))
        assert (await one.run()).state is RunState.SUCCEEDED
        assert await one.printed() == "done\n"


@patiently
async def test_signals_of_a_function_are_reported() -> None:
    """A snooze is queued again, with its time."""

    def later() -> Snooze:
        return Snooze("5m", "not yet")

    async with served() as there:
        one = await handed(there.api)
        assert await execute(there, one, later)
        run = await one.run()
        assert (run.state, run.due_at) == (RunState.QUEUED, one.world.micro + 300_000_000)


@patiently
async def test_a_person_cancels_the_run(tmp_path: Path) -> None:
    """S56: its programs end, the handlers of a cancelled run are executed, and then it is reported."""
    pid, handler = tmp_path / "pid", tmp_path / "handler"
    steps = (script(f"echo $$ > {pid}; echo started; sleep 600"),)
    on = Handlers(exit=Command(("sh", "-c", f'echo "$TICKWISE_OUTCOME" > {handler}')))
    async with served() as there:
        there.wire.told = {"lease": SHORT}
        one = await handed(there.api, steps=steps, on=on)
        executed = asyncio.create_task(execute(there, one))
        await there.wire.printed(one, "started")
        await one.world.store.cancel(one.lease.id)
        assert await executed
        run = await one.run()
        assert (run.state, run.error) == (RunState.CANCELLED, "it was asked to end")
        assert handler.read_text() == "cancelled\n"
        assert not psutil.pid_exists(int(pid.read_text()))


@patiently
async def test_work_that_cannot_renew_stops_itself(tmp_path: Path) -> None:
    """S42: before others may think that it is dead; it is handed back if the API hears of it in time."""
    pid = tmp_path / "pid"
    async with served() as there:
        there.wire.told = {"lease": SHORT}
        there.wire.loses_request = lambda move: move == "alive"
        one = await handed(there.api, steps=(script(f"echo $$ > {pid}; sleep 600"),))
        assert await execute(there, one)
        run = await one.run()
        assert (run.state, run.error, run.failures) == (RunState.QUEUED, "its lease could not be renewed", 0)
        assert not psutil.pid_exists(int(pid.read_text()))


@patiently
async def test_work_whose_attempt_is_over_stops_itself(tmp_path: Path) -> None:
    """S42: what its watcher has given up ends, and changes nothing any more."""
    pid = tmp_path / "pid"
    async with served() as there:
        there.wire.told = {"lease": SHORT}
        one = await handed(there.api, steps=(script(f"echo $$ > {pid}; sleep 600"),))
        executed = asyncio.create_task(execute(there, one))
        await there.wire.seen("report")
        await one.world.end(one.lease, LeaseExpired(), error="given up")
        assert await executed
        run = await one.run()
        assert (run.state, run.error) == (RunState.QUEUED, "given up")
        assert there.wire.moves["finish"] == 0
        assert not psutil.pid_exists(int(pid.read_text()))


@patiently
async def test_code_that_blocks_its_loop_loses_no_lease() -> None:
    """S42: signs of life come from threads of their own."""
    go_on = threading.Event()

    async def block() -> None:
        go_on.wait()  # a mistake of the function, which stops the loop

    async with served() as there:
        there.wire.told = {"lease": SHORT}
        one = await handed(there.api)
        executed = asyncio.create_task(execute(there, one, block))
        await there.wire.seen("alive", 10)
        go_on.set()
        assert await executed
        assert (await one.run()).state is RunState.SUCCEEDED


@patiently
async def test_secrets_are_masked_in_all_that_is_kept() -> None:
    """Params that hide a secret, and the attempt's own ticket."""

    def leak(password: str) -> str:
        print(f"the password is {password}, the ticket {TICKET}")
        raise LookupError(password)

    async with served() as there:
        one = await handed(there.api, run_params={"password": "hunter2hunter2"})
        assert await execute(there, one, leak)
        run = await one.run()
        kept = run.error + await one.printed()
        assert run.state is RunState.FAILED
        assert "the password is" in kept
        assert not [secret for secret in ("hunter2", TICKET) if secret in kept]


@patiently
async def test_a_long_log_arrives_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report has at most a megabyte: more is sent in several, in order, and a line that is too long is cut."""
    monkeypatch.setattr("tickwise.engines.remote._LOG_BATCH", 100)
    lines = [f"{number:06d} {'☃' * 40 * (1 + number % 5)}" for number in range(40)]

    def chat() -> None:
        print("\n".join(lines))

    async with served() as there:
        one = await handed(there.api)
        assert await execute(there, one, chat)
        assert (await one.printed()).splitlines() == lines
        assert max(len(part.text) for part in await one.log()) <= 100
        assert there.wire.moves["report"] > 10


@patiently
async def test_a_result_that_does_not_fit_does_not_lose_the_end() -> None:
    """The end is stored without it, and the run says so."""
    async with served() as there:
        one = await handed(there.api)
        assert await execute(there, one, lambda: "☃" * 349_520)
        run = await one.run()
        assert (run.state, run.result) == (RunState.SUCCEEDED, None)
        assert "result" in run.error


@patiently
async def test_a_job_of_a_newer_version_fails_with_the_reason() -> None:
    """What this side cannot read it does not guess."""
    async with served() as there:
        there.wire.told = {"definition": '{"colour": "red"}'}
        one = await handed(there.api)
        assert await execute(there, one, lambda: None)
        run = await one.run()
        assert run.state is RunState.FAILED
        assert run.error.startswith("this version of Tickwise cannot read the job")


@patiently
async def test_what_finds_functions_may_fail() -> None:
    """A program's own way to find them ends the run with the traceback, not the program."""

    def lookup(job: JobDefinition) -> Callable[..., Any]:
        raise KeyError(job.name)

    async with served() as there:
        one = await handed(there.api)
        environment = one.environment(there.address)
        assert await asyncio.to_thread(execute_attempt, environment, function_of=lookup)
        run = await one.run()
        assert (run.state, run.error.splitlines()[0]) == (RunState.FAILED, "KeyError: 'a'")


@patiently
async def test_it_works_inside_a_loop_that_runs() -> None:
    """Some engines call tasks from a loop: the attempt gets a thread and a loop of its own."""
    async with served() as there:
        one = await handed(there.api)

        async def task() -> bool:
            return execute_attempt(one.environment(there.address), function_of=lambda _job: lambda: 7)

        assert await asyncio.to_thread(asyncio.run, task())
        assert (await one.run()).result == 7


@pytest.mark.parametrize("missing", ["TICKWISE_API", "TICKWISE_ATTEMPT", "TICKWISE_TICKET"])
def test_each_missing_variable_is_named(missing: str) -> None:
    """An engine that does not pass it on is found at once."""
    whole = {"TICKWISE_API": "http://127.0.0.1:1", "TICKWISE_ATTEMPT": "1.1", "TICKWISE_TICKET": TICKET}
    for environment in ({**whole, missing: ""}, {name: text for name, text in whole.items() if name != missing}):
        with pytest.raises(InputError, match=f"the variable {missing} is not set"):
            execute_attempt(environment)


@pytest.mark.parametrize("address", ["tickwise:8484", "ftp://x", "http://", "http://x?y=1", "http://[::1"])
def test_a_wrong_address_is_refused(address: str) -> None:
    """Before anything is asked, with an example."""
    with pytest.raises(InputError, match="https://tickwise"):
        execute_attempt({"TICKWISE_API": address, "TICKWISE_ATTEMPT": "1.1", "TICKWISE_TICKET": TICKET})


@patiently
async def test_a_refusal_that_is_no_gates_is_told() -> None:
    """An API that is not reached under a name of its own says so, and the work does not try for an hour."""
    async with served() as there:
        one = await handed(there.api)
        address = there.address.replace("127.0.0.1", "127.1")  # the same machine, and no name that the API knows
        with pytest.raises(TickwiseError, match="is not one of ours"):
            await execute(there, one, lambda: None, TICKWISE_API=address)


@patiently
async def test_a_redirect_does_not_take_the_ticket_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as no answer."""
    monkeypatch.setattr("tickwise.engines.remote.DEFAULT_PATIENCE", 0)
    seen: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        where = f"http://127.0.0.1:{port}/elsewhere"
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n".encode())
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        environment = {
            "TICKWISE_API": f"http://127.0.0.1:{port}",
            "TICKWISE_ATTEMPT": "1.1",
            "TICKWISE_TICKET": "x",
        }
        with pytest.raises(TickwiseError, match="answered 302"):
            await asyncio.to_thread(execute_attempt, environment)
    assert len(seen) == 1


@patiently
async def test_the_certificate_of_the_api_is_checked(tmp_path: Path) -> None:
    """System trust, or the file that is named: an API that nobody vouches for learns no ticket."""
    secure = Settings(certificate=str(CERTIFICATE), certificate_key=str(KEY))
    async with served(settings=secure) as there:
        one = await handed(there.api)
        with pytest.raises(TickwiseError, match=r"is not trusted .*TICKWISE_API_CA"):
            await execute(there, one, lambda: None)
        with pytest.raises(InputError, match=r"TICKWISE_API_CA names .*none.pem, which cannot be used"):
            await execute(there, one, lambda: None, TICKWISE_API_CA=str(tmp_path / "none.pem"))
        assert there.wire.moves["begin"] == 0
        assert await execute(there, one, lambda: None, TICKWISE_API_CA=str(CERTIFICATE))
        assert (await one.run()).state is RunState.SUCCEEDED
