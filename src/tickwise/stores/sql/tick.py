"""One pass over the store: claim due jobs, load them, plan them, commit the plan. All in one transaction.

Why each step is where it is (a build without them lost runs under stress):

1. *Jobs* are claimed, not schedules: order, lanes, stop and restart are per job. The claim locks their rows of
   state and skips those that another node has locked.
2. Schedules and facts are read by later statements. Joined into the claim they would be older than its locks:
   at READ COMMITTED each statement has its own snapshot. What an earlier pass read is as good, if the revision
   that the claim returns is the same: every other change of the job raises it, under the job's lock.
3. A slot that waits for a run relies on that run's end to wake it. So the runs in its way are locked for
   sharing before the wait is written: one that cannot be had is just ending, and the job simply stays due; one
   that is had ends after this commit, and then its finish sees the wait and wakes the job.
4. A cancel is written only on runs that could be locked without waiting, for waiting could deadlock with their
   finish, which locks the run first and the job second. If one could not, the job stays as it was, and due.
5. Runs are inserted under the unique keys, in the order of the plan. A job whose runs did not all come to be
   lost a race: its cursors stay where they were, it stays due, and the runs that exist decide their slots next
   time (S1).

`SKIP LOCKED` still checks every locked row, so fifty concurrent claimers mostly scan each other's locks. A
claimer first takes a ticket, of which there are few; if none is free it returns at once and leaves what is due
to the others.

The plain case goes through `batch`: one statement writes all jobs of the pass that simply start on time. The
functions below are the long way for all other jobs, under the same locks and keys. A job that stays due is
decided by the next pass.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ...core.events import run_params, run_params_text
from ...core.jobstate import by_job
from ...core.model import Facts, Planned, Schedule, Start, TickPlan, Trigger
from ...core.reasons import Reason
from ...core.schedule_pass import LONGEST_SLEEP
from ...core.settle import Cancelled
from ...core.slots import due_at
from ..isolation import SET_ASIDE_SECONDS
from ..records import MICRO, Lease, Planner, TickResult
from ..whole_scan import Scan, WokenJobs
from .batch import SimpleStart, leasable, plan_simple_jobs, start_simple_jobs, unknown_jobs
from .claim import ClaimRequest, PassContext, claim_jobs, next_due
from .claimed_rows import load_claimed, read_claimed
from .definitions import DefinitionCache
from .facts import read_facts
from .finish import RunEnd, end
from .fleet import clock
from .jobs import LoadedJob, ScheduleKey, record_broken, write
from .runs import ON_LANES, insert_runs
from .statement import NOTIFY, TICKET, Procedure, Statement, Update

_HOLD = Statement("""
    SELECT id FROM tickwise_runs WHERE id IN :ids[bigint] AND finished_at IS NULL ORDER BY id {share_free}
""")
_TAKE = Statement("""
    SELECT id, state FROM tickwise_runs WHERE id IN :ids[bigint] AND finished_at IS NULL
    ORDER BY id {lock_free}
""")
_TAKE_BACK = Statement("DELETE FROM tickwise_runs WHERE id IN :ids[bigint]")  # whose lane was taken
_CANCEL = Update(
    "tickwise_runs", ":rows[id bigint, error text] AS v", {"id": "v.id"},
    {"cancelling": "TRUE", "error": "v.error"}, "t.cancelling = FALSE",
)  # fmt: skip
_INSERT = insert_runs(
    "n bigint, job_id bigint, schedule_id bigint, slot bigint, lane bigint, trigger_name text, "
    "definition_id bigint, schedule_definition_id bigint, queue text, priority bigint, requires text, "
    "due_at bigint, expires_at bigint, params text, leased boolean"
)
_SLOTS_OF = Statement("""
    SELECT id, "cursor", last_seen_slot, runs_made, wake_at,
        (SELECT max(slot) FROM tickwise_runs r WHERE r.schedule_id = s.id)
    FROM tickwise_schedule_state s WHERE job_id IN :jobs[bigint]
