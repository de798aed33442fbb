"""`tickwise runs approve` and `reject`: a person answers a step that waits (S75)."""

import json

import pytest

from tickwise import Tickwise

from ..support.cli import Filled
from .conftest import Command


@pytest.fixture
def run(filled: Filled) -> str:
    """A run that waits for an approval."""
    with Tickwise(filled.url, allow_commands=True) as tw:
        steps = [{"name": "ok", "approve": "operator"}, {"name": "ship", "depends": "ok", "command": "true"}]
        tw.schedules.add("release", schedule="@yearly", steps=steps)
        made: str = tw.enqueue("release").id
        tw.drain()
    return made


def test_an_approval(command: Command, run: str) -> None:
    """S75: `runs show` says what is waited for and how to answer; the answer says what it was."""
    shown = command("runs", "show", run)[1]
    assert "waits for approval (operator) since" in shown
    assert f"tickwise runs approve {run} ok" in shown
    assert f"release, run {run}, step ok waits for an approval by an operator" in command("status")[1]
    assert f"tickwise runs approve {run} ok" in command("status")[1]
    code, said, _ = command("runs", "approve", run, "--reason", "go")
    assert (code, f"The step ok of run {run} is approved." in said) == (0, True)
    code, _, complaint = command("runs", "reject", run, "ok")
    assert (code, "the step ok of run" in complaint, ": go, at " in complaint) == (1, True, True)
    kept = command("audit", "--subject", run)[1]
    assert "run.approve" in kept


def test_a_rejection(command: Command, run: str) -> None:
    """S75: with `--json` it is the API's own answer; a step that does not wait is refused."""
    code, _, complaint = command("runs", "reject", run, "ship")
    assert (code, "does not wait for an approval" in complaint) == (1, True)
    code, said, _ = command("runs", "reject", run, "ok", "--reason", "no", "--json")
    given = json.loads(said)
    assert (code, given["answer"], given["step"], given["reason"]) == (0, "reject", "ok", "no")
