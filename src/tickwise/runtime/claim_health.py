"""Whether the claims of a node succeed. A single one that fails is nothing; none for a while is reported."""

from collections.abc import Callable

from ..clock import monotonic as machine_monotonic


class ClaimHealth:
    """Claims fail if they have failed or been turned away for `patience` seconds, without one that succeeded."""

    def __init__(self, patience: float, monotonic: Callable[[], float] = machine_monotonic) -> None:
        self._patience = patience
        self._monotonic = monotonic
        self._failed_at: float | None = None  # the first of those that have failed in a row
        self.problem = ""  # why claims fail; empty if they succeed

    def succeeded(self) -> None:
        self._failed_at, self.problem = None, ""

    def failed(self, why: str) -> None:
        now = self._monotonic()
        if self._failed_at is None:
            self._failed_at = now
        if now - self._failed_at >= self._patience:
            self.problem = why
