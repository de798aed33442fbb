"""How every long-running role lives: turn after turn, each saying when the next is due.

A turn that fails is tried again after a while that grows; nothing that it raises ends the role. A ring cuts a wait
short, but not the pause after a failure.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from ..clock import monotonic
from ..log import get_logger

T = TypeVar("T")
Turn: TypeAlias = Callable[[], Awaitable[float]]  # returns the seconds until the next
OnError: TypeAlias = Callable[[str, Exception], None]
_FIRST_BACK_OFF, _LONGEST_BACK_OFF = 0.2, 5.0
_log = get_logger()


async def together(several: Iterable[Awaitable[T]]) -> list[T]:
    """All of them at once; what one of them raises is raised when all have ended."""
    results = []
    for ended in await asyncio.gather(*several, return_exceptions=True):
        if isinstance(ended, BaseException):
            raise ended
        results.append(ended)
    return results


class Loop:
    """One role. Whoever sets its bell asks for a turn now."""

    def __init__(
        self, name: str, turn: Turn, on_error: OnError | None = None, bell: asyncio.Event | None = None
    ) -> None:
        self.name = name
        self._turn = turn
        self._on_error = on_error
        self._bell = bell or asyncio.Event()
        self.failures = 0  # in a row
        self.turned_at: float | None = None  # when a turn last ended well, by the steady clock

    def ring(self) -> None:
        self._bell.set()

    async def run(self, stop: asyncio.Event) -> None:
        ending = asyncio.ensure_future(stop.wait())
        try:
            while not stop.is_set():
                self._bell.clear()
                await self._rest(await self._safe_turn(), ending)
        finally:
            ending.cancel()

    async def _safe_turn(self) -> float:
        try:
            delay = await self._turn()
        except Exception as error:  # noqa: BLE001  (whatever it is, the role goes on)
            self.failures += 1
            delay = min(_FIRST_BACK_OFF * 2 ** min(self.failures - 1, 20), _LONGEST_BACK_OFF)
            _log.warning(
                "turn failed", role=self.name, error=str(error), kind=type(error).__name__, again_in=delay
            )
            if self._on_error:
                self._on_error(self.name, error)
        else:
            self.failures, self.turned_at = 0, monotonic()
        return delay

    async def _rest(self, delay: float, ending: "asyncio.Future[Any]") -> None:
        ringing = asyncio.ensure_future(self._bell.wait())
        try:
            await asyncio.wait(
                (ending,) if self.failures else (ringing, ending),
                timeout=delay,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            ringing.cancel()
