"""One pass over the store: claim due jobs, plan them, and make the plan true. All in one transaction.

Why each step is where it is (a build without them lost runs under stress):

1. *Jobs* are claimed, not schedules: order, lanes, stop and restart are per job. The claim locks their rows and
   skips those that another node has locked.
2. Schedules and facts are read by later statements. Joined into the claim they would be older than its locks: at
   READ COMMITTED each statement has its own snapshot.
3. A slot that waits for a run relies on that run's end to wake it. So the runs in its way are locked for sharing
   before the wait is written: one that cannot be had is just ending, and the job simply stays due; one that is had
   ends after this commit, and then its finish sees the wait and wakes the job.
4. A cancel is written only on runs that could be locked without waiting, for waiting could deadlock with their
   finish, which locks the run first and the job second. If one could not, the job stays as it was, and due.
5. Runs are inserted under the unique keys, in the order of the plan. A job whose runs did not all come to be
   lost a race: its cursors stay where they were, it stays due, and the runs that exist decide their slots next
   time (S1).

Whatever stays due is met by the next pass. Nothing here sleeps, and a lost race replans that job only (S16).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ...core.definition import JobDefinition
from ...core.model import Facts, Holder, JobFacts, Planned, ScheduleFacts, Start, TickPlan, Trigger
from ...core.payload import UnreadableText
from ...core.reasons import Reason
from ...core.settle import Cancelled
from ...core.slots import due_at
from ..records import MICRO, Lease, Planner, Reservation, Ticked
from .book import Book
from .ends import Ending, end
from .fleet import clock, queues_of
from .state import CLAIM, CLAIM_NAMED, LATEST_PAUSE, Held, HeldJob, JobRow, Unreadable, load, record, write
from .statement import WAKE, Protocol, Statement

_CIRCUMSTANCES = Statement(f"""
    SELECT 'now' AS what, {{now}} AS number, NULL AS word
    UNION ALL SELECT 'paused', id, NULL FROM tickwise_pauses WHERE until IS NULL
    UNION ALL SELECT 'pause', {LATEST_PAUSE}, NULL
    UNION ALL SELECT 'serving', NULL, facts FROM tickwise_nodes WHERE worker AND live_until > {{now}}
    UNION ALL SELECT 'limited', NULL, name FROM tickwise_queues
    UNION ALL SELECT 'waiting', NULL, NULL WHERE EXISTS (SELECT 1 FROM tickwise_runs
        WHERE state = 'queued' AND queue IN :queues[text] AND due_at <= {{now}}
            AND (expires_at IS NULL OR attempt > 0 OR expires_at > {{now}}))
""")
_HOLDERS = Statement("""
    SELECT job_id, id, lane, trigger_name, cancelling FROM tickwise_runs
    WHERE job_id IN :jobs[bigint] AND lane IS NOT NULL ORDER BY job_id, lane
""")
_SLOTS = Statement("""
    SELECT r.schedule_id, r.slot FROM tickwise_runs r
    JOIN :since[id bigint, slot bigint] AS v ON r.schedule_id = v.id AND r.slot > v.slot
""")
_SUCCESSES = Statement("""
    SELECT s.name, coalesce(r.slot, r.started_at / 1000000) AS reference
    FROM tickwise_schedules s JOIN tickwise_runs r ON r.job_id = s.job_id
    WHERE s.name IN :names[text] AND r.state = 'succeeded' AND (r.schedule_id = s.id OR r.schedule_id IS NULL)
        AND coalesce(r.slot, r.started_at / 1000000) > :since
    ORDER BY s.name, reference
""")
_HOLD = Statement("""
    SELECT id FROM tickwise_runs WHERE id IN :ids[bigint] AND lane IS NOT NULL ORDER BY id FOR SHARE SKIP LOCKED
""")
_TAKE = Statement("""
    SELECT id, state FROM tickwise_runs WHERE id IN :ids[bigint] AND lane IS NOT NULL
    ORDER BY id FOR UPDATE SKIP LOCKED
