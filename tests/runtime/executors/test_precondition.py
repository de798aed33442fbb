"""Preconditions: what says yes, what says no, and what cannot be asked."""

import pytest

from tickwise.core.definition import Action, Command, Precondition, PythonCall
from tickwise.core.settle import Failed, Unmet
from tickwise.runtime.attempt import perform
from tickwise.runtime.executors.preconditions import unmet
from tickwise.runtime.executors.result import AttemptResult

from .place import place, run


def asked(action: Command | PythonCall, expected: str | None = None) -> AttemptResult | None:
    there = place()
    return run(unmet([Precondition(action, expected)], there.context, perform))


def shell(text: str) -> Command:
    return Command(("sh", "-c", text))


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (shell("exit 0"), None),
        (shell("echo ' primary '; echo warning >&2"), "primary"),
        (PythonCall("os:getpid"), None),
        (PythonCall("gc:collect"), None),
        (PythonCall("gc:isenabled"), "true"),
    ],
)
def test_a_yes_lets_it_begin(action: Action, expected: str | None) -> None:
    """An action that succeeds, and prints or returns what is expected, is met."""
    assert isinstance(action, Command | PythonCall)
    assert asked(action, expected) is None


@pytest.mark.parametrize(
    ("action", "expected", "words"),
    [
        (shell("echo why >&2; exit 1"), None, "is not met: exit code 1\nwhy"),
        (shell("echo replica"), "primary", "the answer is 'replica' and not 'primary'"),
        (shell(":"), "primary", "the answer is '' and not 'primary'"),
        (PythonCall("gc:isenabled"), "false", "the answer is 'true' and not 'false'"),
        (PythonCall("sys:is_finalizing"), None, "it returned False"),
        (PythonCall("os:abort"), None, "ended by SIGABRT"),
    ],
)
def test_a_no_skips_it(action: Command | PythonCall, expected: str | None, words: str) -> None:
    """An action that fails, returns False or answers otherwise is not met, and says why."""
    no = asked(action, expected)
    assert no is not None
    assert no.outcome == Unmet()
    assert words in no.error


@pytest.mark.parametrize("action", [Command(("no-such-program",)), PythonCall("no_such_module:f")])
def test_what_cannot_be_asked_is_a_failure(action: Command | PythonCall) -> None:
    """A precondition that cannot be checked fails, so that a typing error does not skip for ever."""
    no = asked(action)
    assert no is not None
    assert no.outcome == Failed()
    assert "cannot be checked" in no.error


def test_the_first_no_is_the_last_question() -> None:
    """After a precondition that is not met no other is asked."""
    there = place()
    asking = [Precondition(shell("echo first; exit 1")), Precondition(shell("echo second"))]
    no = run(unmet(asking, there.context, perform))
    assert no is not None
    assert there.lines == ["first"]
