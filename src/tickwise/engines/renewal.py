"""Says again and again that work is alive, and finds out when it cannot.

Work that gives no sign of life for the time of its lease counts as dead, and another attempt may begin. So work
that could not renew for two thirds of it must stop by itself (S42): then nobody has to fear it. One thread sends,
another looks at the clock, because a request may hang. Neither needs the loop in which the work runs.
"""

from collections.abc import Callable
from threading import Event, Thread
from typing import NamedTuple, Self

from ..clock import monotonic
from ..core.errors import TickwiseError
from ..log import get_logger
from .attempt_client import AttemptClient, AttemptRefusedError

_log = get_logger()
_EVERY, _TIMEOUT, _LATE, _DEAD = 1 / 6, 1 / 3, 2 / 3, 5 / 6  # of a lease
_RETRY_DELAY = 1.0  # seconds after a sign of life that was not answered
_LOOKS = 100  # at the clock, in the time of a lease


class RenewalCallbacks(NamedTuple):
    """What the renewal tells, each from a thread of its own."""

    on_cancel: Callable[[], None]  # the run was asked to end
    on_refused: Callable[[], None]  # the attempt is not this work's any more
    on_late: Callable[[], None]  # nothing could be renewed for two thirds of the lease
    on_dead: Callable[[], None]  # the same for five sixths: the last moment to end the process


class Renewal:
    """A context: renews while its block runs."""

    def __init__(
        self, client: AttemptClient, callbacks: RenewalCallbacks, *, lease: float, good_at: float
    ) -> None:
        self._client = client
        self._callbacks = callbacks
        self._lease = lease
        self._good_at = good_at  # when the last sign of life that was answered had been sent
        self._stop = Event()

    def __enter__(self) -> Self:
        for target in (self._renew, self._watch):
            Thread(target=target, name="tickwise-renewal", daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()

    def _renew(self) -> None:
        """Send until the block ends, or the attempt is another's."""
        delay = 0.0
        while not self._stop.wait(delay):
            sent_at = monotonic()
            try:
                is_cancelled = self._client.alive(self._lease * _TIMEOUT)
            except AttemptRefusedError as refusal:
                _log.warning("the attempt is not ours any more", error=str(refusal))
                self._callbacks.on_refused()
                return
            except TickwiseError as error:
                _log.warning("cannot renew", error=str(error))
                delay = min(_RETRY_DELAY, self._lease * _EVERY)
                continue
            self._good_at, delay = sent_at, self._lease * _EVERY
            if is_cancelled:
                self._callbacks.on_cancel()

    def _watch(self) -> None:
        for share, callback in ((_LATE, self._callbacks.on_late), (_DEAD, self._callbacks.on_dead)):
            while monotonic() - self._good_at < self._lease * share:
                if self._stop.wait(self._lease / _LOOKS):
                    return
            callback()
