"""Reads what a store has kept of the past of a job, for replays of it (ADR 83)."""

from collections.abc import AsyncIterator, Sequence

from ..core.errors import ConflictError, InputError
from ..core.model import Decision
from ..core.simulation.past import Past, PastDecision, PastRun, PastSuccess
from ..core.states import RunState
from ..core.timeparse import iso
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, DecisionFilter, DecisionRow, RunFilter, RunRow
from .definitions import StoredJob

MAX_SLOTS = 10_000  # of all schedules of the job
_MAX_RUNS = 20_000
_RUNS_BEFORE = 50  # that may be under way at the start, or be the last success
_PAGE, _FAR = 1_000, 1 << 40


async def read_past(store: Store, stored: StoredJob, start: int, end: int) -> Past:
    """All that is stored about the slots of [start, end); refused if that is too much, or not kept any more."""
    check_kept(stored, start)
    name, schedules = stored.definition.name, stored.definition.schedules
    slots = sum(one.times.count(start - 1, end - 1) for one in schedules)
    if slots > MAX_SLOTS:
        raise InputError(f"{slots:,} slots are more than {MAX_SLOTS:,}: bring the two times closer together")
    budgets = (one.policy.max_starts for one in schedules)
    most = max(_RUNS_BEFORE, *(budget.count for budget in budgets if budget), 0)
    before = await store.insights.runs(RunFilter(job=name, until=start * MICRO), limit=most)
    within = [run async for run in _all_runs(store, RunFilter(job=name, since=start * MICRO, until=end * MICRO))]
    decisions = [row for one in schedules for row in await _decisions(store, one.name, start, end)]
    return Past(
        stored.definition,
        {row.schedule.name: row.schedule for row in stored.schedules},
        start, end,
        runs=[_past_run(run) for run in (*before.items, *within)],
        decisions=[_past_decision(row) for row in decisions],
        successes=[one async for one in _successes(store, stored, start, end)],
        pauses=[(one.at, one.until or _FAR) for one in await store.insights.pauses()],
    )  # fmt: skip


def check_kept(stored: StoredJob, start: int) -> None:
    """Refuse a past of which the store may have removed runs (S51), or a job that cannot be read."""
    if unreadable := stored.row.unreadable or next((row.unreadable for row in stored.schedules), ""):
        raise ConflictError(f"{stored.definition.name} cannot be read: {unreadable}")
    kept_from = stored.row.history_from
    if kept_from is not None and start < kept_from:
        raise InputError(f"the facts of that time are not stored any more: runs are kept from {iso(kept_from)} on")


async def _decisions(store: Store, schedule: str, start: int, end: int) -> Sequence[DecisionRow]:
    wanted = DecisionFilter(schedule=schedule, since=start, until=end)
    return await all_pages(lambda after: store.insights.decisions(wanted, after, _PAGE))


async def _all_runs(store: Store, wanted: RunFilter) -> AsyncIterator[RunRow]:
    read, after = 0, None
    while True:
        page = await store.insights.runs(wanted, after, _PAGE)
        for run in page.items:
            yield run
        read, after = read + len(page.items), page.after
        if after is None:
            return
        if read >= _MAX_RUNS:
            raise InputError(f"there were more than {_MAX_RUNS:,} runs: bring the two times closer together")


async def _successes(store: Store, stored: StoredJob, start: int, end: int) -> AsyncIterator[PastSuccess]:
    """Successes of the schedules that the job depends on, by their slot, or their start if by hand (S35)."""
    own = {one.name for one in stored.definition.schedules}
    needed = [after for one in stored.definition.schedules for after in one.policy.after]
    for after in {one.needed: one for one in needed if one.needed not in own}.values():
        row = await store.insights.schedule(after.schedule) if after.schedule else None
        if row is None and not after.job:
            continue
        since = start - max(one.within for one in needed if one.needed == after.needed)
        wanted = RunFilter(
            job=row.schedule.job if row else after.job,
            states=frozenset({RunState.SUCCEEDED}),
            since=since * MICRO,
            until=end * MICRO,
        )
        async for run in _all_runs(store, wanted):
            slot = run.slot if run.schedule else (run.started_at or run.created_at) // MICRO
            if (
                (after.job or run.schedule in (after.schedule, None))
                and slot is not None
                and run.finished_at is not None
            ):
                yield PastSuccess(after.needed, slot, _ceil(run.finished_at))


def _past_run(run: RunRow) -> PastRun:
    ended = None if run.finished_at is None else _ceil(run.finished_at)
    return PastRun(run.schedule, run.slot, run.trigger, run.created_at // MICRO, ended, run.state)


def _past_decision(row: DecisionRow) -> PastDecision:
    decision = Decision(row.schedule, row.reason, row.first, row.last, row.count, row.detail)
    return PastDecision(decision, row.made_at // MICRO, row.extended_at // MICRO)


def _ceil(microseconds: int) -> int:
    """A lane is free from the first whole second after a run has ended."""
    return -(-microseconds // MICRO)
