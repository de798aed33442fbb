"""Jobs whose successes a job waits for, whatever made their runs (S35): they must exist, and not wait for it."""

from collections.abc import Iterable

from ..core.definition import JobDefinition, ScheduleDefinition
from ..core.errors import InputError
from .parts import StoreParts
from .records import ScheduleFilter

_MAX_SCHEDULES = 1_000  # of a job


async def check_needed_jobs(store: StoreParts, job: JobDefinition) -> None:
    """Refuse a job that waits for one that is not there, or that waits for it. Most jobs wait for none."""
    wanted = _jobs_of(job.schedules)
    for name in wanted:
        if name != job.name and await store.insights.job(name) is None:
            raise InputError(f"{job.name} runs after the job {name[:60]!r}, which does not exist: define it first")
    own, seen = {job.name, *(schedule.name for schedule in job.schedules)}, set[str]()
    while wanted:
        name = wanted.pop()
        page = await store.insights.schedules(ScheduleFilter(job=name), limit=_MAX_SCHEDULES)
        others = [row.schedule.definition for row in page.items if not row.unreadable]
        if name == job.name or own & {after.schedule or after.job for one in others for after in one.policy.after}:
            raise InputError(f"{job.name} and the job {name} wait for each other")
        seen.add(name)
        wanted = [*{*wanted, *_jobs_of(others)} - seen]


def _jobs_of(schedules: Iterable[ScheduleDefinition]) -> list[str]:
    return sorted({after.job for schedule in schedules for after in schedule.policy.after if after.job})
