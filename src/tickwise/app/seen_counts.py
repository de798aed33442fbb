"""Counts of the jobs that one person sees: read one by one, since no store knows who sees what."""

from collections import Counter
from collections.abc import Callable

from ..core.requirements import requirements_of
from ..core.states import RunState
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, RunFilter, ScheduleFilter
from ..stores.statistics import Counts

_PAGE_SIZE = 1_000
_ACTIVE = frozenset({RunState.QUEUED, RunState.RUNNING})


async def seen_counts(store: Store, now: int, sees: Callable[[str], bool]) -> Counts:
    """As `counts` of a store has them, of jobs that are seen; of runs only those that have not ended."""
    insights, due = store.insights, ScheduleFilter(due_before=now // MICRO)
    jobs = await all_pages(lambda after: insights.jobs(after, _PAGE_SIZE))
    seen = {row.definition.name: row.definition for row in jobs if sees(row.definition.name)}
    rows = await all_pages(lambda after: insights.schedules(after=after, limit=_PAGE_SIZE))
    schedules = [row.schedule for row in rows if row.schedule.job in seen]
    overdue = await all_pages(lambda after: insights.schedules(due, after, _PAGE_SIZE))
    active = await all_pages(lambda after: insights.runs(RunFilter(states=_ACTIVE), after, _PAGE_SIZE))
    runs = [run for run in active if sees(run.job)]
    queued = [run for run in runs if run.state is RunState.QUEUED]
    held = {schedule.job for schedule in schedules if schedule.held_for_worker}
    return Counts(
        jobs=len(seen),
        schedules=len(schedules),
        paused=sum(schedule.paused is not None for schedule in schedules),
        runs=dict(Counter(run.state for run in runs)),
        waiting=dict(Counter(run.queue for run in queued)),
        unserved=dict(Counter((seen[job].queue, requirements_of(seen[job])) for job in held)),
        oldest_due=min((run.due_at for run in queued if run.due_at <= now), default=None),
        overdue=len({row.schedule.job for row in overdue if row.schedule.job in seen}),
    )
