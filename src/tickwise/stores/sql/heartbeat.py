"""A node's heartbeat: that it lives and what it serves, and the leases that it renews, in one transaction.

One write lock and one sync to disk for both. So a node that gets its turn once in a while, beside busy writers,
loses neither.
"""

from collections.abc import Mapping

from ..records import Node, Renewed
from .definitions import DefinitionCache
from .fleet import beat as record
from .lease import renew
from .statement import Procedure


def beat(
    definitions: DefinitionCache, node: Node, held: Mapping[int, str], lease: int, *, passed: bool
) -> Procedure[Renewed]:
    asked_to_end = yield from record(node, passed=passed)
    renewed = yield from renew(definitions, node.id, held, lease)
    return renewed._replace(cancel=renewed.cancel | asked_to_end)
