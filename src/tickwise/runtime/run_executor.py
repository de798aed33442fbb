"""What a worker needs of that which executes its runs: `Execution` does it here, `Watcher` on engines."""

from collections.abc import Coroutine, Iterable
from typing import Any, Protocol

from ..core.requirements import Offers
from ..stores.records import Finish, Lease
from .executors.result import AttemptResult


class RunExecutor(Protocol):
    """Executes runs that a worker has leased, and stores their steps and logs."""

    hands_over: bool  # the work of a run goes on if the worker that leased it stops

    @property
    def offers(self) -> Offers:
        """What it may execute (S46)."""

    def run(self, lease: Lease) -> Coroutine[Any, Any, AttemptResult]:
        """Execute an attempt. Cancelling the coroutine ends it; if it is handed over, only the watch of it."""

    def end(self, run: str) -> None:
        """Have handed-over work ended; `run` returns when that is certain."""

    async def conclude_cancelled(self, lease: Lease, reason: str) -> None:
        """Execute the handlers of a run that a person cancelled."""

    async def flush_turn(self) -> float:
        """Store the steps and logs of active runs; the seconds until the next time."""

    async def flush(self, ended: Iterable[Finish]) -> None:
        """Store those of ended runs, before their ends are stored."""

    def forget(self, run: str, *, stored: bool) -> None:
        """Drop what is kept of a run that the worker no longer holds; whether it has stored the end."""

    async def close(self) -> None: ...
