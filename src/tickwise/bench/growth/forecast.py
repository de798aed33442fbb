"""Whether `capacity` is right: its constants are measured with one process, its forecast with one and with more.

Nodes and database share this machine. A node of the fleet is a ticker and a worker here; how many connections one
has in earnest is counted of a `tickwise serve` that is busy.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from statistics import median

from ..capacity import Costs, Site, rate_of
from ..measure import Figures, Progress
from ..stores.contender import in_turns
from ..stores.databases import database
from ..stores.fleet import Round, Shape, measured
from ..stores.ours import CONCURRENCY
from .load import Size
from .site import WRITERS, Weighed, site_of


def figures(server: str, size: Size, progress: Progress) -> Figures:
    """What the model is told, and what it makes of that."""
    rounds = {count: _rounds(server, count, size, progress) for count in size.processes}
    costs = _costs(rounds[size.processes[0]])
    if costs is None:
        progress("note: the forecast is left out, since the database is on another machine")
        return
    progress("counting commits, connections and bytes")
    weighed = Weighed(database(server), size.many)
    in_turns(1, [weighed])
    site = asyncio.run(site_of(server, size.seconds))
    yield "capacity, a run takes of a node's processor", costs.client * 1e6, "µs", None
    yield "capacity, a run takes of the database's processors", costs.server * 1e6, "µs", None
    yield "capacity, a finished run takes of the disk", weighed.bytes_per_run, "bytes", None
    yield "capacity, runs in a commit", 1 / costs.commits, "runs", None
    yield f"capacity, commits of {WRITERS} connections", site.commits, "commits/s", None
    yield "capacity, connections of a busy server", site.per_node, "connections", None
    yield from _compared(rounds, costs, site)


def _rounds(server: str, count: int, size: Size, progress: Progress) -> list[Round]:
    progress(f"measuring processes: {count}")
    shape = Shape(CONCURRENCY * count, count, share=True)
    return asyncio.run(measured(server, shape, due=size.many, rounds=size.rounds))


def _costs(rounds: Sequence[Round]) -> Costs | None:
    """The median round's."""
    _, client, server, _, commits = zip(*(each.spent for each in rounds), strict=True)
    if None in server:
        return None
    runs = rounds[0].due
    return Costs(median(client) / runs, median(server) / runs, median(commits) / runs)


def _compared(rounds: Mapping[int, Sequence[Round]], costs: Costs, site: Site) -> Figures:
    for count, found in rounds.items():
        rate, forecast = max(each.runs_per_second for each in found), rate_of(count, costs, site)
        name = f"capacity, processes: {count}"
        yield name, rate, "runs/s", ("forecast", forecast)
        yield f"{name}, error of the forecast", abs(forecast / rate - 1) * 100, "%", None
        yield f"{name}, processors taken by others", median(map(_others, found)) * 100, "%", None


def _others(round_: Round) -> float:
    """The share of the machine that neither the fleet nor its database had; it should be next to nothing."""
    seconds, client, server, machine, _ = round_.spent
    return max(0.0, machine - client - (server or 0.0)) / seconds / (os.cpu_count() or 1)
