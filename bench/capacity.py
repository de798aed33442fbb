"""A capacity model: how many runs a second a fleet carries, how many nodes that takes, and the first bottleneck.

The model is arithmetic only. A node is a closed queueing network of two stations, its own processor and the
database, with two batches in flight: while the database works on one, the node decides or executes the other.
Mean value analysis gives its rate: an arriving batch finds as many batches before it as there are on average with
one batch less in flight. On top of that, all nodes share the limits of one database.
"""

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

_BATCHES = 2  # in flight in a node: one is decided while the other is executed and finished


@dataclass(frozen=True, slots=True)
class RunCosts:
    """What one run costs from its slot to its stored end."""

    client: float  # seconds on a node's processor
    server: float  # seconds on the database's processors
    commits: float  # that change something; far below one, since a commit holds a batch


@dataclass(frozen=True, slots=True)
class DatabaseLimits:
    """What one database gives to all nodes."""

    cores: int
    commits: float  # per second
    connections: int  # that it allows
    per_node: int  # connections that one node opens
    shared: bool = False  # the nodes run on the database's cores


class CapacityPlan(NamedTuple):
    """The nodes that carry a rate."""

    nodes: int
    rate: float  # that they carry: the requested one, or the highest possible
    bottleneck: str  # the limit that is reached first: database, commits or connections


def node_rate(costs: RunCosts) -> float:
    """Runs per second of one node that has the database to itself."""
    demands = costs.client, costs.server
    rate, waiting = 0.0, (0.0, 0.0)
    for batches in range(1, _BATCHES + 1):
        times = [demand * (1 + before) for demand, before in zip(demands, waiting, strict=True)]
        rate = batches / sum(times)
        waiting = (rate * times[0], rate * times[1])
    return rate


def limits(costs: RunCosts, database: DatabaseLimits) -> dict[str, float]:
    """The most runs per second that each shared limit allows, however many nodes there are."""
    return {
        "database": database.cores / (costs.server + costs.client * database.shared),
        "commits": database.commits / costs.commits,
        "connections": database.connections // database.per_node * node_rate(costs),
    }


def fleet_rate(nodes: int, costs: RunCosts, database: DatabaseLimits) -> float:
    """Runs per second that this many nodes carry."""
    return min(nodes * node_rate(costs), *limits(costs, database).values())


def plan(rate: float, costs: RunCosts, database: DatabaseLimits) -> CapacityPlan:
    """The nodes for so many runs per second; if that is impossible, those for the highest possible rate."""
    allowed = limits(costs, database)
    bottleneck = min(allowed, key=allowed.__getitem__)
    carried = min(rate, allowed[bottleneck])
    return CapacityPlan(ceil(carried / node_rate(costs)), carried, bottleneck)
