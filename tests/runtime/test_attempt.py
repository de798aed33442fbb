"""One attempt of one run, through everything that it is made of."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tickwise.core.definition import (
    Action,
    Command,
    Handlers,
    HttpCall,
    JobDefinition,
    Precondition,
    PythonCall,
    RetryPolicy,
    Script,
    Step,
)
from tickwise.core.settle import Cancelled, Failed, Snoozed, Succeeded, Unmet
from tickwise.runtime.attempt import conclude, execute
from tickwise.runtime.context import RunContext, StepRecord, StepState
from tickwise.runtime.executors.function import FunctionPool
from tickwise.runtime.executors.result import AttemptResult, Cancel, Snooze, failed
from tickwise.runtime.executors.result import Retry as Again
from tickwise.runtime.pipeline import DoneSteps
from tickwise.runtime.step_context import Services

from ..support.executors import Timers, Witness, deaths, ended, run, until

RUN = RunContext("17", "etl", "etl", 3_600, 0, "schedule")


def shell(text: str) -> Command:
    return Command(("sh", "-c", text))


def job(*steps: Step, **others: Any) -> JobDefinition:
    return JobDefinition("etl", steps, **others)


def attempted(
    definition: JobDefinition,
    function: Callable[..., Any] | None = None,
    *,
    context: RunContext = RUN,
    allow: bool = True,
    done: DoneSteps | None = None,
) -> tuple[AttemptResult, Witness]:
    witness = Witness()
    services = Services(witness.report, witness.log, allow_commands=allow)
    functions = {"etl": function} if function else {}

    async def attempting() -> AttemptResult:
        pool = FunctionPool()
        try:
            return await execute(
                definition, context, functions=functions, pool=pool, services=services, done=done or {}
            )
        finally:
            pool.close()

    return run(attempting()), witness


def test_a_job_without_steps_calls_its_function() -> None:
    """A job that is a function is one step without a name; the run's params win over the job's."""
    given = replace(RUN, params={"table": "users"})
    end, witness = attempted(
        job(params={"table": "orders", "most": 3}), lambda table, most: [table, most], context=given
    )
    assert end == AttemptResult(Succeeded(), ["users", 3])
    assert witness.states("") == [StepState.RUNNING, StepState.SUCCEEDED]


def test_a_function_needs_no_permission() -> None:
    """A function that the worker knows is called whether or not commands are allowed."""
    end, _ = attempted(job(), lambda: 1, allow=False)
    assert end == AttemptResult(Succeeded(), 1)


def test_an_unknown_function_and_wrong_params_are_failures_in_words() -> None:
    """S44: what cannot be handed over is a failed attempt that says why."""
    end, _ = attempted(job())
    assert end == failed("this worker knows no function for the job etl")
    end, _ = attempted(job(params={"tabel": "x"}), lambda table: table)
    assert end.outcome == Failed()
    assert "has no parameter tabel (did you mean table?)" in end.error


def test_steps_of_all_kinds_make_a_pipeline(tmp_path: Path) -> None:
    """Commands, scripts and Python functions work together, each with its variables and its folder."""
    steps = (
        Step("write", shell('echo "$WHO $MODE $TICKWISE_SLOT" > out'), env={"MODE": "full"}, dir=str(tmp_path)),
        Step("count", Script("wc -l < out\n"), ("write",), dir=str(tmp_path)),
        Step("read", PythonCall("os:getcwd"), ("write",), dir=str(tmp_path)),
    )
    end, witness = attempted(job(*steps, env={"WHO": "job", "MODE": "job's"}))
    assert end == AttemptResult(Succeeded())
    assert (tmp_path / "out").read_text() == "job full 1970-01-01T01:00:00Z\n"
    assert [line.strip() for step, _, line in witness.lines if step == "count"] == ["1"]


def test_a_single_step_gives_its_result() -> None:
    """A job with one Python step has that function's result."""
    end, _ = attempted(job(Step("main", PythonCall("json:dumps")), params={"obj": [1]}))
    assert end == AttemptResult(Succeeded(), "[1]")


@pytest.mark.parametrize(
    "definition",
    [
        job(Step("a", shell(":"))),
        job(Step("a", Script(":"))),
        job(Step("a", HttpCall("http://example.com"))),
        job(Step("a", PythonCall("os:getcwd"))),
        job(preconditions=(Precondition(shell(":")),)),
        job(on=Handlers(exit=shell(":"))),
    ],
)
def test_what_a_definition_says_is_executed_only_if_that_is_allowed(definition: JobDefinition) -> None:
    """A worker that does not trust a definition's source executes nothing of it, and says how to allow it."""
    end, witness = attempted(definition, lambda: 1, allow=False)
    assert end.outcome == Failed()
    assert "--allow-commands" in end.error
    assert (witness.records, witness.lines) == ([], [])


