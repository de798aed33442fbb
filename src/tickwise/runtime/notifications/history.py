"""What happened before a notifier started: read from the failures and missed slots, not from all runs."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from ...core.states import FAILURES, RunState
from ...stores.contract import Store
from ...stores.records import MICRO, DecisionFilter, DecisionRow, RunFilter, RunRow
from .notice import TOLD, Notice, Occasion, about_run, about_slots, subject

LOOK_BACK = 3_600 * MICRO  # how long there may have been no notifier
_ENDED = FAILURES | {RunState.SUCCEEDED}
_MAX_ROWS, _MAX_SUBJECT_ROWS = 5_000, 50  # of failures and of missed slots; of runs of one subject


class NotificationHistory(NamedTuple):
    """Subjects that have not recovered, each with its failed run, and notices that may not have been sent."""

    broken: dict[str, str]
    notices: list[Notice]


async def read_history(store: Store, now: int, look_back: int = LOOK_BACK) -> NotificationHistory:
    since = now - look_back
    failed = (await store.insights.runs(RunFilter(states=FAILURES), limit=_MAX_ROWS)).items
    notices = [about_run(Occasion.FAILURE, run) for run in failed if ended_at(run) >= since]
    broken = {}
    for name, run in {subject(run): run for run in reversed(failed)}.items():
        rows = await recent_ends(store, run)
        notices += [about_run(Occasion.RECOVERY, row) for row in recoveries(rows) if ended_at(row) >= since]
        if max(rows, key=ended_at, default=run).state in FAILURES:
            broken[name] = run.id
    missed = (await store.insights.decisions(DecisionFilter(reasons=TOLD), limit=_MAX_ROWS)).items
    notices += [about_slots(row, await job_of(store, row)) for row in missed if row.extended_at >= since]
    return NotificationHistory(broken, sorted(notices, key=lambda notice: notice.at))


async def recent_ends(store: Store, run: RunRow) -> list[RunRow]:
    """The newest failed or succeeded runs of the same subject, newest first."""
    same_subject = RunFilter(job=run.job, schedule=run.schedule, states=_ENDED)
    rows = (await store.insights.runs(same_subject, limit=_MAX_SUBJECT_ROWS)).items
    return [row for row in rows if row.schedule == run.schedule]


def recoveries(rows: Iterable[RunRow]) -> Iterator[RunRow]:
    """The successes that ended next after a failure, newest first. The runs are of one subject."""
    for later, earlier in pairwise(sorted(rows, key=ended_at, reverse=True)):
        if earlier.state in FAILURES and later.state is RunState.SUCCEEDED:
            yield later


async def job_of(store: Store, row: DecisionRow) -> str:
    """The job whose slots were missed; empty if it is gone."""
    schedule = await store.insights.schedule(row.schedule)
    return schedule.schedule.job if schedule else ""


def ended_at(run: RunRow) -> int:
    return run.finished_at or 0
