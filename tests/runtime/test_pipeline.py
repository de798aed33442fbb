"""Steps as a graph."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwise.core.definition import Command, Outcome, Precondition, RetryPolicy, Step
from tickwise.core.errors import InputError
from tickwise.core.policy import retry_delay
from tickwise.core.settle import Cancelled, Failed, Snoozed, Succeeded, Unmet
from tickwise.runtime.context import StepRecord, StepState
from tickwise.runtime.executors.log import StepLog
from tickwise.runtime.executors.result import AttemptResult, failed
from tickwise.runtime.pipeline import DoneSteps, Pipeline
from tickwise.runtime.step_context import Services
from tickwise.runtime.step_tries import StepInputs
from tickwise.testing import FakeClock

from ..support.executors import Timers, Witness, ended, run

DONE = AttemptResult(Succeeded())
Act = Callable[[], Awaitable[AttemptResult]]


ASKED = (Precondition(Command(("true",))),)


def step(name: str, *depends: str, **others: Any) -> Step:
    return Step(name, Command(("true",)), depends, **others)


@dataclass
class Script:
    """Actions as the test wants them: what each step comes to, try by try; a success if nothing is said."""

    ends: Mapping[str, list[AttemptResult | Act]] = field(default_factory=dict)
    unmet: Mapping[str, AttemptResult] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    inputs: dict[str, StepInputs] = field(default_factory=dict)

    async def check(self, step: Step, _log: StepLog, _inputs: StepInputs) -> AttemptResult | None:
        return self.unmet.get(step.name)

    async def act(self, step: Step, _log: StepLog, inputs: StepInputs) -> AttemptResult:
        self.begun.append(step.name)
        self.inputs[step.name] = inputs
        ends = self.ends.get(step.name, [DONE])
        end = ends[min(self.begun.count(step.name), len(ends)) - 1]
        return end if isinstance(end, AttemptResult) else await end()


def piped(
    *steps: Step, script: Script | None = None, done: DoneSteps | None = None
) -> tuple[AttemptResult, Witness, Script]:
    script, witness = script or Script(), Witness()
    services = Services(witness.report, witness.log)
    return run(Pipeline(steps, script, services, key="17", done=done or {}).run()), witness, script


def last(witness: Witness) -> dict[str, StepState]:
    return {record.name: record.state for record in witness.records}


def test_a_step_begins_when_all_it_depends_on_have_succeeded() -> None:
    """Steps go in the order of their dependencies, however they are written down."""
    end, witness, script = piped(step("load", "check", "extract"), step("check", "extract"), step("extract"))
    assert end == DONE
    assert script.begun == ["extract", "check", "load"]
    assert witness.states("load") == [StepState.RUNNING, StepState.SUCCEEDED]


def test_what_can_go_side_by_side_does() -> None:
    """Steps that do not depend on each other run at the same time."""
    barrier = asyncio.Barrier(3)

    async def meet() -> AttemptResult:
        await barrier.wait()
        return DONE

    script = Script({name: [meet] for name in "abc"})
    end, _, _ = piped(step("a"), step("b"), step("c"), step("d", "a", "b", "c"), script=script)
    assert end == DONE
    assert script.begun[-1] == "d"


def test_a_failure_skips_what_depends_on_it_and_nothing_else() -> None:
    """What comes after a failed step is skipped with the reason; other branches go on; the run has failed."""
    script = Script({"a": [failed("disk full")]})
    end, witness, _ = piped(step("a"), step("b", "a"), step("c", "b"), step("x"), step("y", "x"), script=script)
    assert end == AttemptResult(Failed(), error="step a: disk full")
    assert sorted(script.begun) == ["a", "x", "y"]
    skipped = {record.name: record.error for record in witness.records if record.state is StepState.SKIPPED}
    assert skipped == {
        "b": "it depends on a, which did not succeed",
        "c": "it depends on b, which did not succeed",
    }


def test_continue_on_failed_lets_the_rest_begin() -> None:
    """A failure that is continued on holds nothing up, and does not fail the run."""
    script = Script({"a": [failed("never mind")]})
    end, witness, _ = piped(step("a", continue_on=(Outcome.FAILED,)), step("b", "a"), script=script)
    assert end == DONE
    assert last(witness) == {"a": StepState.FAILED, "b": StepState.SUCCEEDED}


@pytest.mark.parametrize(("continue_on", "then"), [((), "skipped"), ((Outcome.SKIPPED,), "succeeded")])
def test_unmet_preconditions_skip_a_step(continue_on: tuple[Outcome, ...], then: str) -> None:
    """A step whose preconditions are not met is skipped, which is no failure; continue_on says what follows."""
    script = Script(unmet={"a": AttemptResult(Unmet(), error="not today")})
    end, witness, _ = piped(step("a", continue_on=continue_on, preconditions=ASKED), step("b", "a"), script=script)
    assert end == DONE
    assert "a" not in script.begun
    assert last(witness) == {"a": StepState.SKIPPED, "b": StepState(then)}
    assert next(record for record in witness.records if record.state is StepState.SKIPPED).error == "not today"


def test_preconditions_that_cannot_be_checked_fail_a_step() -> None:
    """A step whose preconditions fail to be checked has failed, and was not begun."""
    script = Script(unmet={"a": failed("cannot be checked")})
    end, _, _ = piped(step("a", preconditions=ASKED), script=script)
    assert end == failed("cannot be checked")
    assert script.begun == []


def test_steps_that_succeeded_before_are_not_repeated() -> None:
    """A retry of a failed run goes on from the failed step: what succeeded counts, what did not is done again."""
    end, witness, script = piped(step("a"), step("b", "a"), step("c", "b"), done={"a": {"rows": 3}})
    assert end == DONE
    assert script.begun == ["b", "c"]
    assert witness.states("a") == []
    assert script.inputs["b"].outputs["a"] == {"rows": 3}


def test_a_failed_step_is_tried_again_after_its_wait() -> None:
    """S44: a step is tried again as its retry policy says; each try and each wait is reported when it begins."""

    async def trying() -> tuple[AttemptResult, Witness, Timers]:
        clock, timers, witness = FakeClock(datetime(2027, 1, 1, tzinfo=UTC)), Timers(), Witness()
        services = Services(witness.report, witness.log, clock=clock.now, sleep=timers.sleep)
        script = Script({"a": [failed("one"), AttemptResult(Failed(7), error="two"), DONE]})
        task = asyncio.create_task(Pipeline([step("a", retry=retry)], script, services, key="17").run())
        await timers.asleep(retry_delay(retry, 1, "17/a"))
        clock.advance(30)
        await timers.ring(retry_delay(retry, 1, "17/a"))
        await timers.ring(7)
        return await task, witness, timers

    retry = RetryPolicy(limit=2, interval=30)
    end, witness, timers = run(trying())
    assert end == DONE
    began = datetime(2027, 1, 1, tzinfo=UTC)
    later = datetime(2027, 1, 1, 0, 0, 30, tzinfo=UTC)
    assert witness.records == [
        StepRecord("a", StepState.RUNNING, began),
        StepRecord("a", StepState.WAITING, began, error="one"),
        StepRecord("a", StepState.RUNNING, began, attempt=2),
        StepRecord("a", StepState.WAITING, began, attempt=2, error="two"),
        StepRecord("a", StepState.RUNNING, began, attempt=3),
        StepRecord("a", StepState.SUCCEEDED, began, later, 3),
    ]
    assert timers.asked == [retry_delay(retry, 1, "17/a"), 7]


def test_tries_are_used_up() -> None:
    """A step that fails in all its tries has failed with the last error."""

    async def at_once(_seconds: float) -> None: ...

    script, witness = Script({"a": [failed("one"), failed("two")]}), Witness()
    services = Services(witness.report, sleep=at_once)
    end = run(Pipeline([step("a", retry=RetryPolicy(limit=1))], script, services, key="17").run())
    assert end == failed("two")
    assert script.begun == ["a", "a"]


def test_a_step_that_takes_too_long_is_ended_and_has_failed() -> None:
    """A step's timeout cancels what it does, waits until that is cleaned up, and is a failure like others."""
    cleaned: list[int] = []

    async def hang() -> AttemptResult:
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(1)
        raise AssertionError

    async def waiting() -> AttemptResult:
        timers = Timers()
        services = Services(sleep=timers.sleep)
        steps = [step("a", timeout=90, retry=RetryPolicy(limit=1, interval=10, max_interval=10))]
        task = asyncio.create_task(Pipeline(steps, Script({"a": [hang]}), services, key="17").run())
        await timers.ring(90)
        await timers.ring(retry_delay(steps[0].retry, 1, "17/a"))
        await timers.ring(90)
        return await task

    assert run(waiting()) == failed("the step timed out after 1m30s")
    assert cleaned == [1, 1]


