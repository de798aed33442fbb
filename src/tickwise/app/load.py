"""How many runs will be under way at once, as far as past runs tell how long those to come will take.

A run lasts as long as the median of its schedule's newest that succeeded; where none has, as long as the median of
all that are known. What takes no half second counts for nothing. One of a job that runs once at a time ends at the
latest when the next slot comes: what overlap skips or queues does not run beside it. Nothing waits for a worker
here, so that more than they can take is seen.
"""

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
from numpy.typing import NDArray

from ..core.definition import Kind
from ..core.index import RunView
from ..core.model import Schedule
from ..core.states import RunState
from ..stores.contract import Store
from ..stores.records import MICRO, Role
from .worker_advice import is_live

_RUNS = 10  # of each schedule
_MAX_SCHEDULES, _BATCH_SIZE = 500, 250
_ENDLESS = 1 << 62


async def run_lengths(store: Store, names: Sequence[str]) -> dict[str, int]:
    """Seconds that runs take, of those of some schedules that have had any; at most of the first few hundred."""
    found: dict[str, int] = {}
    for first in range(0, min(len(names), _MAX_SCHEDULES), _BATCH_SIZE):
        some = names[first : first + _BATCH_SIZE]
        for name, recent in (await store.insights.recent(some, _RUNS)).items():
            lengths = [
                run.finished_at - run.started_at
                for run in recent.runs
                if run.state is RunState.SUCCEEDED and run.started_at and run.finished_at
            ]
            if lengths:
                found[name] = round(median(lengths) / MICRO)
    return found


async def fleet_capacity(store: Store) -> int:
    """How many runs the live workers take at once."""
    now = await store.now()
    return sum(
        node.capacity for node in await store.insights.nodes() if Role.WORKER in node.roles and is_live(node, now)
    )


def most_at_once(
    runs: RunView, schedules: Mapping[str, Schedule], lengths: Mapping[str, int], start: int, step: int, steps: int
) -> tuple[int, ...] | None:
    """How many are under way at the busiest second of each step; None if no run's length is known."""
    if not lengths:
        return None
    usual = round(median(lengths.values()))
    lasts = runs.numbers(lambda name: _length(schedules[name], lengths.get(name, usual)))
    begins = runs.times - start
    ends = np.minimum(begins + np.minimum(lasts, _room(runs, schedules)), steps * step)
    changes = np.bincount(begins, minlength=steps * step + 1) - np.bincount(ends, minlength=steps * step + 1)
    return tuple(np.cumsum(changes)[: steps * step].reshape(steps, step).max(axis=1).tolist())


def _length(schedule: Schedule, known: int) -> int:
    return 0 if schedule.definition.kind is Kind.STOP else known


def _room(runs: RunView, schedules: Mapping[str, Schedule]) -> NDArray[np.int64]:
    """How long each run may last until as many later ones of its schedule have begun as may be active at once."""
    number = {name: place for place, name in enumerate(schedules)}
    owners, lanes = (
        runs.numbers(number.__getitem__),
        runs.numbers(lambda name: schedules[name].definition.policy.max_active_runs),
    )
    room = np.full(len(runs), _ENDLESS)
    order = np.argsort(owners, kind="stable")
    owners, lanes, times = owners[order], lanes[order], runs.times[order]
    places = np.arange(len(runs))
    later = places + lanes
    has_later = later < len(runs)
    has_later[has_later] = owners[later[has_later]] == owners[has_later]
    room[order[has_later]] = times[later[has_later]] - times[has_later]
    return room
