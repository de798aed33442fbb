"""What must hold before a run or a step: actions that are asked, not believed.

A program that exits with an error, a function that raises or returns False, or an answer other than the expected
say no. What cannot be asked at all (a program that is missing) is a failure: it must not look like a no for ever.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from ...core.definition import Action, Command, Precondition, PythonCall
from ...core.errors import InputError
from ...core.settle import Unmet
from ..context import as_text
from ..step_context import StepContext
from .log import OUT, Sink
from .result import AttemptResult, failed

Perform: TypeAlias = Callable[[Action, StepContext], Awaitable[AttemptResult]]
_LONGEST_ANSWER = 65_536


async def unmet(
    preconditions: Sequence[Precondition], here: StepContext, perform: Perform
) -> AttemptResult | None:
    """How it ends because of the first that is not met; none if all are."""
    for precondition in preconditions:
        heard = _Heard(here.log)
        asked = _in_words(precondition.action)
        try:
            ended = await perform(precondition.action, replace(here, log=heard))
        except InputError as error:
            return failed(f"the precondition {asked} cannot be checked: {error}")
        if problem := _problem(precondition, ended, heard):
            return AttemptResult(Unmet(), error=f"the precondition {asked} is not met: {problem}")
    return None


class _Heard:
    """Keeps the beginning of what is printed, and passes everything on."""

    def __init__(self, log: Sink) -> None:
        self.data = b""
        self.say = log.say
        self.caution = log.caution
        self._feed = log.feed

    def feed(self, stream: str, data: bytes) -> None:
        if stream == OUT:
            self.data += data[: _LONGEST_ANSWER - len(self.data)]
        self._feed(stream, data)


def _problem(precondition: Precondition, ended: AttemptResult, heard: _Heard) -> str:
    if not ended.succeeded:
        return ended.error
    if ended.result is False:
        return "it returned False"
    printed = heard.data.decode("utf-8", "replace").strip()
    answer = printed if ended.result is None else as_text(ended.result)
    if precondition.expected is None or answer == precondition.expected.strip():
        return ""
    return f"the answer is {answer[:200]!r} and not {precondition.expected!r}"


def _in_words(action: Command | PythonCall) -> str:
    return repr(" ".join(action.arguments) if isinstance(action, Command) else action.target)