def test_unmet_preconditions_skip_the_run() -> None:
    """A job whose preconditions are not met has not begun, and nothing is done after it."""
    definition = job(
        Step("a", shell("echo begun")),
        preconditions=(Precondition(shell("echo asked; exit 1")),),
        on=Handlers(exit=shell("echo after")),
    )
    end, witness = attempted(definition)
    assert end.outcome == Unmet()
    assert "is not met: exit code 1" in end.error
    assert witness.lines == [("job:preconditions", "stdout", "asked")]
    assert witness.records == []


def test_a_step_with_unmet_preconditions_is_skipped() -> None:
    """A step's preconditions are asked with its own variables, before it begins."""
    asked = Precondition(shell('test "$MODE" = full'))
    steps = [
        Step(mode, shell("echo $MODE"), env={"MODE": mode}, preconditions=(asked,)) for mode in ("full", "fast")
    ]
    end, witness = attempted(job(*steps))
    assert end == AttemptResult(Succeeded())
    assert witness.said() == ["full"]
    assert witness.states("fast")[-1] is StepState.SKIPPED


def test_a_request_keeps_to_the_address_policy() -> None:
    """An HTTP step to an address that the worker does not allow fails, and says so."""
    end, _ = attempted(job(Step("a", HttpCall("http://169.254.169.254/latest/meta-data"))))
    assert end.outcome == Failed()
    assert "169.254.169.254 (cloud metadata)" in end.error


def after(ending: str) -> Action:
    return shell(f'echo "{ending} $TICKWISE_OUTCOME [$TICKWISE_ERROR] $HELLO $TICKWISE_SLOT"')


HANDLERS = Handlers(success=after("success"), failure=after("failure"), exit=after("exit"))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda: 1, ["success succeeded [] hello", "exit succeeded [] hello"]),
        (lambda: Again(reason="no"), ["failure failed [no] hello", "exit failed [no] hello"]),
        (lambda: Cancel("enough"), ["exit cancelled [enough] hello"]),
        (lambda: Snooze(5), []),
    ],
)
def test_handlers_follow_a_run_that_is_over(function: Callable[..., Any], said: list[str]) -> None:
    """After the run its handler and then `exit` are done, and learn how it ended and why; a snooze is no end."""
    _, witness = attempted(job(on=HANDLERS, env={"HELLO": "hello"}), function)
    assert witness.said() == [f"{line} 1970-01-01T01:00:00Z" for line in said]
    names = [record.name for record in witness.records if record.name]
    assert set(names) == {f"on:{line.split()[0]}" for line in said}


@pytest.mark.parametrize(("failures", "over"), [(0, False), (1, False), (2, True)])
def test_a_failure_with_tries_left_is_not_the_end(failures: int, over: bool) -> None:
    """S44: `on.failure` is for a run that failed for good, not for an attempt that will be repeated."""
    context = replace(RUN, failures=failures)
    _, witness = attempted(
        job(Step("a", shell("exit 1")), on=HANDLERS, retry=RetryPolicy(limit=2)), context=context
    )
    assert bool(witness.said()) is over


def test_a_handler_that_fails_changes_nothing() -> None:
    """The run has ended as it has, whatever its handlers do; `exit` comes after a failed handler too."""
    handlers = Handlers(success=shell("exit 3"), exit=Command(("no-such-program",)))
    end, witness = attempted(job(on=handlers), lambda: "fine")
    assert end == AttemptResult(Succeeded(), "fine")
    assert witness.states("on:success")[-1] is StepState.FAILED
    assert witness.states("on:exit")[-1] is StepState.FAILED
    assert "no-such-program was not found" in witness.records[-1].error


def test_a_cancelled_run_is_concluded_by_who_cancelled_it() -> None:
    """`conclude` does what is to be done after a run that somebody cancelled."""
    witness = Witness()
    services = Services(witness.report, witness.log, allow_commands=True)
    run(
        conclude(
            job(on=HANDLERS, env={"HELLO": "hello"}), RUN, AttemptResult(Cancelled(), error="by Ada"), services
        )
    )
    assert witness.said() == ["exit cancelled [by Ada] hello 1970-01-01T01:00:00Z"]


def test_a_run_goes_on_from_the_step_that_failed() -> None:
    """Steps that succeeded in an earlier attempt are not repeated."""
    steps = (Step("a", shell("echo a")), Step("b", shell("echo b"), ("a",)))
    end, witness = attempted(job(*steps), done={"a": {}})
    assert end == AttemptResult(Succeeded())
    assert witness.said() == ["b"]