@pytest.mark.parametrize("outcome", [Cancelled(), Snoozed(60)])
def test_a_wish_lets_running_steps_finish_and_no_others_begin(outcome: Cancelled | Snoozed) -> None:
    """A step that asks for Cancel or Snooze speaks for the run: those beside it finish, none begins after it."""
    both, asked = asyncio.Barrier(2), asyncio.Event()

    async def wish() -> AttemptResult:
        await both.wait()
        asked.set()
        return AttemptResult(outcome, error="enough")

    async def beside() -> AttemptResult:
        await both.wait()
        await asked.wait()
        return DONE

    script = Script({"a": [wish], "b": [beside]})
    end, witness, _ = piped(step("a"), step("b"), step("c", "b"), script=script)
    assert end == AttemptResult(outcome, error="step a: enough")
    assert sorted(script.begun) == ["a", "b"]
    assert witness.states("b")[-1] is StepState.SUCCEEDED
    assert witness.states("c") == []


def test_of_several_failures_all_are_told_and_the_longest_wait_counts() -> None:
    """A run of several failed steps names each, and waits as long as the most patient of them asks."""
    script = Script(
        {
            "a": [AttemptResult(Failed(5), error="x")],
            "b": [AttemptResult(Failed(9), error="y")],
            "c": [failed("z")],
        }
    )
    end, _, _ = piped(step("a"), step("b"), step("c"), script=script)
    assert end == AttemptResult(Failed(9), error="step a: x\nstep b: y\nstep c: z")


