"""How good the model in `capacity` is: one process gives its constants, several are compared with its forecast.

Nodes and database share this machine. A node of the measured fleet is a ticker and a worker; the connections of a
whole node are counted on a busy `tickwise serve`.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from statistics import median

from ..capacity import DatabaseLimits, RunCosts, fleet_rate
from ..measure import Figures, Progress
from ..postgres import database
from ..stores.contender import in_turns
from ..stores.fleet import FleetRound, FleetShape, measure_fleet
from ..stores.node import CONCURRENCY
from .database_limits import WRITERS, DiskUsageNode, measure_limits
from .size import GrowthSize


def figures(server: str, size: GrowthSize, progress: Progress) -> Figures:
    """The constants of the model, and its forecasts beside measured rates."""
    rounds = {count: _measure_rounds(server, count, size, progress) for count in size.processes}
    costs = _median_costs(rounds[size.processes[0]])
    if costs is None:
        progress("note: the forecast is left out, since the database is on another machine")
        return
    progress("counting commits, connections and bytes")
    node = DiskUsageNode(database(server), size.many)
    in_turns(1, [node])
    limits = asyncio.run(measure_limits(server, size.seconds))
    yield "capacity, a run takes of a node's processor", costs.client * 1e6, "µs", None
    yield "capacity, a run takes of the database's processors", costs.server * 1e6, "µs", None
    yield "capacity, a finished run takes of the disk", node.bytes_per_run, "bytes", None
    yield "capacity, runs in a commit", 1 / costs.commits, "runs", None
    yield f"capacity, commits of {WRITERS} connections", limits.commits, "commits/s", None
    yield "capacity, connections of a busy server", limits.per_node, "connections", None
    yield from _compare(rounds, costs, limits)


def _measure_rounds(server: str, count: int, size: GrowthSize, progress: Progress) -> list[FleetRound]:
    progress(f"measuring processes: {count}")
    shape = FleetShape(CONCURRENCY * count, count, share=True)
    return asyncio.run(measure_fleet(server, shape, due=size.many, rounds=size.rounds))


def _median_costs(rounds: Sequence[FleetRound]) -> RunCosts | None:
    """The median over the rounds; None if the database is on another machine."""
    _, client, server, _, commits = zip(*(round_.resources for round_ in rounds), strict=True)
    if None in server:
        return None
    runs = rounds[0].due
    return RunCosts(median(client) / runs, median(server) / runs, median(commits) / runs)


def _compare(rounds: Mapping[int, Sequence[FleetRound]], costs: RunCosts, limits: DatabaseLimits) -> Figures:
    for count, measured in rounds.items():
        rate = max(round_.runs_per_second for round_ in measured)
        forecast = fleet_rate(count, costs, limits)
        name = f"capacity, processes: {count}"
        yield name, rate, "runs/s", ("forecast", forecast)
        yield f"{name}, error of the forecast", abs(forecast / rate - 1) * 100, "%", None
        yield f"{name}, processors taken by others", median(map(_other_load, measured)) * 100, "%", None


def _other_load(round_: FleetRound) -> float:
    """The share of the machine that other processes used; it should be close to zero."""
    seconds, client, server, machine, _ = round_.resources
    return max(0.0, machine - client - (server or 0.0)) / seconds / (os.cpu_count() or 1)