def test_the_jobs_timeout_ends_everything(tmp_path: Path) -> None:
    """A run that outlives the job's timeout has failed: its processes are gone, its failure handler is done."""
    pipe_name = tmp_path / "deaths"
    definition = job(
        Step("a", shell('exec 9>"$DEATHS"; echo ready >&9; sleep 1000')),
        Step("b", shell("echo never"), ("a",)),
        env={"DEATHS": str(pipe_name), "HELLO": ""},
        timeout=7_200,
        on=Handlers(failure=after("failure")),
    )

    async def waiting() -> tuple[AttemptResult, Witness]:
        timers, witness = Timers(), Witness()
        services = Services(witness.report, witness.log, allow_commands=True, sleep=timers.sleep)
        async with deaths(pipe_name) as pipe:
            task = asyncio.create_task(
                execute(definition, RUN, functions={}, pool=FunctionPool(), services=services)
            )
            assert await pipe.readline() == b"ready\n"
            await timers.ring(7_200)
            end = await task
            assert await pipe.read() == b""
        return end, witness

    end, witness = run(waiting())
    assert end == failed("the run timed out after 2h")
    assert witness.states("a")[-1] is StepState.CANCELLED
    assert witness.said() == ["failure failed [the run timed out after 2h]  1970-01-01T01:00:00Z"]


def test_a_thread_that_outlives_its_timeout_is_waited_for() -> None:
    """A17: the attempt ends when its thread has ended, as timed out; the function can see that it is to end."""
    started, release = threading.Event(), threading.Event()
    seen: list[bool] = []

    def hang(run: Any) -> None:
        seen.append(run.cancelled)
        started.set()
        release.wait()
        seen.append(run.cancelled)

    witness = Witness()

    async def waiting() -> AttemptResult:
        timers, pool = Timers(), FunctionPool()
        functions = {"etl": hang}
        services = Services(sleep=timers.sleep, log=witness.log, report=witness.report)
        task = asyncio.create_task(
            execute(job(timeout=60), RUN, functions=functions, pool=pool, services=services)
        )
        await asyncio.to_thread(started.wait)
        await timers.ring(60)
        await until(lambda: bool(witness.states("function")))
        assert not task.done()
        release.set()
        end = await task
        pool.close()
        return end

    end = run(waiting())
    assert (end.outcome, seen) == (Failed(), [False, True])
    assert end.error == "the run timed out after 1m\nthe function ended 0s after it was asked to"
    assert "its thread has not ended" in witness.said("tickwise")[0]
    assert witness.states("function") == [StepState.RUNNING, StepState.CANCELLED]


def test_cancelling_ends_all_and_goes_on_as_cancelled(tmp_path: Path) -> None:
    """A cancelled attempt ends its processes and reports its steps; no handler is done, CancelledError goes on."""
    pipe_name = tmp_path / "deaths"
    steps = [Step(name, shell(f'exec 9>"$DEATHS"; echo {name} >&9; sleep 1000')) for name in "ab"]
    definition = job(*steps, env={"DEATHS": str(pipe_name)}, timeout=60, on=HANDLERS)

    async def cancelling() -> Witness:
        witness = Witness()
        services = Services(witness.report, witness.log, allow_commands=True)
        async with deaths(pipe_name) as pipe:
            task = asyncio.create_task(
                execute(definition, RUN, functions={}, pool=FunctionPool(), services=services)
            )
            assert sorted([await pipe.readline(), await pipe.readline()]) == [b"a\n", b"b\n"]
            await ended(task)
            assert await pipe.read() == b""
        return witness

    witness = run(cancelling())
    assert {record.name: record.state for record in witness.records} == {
        "a": StepState.CANCELLED,
        "b": StepState.CANCELLED,
    }
    assert witness.said() == []


def test_a_store_that_fails_costs_the_attempt_and_not_the_worker() -> None:
    """An attempt whose reports cannot be kept has failed, and nothing else is raised."""

    async def refuse(_record: StepRecord) -> None:
        raise ConnectionError("the store is away")

    services = Services(refuse, allow_commands=True)
    definition = job(Step("a", shell(":")), Step("b", shell(":")), on=HANDLERS)
    end = run(execute(definition, RUN, functions={}, pool=FunctionPool(), services=services))
    assert end.outcome == Failed()
    assert "the attempt could not be carried out" in end.error
    assert "the store is away" in end.error


def test_a_bad_graph_is_a_failure_in_words() -> None:
    """A definition whose steps wait for each other fails with that reason."""
    end, _ = attempted(job(Step("a", shell(":"), ("b",)), Step("b", shell(":"), ("a",))))
    assert "the steps wait for each other" in end.error


def test_a_snooze_is_an_outcome_of_its_own() -> None:
    """A function that wants to be run later neither succeeded nor failed."""
    end, witness = attempted(job(), lambda: Snooze("5m"))
    assert end == AttemptResult(Snoozed(300))
    assert witness.states("")[-1] is StepState.WAITING
