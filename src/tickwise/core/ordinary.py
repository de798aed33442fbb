"""The ordinary case in a few lines: one start schedule of a job, and no slot to decide or one that is on time.

This is a short way and not a rule: what a pass decides is defined by the long way through `planner`, and where
this one answers, it answers the same. What it does not know it leaves to the long way, and says so by None.
"""

from .catchup import DEFAULT_GRACE, Pending
from .definition import Kind
from .journal import Journal
from .model import Decision, JobFacts, Planned, Schedule, ScheduleFacts, Start, TickPlan, Trigger
from .policy import Go, Wait, guard, overlap


def ordinary(now: int, schedule: Schedule, job: JobFacts, own: ScheduleFacts) -> TickPlan | None:
    """The plan for a job with this one schedule, if nothing about it is out of the ordinary."""
    if not _is_plain(schedule) or job.unreadable or job.unserved_queue:
        return None
    times, taken = schedule.definition.times, own.slots_with_run
    slot = times.after(schedule.cursor)
    if slot is None or slot > now:
        idle = schedule if schedule.deferral is None else schedule._replace(deferral=None)
        return None if slot in taken else TickPlan(schedules=(_planned(idle, slot),))
    following = times.after(slot)
    if (following is not None and following <= now) or slot in taken or following in taken:
        return None
    if not _is_on_time(now, schedule, slot):
        return None
    verdict = guard(schedule, Pending(slot, missed=False), job, own) or overlap(schedule, job.holders)
    if isinstance(verdict, Wait):
        return None
    name, met = schedule.definition.name, max(schedule.met, slot)
    if isinstance(verdict, Go):
        start = Start(schedule.definition.job, name, slot, Trigger.SCHEDULE, verdict.lane)
        done = schedule._replace(cursor=slot, met=met, runs_made=schedule.runs_made + 1, deferral=None, records=())
        return TickPlan((start,), schedules=(_planned(done, following),))
    journal = Journal(schedule)
    journal.tell(Decision(name, verdict.reason, slot, slot, 1, verdict.detail))
    done = schedule._replace(cursor=slot, met=met, deferral=None, records=journal.open)
    return TickPlan(decisions=tuple(journal.decisions), schedules=(_planned(done, following),))


def _is_plain(schedule: Schedule) -> bool:
    """Whether its slots are those that its times name, at those times, and only its own start."""
    definition = schedule.definition
    policy = definition.policy
    by_hand = schedule.paused or schedule.moved or schedule.backfill or schedule.deleted_at is not None
    holes = schedule.reopened or schedule.dropped
    limits = policy.until is not None or policy.max_runs is not None
    return not (by_hand or holes or limits or policy.jitter or policy.after) and definition.kind is Kind.START


def _is_on_time(now: int, schedule: Schedule, slot: int) -> bool:
    """Whether a slot without a following one by now was met in time, now or before (S9)."""
    given = schedule.definition.policy.grace
    in_time = now - slot <= (DEFAULT_GRACE if given is None else given) or slot <= schedule.met
    return in_time and slot > schedule.missed


def _planned(schedule: Schedule, due_at: int | None) -> Planned:
    over = due_at is None and schedule.definition.policy.auto_remove
    return Planned(schedule, due_at, due_at, remove=over)
