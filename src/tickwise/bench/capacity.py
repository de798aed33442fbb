"""How many runs a second a fleet carries, how many nodes that takes, and what gives in first: arithmetic only.

A node is a loop of two stations. It decides, executes and reports with one processor; then the database works, and
the node can go on with its other batch meanwhile. With two batches on the way neither station is ever busy all the
time; how much so is told by mean value analysis: a batch that arrives finds as many before it as there would be on
average with one batch less on the way. Beyond the nodes there are limits that all of them share.
"""

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

_BATCHES = 2  # on the way in a node: one is decided while the other is executed and finished


@dataclass(frozen=True, slots=True)
class Costs:
    """Of one run from its slot to its stored end."""

    client: float  # seconds on a node's processor
    server: float  # seconds on the database's processors
    commits: float  # that change something; far below one, since they hold batches


@dataclass(frozen=True, slots=True)
class Site:
    """What there is."""

    cores: int  # of the database
    commits: float  # a second that its disk takes
    connections: int  # that it allows
    per_node: int  # of those
    shared: bool = False  # nodes run on the database's cores


class Plan(NamedTuple):
    """What carries a rate."""

    nodes: int
    rate: float  # that they carry: what was asked for, or all that there is
    bottleneck: str  # what gives in first when more is asked for: database, commits or connections


def node_rate(costs: Costs) -> float:
    """Runs a second of one node that has the database for itself."""
    demands = costs.client, costs.server
    rate, waiting = 0.0, (0.0, 0.0)
    for batches in range(1, _BATCHES + 1):
        times = [demand * (1 + before) for demand, before in zip(demands, waiting, strict=True)]
        rate = batches / sum(times)
        waiting = (rate * times[0], rate * times[1])
    return rate


def limits(costs: Costs, site: Site) -> dict[str, float]:
    """Runs a second, by what allows no more however many nodes there are."""
    return {
        "database": site.cores / (costs.server + costs.client * site.shared),
        "commits": site.commits / costs.commits,
        "connections": site.connections // site.per_node * node_rate(costs),
    }


def rate_of(nodes: int, costs: Costs, site: Site) -> float:
    """Runs a second that so many nodes carry."""
    return min(nodes * node_rate(costs), *limits(costs, site).values())


def plan(rate: float, costs: Costs, site: Site) -> Plan:
    """The nodes for so many runs a second; for more than can be, those that give the most."""
    each, most = node_rate(costs), limits(costs, site)
    bottleneck = min(most, key=most.__getitem__)
    carried = min(rate, most[bottleneck])
    return Plan(ceil(carried / each), carried, bottleneck)
