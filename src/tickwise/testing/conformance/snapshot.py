"""All that a store shows, as values that can be compared: with itself a moment later, or with another store.

Ids are a store's own, so runs are numbered `#1`, `#2` … in the order they were made, wherever they are named. Left
out is what no rule fixes: how a store counts versions of a definition, and when it will look at a schedule again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ...core.model import Schedule
from ...core.reasons import Reason
from ...stores.contract import Store
from ...stores.pages import all_pages
from ...stores.records import (
    AttemptRow,
    DecisionRow,
    JobRow,
    LogPart,
    Node,
    PauseInterval,
    QueueLimit,
    RunRow,
    ScheduleRow,
    StepReport,
)
from ...stores.statistics import Counts

_T = TypeVar("_T")


class Snapshot(NamedTuple):
    """Everything, by its name, number or identity."""

    jobs: Mapping[str, JobRow]
    schedules: Mapping[str, ScheduleRow]
    runs: Mapping[str, RunRow]
    attempts: Mapping[str, tuple[AttemptRow, ...]]
    steps: Mapping[str, tuple[StepReport, ...]]
    logs: Mapping[str, tuple[LogPart, ...]]
    decisions: Mapping[tuple[str, Reason, int], DecisionRow]
    nodes: tuple[Node, ...]
    limits: tuple[QueueLimit, ...]
    pauses: tuple[PauseInterval, ...]
    counts: Counts
    everything_rests: bool  # no job will be due


async def snapshot(store: Store, gone: Mapping[str, str] = MappingProxyType({})) -> Snapshot:
    """All that a store shows, with the names of runs instead of their ids; `gone` names those it has no longer."""
    seen = store.insights
    runs = (await all_pages(lambda after: seen.runs(after=after)))[::-1]
    numbers = {run.id: f"#{number}" for number, run in enumerate(runs, 1)}
    named = {**{id_: f"gone {name}" for id_, name in gone.items()}, **numbers}
    return Snapshot(
        jobs={row.definition.name: replace(row, version=0) for row in await all_pages(seen.jobs)},
        schedules={
            row.schedule.name: _schedule(row, named)
            for row in await all_pages(lambda after: seen.schedules(after=after))
        },
        runs={numbers[run.id]: replace(run, id=numbers[run.id]) for run in runs},
        attempts=await _of_each(numbers, seen.attempts),
        steps=await _of_each(numbers, seen.steps),
        logs=await _of_each(numbers, lambda run: all_pages(lambda after: seen.log(run, after))),
        decisions={
            (row.schedule, row.reason, row.first): replace(row, detail=_numbered(row.detail, named))
            for row in await all_pages(lambda after: seen.decisions(after=after))
        },
        nodes=await seen.nodes(),
        limits=await seen.limits(),
        pauses=await seen.pauses(),
        counts=replace(await seen.counts(), overdue=0),
        everything_rests=await seen.next_due() is None,
    )


async def _of_each(
    numbers: Mapping[str, str], read: Callable[[str], Awaitable[Sequence[_T]]]
) -> dict[str, tuple[_T, ...]]:
    """What there is of each run, where there is any."""
    return {number: tuple(found) for run, number in numbers.items() if (found := await read(run))}


def _schedule(row: ScheduleRow, numbers: Mapping[str, str]) -> ScheduleRow:
    last = row.last_run_id
    return replace(
        row, schedule=_state(row.schedule, numbers), wake_at=None, last_run_id=numbers.get(last or "", last)
    )


def _state(state: Schedule, numbers: Mapping[str, str]) -> Schedule:
    waits = state.deferral and replace(state.deferral, detail=_numbered(state.deferral.detail, numbers))
    records = tuple(record._replace(detail=_numbered(record.detail, numbers)) for record in state.records)
    return state._replace(deferral=waits, records=records)


def _numbered(detail: str, numbers: Mapping[str, Any]) -> str:
    return ", ".join(str(numbers.get(word, word)) for word in detail.split(", "))
