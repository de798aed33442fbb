"""What there was to tell before a notifier began: found by what went wrong, not by going through all that ran."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from ...core.states import FAILURES, RunState
from ...stores.contract import Store
from ...stores.records import MICRO, DecisionFilter, DecisionRow, RunFilter, RunRow
from .notice import MISSED, Notice, Occasion, about_run, about_slots, subject

LOOK_BACK = 3_600 * MICRO  # how long nobody may have been there
_ENDED = FAILURES | {RunState.SUCCEEDED}
_MOST, _RECENT = 5_000, 50  # rows: of failures and missed slots, and of one subject


class NotificationHistory(NamedTuple):
    """Who has failed and not recovered (subject and run), and what may not have been told yet."""

    broken: dict[str, str]
    notices: list[Notice]


async def read_history(store: Store, now: int) -> NotificationHistory:
    since = now - LOOK_BACK
    failed = (await store.insights.runs(RunFilter(states=FAILURES), limit=_MOST)).items
    notices = [about_run(Occasion.FAILURE, run) for run in failed if end(run) >= since]
    broken = {}
    for name, run in {subject(run): run for run in reversed(failed)}.items():
        rows = await ended_like(store, run)
        notices += [about_run(Occasion.RECOVERY, row) for row in recoveries(rows) if end(row) >= since]
        if max(rows, key=end, default=run).state in FAILURES:
            broken[name] = run.id
    missed = (await store.insights.decisions(DecisionFilter(reasons=MISSED), limit=_MOST)).items
    notices += [about_slots(row, await job_of(store, row)) for row in missed if row.extended_at >= since]
    return NotificationHistory(broken, sorted(notices, key=lambda notice: notice.at))


async def ended_like(store: Store, run: RunRow) -> list[RunRow]:
    """The newest runs of the same subject that have failed or succeeded, newest first."""
    wanted = RunFilter(job=run.job, schedule=run.schedule, states=_ENDED)
    rows = (await store.insights.runs(wanted, limit=_RECENT)).items
    return [row for row in rows if row.schedule == run.schedule]


def recoveries(rows: Iterable[RunRow]) -> Iterator[RunRow]:
    """Of runs of one subject, newest first: successes that came after a failure, by when they ended."""
    for later, earlier in pairwise(sorted(rows, key=end, reverse=True)):
        if earlier.state in FAILURES and later.state is RunState.SUCCEEDED:
            yield later


async def job_of(store: Store, row: DecisionRow) -> str:
    """The job whose slots were missed; empty if it is gone."""
    schedule = await store.insights.schedule(row.schedule)
    return schedule.schedule.job if schedule else ""


def end(run: RunRow) -> int:
    return run.finished_at or 0
