"""What must be read of other schedules and of runs before jobs are planned; most often nothing."""

from collections.abc import Iterable
from typing import NamedTuple

from .deadlines import slots_to_judge
from .jobstate import JobState


class SuccessesNeeded(NamedTuple):
    """The schedules, and the jobs, for which a pass waits, and after which second their successes matter (S35)."""

    schedules: list[str]
    since: int


def successes_needed(jobs: Iterable[JobState]) -> SuccessesNeeded | None:
    """What must be read of other schedules before these jobs are planned; most often nothing."""
    states = [each for job in jobs for each in job.schedules.values() if each.live]
    needed = [after for each in states for after in each.schedule.definition.policy.after]
    if not needed:
        return None
    oldest = min(each.undecided_from for each in states)
    return SuccessesNeeded(sorted({a.needed for a in needed}), oldest - max(a.within for a in needed))


def failures_needed(job: JobState) -> dict[str, int]:
    """Schedules of which failed runs in a row are to be counted, and since when (S66)."""
    return {
        name: each.schedule.failures_from
        for name, each in job.schedules.items()
        if each.live and each.schedule.definition.policy.pause_after is not None
    }


def progress_needed(job: JobState, now: int) -> dict[str, list[int]]:
    """Schedules with slots whose deadlines have come, and the slots of which the runs must be known (S65)."""
    found = {
        name: slots_to_judge(each.schedule, now)
        for name, each in job.schedules.items()
        if each.live and each.schedule.definition.policy.deadline is not None
    }
    return {name: slots for name, slots in found.items() if slots}
