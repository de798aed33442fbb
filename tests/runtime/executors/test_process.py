"""Functions in a process of their own."""

import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tickwise.core.errors import InputError
from tickwise.core.settle import Cancelled, Failed, Snoozed, Succeeded
from tickwise.runtime.executors.arguments import check_arguments
from tickwise.runtime.executors.function import FunctionPool, Isolated
from tickwise.runtime.executors.process import call_in_process, named_target
from tickwise.runtime.executors.result import AttemptResult

from ...support.executors import ExecutorHarness, deaths, ended, place, run

JOBS = """
import asyncio, os, signal, sys
from tickwise.runtime.executors.result import Cancel, Retry, Snooze

def add(a, b=2, run=None):
    print("adding")
    run.log("for " + run.slot.isoformat())
    return {"sum": a + b, "job": run.job, "here": os.getcwd(), "mode": os.environ.get("MODE")}

async def later(word):
    await asyncio.sleep(0)
    return word

def nothing(): pass
def broken(): raise ValueError("no good")
def leave(): sys.exit(4)
def vanish(): os._exit(3)
def die():
    print("about to", file=sys.stderr)
    os.kill(os.getpid(), signal.SIGKILL)
def exhaust(): raise MemoryError
def retry(): raise Retry("5m", "busy")
def cancel(): return Cancel("done already")
class Later(Snooze): pass
def snooze(): return Later(7)
def unfit(): return {1, 2}
def large(): return "x" * 300_000
def hang():
    with open(os.environ["DEATHS"], "w") as pipe:
        try:
            print("ready", file=pipe, flush=True)
            while True: pass
        finally:
            print("cleaned up", file=pipe, flush=True)

class Nest:
    @staticmethod
    def inner(): return "inner"

number = 5
"""


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of the user's, importable here and by the worker's children."""
    (tmp_path / "some_jobs.py").write_text(JOBS)
    (tmp_path / "bad_import.py").write_text("import no_such_thing\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(2)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("some_jobs")
    del sys.modules["some_jobs"]


def call(name: str, there: ExecutorHarness | None = None, **params: Any) -> AttemptResult:
    target = named_target(f"some_jobs:{name}")
    return run(call_in_process(target, (there or place(params=params)).context, strict=False))


@pytest.mark.usefixtures("jobs")
def test_it_has_the_steps_variables_folder_and_log(tmp_path: Path) -> None:
    """A function in its process sees its run, its step's variables and folder, and what it prints is logged."""
    there = place(params={"a": 1}, env={"MODE": "full"}, folder=tmp_path)
    result = {"sum": 3, "job": "etl", "here": str(tmp_path.resolve()), "mode": "full"}
    assert call("add", there) == AttemptResult(Succeeded(), result)
    assert there.lines == ["adding", "for 1970-01-01T01:00:00+00:00"]


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("later", {"word": "hello"}, AttemptResult(Succeeded(), "hello")),
        ("nothing", {}, AttemptResult(Succeeded())),
        ("nothing", {"shared": "param"}, AttemptResult(Succeeded())),
        ("Nest.inner", {}, AttemptResult(Succeeded(), "inner")),
        ("large", {}, AttemptResult(Succeeded(), "x" * 300_000)),
        ("retry", {}, AttemptResult(Failed(300), error="busy")),
        ("cancel", {}, AttemptResult(Cancelled(), error="done already")),
        ("snooze", {}, AttemptResult(Snoozed(7))),
    ],
)
@pytest.mark.usefixtures("jobs")
def test_its_word_comes_back(name: str, params: dict[str, Any], expected: AttemptResult) -> None:
    """Results of any size, async functions and wishes come back from the process as they do from a thread."""
    assert call(name, **params) == expected


@pytest.mark.usefixtures("jobs")
def test_a_result_that_is_not_json_is_dropped_with_a_warning() -> None:
    """A result that is not JSON leaves a success without a result, and a line in the log."""
    there = place()
    assert call("unfit", there) == AttemptResult(Succeeded())
    assert "no result is kept" in there.log.warnings[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken", ["some_jobs.py", "in broken", "ValueError: no good"]),
        ("leave", ["it called sys.exit(4)"]),
        ("exhaust", ["it ran out of memory"]),
        ("vanish", ["its process ended without an answer: exit code 3"]),
        ("die", ["its process ended without an answer: ended by SIGKILL", "about to"]),
    ],
)
@pytest.mark.usefixtures("jobs")
def test_whatever_happens_ends_that_run_only(name: str, words: list[str]) -> None:
    """S46: an exception, sys.exit, a memory error, os._exit and a kill are failures that say what happened."""
    failed = call(name)
    assert failed.outcome == Failed()
    assert all(word in failed.error for word in words)
    assert "runtime/executors" not in failed.error


