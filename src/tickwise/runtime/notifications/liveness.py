"""The liveness ping: requests a URL outside as long as this node is healthy.

A monitor there raises an alarm when the pings stop: passes do not complete, the process has died, the machine is
down or its network is cut off.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ...log import get_logger
from ..executors.address import AddressPolicy
from .channels import UndeliveredError, request

_log = get_logger()
_RETRY_DELAY = 5.0  # seconds, if the node is not healthy or a ping did not arrive


@dataclass(frozen=True, slots=True)
class LivenessPing:
    """Pings while the node is healthy."""

    url: str
    healthy: Callable[[], bool]
    every: float
    addresses: AddressPolicy

    async def turn(self) -> float:
        if not self.healthy():
            return min(self.every, _RETRY_DELAY)
        try:
            await request("GET", self.url, self.addresses)
        except UndeliveredError as error:
            _log.warning("the liveness ping did not arrive", error=str(error))
            return min(self.every, _RETRY_DELAY)
        return self.every
