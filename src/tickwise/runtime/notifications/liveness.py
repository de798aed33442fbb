"""The sign of life: an address outside is asked for as long as this node's passes come as they should.

Whoever listens there raises the alarm when it stays silent: when passes do not come, the process has died, the
machine is gone or its way out is cut.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...log import get_logger
from ..executors.address import AddressPolicy
from .channels import UndeliveredError, request

_log = get_logger()
_SOON = 5.0  # seconds, to look again whether all is well


@dataclass(frozen=True, slots=True)
class LivenessPing:
    """Says that all is well, or nothing."""

    url: str
    healthy: Callable[[], bool]
    every: float
    addresses: AddressPolicy

    async def turn(self) -> float:
        if not self.healthy():
            return min(self.every, _SOON)
        try:
            await request("GET", self.url, self.addresses)
        except UndeliveredError as error:
            _log.warning("the sign of life did not arrive", error=str(error))
            return min(self.every, _SOON)
        return self.every
