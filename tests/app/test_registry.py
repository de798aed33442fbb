"""`@tw.job(…)`: functions become jobs, and what does not fit is refused where it is written."""

import asyncio
import os
import subprocess
import sys
import threading
from importlib import import_module, reload
from pathlib import Path
from typing import Any

import pytest

from tickwise import AsyncTickwise, Cancel, ConflictError, InputError, Retry, Snooze, Tickwise

from ..support.app import Clock, at, patiently


def test_sync_and_async_functions(tw: Tickwise) -> None:
    """An async function runs on the event loop, another in a thread of its own; what they return is kept."""

    @tw.job()
    async def awaited() -> list[str]:
        await asyncio.sleep(0)
        return [threading.current_thread().name]

    @tw.job()
    def threaded() -> list[str]:
        return [threading.current_thread().name]

    runs = [tw.enqueue(awaited), tw.enqueue(threaded)]
    assert tw.drain() == 2
    assert [tw.runs.get(run.id).result for run in runs] == [["tickwise"], ["tickwise-function"]]


def test_the_function_is_still_a_function(tw: Tickwise) -> None:
    """A decorated function can be called as before, and keeps its name and its words."""

    @tw.job("@daily")
    def double(number: int = 2) -> int:
        """Twice as much."""
        return 2 * number

    assert (double(4), double.__name__, double.__doc__) == (8, "double", "Twice as much.")


def test_the_parameter_run(tw: Tickwise, clock: Clock) -> None:
    """A parameter named `run` gets the run: its slot, the one before, the trigger and the attempt."""
    seen: list[Any] = []

    @tw.job("0 * * * *", catchup="all")
    async def hourly(run: Any, table: str = "orders") -> None:
        seen.append((run.slot, run.previous_slot, run.trigger, run.attempt, run.schedule, table))

    tw.drain()
    clock.set(at("01:00"))
    tw.drain()
    tw.enqueue(hourly, {"table": "users"})
    tw.drain()
    assert seen == [
        (at("01:00"), at("00:00"), "schedule", 1, "hourly", "orders"),
        (None, None, "enqueue", 1, None, "users"),
    ]


def test_what_a_run_logs(tw: Tickwise) -> None:
    """`run.log` is kept with the run, line by line."""

    @tw.job()
    def talk(run: Any) -> None:
        run.log("one")
        run.log("two")

    run = tw.enqueue(talk)
    tw.drain()
    assert tw.runs.logs(run.id) == "one\ntwo\n"


def test_params_are_checked_where_they_are_given(tw: Tickwise) -> None:
    """A name that the function does not take is refused with the nearest, a missing one by its name (A18)."""

    @tw.job(params={"batch": 10})
    def load(table: str, batch: int) -> str:
        return f"{table} {batch}"

    with pytest.raises(InputError, match=r"the job load has no parameter tabel \(did you mean table\?\)"):
        tw.enqueue(load, {"tabel": "users"})
    with pytest.raises(InputError, match=r"the job load needs a value for table"):
        tw.enqueue(load)
    assert tw.runs.list() == []
    run = tw.enqueue(load, {"table": "users"})
    tw.drain()
    assert tw.runs.get(run.id).result == "users 10"


def test_params_that_are_no_json(tw: Tickwise) -> None:
    """What cannot be kept as JSON is refused when it is given, not when it is run."""

    @tw.job()
    def load(table: Any) -> None: ...

    with pytest.raises(InputError, match="params"):
        tw.enqueue(load, {"table": object()})
    assert tw.runs.list() == []


def test_a_scheduled_function_needs_all_its_params(tw: Tickwise) -> None:
    """Nobody gives params to a slot: what the function needs must stand in its definition."""
    with pytest.raises(InputError, match=r"needy\(\) needs a value for table"):

        @tw.job("@daily")
        def needy(table: str) -> None: ...

    with pytest.raises(InputError, match=r"load\(\) gets `run` from Tickwise"):
        tw.job("@daily", params={"run": 1})(load)


def load(run: Any) -> None: ...


