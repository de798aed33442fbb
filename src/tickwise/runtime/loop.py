"""The loop of every long-running role: turn after turn, each returning the delay until the next.

A turn that fails is tried again after a growing delay; no exception ends the role. A wake-up cuts a delay short,
but not the delay after a failure. All roles of a node fail when the store does not answer, so they share a
log that names a cause once, again after a minute, and says when it is over.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from ..clock import monotonic
from ..log import get_logger
from ..stores.contract import StoreUnavailableError

T = TypeVar("T")
Turn: TypeAlias = Callable[[], Awaitable[float]]  # returns the seconds until the next
OnError: TypeAlias = Callable[[str, Exception], None]
_FIRST_BACK_OFF, _MAX_BACK_OFF = 0.2, 5.0
_LOG_AGAIN = 60.0  # seconds before a cause that lasts is logged again
_log = get_logger()


async def together(several: Iterable[Awaitable[T]]) -> list[T]:
    """Await all of them concurrently; an exception of one is raised when all have ended."""
    results = []
    for ended in await asyncio.gather(*several, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended
        results.append(ended)
    return results


@dataclass
class _Outage:
    """One cause of failures: since when, when it is logged again, and the roles that it affects."""

    since: float
    log_at: float
    roles: set[str] = field(default_factory=set)


class FailureLog:
    """Logs a cause once for all roles that it affects, and once when the last of them works again."""

    def __init__(self) -> None:
        self._outages: dict[str, _Outage] = {}

    def failed(self, role: str, error: Exception, delay: float) -> None:
        unavailable = isinstance(error, StoreUnavailableError)
        cause = "the store did not answer" if unavailable else f"{type(error).__name__}: {error}"
        now = monotonic()
        outage = self._outages.setdefault(cause, _Outage(since=now, log_at=now))
        outage.roles.add(role)
        if now >= outage.log_at:
            outage.log_at = now + _LOG_AGAIN
            _log.warning("turn failed", role=role, error=str(error), kind=type(error).__name__, again_in=delay)

    def succeeded(self, role: str) -> None:
        """A role that failed works again."""
        for cause, outage in list(self._outages.items()):
            outage.roles.discard(role)
            if not outage.roles:
                del self._outages[cause]
                _log.info("works again", after=f"{monotonic() - outage.since:.1f} s", cause=cause)


class Loop:
    """One role. Setting its wake event asks for a turn now."""

    def __init__(
        self,
        name: str,
        turn: Turn,
        on_error: OnError | None = None,
        wake_event: asyncio.Event | None = None,
        failure_log: FailureLog | None = None,
    ) -> None:
        self.name = name
        self._turn = turn
        self._on_error = on_error
        self._failure_log = failure_log or FailureLog()
        self._wake_event = wake_event or asyncio.Event()
        self.failures = 0  # in a row
        self.turned_at: float | None = None  # when a turn last succeeded, by the monotonic clock

    def wake(self) -> None:
        self._wake_event.set()

    async def run(self, stop: asyncio.Event) -> None:
        ending = asyncio.ensure_future(stop.wait())
        try:
            while not stop.is_set():
                self._wake_event.clear()
                await self._rest(await self._safe_turn(), ending)
        finally:
            ending.cancel()

    async def _safe_turn(self) -> float:
        try:
            delay = await self._turn()
        except Exception as error:  # noqa: BLE001  (whatever it is, the role continues)
            self.failures += 1
            delay = min(_FIRST_BACK_OFF * 2 ** min(self.failures - 1, 20), _MAX_BACK_OFF)
            self._failure_log.failed(self.name, error, delay)
            if self._on_error:
                self._on_error(self.name, error)
        else:
            if self.failures:
                self._failure_log.succeeded(self.name)
            self.failures, self.turned_at = 0, monotonic()
        return delay

    async def _rest(self, delay: float, ending: "asyncio.Future[Any]") -> None:
        waking = asyncio.ensure_future(self._wake_event.wait())
        try:
            await asyncio.wait(
                (ending,) if self.failures else (waking, ending),
                timeout=delay,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            waking.cancel()
