"""How fast times are found: `next` of one cron text and of many at once.

`index` adds how fast they are kept, `simulation` how fast they are decided.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from math import log

import numpy as np

from ..core.cron import parse
from ..core.cron.batch import next_many
from . import index, load, peers, simulation
from .load import FULL, QUICK, Size
from .measure import Figures, Progress, best_of, in_ms, in_us
from .report import Row

_LONG_TURNS = 2  # croniter needs about ten seconds for one


def targets(size: Size = FULL) -> dict[str, float]:
    """The rows that are owed. Beside a peer: at least so many times as fast; alone: at most so much."""
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
        f"order {size.most:,} unsorted runs, at most": 150,
        f"query, growth from {size.runs[0]:,} to {size.most:,} runs": log(size.most, size.runs[0]),
        f"peek into {size.most:,} runs": 0.3,
        simulation.name(size): 5,
    }


REQUIRED = targets()


def rows(progress: Progress = lambda _: None, quick: bool = False) -> list[Row]:  # noqa: FBT001, FBT002 - as called
    """Measure everything. Quick is for a try: so little that the figures mean nothing."""
    size = QUICK if quick else FULL
    owed = targets(size)
    found = []
    for what, measure in _MEASURES.items():
        progress(f"measuring {what}")
        for name, ours, unit, peer in measure(size, progress):
            found.append(Row.of(name, ours, unit, peer=peer, target=owed.get(name)))
    return found


def _next(size: Size, progress: Progress) -> Figures:
    """Reading and walking the mix. A mix is the mean over its texts; a text stands beside its fastest peer."""
    others = peers.installed(progress)
    for zone, start in load.ZONES.items():
        reading = np.mean([_read(size, text, start, others) for text in load.MIX], axis=0).tolist()
        table = [_walked(size, progress, text, start, others) for text in load.MIX]
        for what, (ours, *theirs) in (("parse", reading), ("next", np.mean(table, axis=0).tolist())):
            for peer in zip(others, theirs, strict=True):
                yield f"{what}, {zone} mix, {peer[0]}", ours, "µs", peer
        for text, (mine, *rest) in zip(load.MIX, table, strict=True):
            fastest = min(zip(others, rest, strict=True), key=lambda peer: peer[1], default=None)
            yield f"next, {zone}, {text}", mine, "µs", fastest


def _read(size: Size, text: str, start: datetime, others: dict[str, peers.Walker]) -> list[float]:
    """The µs from a text to something that can be walked, ours first."""

    def reading(walker: peers.Walker) -> Callable[[], partial[peers.Walk]]:
        return lambda: partial(walker, text, start)

    return [in_us(one) for one in best_of(size.repeats_for(1), *map(reading, (peers.ours, *others.values())))]


def _walked(
    size: Size, progress: Progress, text: str, start: datetime, others: dict[str, peers.Walker]
) -> list[float]:
    """The µs of a step, ours first; that a peer steps elsewhere is noted."""

    def walking(walker: peers.Walker) -> Callable[[], partial[list[datetime]]]:
        return lambda: partial(walker(text, start), size.steps)

    timed = best_of(size.repeats_for(size.steps), *map(walking, (peers.ours, *others.values())))
    for name, (_, times) in zip(others, timed[1:], strict=True):
        if times != timed[0].result:
            progress(f"note: {name} gives other times for {text!r} from {start}")
    return [in_us(one, size.steps) for one in timed]


def _at_once(size: Size, progress: Progress) -> Figures:
    given = list(load.schedules(size.at_once))
    crons = [parse(*schedule) for schedule in given]
    try:
        croniter = peers.croniter_at_once(given, load.NOW)
    except ImportError as error:
        progress(f"note: many schedules at once are left out, their peer is not installed ({error})")
        return
    ours, theirs = best_of(_LONG_TURNS, lambda: partial(next_many, crons, load.NOW), croniter)
    if ours.result.tolist() != theirs.result:
        progress("note: croniter gives other times for some of the schedules at once")
    yield f"next of {len(crons):,} schedules at once", in_ms(ours), "ms", ("croniter", in_ms(theirs))


_MEASURES = (  # the longest first, before others have filled the memory
    simulation.MEASURES | {"next of one cron text": _next, "many schedules at once": _at_once} | index.MEASURES
)