""")
_NOTE_SLOTS = Update(
    "tickwise_schedules",
    """:rows[id bigint, cursor bigint, last_seen_slot bigint, runs_made bigint, wake_at bigint,
        last_slot bigint] AS v""",
    {"id": "v.id"},
    {
        "cursor": "v.cursor", "last_seen_slot": "v.last_seen_slot", "runs_made": "v.runs_made",
        "wake_at": "v.wake_at", "last_slot": "v.last_slot",
    },
)  # fmt: skip
_NOTED = Statement("""
    UPDATE tickwise_job_state SET revision = revision + 1, "cursor" = NULL, last_seen_slot = NULL,
        last_slot = NULL, runs_made = NULL
    WHERE job_id IN :jobs[bigint]
""")
_SET_ASIDE = Statement("UPDATE tickwise_job_state SET wake_at = :at, idle = FALSE WHERE job_id = :job")
_LOST = Statement("SELECT job_id FROM tickwise_job_state WHERE {is_lost} {lock_free}")
_ASLEEP = Statement("SELECT job_id FROM tickwise_job_state WHERE waiting AND wake_at > :latest {lock_free}")
_WAKE = Statement("UPDATE tickwise_job_state SET wake_at = :second WHERE job_id IN :jobs[bigint]")
_JOB_NAMES = Statement("SELECT name FROM tickwise_jobs WHERE id IN :ids[bigint] ORDER BY id")
_SCHEDULES_OF = Statement("SELECT id FROM tickwise_schedules WHERE job_id = :job AND deleted IS NULL")
_WAITS_FOR_A_RUN = frozenset({Reason.WAITS_FOR_RUN, Reason.WAITS_FOR_LANE, Reason.WAITS_BEHIND})
_TURNED_AWAY = TickResult(0, more=True, turned_away="others hold all claim tickets")
_NO_PLAN = TickPlan()
_Key: TypeAlias = tuple[int, int]  # the id of a schedule, and a slot


class StartedRun(NamedTuple):
    """A start with all that its row needs."""

    start: Start
    job: LoadedJob
    key: ScheduleKey
    schedule: Schedule
    due_at: int  # in microseconds


def tick(
    cache: DefinitionCache, planner: Planner, claim: ClaimRequest, claimed: list[int]
) -> Procedure[TickResult]:
    """The pass. `claimed` tells the caller which jobs a refused statement was about.

    If it is filled at the beginning, an earlier try was refused: then all jobs go the long way.
    """
    refused = bool(claimed)
    if claim.names is None and not (yield TICKET):
        return _TURNED_AWAY
    due, context = yield from claim_jobs(cache, claim)
    claimed[:] = [row[0] for row in due]
    if not due:
        return TickResult(context.now, next_due=None if context.paused else (yield from next_due()))
    rows = yield from read_claimed(cache, due, claimed if refused else unknown_jobs(cache, due))
    simple, others = ([], claimed) if refused else plan_simple_jobs(cache, planner, due, rows.holders, context)
    jobs = {job.row.name: job for job in (yield from load_claimed(cache, rows, others, context.latest_pause))}
    facts = yield from read_facts(jobs, rows.holders, context)
    schedules = [schedule for job in jobs.values() for schedule in job.state.live.values()]
    plan = planner(context.now // MICRO, schedules, facts) if schedules else _NO_PLAN
    return (yield from _commit(_Pass(cache, claim, context), simple, plan, jobs, facts))


class _Pass(NamedTuple):
    """What all steps of a commit need."""

    cache: DefinitionCache
    claim: ClaimRequest
    context: PassContext


def _commit(
    own: _Pass, simple: Sequence[SimpleStart], plan: TickPlan, jobs: dict[str, LoadedJob], facts: Facts
) -> Procedure[TickResult]:
    """Write what was planned: simple jobs by one statement, the others by a few for all of them."""
    claim, now = own.claim, own.context.now
    kept_due = yield from _cancel(own.cache, plan, jobs, now)
    made = _made(plan, jobs, kept_due, now)
    leased = yield from _leased(own, simple, made)
    leases: list[Lease] = []
    if simple:
        leases += yield from start_simple_jobs(simple, leased, claim, now)
    ids = yield from _start(own, made, leased, kept_due)
    leases += [_lease(own, made[key], run) for key, run in ids.items() if key in leased]
    ending = yield from _ending(plan, facts)
    decided = _decide(plan, jobs, kept_due, ending, now // MICRO)
    if decided:
        yield from write(decided, now, planned=True)
    runs, due = len(simple) + len(ids), len(simple) + len(jobs)
    if runs > len(leases):
        yield NOTIFY
    more = bool(kept_due) or (claim.names is None and due == claim.limit)
    following = None if more else (yield from next_due())
    held = sum(job.state.held and not jobs[job.row.name].state.held for job in decided)
    return TickResult(now, due - len(kept_due), runs, tuple(leases), more, following, held)


def set_aside(job: int) -> Procedure[None]:
    """Put off a job whose plan could not be written, so that the others go on (S20)."""
    now = yield from clock()
    yield _SET_ASIDE(job=job, at=now // MICRO + SET_ASIDE_SECONDS)


def tell_refused(job: int, problem: str) -> Procedure[None]:
    """Record why a job is put off, on each of its schedules."""
    now = yield from clock()
    yield from record_broken([(row[0], problem) for row in (yield _SCHEDULES_OF(job=job))], now)


def wake_lost(scan: Scan) -> Procedure[WokenJobs]:
    """Make jobs due that nothing would wake; those that another node has locked are left to the next scan."""
    second = (yield from clock()) // MICRO
    lost = [row[0] for row in (yield _LOST())]
    asleep = []
    if scan is Scan.AFTER_SET_BACK:
        asleep = [row[0] for row in (yield _ASLEEP(latest=second + LONGEST_SLEEP))]
    if lost or asleep:
        yield _WAKE(jobs=sorted({*lost, *asleep}), second=second)
    return WokenJobs((yield from names_of(lost)) if lost else [], bool(lost or asleep))


def names_of(jobs: Sequence[int]) -> Procedure[list[str]]:
    return [row[0] for row in (yield _JOB_NAMES(ids=jobs))]


def _cancel(cache: DefinitionCache, plan: TickPlan, jobs: dict[str, LoadedJob], now: int) -> Procedure[set[str]]:
    """Ask runs to end; those that are only queued end at once. Returns jobs that must be planned again."""
    if not plan.cancels:
        return set()
    job_of = {name: job.row.name for job in jobs.values() for name in job.keys}
    wanted = {int(cancel.run): job_of[cancel.schedule] for cancel in plan.cancels}
    taken = dict((yield _TAKE(ids=sorted(wanted))))
    kept_due = {job for run, job in wanted.items() if run not in taken}
    ours = {run: state for run, state in taken.items() if wanted[run] not in kept_due}
    errors = {int(cancel.run): cancel.error or None for cancel in plan.cancels}
    if running := [(run, errors[run]) for run, state in ours.items() if state == "running"]:
        yield _CANCEL(rows=running)
        yield NOTIFY
    queued = [RunEnd(run, Cancelled()) for run, state in ours.items() if state == "queued"]
    yield from end(cache, queued, now)
    return kept_due


def _made(plan: TickPlan, jobs: dict[str, LoadedJob], kept_due: set[str], now: int) -> dict[_Key, StartedRun]:
    made = {}
    for start in plan.starts:
        if start.job not in kept_due:
            job, schedule = jobs[start.job], jobs[start.job].state.schedules[start.schedule].schedule
            key = job.keys[start.schedule]
            made[key.id, start.slot] = StartedRun(start, job, key, schedule, _due(schedule, start, now))
    return made


def _start(
    own: _Pass, made: Mapping[_Key, StartedRun], leased: Collection[_Key], kept_due: set[str]
) -> Procedure[dict[_Key, int]]:
    """Insert the runs. A job that did not get all of its own is added to those that stay due."""
    if not made:
        return {}
    ids = yield from _insert(own, made, leased)
    if lost := [one.job.row for key, one in made.items() if key not in ids]:
        kept_due |= {job.name for job in lost}
        lost_jobs = sorted({job.id for job in lost})
        yield _NOTE_SLOTS(rows=[tuple(row) for row in (yield _SLOTS_OF(jobs=lost_jobs))])
        yield _NOTED(jobs=lost_jobs)
    return ids


def _insert(own: _Pass, made: Mapping[_Key, StartedRun], leased: Collection[_Key]) -> Procedure[dict[_Key, int]]:
    """The runs that came to be: one whose slot or lane is taken does not."""
    now = own.context.now
    rows = yield _INSERT(
        rows=[(n, *_row(one, now), key in leased) for n, (key, one) in enumerate(made.items())],
        **own.claim.handed_over(now),
    )
    new = {(schedule, slot): (run, job) for run, job, schedule, slot in rows}
    taken = [(job, made[key].start.lane, run, key in leased) for key, (run, job) in new.items()]
    on_lanes = {row[0] for row in (yield ON_LANES(rows=taken))}
    if without := [run for run, _ in new.values() if run not in on_lanes]:
        yield _TAKE_BACK(ids=without)
    return {key: run for key, (run, _) in new.items() if run in on_lanes}


def _due(schedule: Schedule, start: Start, now: int) -> int:
    return due_at(schedule, start.slot) * MICRO if start.trigger is Trigger.SCHEDULE else now


def _leased(own: _Pass, simple: Sequence[SimpleStart], made: Mapping[_Key, StartedRun]) -> Procedure[set[_Key]]:
    """The starts that the claimer leases when they are made, chosen as a lease would.

    None while runs wait in its queues, and none of a queue on which the fleet has a limit.
    """
    cache, claim, context = own
    reserve = claim.reserve
    if not reserve or context.waiting:
        return set()
    yield from cache.read({one.job.row.definition_id for one in made.values()})
    rank = {queue: n for n, queue in enumerate(dict.fromkeys(reserve.queues)) if queue not in context.limited}
    wanted = [
        (rank[start.job.queue], -start.job.priority, start.due_at, n, start.key) for n, start in enumerate(simple)
        if start.job.queue in rank and start.job.definition and claim.allows(start.job.requires)
    ]  # fmt: skip
    wanted += [
        (rank[row.queue], -row.priority, one.due_at, n, key) for n, (key, one) in enumerate(made.items())
        if (row := one.job.row).queue in rank and claim.allows(row.requires) and leasable(cache, row)
    ]  # fmt: skip
    return {key for *_, key in sorted(wanted)[: max(0, reserve.capacity)]}


def _row(made: StartedRun, now: int) -> tuple[object, ...]:
    start, job, key = made.start, made.job.row, made.key
    expires = made.schedule.definition.policy.expires
    return (
        job.id, key.id, start.slot, start.lane, str(start.trigger), job.definition_id, key.definition_id,
        job.queue, job.priority, job.requires, made.due_at, None if expires is None else now + expires * MICRO,
        run_params_text(start.events),
    )  # fmt: skip


def _lease(own: _Pass, made: StartedRun, run: int) -> Lease:
    start, job = made.start, made.job.row
    definition = own.cache.job(job.definition_id, job.name)
    return own.claim.lease(
        run, definition, made.schedule.definition, start.slot, start.trigger, due_at=made.due_at,
        now=own.context.now,
    )._replace(params=run_params(start.events))  # fmt: skip


def _ending(plan: TickPlan, facts: Facts) -> Procedure[set[str]]:
    """Jobs with a slot that waits for a run which is just ending."""
    holders: dict[int, str] = {}
    for planned in plan.schedules:
        if _waits(planned):
            job = planned.schedule.job
            holders |= {int(holder.run): job for holder in facts.jobs[job].holders}
    if not holders:
        return set()
    still = {row[0] for row in (yield _HOLD(ids=sorted(holders)))}
    return {job for run, job in holders.items() if run not in still}


def _waits(planned: Planned) -> bool:
    deferral = planned.schedule.deferral
    return planned.schedule.backfill is not None or (deferral is not None and deferral.reason in _WAITS_FOR_A_RUN)


def _decide(
    plan: TickPlan, jobs: dict[str, LoadedJob], kept_due: set[str], ending: set[str], second: int
) -> list[LoadedJob]:
    """The jobs as the plan leaves them, but for those that stay as they were."""
    parts = by_job(plan)
    return [
        job._replace(state=job.state.commit(parts.get(name, _NO_PLAN), second, look_again=name in ending))
        for name, job in jobs.items()
        if name not in kept_due
    ]
