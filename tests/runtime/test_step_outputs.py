"""What steps hand on (S72), steps that are executed for each item (S73), and secrets by name (S76)."""

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tickwise.core.definition import Command, ForEach, JobDefinition, PythonCall, RetryPolicy, Script, Step
from tickwise.core.read_only_dict import ReadOnlyDict
from tickwise.core.settle import Failed, Succeeded
from tickwise.runtime.attempt import execute
from tickwise.runtime.context import RunContext, StepRecord, StepState
from tickwise.runtime.executors.function import FunctionPool
from tickwise.runtime.executors.result import AttemptResult
from tickwise.runtime.pipeline import DoneSteps
from tickwise.runtime.step_context import Services

from ..support.executors import Timers, Witness, ended, run, until

OF_LIST = ForEach(reference="steps.list.outputs.files")
RUN = RunContext("17", "etl", "etl", 3_600, 0, "schedule")


def attempted(
    *steps: Step, done: Mapping[str, Any] | None = None, **services: Any
) -> tuple[AttemptResult, Witness]:
    witness = Witness()

    async def attempting() -> AttemptResult:
        return await attempt_of(witness, *steps, done=done or {}, **services)

    return run(attempting()), witness


async def attempt_of(witness: Witness, *steps: Step, done: DoneSteps, **services: Any) -> AttemptResult:
    pool = FunctionPool()
    try:
        given = Services(witness.report, witness.log, allow_commands=True, **services)
        return await execute(JobDefinition("etl", steps), RUN, functions={}, pool=pool, services=given, done=done)
    finally:
        pool.close()


def shell(name: str, text: str, *depends: str, **others: Any) -> Step:
    return Step(name, Script(text), depends, **others)


def shows(name: str, reference: str, *depends: str, **others: Any) -> Step:
    """A step that prints what a reference comes to."""
    return Step(name, Command(("printf", "%s\n", reference)), depends, **others)


def last(witness: Witness, name: str) -> StepRecord:
    return [record for record in witness.records if record.name == name][-1]


def hand_on_three(run: Any) -> dict[str, Any]:  # noqa: ARG001
    return {"rows": 3, "files": ["a", "b"]}


def count_rows(run: Any) -> int:
    return int(run.outputs["a"]["rows"]) + 1


@pytest.mark.parametrize(
    ("text", "outputs"),
    [
        ("echo working; echo '{\"rows\": 3, \"ok\": true}'; echo; echo", {"rows": 3, "ok": True}),
        ("printf '{\"rows\": 3}'", {"rows": 3}),
        ("echo '{\"rows\": 3}'; echo done", {}),
        ("echo '[3]'", {}),
        ("echo '{\"rows\": '", {}),
        ("echo '{\"rows\": 3}' >&2", {}),
        ("echo rows=3 >> $TICKWISE_OUTPUT; echo 'note=a = b' >> $TICKWISE_OUTPUT", {"rows": "3", "note": "a = b"}),
        ("echo '{\"r\": [1, null]}' > $TICKWISE_OUTPUT; echo '{\"r\": 2, \"n\": 1}'", {"r": [1, None], "n": 1}),
        ("rm $TICKWISE_OUTPUT; echo '{\"rows\": 3}'", {"rows": 3}),
        ("seq 1 400000; echo '{\"rows\": 3}'", {"rows": 3}),
    ],
)  # fmt: skip
def test_what_a_program_hands_on(text: str, outputs: dict[str, Any]) -> None:
    """S72: a JSON object on the last line of stdout, or lines in the file of TICKWISE_OUTPUT, which go first."""
    end, witness = attempted(shell("a", text))
    assert end == AttemptResult(Succeeded(), outputs or None)
    assert last(witness, "a").outputs == outputs


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("=3", "line 2 .* it has no name"),
        ("rows", "line 2 .* it has no name"),
        ("{rows: 3}", "it is no JSON object"),
    ],
)
def test_a_bad_line_of_the_file_fails_the_step(line: str, problem: str) -> None:
    """S72: what a program writes down for others is not guessed: the error names the line and the two forms."""
    end, _ = attempted(shell("a", f"printf 'ok=1\\n{line}\\n' > $TICKWISE_OUTPUT"))
    assert isinstance(end.outcome, Failed)
    assert re.search(problem, end.error), end.error
    assert "write NAME=text or a JSON object" in end.error


