"""How fast Tickwise computes times: `next` of one cron text, and of many schedules at once.

`index` measures the run index, `simulation` the planner.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from math import log

import numpy as np

from tickwise.core.cron import parse
from tickwise.core.cron.batch import next_many

from ..measure import Figures, Progress, best_of, in_ms, in_us
from ..report import Row
from . import cron_peers, index, simulation, workload
from .workload import FULL, QUICK, TimeSize

_LONG_TURNS = 2  # croniter needs about ten seconds for one


def targets(size: TimeSize = FULL) -> dict[str, float]:
    """The required rows. With a peer, the target is the smallest ratio; without, an upper bound."""
    return {
        "next, UTC mix, cronsim": 5,
        "next, UTC mix, croniter": 20,
        "next, Berlin mix, cronsim": 5,
        "next, Berlin mix, croniter": 20,
        f"next of {size.at_once:,} schedules at once": 100,
        f"expand and order {size.hour:,} runs": 10,
        f"expand and order {size.most:,} runs": 10,
        f"memory of {size.most:,} runs, each": 16,
        f"order {size.most:,} unsorted runs": 5,
        f"order {size.most:,} unsorted runs, at most": 70,
        f"order {size.most:,} unsorted runs, from tuples, at most": 200,
        f"order {size.most:,} unsorted runs, from ScheduledRuns, at most": 500,
        f"expand and order {size.most:,} runs every 20 s, at most": 150,
        f"expand and order {size.most:,} runs at distinct seconds, at most": 150,
        f"query, growth from {size.runs[0]:,} to {size.most:,} runs": log(size.most, size.runs[0]),
        f"peek into {size.most:,} runs": 0.3,
        simulation.name(size): 5,
    }


REQUIRED = targets()


def rows(progress: Progress = lambda _: None, quick: bool = False) -> list[Row]:  # noqa: FBT001, FBT002 - as called
    """Measure everything. `quick` is for tests: it measures so little that the figures mean nothing."""
    size = QUICK if quick else FULL
    required = targets(size)
    measured = []
    for what, measure in _MEASURES.items():
        progress(f"measuring {what}")
        for name, ours, unit, peer in measure(size, progress):
            measured.append(Row.of(name, ours, unit, peer=peer, target=required.get(name)))
    return measured


def _measure_next(size: TimeSize, progress: Progress) -> Figures:
    """Parse and step. A mix is the mean over its texts; a single text is compared with its fastest peer."""
    others = cron_peers.installed_walkers(progress)
    for zone, start in workload.ZONES.items():
        parsing = np.mean([_time_parse(size, text, start, others) for text in workload.MIX], axis=0).tolist()
        table = [_time_steps(size, progress, text, start, others) for text in workload.MIX]
        for what, (ours, *theirs) in (("parse", parsing), ("next", np.mean(table, axis=0).tolist())):
            for peer in zip(others, theirs, strict=True):
                yield f"{what}, {zone} mix, {peer[0]}", ours, "µs", peer
        for text, (mine, *rest) in zip(workload.MIX, table, strict=True):
            fastest = min(zip(others, rest, strict=True), key=lambda peer: peer[1], default=None)
            yield f"next, {zone}, {text}", mine, "µs", fastest


def _time_parse(size: TimeSize, text: str, start: datetime, others: dict[str, cron_peers.Walker]) -> list[float]:
    """The µs from a text to something that can be stepped, ours first."""

    def parsing(walker: cron_peers.Walker) -> Callable[[], partial[cron_peers.StepFunction]]:
        return lambda: partial(walker, text, start)

    walkers = cron_peers.tickwise_walker, *others.values()
    return [in_us(one) for one in best_of(size.repeats_for(1), *map(parsing, walkers))]


def _time_steps(
    size: TimeSize, progress: Progress, text: str, start: datetime, others: dict[str, cron_peers.Walker]
) -> list[float]:
    """The µs of a step, ours first; a note says if a peer gives other times."""

    def stepping(walker: cron_peers.Walker) -> Callable[[], partial[list[datetime]]]:
        return lambda: partial(walker(text, start), size.steps)

    timed = best_of(size.repeats_for(size.steps), *map(stepping, (cron_peers.tickwise_walker, *others.values())))
    for name, (_, times) in zip(others, timed[1:], strict=True):
        if times != timed[0].result:
            progress(f"note: {name} gives other times for {text!r} from {start}")
    return [in_us(one, size.steps) for one in timed]


def _measure_next_many(size: TimeSize, progress: Progress) -> Figures:
    given = list(workload.schedules(size.at_once))
    crons = [parse(*schedule) for schedule in given]
    try:
        croniter = cron_peers.croniter_at_once(given, workload.NOW)
    except ImportError as error:
        progress(f"note: many schedules at once are left out, their peer is not installed ({error})")
        return
    ours, theirs = best_of(_LONG_TURNS, lambda: partial(next_many, crons, workload.NOW), croniter)
    if ours.result.tolist() != theirs.result:
        progress("note: croniter gives other times for some of the schedules at once")
    yield f"next of {len(crons):,} schedules at once", in_ms(ours), "ms", ("croniter", in_ms(theirs))


_MEASURES = (  # the longest first, before others have filled the memory
    simulation.MEASURES
    | {"next of one cron text": _measure_next, "many schedules at once": _measure_next_many}
    | index.MEASURES
)
