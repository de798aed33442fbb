"""The arithmetic of a fleet: what a node carries, what all nodes share, and what gives in first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.capacity import DatabaseLimits, RunCosts, fleet_rate, limits, node_rate, plan

COSTS = RunCosts(client=100e-6, server=50e-6, commits=0.01)
SITE = DatabaseLimits(cores=4, commits=2_000, connections=100, per_node=5)
seconds = st.floats(1e-6, 1.0)


@given(seconds, seconds)
def test_a_node_overlaps_some_of_its_work(client: float, server: float) -> None:
    """It is faster than one thing after the other, and never faster than the slower of its two stations."""
    rate = node_rate(RunCosts(client, server, 0.01))
    assert 1 / (client + server) < rate < 1 / max(client, server)


@pytest.mark.parametrize(("client", "server", "expected"), [(1.0, 1.0, 2 / 3), (1.0, 0.0, 1.0), (2.0, 1.0, 3 / 7)])
def test_known_rates(client: float, server: float, expected: float) -> None:
    """Two batches at two stations: textbook values of mean value analysis."""
    assert node_rate(RunCosts(client, server, 0.01)) == pytest.approx(expected)


def test_limits_that_nodes_share() -> None:
    """Each limit is a rate: the database's processors, its commits, and the nodes that it has connections for."""
    assert limits(COSTS, SITE) == pytest.approx(
        {"database": 80_000, "commits": 200_000, "connections": 20 * node_rate(COSTS)}
    )


def test_on_one_machine_a_node_takes_from_the_database() -> None:
    """Where they share processors, each run costs both its parts."""
    shared = DatabaseLimits(4, 2_000, 100, 5, shared=True)
    assert limits(COSTS, shared)["database"] == pytest.approx(4 / 150e-6)


def test_more_nodes_carry_more_until_something_gives_in() -> None:
    """The rate grows with the nodes up to the least limit, and stays there."""
    rates = [fleet_rate(nodes, COSTS, SITE) for nodes in (1, 2, 1_000)]
    assert rates == pytest.approx([node_rate(COSTS), 2 * node_rate(COSTS), 80_000])


@pytest.mark.parametrize(
    ("site", "bottleneck"),
    [
        (SITE, "database"),
        (DatabaseLimits(4, 10, 100, 5), "commits"),
        (DatabaseLimits(64, 2_000, 10, 5), "connections"),
    ],
)
def test_the_first_bottleneck(site: DatabaseLimits, bottleneck: str) -> None:
    """A plan names what gives in first, also while there is still room."""
    assert plan(1, COSTS, site).bottleneck == bottleneck


def test_nodes_for_a_rate() -> None:
    """A plan has as few nodes as carry the rate; of a rate that cannot be, it says what can."""
    enough = plan(20_000, COSTS, SITE)
    assert fleet_rate(enough.nodes, COSTS, SITE) >= 20_000 > fleet_rate(enough.nodes - 1, COSTS, SITE)
    most = plan(1e9, COSTS, SITE)
    assert most.rate == fleet_rate(most.nodes, COSTS, SITE) == pytest.approx(80_000)