def test_what_fails_hands_nothing_on() -> None:
    """S72: a step that failed has no outputs, whatever it has printed."""
    _, witness = attempted(shell("a", "echo '{\"rows\": 3}'; exit 1"))
    assert last(witness, "a").outputs == {}


def test_later_steps_refer_to_outputs() -> None:
    """S72: references stand in arguments and variables; a text is filled in as it is, all else as JSON."""
    end, witness = attempted(
        Step("a", PythonCall("tests.runtime.test_step_outputs:hand_on_three")),
        shows("rows", "${steps.a.outputs.rows}", "a"),
        shell("files", "echo $FILES", "rows", env=ReadOnlyDict({"FILES": "are ${steps.a.outputs.files}"})),
        Step("next", PythonCall("tests.runtime.test_step_outputs:count_rows"), ("files",)),
        shows("result", "${steps.next.outputs.result}", "next"),
    )
    assert end.succeeded, end.error
    assert witness.said() == ["3", 'are ["a", "b"]', "4"]


def test_an_output_that_is_not_there_fails_the_step() -> None:
    """S72: a reference to nothing is an error of the step that has it, and not an empty text."""
    end, _ = attempted(shell("a", "echo '{\"rows\": 3}'"), shows("b", "${steps.a.outputs.row}", "a"))
    assert end.error == "step b: there is no value for ${steps.a.outputs.row} (did you mean steps.a.outputs.rows?)"


def test_too_much_is_not_handed_on() -> None:
    """S72: 64 KiB for each value, 1 MiB for a run; what is more is left out, and the log says so."""
    big = 'printf \'{"a": "%065000d"}\\n\' 0'
    end, witness = attempted(
        shell("large", 'printf \'{"big": "%070000d", "small": 1}\\n\' 0'),
        *(shell(f"s{n}", big) for n in range(17)),
    )
    assert end.succeeded
    assert last(witness, "large").outputs == {"small": 1}
    notes = witness.said("tickwise")
    assert [note for note in notes if "output big is not handed on: it has more than 65,536 bytes" in note]
    kept = [n for n in range(17) if last(witness, f"s{n}").outputs]
    assert len(kept) == 16
    assert [note for note in notes if "the 1,048,576 bytes that a run may hand on" in note]


def test_each_item_is_executed() -> None:
    """S73: a step with foreach is executed once for each item, which has a name, a log and a record of its own."""
    name = ReadOnlyDict({"NAME": "${item.name}"})
    end, witness = attempted(
        shows("a", "${item}", foreach=ForEach(("eu", {"name": "us", "size": 2}))),
        shell("b", "echo $TICKWISE_ITEM; echo $NAME", foreach=ForEach(({"name": "x"},)), env=name),
    )  # fmt: skip
    assert end.succeeded, end.error
    said = {(step, line) for step, stream, line in witness.lines if stream == "stdout"}
    assert said == {
        ("a[0]", "eu"),
        ("a[1]", '{"name": "us", "size": 2}'),
        ("b[0]", '{"name": "x"}'),
        ("b[0]", "x"),
    }
    assert witness.states("a") == witness.states("a[0]") == [StepState.RUNNING, StepState.SUCCEEDED]


def test_items_come_from_an_output_and_are_gathered() -> None:
    """S73: the items may be an output; what they hand on is a list for each name, in their order."""
    end, witness = attempted(
        shell("list", "echo '{\"files\": [\"b\", \"a\", \"c\"]}'"),
        shell("size", 'echo "{\\"file\\": \\"$TICKWISE_ITEM\\"}"', "list", foreach=OF_LIST),
        shows("all", "${steps.size.outputs.file}", "size"),
    )  # fmt: skip
    assert end.succeeded, end.error
    assert json.loads(witness.said()[-1]) == ["b", "a", "c"]
    assert last(witness, "size").outputs == {"file": ["b", "a", "c"]}


def test_a_list_that_is_too_large_is_not_handed_on() -> None:
    """S72, S73: what all items hand on is bounded as any value is; the step was done, and its log says so."""
    each = ForEach(tuple(range(40)), max_parallel=8)
    end, witness = attempted(shell("a", 'printf \'{"big": "%02000d", "n": 1}\' 0', foreach=each))
    assert end.succeeded
    assert last(witness, "a").outputs == {"n": [1] * 40}
    assert last(witness, "a[39]").outputs == {"big": "0" * 2_000, "n": 1}
    assert "the output big is not handed on" in witness.said("tickwise")[0]