@pytest.mark.parametrize(
    ("schedule", "options", "message"),
    [
        ("61 * * * *", {}, "minute: 61 is out of range"),
        ("@daily", {"over_lap": "skip"}, r"over_lap: unknown field \(did you mean overlap\?\)"),
        ("@daily", {"overlap": "skp"}, "overlap"),
        ("@daily", {"timezone": "Europe/Berln"}, "did you mean Europe/Berlin"),
        ("@daily", {"name": "no spaces"}, "name"),
        ("@daily", {"command": "ls"}, "command: the function is what this job does"),
        ("@daily", {"steps": []}, "steps: the function is what this job does"),
        ("@daily", {"pool": "fibre"}, "pool is 'fibre': write thread or process"),
        ("@daily", {"catchup": "once", "overlap": "queue"}, "overlap"),
        (object(), {}, "object cannot stand in a definition"),
    ],
)
def test_wrong_options(tw: Tickwise, schedule: Any, options: dict[str, Any], message: str) -> None:
    """A mistake in the options is told with the function and the field, and declares nothing."""
    with pytest.raises(InputError, match=message) as caught:
        tw.job(schedule, **options)(nothing)
    assert str(caught.value).startswith("@job of ")
    assert tw.jobs.list() == []


def nothing() -> None: ...


def test_two_functions_of_one_name(tw: Tickwise) -> None:
    """The second is refused, naming both places; under a name of its own it is welcome (S26)."""
    tw.job(name="report")(nothing)
    with pytest.raises(ConflictError, match=r"test_registry\.nothing .* is the job report already") as caught:
        tw.job(name="report")(load)
    assert all(f"{__file__}:{one.__code__.co_firstlineno}" in str(caught.value) for one in (nothing, load))
    tw.job(name="other")(load)
    assert tw.jobs.list() == ["other", "report"]


JOBS = """
from tests.app.test_registry import reloaded as tw

@tw.job(retry={"limit": 1})
def report(): return 1
"""
reloaded = Tickwise("memory://")


def test_two_functions_of_one_name_in_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused with both lines and the first goes on; a reloaded module is no second (A7, S26)."""
    file = tmp_path / "jobs_of_two_names.py"
    file.write_text(JOBS)
    monkeypatch.syspath_prepend(tmp_path)
    module = import_module(file.stem)
    file.write_text(f"# it moved\n\n{JOBS.replace('return 1', 'return 2')}")
    reload(module)
    reloaded.enqueue("report")
    reloaded.drain()
    assert [run.result for run in reloaded.runs.list()] == [2]
    file.write_text(JOBS * 2)
    with pytest.raises(ConflictError) as caught:
        reload(module)
    assert all(f"{file}:{line}" in str(caught.value) for line in (4, 9))
    reloaded.close()


def test_two_lambdas_of_one_name(tw: Tickwise) -> None:
    """Two functions of one scope are two, also on one line and from one factory (A7, S26)."""
    first, second = [(lambda n=n: n) for n in (1, 2)]
    tw.job(name="same")(first)
    with pytest.raises(ConflictError, match="is the job same already"):
        tw.job(name="same")(second)
    tw.job("@daily", name="same")(first)
    run = tw.enqueue("same")
    tw.drain()
    assert tw.runs.get(run.id).result == 1


def test_a_function_that_is_typed_again() -> None:
    """At a prompt, where people correct a function by typing it again, the new one counts."""
    typed = (
        "from tickwise import Tickwise; tw = Tickwise('memory://')\n"
        + "".join(f"@tw.job\ndef f(): return {n}\n\n" for n in (1, 2))
        + "run = tw.enqueue(f); tw.drain(); print(tw.runs.get(run.id).result)\n"
    )
    shell = subprocess.run(
        [sys.executable, "-i"], input=typed, capture_output=True, text=True, check=True, env=os.environ
    )
    assert (shell.stdout.split()[-1], "Error" in shell.stderr) == ("2", False)


def test_without_parentheses(tw: Tickwise) -> None:
    """`@tw.job` alone declares a job that runs on demand, and leaves the function one (A8)."""

    @tw.job
    def greet(name: str = "world") -> str:
        return f"hello {name}"

    run = tw.enqueue(greet, {"name": "Ada"})
    tw.drain()
    assert (greet(), tw.jobs.list(), tw.schedules.list()) == ("hello world", ["greet"], [])
    assert tw.runs.get(run.id).result == "hello Ada"


def test_who_has_no_name(tw: Tickwise) -> None:
    """A callable without a name of its own must be given one."""

    class Greeter:
        def __call__(self) -> str:
            return "hello"

    with pytest.raises(InputError, match="it has no name of its own"):
        tw.job()(Greeter())
    greeter = tw.job(name="greet")(Greeter())
    run = tw.enqueue(greeter)
    tw.drain()
    assert tw.runs.get(run.id).result == "hello"


def test_only_jobs_are_enqueued(tw: Tickwise) -> None:
    """A function that is no job, and a name that nobody knows, are refused with the way out."""
    tw.job()(nothing)
    with pytest.raises(ConflictError, match=r"load is not a job: decorate it with @tw\.job\(\) first"):
        tw.enqueue(load)
    with pytest.raises(InputError, match=r"there is no job 'nothin' \(did you mean nothing\?\)"):
        tw.enqueue("nothin")


def variables() -> list[str | None]:
    return [os.environ.get(name) for name in ("DATABASE_URL", "TICKWISE_LOOKAHEAD")]


def test_in_a_process(tw: Tickwise) -> None:
    """`pool="process"` calls it in a process of its own; a function that others cannot find is refused."""
    run = tw.enqueue(tw.job(pool="process")(os.getppid))
    tw.drain()
    assert tw.runs.get(run.id).result == os.getpid()
    with pytest.raises(InputError, match="process"):
        tw.job(name="local", pool="process")(lambda: None)


def test_the_environment_of_a_function_is_that_of_its_program(
    tw: Tickwise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B14: in a process of its own, too, a function is a part of its app, and finds what that finds."""
    monkeypatch.setenv("DATABASE_URL", "postgresql://db/shop")
    monkeypatch.setenv("TICKWISE_LOOKAHEAD", "1h")
    run = tw.enqueue(tw.job(pool="process")(variables))
    tw.drain()
    assert tw.runs.get(run.id).result == ["postgresql://db/shop", "1h"]