def test_the_result_of_a_single_step_is_the_runs() -> None:
    """A pipeline of one step ends as that does, with its result."""
    end, _, _ = piped(step(""), script=Script({"": [AttemptResult(Succeeded(), {"rows": 3})]}))
    assert end == AttemptResult(Succeeded(), {"rows": 3})


def test_cancelling_ends_all_steps_and_reports_them() -> None:
    """A cancelled pipeline ends its running steps, reports them as cancelled, and goes on as cancelled."""
    running, cleaned = asyncio.Barrier(3), []

    async def hang() -> AttemptResult:
        await running.wait()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(1)
        raise AssertionError

    async def cancelling() -> Witness:
        witness = Witness()
        script = Script({"a": [hang], "b": [hang]})
        steps = [step("a"), step("b"), step("c", "a")]
        task = asyncio.create_task(Pipeline(steps, script, Services(witness.report), key="17").run())
        await running.wait()
        await ended(task)
        return witness

    assert last(run(cancelling())) == {"a": StepState.CANCELLED, "b": StepState.CANCELLED}
    assert cleaned == [1, 1]


def test_a_report_that_fails_while_all_ends_does_not_hide_the_cancelling() -> None:
    """S42: who lost the right to report is still cancelled, and not failed."""

    async def cancelling() -> None:
        begun = asyncio.Event()

        async def refuse(record: StepRecord) -> None:
            if record.state is StepState.CANCELLED:
                raise ConnectionError

        async def hang() -> AttemptResult:
            begun.set()
            await asyncio.Event().wait()
            raise AssertionError

        steps = [step("a"), step("b")]
        script = Script({"a": [hang], "b": [hang]})
        task = asyncio.create_task(Pipeline(steps, script, Services(refuse), key="17").run())
        await begun.wait()
        await ended(task)

    run(cancelling())


def test_a_graph_that_cannot_be_is_refused() -> None:
    """A cycle and a step that does not exist are told in words."""
    with pytest.raises(InputError, match=r"the steps wait for each other: .*a.*b"):
        Pipeline([step("a", "b"), step("b", "a")], Script(), Services(), key="17")
    with pytest.raises(InputError, match=r"step b depends on aa, which does not exist \(did you mean a+\?\)"):
        Pipeline([step("aaa"), step("b", "aa")], Script(), Services(), key="17")


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Step], Script]:
    count = draw(st.integers(1, 8))
    steps: list[Step] = []
    ends: dict[str, list[AttemptResult | Act]] = {}
    no: dict[str, AttemptResult] = {}
    for n in range(count):
        name = f"s{n}"
        before = draw(st.lists(st.sampled_from([f"s{i}" for i in range(n)]), unique=True)) if n else []
        kinds = draw(st.lists(st.sampled_from(list(Outcome)), unique=True))
        steps.append(step(name, *before, continue_on=tuple(kinds), preconditions=ASKED))
        fate = draw(st.sampled_from(["succeeds", "fails", "unmet"]))
        if fate == "fails":
            ends[name] = [failed("no")]
        if fate == "unmet":
            no[name] = AttemptResult(Unmet(), error="no")
    return draw(st.permutations(steps)), Script(ends, no)


@given(graphs())
def test_any_graph_ends_as_its_rules_say(drawn: tuple[list[Step], Script]) -> None:
    """Every step comes to one end, never before those it depends on, and as they and continue_on allow."""
    steps, script = drawn
    end, witness, _ = piped(*steps, script=script)
    states = last(witness)
    ends_at = {record.name: place for place, record in enumerate(witness.records)}
    assert set(states) == {step.name for step in steps}
    for one in steps:
        by_name = {other.name: other for other in steps}
        free = all(
            states[name] is StepState.SUCCEEDED
            or states[name] in [str(kind) for kind in by_name[name].continue_on]
            for name in one.depends
        )
        expected = (
            StepState.SKIPPED
            if not free or one.name in script.unmet
            else StepState.FAILED
            if one.name in script.ends
            else StepState.SUCCEEDED
        )
        assert states[one.name] is expected
        assert all(ends_at[name] < ends_at[one.name] for name in one.depends)
    grave = [
        one for one in steps if states[one.name] is StepState.FAILED and Outcome.FAILED not in one.continue_on
    ]
    assert len(steps) == 1 or isinstance(end.outcome, Failed) is bool(grave)
