"""A node's heartbeat: that it lives and what it serves, and the leases that it renews.

Neither needs the other, so they are written at the same time: over a slow network the whole takes three round
trips.
"""

import asyncio
from collections.abc import Mapping

from ..records import Node, Renewed
from .base import Mongo
from .fleet import record_alive
from .lease import renew


async def beat(mongo: Mongo, node: Node, held: Mapping[int, str], lease: int, *, passed: bool) -> Renewed:
    now = await mongo.now()
    recorded, renewed = record_alive(mongo, node, now, passed=passed), renew(mongo, node.id, held, lease, now)
    asked_to_end, answer = await asyncio.gather(recorded, renewed)
    return Renewed(answer.held, answer.cancel | asked_to_end, answer.unknown)
