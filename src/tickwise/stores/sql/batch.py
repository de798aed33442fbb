"""The plain case of a pass: jobs that start a slot on time and nothing else, all written by one statement.

A job is simple if it has one schedule about which nothing is special. The node remembers such a job with the
revision at which it was read (`CachedJob`); the claim returns the current revision, so what is remembered is
right or not used. Nothing is read for a simple job but the holders of its lanes, and if there are none it is
planned from memory. Its schedule's plan depends on the definition, the cursor and the time only: equal ones are
planned once in a pass.

Everything else goes the long way in `tick`, to the same rows: jobs with a run that holds a lane, with a second
schedule, with a pause, a guard or a limit, and those whose plan is anything but one start on time.

The statement inserts without asking first whether a slot or a lane is taken: to ask costs the database a third
of the insert. If one is taken, the database refuses the whole statement, and the pass begins again with every
job on the long way, where conflicts are met one by one. So also then only the job that lost stays due (S16).
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...core.definition import JobDefinition
from ...core.jobstate import is_simple
from ...core.model import Schedule, Trigger
from ...core.payload import UnreadableText
from ..records import MICRO, Lease, Planner
from ..simple_plan import SimpleSchedule, plan_simple_schedules
from .claim import ClaimRequest, Due, PassContext
from .definitions import CachedJob, DefinitionCache
from .jobs import JobColumns
from .runs import ON_FIRST_LANE, insert_runs
from .statement import Compound, Procedure, Update

_INSERT = insert_runs(
    "n bigint, job_id bigint, schedule_id bigint, slot bigint, definition_id bigint, "
    "schedule_definition_id bigint, queue text, priority bigint, requires text, expires_at bigint, leased boolean",
    or_ignored=False, returned="id, job_id, token IS NOT NULL AS running",
    lane="0", trigger_name="'schedule'", due_at=f"slot * {MICRO}", params="CAST(NULL AS {text})",
)  # fmt: skip
_ADVANCE = Update(
    "tickwise_job_state", ":moves[place row_id, slot bigint, wake_at bigint] AS v", {"{row_id}": "v.place"},
    {
        "wake_at": "v.wake_at", "idle": "v.wake_at IS NULL", "waiting": "FALSE", "cursor": "v.slot",
        "last_seen_slot": "v.slot", "last_slot": "v.slot", "runs_made": "coalesce(t.runs_made, 0) + 1",
    },
)  # fmt: skip
_START = Compound(_INSERT, ON_FIRST_LANE, _ADVANCE)


_PlanKey: TypeAlias = tuple[int, int]  # the id of a schedule's definition, and its cursor
_Candidate: TypeAlias = tuple[CachedJob, str, _PlanKey]  # with the place of its row of state


class SimpleStart(NamedTuple):
    """A job, the place of its locked row of state, and what is started."""

    job: CachedJob
    place: str
    slot: int
    wake_at: int | None

    @property
    def key(self) -> tuple[int, int]:
        return self.job.schedule_id, self.slot

    @property
    def due_at(self) -> int:
        return self.slot * MICRO


def cached_job(cache: DefinitionCache, job: JobColumns, schedules: Sequence[Sequence[Any]]) -> CachedJob | None:
    """A job that can be simple, as it was read with its definitions; none if it cannot."""
    if len(schedules) != 1 or job.guarded:
        return None
    id_, _, name, times_id, cursor, seen, missed, edited, first_seen, _, rest, last_slot, *_ = schedules[0]
    if rest or max(seen, missed, last_slot or cursor) > cursor:
        return None
    try:
        definition = cache.schedule(times_id, name, job.name)
    except UnreadableText:
        return None
    if not is_simple(Schedule(definition, cursor, seen, missed, edited, first_seen)):
        return None
    return CachedJob(
        id=job.id, revision=job.revision, definition=leasable(cache, job), definition_id=job.definition_id,
        requires=job.requires, queue=job.queue, priority=job.priority, schedule_id=id_, schedule=definition,
        schedule_definition_id=times_id, cursor=cursor, edited=edited, first_seen=first_seen,
    )  # fmt: skip


def leasable(cache: DefinitionCache, job: JobColumns) -> JobDefinition | None:
    """The definition of a job, if a run of it may be leased when it is made."""
    try:
        definition = cache.job(job.definition_id, job.name)
    except UnreadableText:  # the worker that leases it will find that out
        return None
    return None if definition.at_most_once else definition


def unknown_jobs(cache: DefinitionCache, due: Sequence[Due]) -> list[int]:
    """Jobs that must be read: the node does not remember them at this revision."""
    known = cache.simple_jobs
    return [id_ for id_, revision, *_ in due if id_ not in known or known[id_].revision != revision]


def plan_simple_jobs(
    cache: DefinitionCache, planner: Planner, due: Sequence[Due], busy: Collection[int], context: PassContext
) -> tuple[list[SimpleStart], list[int]]:
    """The jobs that simply start, and the ids of all others."""
    candidates, others = list[_Candidate](), list[int]()
    known, latest_pause, workers = cache.simple_jobs, context.latest_pause, context.workers
    for id_, revision, pause_seen, last_manual, moved_to, place, _ in due:
        job = known.get(id_)
        if job is None or job.revision != revision or id_ in busy or pause_seen < latest_pause:
            others.append(id_)
            continue
        cursor = job.cursor if moved_to is None else moved_to
        by_hand = last_manual is not None and last_manual > cursor
        if by_hand or workers.missing(job.queue, job.requires):
            others.append(id_)
        else:
            candidates.append((job, place, (job.schedule_definition_id, cursor)))
    different = {
        key: SimpleSchedule(job.schedule, key[1], job.edited, job.first_seen) for job, _, key in candidates
    }
    planned = plan_simple_schedules(planner, different, context.now)
    others += [job.id for job, _, key in candidates if key not in planned]
    return [SimpleStart(job, place, *planned[key]) for job, place, key in candidates if key in planned], others


def start_simple_jobs(
    starts: Sequence[SimpleStart], leased: Collection[tuple[int, int]], claim: ClaimRequest, now: int
) -> Procedure[list[Lease]]:
    """Make the runs and move the jobs, all of them or none; the claimer leases those whose key is in `leased`."""
    made = yield _START(
        rows=[_row(n, start, start.key in leased, now) for n, start in enumerate(starts)],
        moves=[(start.place, start.slot, start.wake_at) for start in starts],
        **claim.handed_over(now),
    )
    runs = {job: run for run, job, _ in made}
    return [
        claim.lease(runs[job.id], job.definition, job.schedule, start.slot, Trigger.SCHEDULE, start.due_at, now)
        for start in starts if start.key in leased and (job := start.job).definition
    ]  # fmt: skip


def _row(n: int, start: SimpleStart, leased: bool, now: int) -> tuple[object, ...]:  # noqa: FBT001  (a column)
    job = start.job
    expires = job.schedule.policy.expires
    return (
        n, job.id, job.schedule_id, start.slot, job.definition_id, job.schedule_definition_id, job.queue,
        job.priority, job.requires, None if expires is None else now + expires * MICRO, leased,
    )  # fmt: skip
