"""What watches the attempts of a worker from outside; most workers have nothing that does."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from ..stores.records import Lease
from .context import StepRecord
from .executors.result import AttemptResult


class AttemptWatch(Protocol):
    """Watches one attempt."""

    def end(self, result: AttemptResult) -> None:
        """Its result is known."""


class Telemetry(Protocol):
    """Watches attempts. It must not raise."""

    def attempt(self, lease: Lease, caller: str) -> AbstractContextManager[AttemptWatch]:
        """Entered in the context of the attempt's execution; `caller` is the trace that asked for its run."""

    def variables(self) -> Mapping[str, str]:
        """What a program needs to join the trace of its attempt; called in the context of that."""

    def step(self, record: StepRecord) -> None:
        """A step has changed its state; called in the context of its attempt."""

    def flush(self) -> None:
        """Send what was collected; may take seconds."""
