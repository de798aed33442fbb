"""A node's heartbeat: that it lives and what it serves, and the leases that it renews.

Everything is sent at once and takes the time from the server that executes it, so a beat is one round trip over a
slow network. A second one is needed only when a node is new, or a run that it held is not its own any longer.
"""

import asyncio
from collections.abc import Mapping

from ..records import Node, Renewed
from .base import Mongo
from .fleet import record_alive
from .lease import renew


async def beat(mongo: Mongo, node: Node, held: Mapping[int, str], lease: int, *, passed: bool) -> Renewed:
    renewed = asyncio.ensure_future(renew(mongo, node.id, held, lease))
    _, seen = await asyncio.gather(renewed, record_alive(mongo, node, passed=passed))
    return renewed.result()._replace(seen_at=seen["seen_at"], seen_before=seen.get("seen_before", 0))