@pytest.mark.parametrize(
    ("target", "params", "words"),
    [
        ("no_such_module:f", {}, "no_such_module cannot be imported on this worker\nModuleNotFoundError"),
        ("bad_import:f", {}, "(?s)bad_import cannot be imported.*import no_such_thing.*No module named"),
        ("leaves:f", {}, "(?s)leaves cannot be imported.*SystemExit"),
        ("some_jobs:brokn", {}, r"some_jobs has no function brokn \(did you mean broken\?\)"),
        ("some_jobs:Nest.outer", {}, "some_jobs has no function Nest.outer"),
        ("some_jobs:number", {}, "some_jobs:number is not a function"),
        ("some_jobs:add", {"b": 1}, r"add\(\) needs a value for a"),
    ],
)
@pytest.mark.usefixtures("jobs")
def test_what_cannot_be_called_is_told_in_words(target: str, params: dict[str, Any], words: str) -> None:
    """S44: a target that cannot be imported, found or called says what is wrong with it."""
    with pytest.raises(InputError, match=words):
        run(call_in_process(named_target(target), place(params=params).context, strict=False))


@pytest.mark.usefixtures("jobs")
def test_a_cancelled_function_is_ended_and_may_clean_up(tmp_path: Path) -> None:
    """Cancelling ends the process; the function's finally is honoured first."""

    async def cancelling() -> None:
        there = place(env={"DEATHS": str(tmp_path / "deaths")})
        async with deaths(tmp_path / "deaths") as pipe:
            task = asyncio.create_task(
                call_in_process(named_target("some_jobs:hang"), there.context, strict=False)
            )
            assert await pipe.readline() == b"ready\n"
            await ended(task)
            assert await pipe.read() == b"cleaned up\n"

    run(cancelling())


def test_an_isolated_function_is_called_in_a_process(jobs: Any) -> None:
    """S46: a known function that asks for a process may crash without harm to those beside it."""

    async def both() -> list[AttemptResult]:
        pool = FunctionPool()
        calls = [(jobs.vanish, {}), (jobs.later, {"word": "unharmed"})]
        return await asyncio.gather(*(pool.call(Isolated(f), place(params=params).context) for f, params in calls))

    crashed, other = run(both())
    assert crashed.outcome == Failed()
    assert other == AttemptResult(Succeeded(), "unharmed")


def test_an_isolated_function_takes_its_own_params_only(jobs: Any) -> None:
    """A known function refuses params it does not take, in a process as elsewhere, and when it is enqueued."""
    isolated = Isolated(jobs.later)
    with pytest.raises(InputError, match="did you mean word"):
        check_arguments(isolated, {"wrd": "hello"})
    with pytest.raises(InputError, match="did you mean word"):
        run(FunctionPool().call(isolated, place(params={"wrd": "hello"}).context))


def test_an_isolated_function_can_still_be_called(jobs: Any) -> None:
    """Asking for a process does not change what a function is for others."""
    assert Isolated(jobs.Nest.inner)() == "inner"


@pytest.mark.parametrize("function", [lambda: None, Path("x").exists, partial(json.dumps, None)])
def test_what_no_process_can_find_is_refused_at_once(function: Callable[..., Any]) -> None:
    """A function without a place of its own in a module is refused when a process is asked for."""
    with pytest.raises(InputError, match="define it with def at the top of a module"):
        Isolated(function)


MAIN = """
import asyncio, sys
from tickwise.runtime.context import RunContext
from tickwise.runtime.executors.function import FunctionPool, Isolated
from tickwise.runtime.executors.log import StepLog
from tickwise.runtime.step_context import StepContext, Services

def where():
    return __name__

if __name__ == "__main__":
    here = StepContext(RunContext("1", "job"), Services(), StepLog(print))
    print(asyncio.run(FunctionPool().call(Isolated(where), here)).result)
"""


@pytest.mark.parametrize(("arguments", "name"), [(["app.py"], "__tickwise_main__"), (["-m", "app"], "app")])
def test_a_function_of_the_program_itself_is_found(tmp_path: Path, arguments: list[str], name: str) -> None:
    """A function of the program that was started is found by its process, which does not start that again."""
    (tmp_path / "app.py").write_text(MAIN)
    done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == name, done.stderr


@pytest.mark.parametrize("path", ["", ".", "src:."])
def test_the_folder_of_a_step_is_not_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """B10: a json.py in the folder is not executed in place of the standard library's, whatever is searched."""
    monkeypatch.setenv("PYTHONPATH", path)
    (tmp_path / "json.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    there = place(folder=tmp_path)
    ended = run(call_in_process(named_target("os:getcwd"), there.context, strict=False))
    assert ended.result == str(tmp_path.resolve())
    assert not (tmp_path / "executed").exists()