""")
_CANCEL = Statement("UPDATE tickwise_runs SET cancelling = TRUE WHERE id IN :ids[bigint]")
_INSERT = Statement("""
    INSERT INTO tickwise_runs (job_id, schedule_id, slot, lane, trigger_name, state, definition_id, times_id,
        queue,
        priority, function, due_at, expires_at, created_at, claimed_by, auto_remove, node, token, lease_until,
        attempt, failures, losses, cancelling, started_at)
    SELECT job_id, schedule_id, slot, lane, trigger_name, CASE WHEN leased THEN 'running' ELSE 'queued' END,
        definition_id, times_id, queue, priority, function, due_at, expires_at, {now}, :claimer, FALSE,
        CASE WHEN leased THEN CAST(:node AS text) END, CASE WHEN leased THEN CAST(:token AS text) END,
        CASE WHEN leased THEN CAST(:lease_until AS bigint) END,
        CASE WHEN leased THEN 1 ELSE 0 END, 0, 0, FALSE, CASE WHEN leased THEN {now} END
    FROM :rows[n bigint, job_id bigint, schedule_id bigint, slot bigint, lane bigint, trigger_name text,
        definition_id bigint, times_id bigint, queue text, priority bigint, function text, due_at bigint,
        expires_at bigint, leased boolean] AS v
    WHERE TRUE ORDER BY n
    ON CONFLICT DO NOTHING RETURNING id, job_id, schedule_id, slot
""")
_NOTE_SLOTS = Statement("""
    UPDATE tickwise_schedules SET last_slot =
        (SELECT max(slot) FROM tickwise_runs r WHERE r.schedule_id = tickwise_schedules.id)
    WHERE job_id IN :jobs[bigint]
