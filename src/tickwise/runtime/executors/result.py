"""The result of an attempt or a step, and the signals by which a function asks for another one than success.

A function may return a signal (`Retry`, `Cancel`, `Snooze`), or raise it at any depth: signals are exceptions. The
child process imports this module, so it stays light.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...core.errors import InputError
from ...core.payload import clip, encode
from ...core.settle import Cancelled, Failed, Outcome, Snoozed, Succeeded
from ...core.timeparse import parse_duration
from .failure import MAX_ERROR_LENGTH, MAX_RAISED, failure_text

if TYPE_CHECKING:  # it is not for the child process
    from ...core.redaction import Redactor
    from ...core.step_waits import StepWait


class Signal(Exception):  # noqa: N818 (a signal is no error)
    """The base of the three signals."""

    kind: ClassVar[str]
    seconds: int | None = None
    reason: str = ""


class Retry(Signal):
    """Count this attempt as failed, and try again after this time if tries are left.

    Without a time the job's retry policy says when.
    """

    kind = "retry"

    def __init__(self, after: str | float | None = None, reason: str = "") -> None:
        super().__init__(after, str(reason))
        self.seconds = None if after is None else _whole_seconds(after)
        self.reason = str(reason)


class Cancel(Signal):
    """End the run as cancelled; it is not tried again."""

    kind = "cancel"

    def __init__(self, reason: str = "") -> None:
        super().__init__(str(reason))
        self.reason = str(reason)


class Snooze(Signal):
    """Run it again after this time; that is no failure and uses up no try."""

    kind = "snooze"

    def __init__(self, for_: str | float, reason: str = "") -> None:
        super().__init__(for_, str(reason))
        self.seconds = _whole_seconds(for_)
        self.reason = str(reason)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """An outcome, with the function's result, or with the error if it is no success."""

    outcome: Outcome
    result: Any = None  # JSON
    error: str = ""
    wait: "StepWait | None" = None  # what the step waits for, or has waited for (S74)

    @property
    def succeeded(self) -> bool:
        return isinstance(self.outcome, Succeeded)

    def kept(self, redactor: "Redactor") -> "AttemptResult":
        """What is kept of it: without secrets, and with an error of limited length."""
        error, result = self.error, redactor.value(self.result)
        if result != self.result and (problem := why_not_kept(result)):
            error, result = f"{error}\n{problem}".lstrip(), None
        return AttemptResult(self.outcome, result, clip(redactor.text(error), MAX_ERROR_LENGTH), self.wait)


RETURNED_NOTHING = AttemptResult(Succeeded())


def failed(error: str) -> AttemptResult:
    return AttemptResult(Failed(), error=error)


def returned(value: Any, warn: Callable[[str], None]) -> AttemptResult:
    """The result of a call that returned this. A value that is not JSON is dropped, with a warning."""
    if value is None:
        return RETURNED_NOTHING
    if isinstance(value, Signal):
        return signalled(value.kind, value.seconds, value.reason)
    if problem := why_not_kept(value):
        warn(problem)
        return AttemptResult(Succeeded())
    return AttemptResult(Succeeded(), value)


def raised(error: BaseException) -> AttemptResult:
    """The result of a call that raised this."""
    if isinstance(error, Signal):
        return signalled(error.kind, error.seconds, error.reason)
    return failed(failure_text(error, MAX_RAISED))


def signalled(kind: str, seconds: int | None, reason: str) -> AttemptResult:
    """The result of a call that ended with a signal."""
    match kind:
        case "snooze":
            return AttemptResult(Snoozed(seconds or 0), error=reason)
        case "cancel":
            return AttemptResult(Cancelled(), error=reason or "it asked to be cancelled")
        case _:
            return AttemptResult(Failed(seconds), error=reason or "it asked to be tried again")


def why_not_kept(value: Any) -> str | None:
    """Why a returned value cannot be kept as a result; none if it can."""
    try:
        encode(value, "the result")
    except InputError as problem:
        return f"no result is kept: {problem}"
    return None


def _whole_seconds(time: str | float) -> int:
    if isinstance(time, str):
        return parse_duration(time)
    if not 0 <= time < math.inf:
        raise InputError(f"{time!r} is no time to wait: give seconds, or a text such as 90s or 15m")
    return math.ceil(time)
