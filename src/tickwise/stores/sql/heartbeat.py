"""A node's heartbeat: that it lives and what it serves, and the leases that it renews, in one transaction.

One write lock and one sync to disk for both. So a node that gets its turn once in a while, beside busy writers,
loses neither.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ..records import Node, Renewed
from .definitions import DefinitionCache
from .fleet import record_alive
from .lease import renew
from .statement import Procedure


class Beat(NamedTuple):
    """What came of a beat."""

    renewed: Renewed
    is_new: bool  # its worker has come alive, or offers something else than before


def beat(
    definitions: DefinitionCache, node: Node, held: Mapping[int, str], lease: int, *, passed: bool
) -> Procedure[Beat]:
    alive = yield from record_alive(node, passed=passed)
    renewed = yield from renew(definitions, node.id, held, alive.now, lease)
    return Beat(renewed._replace(seen_at=alive.now, seen_before=alive.seen_before), alive.is_new)
