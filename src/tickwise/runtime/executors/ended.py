"""How an attempt or a step ended, and how the word of a function becomes that."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...core.payload import clip
from ...core.settle import Cancelled, Failed, Outcome, Snoozed, Succeeded
from .failure import LONGEST_ERROR, failure_text
from .result import why_not_kept
from .wish import Wish


@dataclass(frozen=True, slots=True)
class Ended:
    """An outcome, with what it returned or why it is not a success."""

    outcome: Outcome
    result: Any = None  # JSON
    error: str = ""

    def __post_init__(self) -> None:
        if self.error:
            object.__setattr__(self, "error", clip(self.error, LONGEST_ERROR))

    @property
    def succeeded(self) -> bool:
        return isinstance(self.outcome, Succeeded)


def failed(error: str) -> Ended:
    return Ended(Failed(), error=error)


_RETURNED_NOTHING = Ended(Succeeded())


def returned(value: Any, warn: Callable[[str], None]) -> Ended:
    """What a function's return value means; one that is not JSON is kept as no result, with a warning."""
    if value is None:
        return _RETURNED_NOTHING
    if isinstance(value, Wish):
        return wished(value.kind, value.seconds, value.reason)
    if problem := why_not_kept(value):
        warn(problem)
        return Ended(Succeeded())
    return Ended(Succeeded(), value)


def raised(error: BaseException) -> Ended:
    """What an exception means."""
    if isinstance(error, Wish):
        return wished(error.kind, error.seconds, error.reason)
    return failed(failure_text(error))


def wished(kind: str, seconds: int | None, reason: str) -> Ended:
    """What a wish comes to."""
    match kind:
        case "snooze":
            return Ended(Snoozed(seconds or 0), error=reason)
        case "cancel":
            return Ended(Cancelled(), error=reason or "it asked to be cancelled")
        case _:
            return Ended(Failed(seconds), error=reason or "it asked to be tried again")