""")
_NEXT_DUE = Statement("SELECT min(wake_at) FROM tickwise_jobs WHERE NOT local")
_SET_ASIDE = Statement("UPDATE tickwise_jobs SET wake_at = :at WHERE id = :job")
_SCHEDULES_OF = Statement("SELECT id, name FROM tickwise_schedules WHERE job_id = :job AND deleted IS NULL")
_WAITS_FOR_A_RUN = frozenset({Reason.WAITS_FOR_RUN, Reason.WAITS_FOR_LANE, Reason.WAITS_BEHIND})
_FIRST_ATTEMPT = 1
SET_ASIDE_SECONDS = 60  # for a job whose plan the database refuses
_Key: TypeAlias = tuple[int, int]  # the id of a schedule, and a slot


class Made(NamedTuple):
    """A start with all that its row needs."""

    start: Start
    job: HeldJob
    schedule: Held
    due_at: int  # in microseconds


class Circumstances(NamedTuple):
    """What holds for every job of a pass, read before the first is claimed: none of it depends on their locks."""

    now: int
    paused: bool
    latest_pause: int
    served: frozenset[str]  # queues that a live worker serves (S47)
    limited: frozenset[str]  # queues on which the fleet has a limit
    waiting: bool  # others wait in the queues of who claims


class Claim(NamedTuple):
    """Who claims, and what: so many due jobs from a floor on, or those that are named."""

    node: str
    limit: int
    floor: int
    names: Sequence[str] | None = None
    reserve: Reservation | None = None


def tick(book: Book, planner: Planner, claim: Claim, claimed: list[JobRow]) -> Protocol[Ticked]:
    """The pass. `claimed` tells the caller what was in hand when a statement failed."""
    around = yield from _circumstances(claim.reserve)
    now, second = around.now, around.now // MICRO
    if around.paused:
        return Ticked(now)
    due = CLAIM(second=second, floor=claim.floor, most=claim.limit)
    claimed[:] = map(JobRow._make, (yield due if claim.names is None else CLAIM_NAMED(names=claim.names)))
    if not claimed:
        return Ticked(now, next_due=(yield _NEXT_DUE())[0][0])
    jobs = {job.row.name: job for job in (yield from load(book, claimed, around.latest_pause))}
    facts = yield from _facts(jobs, around.served)
    plan = planner(second, [state for job in jobs.values() for state in job.states], facts)
    kept_due = yield from _cancel(book, plan, jobs, now)
    leases, came = yield from _start(book, plan, jobs, kept_due, claim, around)
    ending = yield from _ending(plan, facts)
    decided = _decide(plan, jobs, kept_due, ending, second)
    yield from write(decided, now, planned=True)
    if came > len(leases):
        yield WAKE
    more = bool(kept_due) or (claim.names is None and len(claimed) == claim.limit)
    next_due = None if more else (yield _NEXT_DUE())[0][0]
    return Ticked(now, len(decided), came, tuple(leases), more, next_due)


def _circumstances(reserve: Reservation | None) -> Protocol[Circumstances]:
    told: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for what, number, word in (yield _CIRCUMSTANCES(queues=list(reserve.queues) if reserve else [])):
        told[what].append((number, word))
    return Circumstances(
        told["now"][0][0], bool(told["paused"]), told["pause"][0][0],
        queues_of([facts for _, facts in told["serving"]]), frozenset(name for _, name in told["limited"]),
        bool(told["waiting"]),
    )  # fmt: skip


def set_aside(job: JobRow) -> Protocol[None]:
    """Put off a job whose plan could not be written, so that the others go on (S20)."""
    now = yield from clock()
    yield _SET_ASIDE(job=job.id, at=now // MICRO + SET_ASIDE_SECONDS)


def tell_refused(job: JobRow, problem: str) -> Protocol[None]:
    """Record why a job is put off, on each of its schedules."""
    now = yield from clock()
    rows = yield _SCHEDULES_OF(job=job.id)
    held = HeldJob(job, unreadable={name: Unreadable(id_, problem, None) for id_, name in rows})
    yield from record([held], now)


def _facts(jobs: dict[str, HeldJob], served: frozenset[str]) -> Protocol[Facts]:
    """What the verdicts depend on, read after the jobs were locked."""
    holders: dict[int, list[Holder]] = defaultdict(list)
    for job, run, lane, trigger, cancelling in (yield _HOLDERS(jobs=[job.row.id for job in jobs.values()])):
        holders[job].append(Holder(str(run), lane, Trigger.of(trigger), bool(cancelling)))
    slots = yield from _slots_with_run(jobs)
    successes = yield from _successes(jobs)
    return Facts(
        jobs={
            name: JobFacts(
                tuple(holders.get(job.row.id, ())), "" if job.row.queue in served else job.row.queue,
                job.row.last_manual, job.row.last_success,
            )
            for name, job in jobs.items()
        },
        schedules={
            name: ScheduleFacts(slots.get(held.id, frozenset()), held.last_slot)
            for job in jobs.values() for name, held in job.schedules.items()
        },
        successes={name: tuple(found) for name, found in successes.items()},
    )  # fmt: skip


def _successes(jobs: dict[str, HeldJob]) -> Protocol[dict[str, list[int]]]:
    """Of the schedules that are waited for, as far back as a pending slot asks for them (S35)."""
    states = [state for job in jobs.values() for state in job.states]
    needed = [after for state in states for after in state.definition.policy.after]
    found: dict[str, list[int]] = defaultdict(list)
    if needed:
        oldest = min(second for state in states for second in (state.cursor, *state.reopened[:1]))
        since = oldest - max(after.within for after in needed)
        for name, reference in (yield _SUCCESSES(names=sorted({a.schedule for a in needed}), since=since)):
            found[name].append(reference)
    return found


def _slots_with_run(jobs: dict[str, HeldJob]) -> Protocol[dict[int, set[int]]]:
    """Slots that may be pending although they have a run; in the common case none, and nothing is asked."""
    since = []
    for job in jobs.values():
        for held in job.schedules.values():
            state, newest = held.state, held.last_slot
            if newest is None:
                continue
            from_ = state.reopened[0] - 1 if state.reopened else state.cursor
            if state.backfill:
                from_ = min(from_, state.backfill.cursor)
            if newest > from_:
                since.append((held.id, from_))
    found: dict[int, set[int]] = defaultdict(set)
    if since:
        for schedule, slot in (yield _SLOTS(since=since)):
            found[schedule].add(slot)
    return found


def _cancel(book: Book, plan: TickPlan, jobs: dict[str, HeldJob], now: int) -> Protocol[set[str]]:
    """Ask runs to end; those that are only queued end at once. Returns jobs that must be planned again."""
    if not plan.cancels:
        return set()
    job_of = {name: job.row.name for job in jobs.values() for name in job.schedules}
    wanted = {int(cancel.run): job_of[cancel.schedule] for cancel in plan.cancels}
    taken = dict((yield _TAKE(ids=sorted(wanted))))
    kept_due = {job for run, job in wanted.items() if run not in taken}
    ours = {run: state for run, state in taken.items() if wanted[run] not in kept_due}
    if running := [run for run, state in ours.items() if state == "running"]:
        yield _CANCEL(ids=running)
    queued = [Ending(run, Cancelled()) for run, state in ours.items() if state == "queued"]
    yield from end(book, queued, now)
    return kept_due


def _start(
    book: Book, plan: TickPlan, jobs: dict[str, HeldJob], kept_due: set[str], claim: Claim, around: Circumstances
) -> Protocol[tuple[list[Lease], int]]:
    """Insert the runs. A job that did not get all of its own is added to those that stay due."""
    reserve, now = claim.reserve, around.now
    starts = [start for start in plan.starts if start.job not in kept_due]
    if not starts:
        return [], 0
    yield from book.read({jobs[start.job].row.definition_id for start in starts})
    made = {}
    for start in starts:
        held = jobs[start.job].schedules[start.schedule]
        made[held.id, start.slot] = Made(start, jobs[start.job], held, _due(held, start, now))
    leased = _at_once(book, made, reserve, around)
    token = f"{reserve.node}/{_FIRST_ATTEMPT}" if reserve else None
    rows = yield _INSERT(
        rows=[(n, *_row(one, now), key in leased) for n, (key, one) in enumerate(made.items())],
        claimer=claim.node,
        node=reserve.node if reserve else None, token=token,
        lease_until=now + reserve.seconds * MICRO if reserve else None,
    )  # fmt: skip
    ids = {(schedule, slot): run for run, _, schedule, slot in rows}
    if lost := [one for key, one in made.items() if key not in ids]:
        kept_due |= {one.start.job for one in lost}
        yield _NOTE_SLOTS(jobs=sorted({one.job.row.id for one in lost}))
    leases = [_lease(book, made[key], run, token or "", now) for key, run in ids.items() if key in leased]
    return leases, len(ids)


def _due(held: Held, start: Start, now: int) -> int:
    if start.trigger is not Trigger.SCHEDULE:
        return now
    return (due_at(held.state, start.slot) if held.state.definition.policy.jitter else start.slot) * MICRO


def _at_once(
    book: Book, made: Mapping[_Key, Made], reserve: Reservation | None, around: Circumstances
) -> frozenset[_Key]:
    """What the node gets at once: as a lease would choose, but none while others wait or the fleet has a limit."""
    if not reserve or around.waiting:
        return frozenset()
    place = {queue: n for n, queue in enumerate(dict.fromkeys(reserve.queues)) if queue not in around.limited}
    may = [
        (place[row.queue], -row.priority, one.due_at, n, key)
        for n, (key, one) in enumerate(made.items())
        if (row := one.job.row).queue in place and _may_lease(book, row, reserve)
    ]
    return frozenset(key for *_, key in sorted(may)[: reserve.capacity])


def _may_lease(book: Book, job: JobRow, reserve: Reservation) -> bool:
    if job.function is not None and job.function not in reserve.functions:
        return False
    try:
        return not book.job(job.definition_id, job.name).at_most_once
    except UnreadableText:  # who leases it will find that out
        return False


def _row(made: Made, now: int) -> tuple[object, ...]:
    start, job, held = made.start, made.job.row, made.schedule
    expires = held.state.definition.policy.expires
    return (
        job.id, held.id, start.slot, start.lane, str(start.trigger), job.definition_id, held.definition_id,
        job.queue, job.priority, job.function, made.due_at, None if expires is None else now + expires * MICRO,
    )  # fmt: skip


def _lease(book: Book, made: Made, run: int, token: str, now: int) -> Lease:
    definition: JobDefinition = book.job(made.job.row.definition_id, made.job.row.name)
    schedule = made.schedule.state.definition
    return Lease(
        str(run), token, definition, _FIRST_ATTEMPT, made.start.trigger, schedule.name, made.start.slot,
        schedule.times, schedule.label, None, made.due_at, now,
    )  # fmt: skip


def _ending(plan: TickPlan, facts: Facts) -> Protocol[set[str]]:
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
    plan: TickPlan, jobs: dict[str, HeldJob], kept_due: set[str], ending: set[str], second: int
) -> list[HeldJob]:
    """Put the plan into the rows in hand; of jobs that stay due, nothing."""
    newest: dict[str, int] = {}
    for start in plan.starts:
        newest[start.schedule] = max(start.slot, newest.get(start.schedule, start.slot))
    for planned in plan.schedules:
        schedule = planned.schedule
        held = jobs[schedule.job].schedules[schedule.name]
        held.state = schedule._replace(deleted_at=second) if planned.remove else schedule
        held.wake_at = None if planned.remove else second if schedule.job in ending else planned.wake_at
        slot = newest.get(schedule.name)
        if slot is not None:
            held.last_slot = slot if held.last_slot is None else max(slot, held.last_slot)
    job_of = {planned.schedule.name: planned.schedule.job for planned in plan.schedules}
    for decision in plan.decisions:
        jobs[job_of[decision.schedule]].decisions.append(decision)
    return [job for name, job in jobs.items() if name not in kept_due]