def test_wishes(tw: Tickwise, clock: Clock) -> None:
    """A function may say what is to become of its run: again later, not yet, or not at all (S41, S44)."""

    @tw.job(retry={"limit": 1, "interval": "10s"})
    def again(run: Any) -> int:
        if run.attempt == 1:
            raise Retry(after="5s", reason="busy")
        return int(run.attempt)

    @tw.job()
    async def later(run: Any) -> int:
        if run.attempt == 1:
            raise Snooze("1m")
        return int(run.attempt)

    @tw.job(retry={"limit": 9, "interval": "1s"})
    def never() -> None:
        raise Cancel("nobody needs it")

    runs = [tw.enqueue(job).id for job in (again, later, never)]
    assert tw.drain() == 3
    assert [tw.runs.get(run).state for run in runs] == ["queued", "queued", "cancelled"]
    assert tw.drain() == 0, "what is to be tried later waits for its time"
    clock.advance(5)
    tw.drain()
    assert [tw.runs.get(run).state for run in runs] == ["succeeded", "queued", "cancelled"]
    clock.advance(55)
    tw.drain()
    assert [tw.runs.get(run).result for run in runs] == [2, 2, None]


def test_what_a_function_raises(tw: Tickwise) -> None:
    """An error, and even an exit, ends the run it comes from, and says where it was raised (S46)."""

    @tw.job()
    def breaks() -> None:
        raise LookupError("no such order")

    @tw.job()
    async def leaves() -> None:
        raise SystemExit(3)

    runs = [tw.runs.get(run.id) for run in [tw.enqueue(breaks), tw.enqueue(leaves)] if tw.drain() >= 0]
    assert [run.state for run in runs] == ["failed", "failed"]
    assert "LookupError: no such order" in runs[0].error
    assert "test_registry.py" in runs[0].error
    assert "SystemExit" in runs[1].error


@patiently
async def test_a_job_declared_while_the_store_is_open(app: AsyncTickwise) -> None:
    """What is declared later is known from the next call on, and what is declared anew is written anew (S24)."""
    async with app:
        assert await app.jobs.list() == []
        app.job("0 * * * *")(nothing)
        assert (await app.schedules.get("nothing")).times == "0 * * * *"
        app.job("30 * * * *")(nothing)
        assert (await app.schedules.get("nothing")).times == "30 * * * *"
