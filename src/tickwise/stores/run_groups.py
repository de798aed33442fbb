"""Runs in groups by what they have in common, for stores that do not count them by themselves."""

from collections import Counter, defaultdict

from ..core.states import FAILURES
from .records import Page, RunRow
from .statistics import ERROR_LENGTH, ERRORS_GROUPED, MOST_FREQUENT, ErrorGroup, RunGroups, RunKind


def group_runs(page: Page[RunRow]) -> RunGroups:
    """The groups of some runs, the newest first."""
    kinds = Counter((row.state, row.trigger, row.queue) for row in page.items)
    jobs = Counter(row.job for row in page.items)
    schedules = Counter(row.schedule for row in page.items if row.schedule is not None)
    failed: dict[tuple[str, str], list[RunRow]] = defaultdict(list)
    for row in [row for row in page.items if row.state in FAILURES][:ERRORS_GROUPED]:
        failed[row.job, row.error[:ERROR_LENGTH]].append(row)
    return RunGroups(
        tuple(RunKind(*kind, number) for kind, number in kinds.items()),
        dict(jobs.most_common(MOST_FREQUENT)),
        dict(schedules.most_common(MOST_FREQUENT)),
        tuple(_error_group(*kind, rows) for kind, rows in failed.items()),
        page.after is not None,
    )


def _error_group(job: str, error: str, rows: list[RunRow]) -> ErrorGroup:
    ends = [row.finished_at or row.created_at for row in rows]
    return ErrorGroup(job, error, len(rows), min(ends), max(ends), rows[0].id)