@pytest.mark.parametrize(
    ("printed", "problem"),
    [
        ('{"files": "a b"}', "is a text: it takes a JSON list"),
        ('{"file": []}', "is nothing: it takes a JSON list"),
        ('{"files": [1, null]}', "has null at place 1"),
    ],
)
def test_items_that_are_no_list(printed: str, problem: str) -> None:
    """S73: items that cannot be any fail the step, and the error names the output."""
    end, witness = attempted(
        shell("list", f"echo '{printed}'"),
        shell("size", "true", "list", foreach=OF_LIST),
    )
    assert problem in end.error
    assert "${steps.list.outputs.files}" in end.error
    assert last(witness, "size").state is StepState.FAILED


def test_no_items_are_a_success() -> None:
    """S73: an empty list is executed zero times, and what depends on the step goes on."""
    end, witness = attempted(
        shell("list", "echo '{\"files\": []}'"),
        shell("size", "exit 1", "list", foreach=OF_LIST),
        shell("after", "echo after", "size"),
    )
    assert end.succeeded
    assert witness.said()[-1] == "after"


def test_an_item_that_fails_does_not_stop_the_others() -> None:
    """S73: each item has tries of its own; the step fails if one does, names it, and hands nothing on."""
    retry, each = RetryPolicy(limit=1, interval=1, jitter=0), ForEach(("good", "bad", "fine"), max_parallel=1)
    end, witness = attempted(
        shell("a", "echo try; test $TICKWISE_ITEM != bad", foreach=each, retry=retry),
        shell("after", "true", "a"),
        sleep=_no_wait,
    )  # fmt: skip
    assert end.error.startswith("step a: step a[1]: exit code 1")
    assert [(step, line) for step, stream, line in witness.lines if stream == "stdout"] == [
        ("a[0]", "try"), ("a[1]", "try"), ("a[1]", "try"), ("a[2]", "try"),
    ]  # fmt: skip
    assert last(witness, "a[2]").state is StepState.SUCCEEDED
    assert last(witness, "after").state is StepState.SKIPPED


def test_items_that_succeeded_are_not_repeated() -> None:
    """S73, S72: the next attempt executes the items that had failed, and has what the others handed on."""
    done = {"list": {"files": ["a", "b"]}, "size[0]": {"n": 7}}
    end, witness = attempted(
        shell("list", "exit 1"),
        shell("size", "echo '{\"n\": 8}'", "list", foreach=OF_LIST),
        done=done,
    )
    assert end.succeeded, end.error
    assert witness.states("size[0]") == []
    assert last(witness, "size").outputs == {"n": [7, 8]}


def test_at_most_so_many_items_at_once(tmp_path: Path) -> None:
    """S73: max_parallel holds: the third item begins only when one of the first two has ended."""
    step = shell(
        "a", 'touch "$TICKWISE_ITEM"; while test ! -e go; do sleep 0.01; done',
        foreach=ForEach(("a", "b", "c"), max_parallel=2), dir=str(tmp_path),
    )  # fmt: skip
    witness = Witness()

    async def watching() -> AttemptResult:
        task = asyncio.create_task(attempt_of(witness, step, done={}))
        await until(lambda: (tmp_path / "a").exists() and (tmp_path / "b").exists())
        assert witness.states("a[2]") == []
        (tmp_path / "go").touch()
        return await task

    assert run(watching()).succeeded
    assert (tmp_path / "c").exists()


def test_cancelling_ends_all_items() -> None:
    """S73: if the run is cancelled, every item ends, and its record says so."""
    witness, timers = Witness(), Timers()

    async def cancelling() -> None:
        step = shell("a", "sleep 600", foreach=ForEach(("x", "y")))
        task = asyncio.create_task(attempt_of(witness, step, done={}, sleep=timers.sleep))
        await until(lambda: bool(witness.states("a[0]") and witness.states("a[1]")))
        await ended(task)

    run(cancelling())
    assert last(witness, "a[0]").state is last(witness, "a[1]").state is StepState.CANCELLED


async def _no_wait(_seconds: float) -> None:
    pass
