"""What a pass reads of the jobs that it has claimed: always who holds their lanes, the rest if needed."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...core.model import Holder, Trigger
from .batch import cached_job
from .claim import Due
from .definitions import DefinitionCache
from .jobs import COLUMNS, JOBS, OF_SCHEDULE, JobColumns, LoadedJob, assemble
from .statement import Procedure, Statement, as_wide_as

_CLAIMED = f"{COLUMNS}, {OF_SCHEDULE}"


_HOLDER = as_wide_as(
    _CLAIMED, "l.job_id", "r.trigger_name", "NULL", "r.id", "l.lane", "NULL", "CASE WHEN r.cancelling THEN 1 END"
)


# `abs` keeps the lane out of the search in the index. MariaDB would search for each job from lane 0 on, and pass
# over the rows of all other jobs that were deleted and are not purged yet: 26 ms instead of 0.6 for 600 jobs.
_HOLDERS = f"""
    SELECT 'holder', {_HOLDER} FROM tickwise_active_runs l JOIN tickwise_runs r ON r.id = l.run_id
    WHERE l.job_id IN :jobs[bigint] AND abs(l.lane) = l.lane
"""


_READ_HOLDERS = Statement(f"{_HOLDERS} ORDER BY 2, 6")


_READ_ALL = Statement(f"""
    SELECT 'job', {_CLAIMED} FROM {JOBS}
    LEFT JOIN tickwise_schedule_state s ON s.job_id = j.id AND s.deleted IS NULL
    WHERE j.id IN :unknown[bigint]
    UNION ALL {_HOLDERS} ORDER BY 2, 6, 20
""")


class ClaimedRows(NamedTuple):
    """What was read of claimed jobs, by their ids."""

    jobs: dict[int, JobColumns]
    schedules: dict[int, list[Sequence[Any]]]
    holders: dict[int, list[Holder]]  # of their lanes


def read_claimed(cache: DefinitionCache, due: Sequence[Due], unknown: Sequence[int]) -> Procedure[ClaimedRows]:
    """Read the holders of the jobs' lanes, and everything about unknown jobs; simple jobs are remembered."""
    claimed = ClaimedRows({}, defaultdict(list), defaultdict(list))
    yield from _read_rows(claimed, unknown, [row[0] for row in due])
    yield from cache.read(job.definition_id for job in claimed.jobs.values())
    yield from cache.read(row[3] for rows in claimed.schedules.values() for row in rows)
    for job in claimed.jobs.values():
        if found := cached_job(cache, job, claimed.schedules[job.id]):
            cache.remember(found)
    return claimed


def _read_rows(claimed: ClaimedRows, unknown: Sequence[int], jobs: Sequence[int] = ()) -> Procedure[None]:
    width = len(JobColumns._fields)
    asked = _READ_ALL(unknown=unknown, jobs=jobs) if unknown else _READ_HOLDERS(jobs=jobs)
    for what, *columns in (yield asked):
        if what == "job":
            job = claimed.jobs[columns[0]] = JobColumns._make(columns[:width])
            if columns[width] is not None:
                claimed.schedules[job.id].append(columns[width:])
        else:
            id_, trigger, _, run, lane, _, cancelling, *_ = columns
            claimed.holders[id_].append(Holder(str(run), lane, Trigger.of(trigger), bool(cancelling)))


def load_claimed(
    cache: DefinitionCache, claimed: ClaimedRows, jobs: Sequence[int], latest_pause: int
) -> Procedure[list[LoadedJob]]:
    if more := [id_ for id_ in jobs if id_ not in claimed.jobs]:
        yield from _read_rows(claimed, more)
    rows = [row for id_ in jobs for row in claimed.schedules[id_]]
    return (yield from assemble(cache, [claimed.jobs[id_] for id_ in jobs], rows, latest_pause))
