"""Preconditions of a run or a step.

A precondition is not met if its program exits with an error, its function raises or returns False, or its answer
is not the expected one. If it cannot be checked at all (the program is missing), that is a failure: otherwise it
would look unmet for ever.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from ...core.definition import Action, Command, Precondition, PythonCall
from ...core.errors import InputError
from ...core.redaction import Redactor
from ...core.settle import Unmet
from ..context import as_text
from ..step_context import StepContext
from .log import OUT, Sink
from .result import AttemptResult, failed

Perform: TypeAlias = Callable[[Action, StepContext], Awaitable[AttemptResult]]
_MAX_ANSWER = 65_536  # bytes


async def unmet(
    preconditions: Sequence[Precondition], context: StepContext, perform: Perform
) -> AttemptResult | None:
    """The result for the first precondition that is not met; none if all are met."""
    for precondition in preconditions:
        output = _Capture(context.log)
        text = _describe(precondition.action)
        try:
            ended = await perform(precondition.action, replace(context, log=output))
        except InputError as error:
            return failed(f"the precondition {text} cannot be checked: {error}")
        if problem := _problem(precondition, ended, output, context.services.redactor):
            return AttemptResult(Unmet(), error=f"the precondition {text} is not met: {problem}")
    return None


class _Capture:
    """A log that keeps the beginning of the output, and passes everything on."""

    def __init__(self, log: Sink) -> None:
        self.data = b""
        self.write_note = log.write_note
        self.write_warning = log.write_warning
        self._feed = log.feed

    def feed(self, stream: str, data: bytes) -> None:
        if stream == OUT:
            self.data += data[: _MAX_ANSWER - len(self.data)]
        self._feed(stream, data)


def _problem(precondition: Precondition, ended: AttemptResult, output: _Capture, redactor: Redactor) -> str:
    if not ended.succeeded:
        return ended.error
    if ended.result is False:
        return "it returned False"
    printed = output.data.decode("utf-8", "replace").strip()
    answer = printed if ended.result is None else as_text(ended.result)
    if precondition.expected is None or answer == precondition.expected.strip():
        return ""
    return f"the answer is {redactor.text(answer)[:200]!r} and not {precondition.expected!r}"


def _describe(action: Command | PythonCall) -> str:
    return repr(" ".join(action.arguments) if isinstance(action, Command) else action.target)
