"""A job with its schedules as one value: what every store loads, changes and saves.

A store makes a `JobState` of what it keeps, asks it for the change, and writes what comes of it. Each operation
returns a new value, so a refusal leaves nothing behind. What it decides and which queued runs it ends is collected
in the value, and is written with it in one step:

- `redefine` applies a definition and `remove` deletes it, `change` applies a person's request, `end_pauses` the
  ends of pauses of everything; what else sources may do to a job is in `job_sources`;
- `slots_needed` and `core.facts_needed` say what must be read before a pass, `facts_of` makes facts of it;
- `commit` takes what the planner has decided about the job;
- `wake_at`, `waiting`, `lanes`, `is_local`, `needs` are what stores keep of a job to find it by.

`is_simple` is the one definition of an ordinary schedule. The planner's fast path, the stores' batches and the
forecast all ask it, so a new field of `Policy` or `Schedule` is considered in one place.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from .backfill import BackfillAsked
from .change import Added, Change, Deleted, Resumed, Switched, Updated, apply_change
from .cron import Recurrence
from .definition import DEFAULT_QUEUE, Catchup, JobDefinition, Kind, Policy
from .event_inbox import EventsReceived
from .model import (
    Decision,
    Facts,
    Holder,
    JobFacts,
    Planned,
    PlannedCancel,
    RunProgress,
    Schedule,
    ScheduleFacts,
    Start,
    TickPlan,
)
from .policy import catchup_mode
from .reasons import Reason
from .requirements import LiveWorkers, requirements_of

UNREADABLE_SECONDS = 60  # after which a schedule that cannot be read is looked at again
# Fields that make a schedule special, unless they are as in a new one.
SPECIAL_STATE = (
    "manual_pause", "disabled", "moved", "backfill", "reopened", "dropped", "deleted_at", "skips", "blackouts",
    "deadlines", "inbox", "recent_starts",
)  # fmt: skip
SPECIAL_POLICY = ("jitter", "until", "max_runs", "max_starts", "after", "pause_after", "deadline", "shadow")
_state_of, _policy_of = attrgetter(*SPECIAL_STATE), attrgetter(*SPECIAL_POLICY)
_ORDINARY_STATE = tuple(Schedule._field_defaults[name] for name in SPECIAL_STATE)
_ORDINARY_POLICY = _policy_of(Policy())

Ranges: TypeAlias = Sequence[tuple[int, int]]  # of slots, first and last
Key: TypeAlias = tuple[str, str, int]  # ("slot", schedule, slot) or ("lane", job, lane): one run has it


def is_simple(schedule: Schedule) -> bool:
    """Whether its slots are those that its times name, each due when named, and all that a slot does is start."""
    definition = schedule.definition
    return (
        definition.kind is Kind.START
        and _state_of(schedule) == _ORDINARY_STATE
        and _policy_of(definition.policy) == _ORDINARY_POLICY
    )


class EndedPause(NamedTuple):
    """A pause of everything that is over. Pauses are numbered in order."""

    number: int
    at: int
    until: int


class ScheduleState(NamedTuple):
    """A schedule of a job, and what a store keeps beside it."""

    schedule: Schedule
    wake_at: int | None = None  # when it must be looked at next; none means never
    last_slot: int | None = None  # the newest slot with a run, whatever retention has removed

    @property
    def live(self) -> bool:
        return self.schedule.deleted_at is None

    @property
    def undecided_from(self) -> int:
        """No slot up to here will be pending again."""
        schedule = self.schedule
        start = schedule.reopened[0] - 1 if schedule.reopened else schedule.cursor
        return min(start, schedule.backfill.cursor) if schedule.backfill else start


class UnreadableSchedule(NamedTuple):
    """A schedule that this version cannot read, and why."""

    problem: str
    last_slot: int | None = None
    live: bool = True


class JobState(NamedTuple):
    """A job, its schedules by name, and what has become of them since it was loaded."""

    name: str
    queue: str = DEFAULT_QUEUE
    requires: str = ""  # what a worker must offer to execute it (S46)
    schedules: Mapping[str, ScheduleState] = MappingProxyType({})  # deleted ones too, if they were loaded
    unreadable: Mapping[str, UnreadableSchedule] = MappingProxyType({})
    pauses_seen: int = 0  # the number of the last pause of everything whose end has reached its schedules
    woken_at: int | None = None  # when it was to be looked at; a run that ended may have made that earlier
    last_manual_start: int | None = None
    last_success: int | None = None
    history_from: int | None = None  # slots before this may have had runs that are not kept any longer
    changed: frozenset[str] = frozenset()  # schedules that were redefined or changed
    cancel_queued: frozenset[str] = frozenset()  # schedules whose queued runs end
    decisions: tuple[Decision, ...] = ()

    @property
    def live(self) -> dict[str, Schedule]:
        return {name: each.schedule for name, each in self.schedules.items() if each.live}

    @property
    def waiting(self) -> bool:
        """Whether the end of a run may let it go on (S15)."""
        return any(
            schedule.deferral or schedule.backfill or schedule.definition.policy.pause_after is not None
            for schedule in self.live.values()
        )

    @property
    def held(self) -> bool:
        """Whether a worker that comes alive may let it go on (S47)."""
        return any(schedule.held_for_worker for schedule in self.live.values())

    @property
    def lanes(self) -> int:
        """How many of its runs may hold a lane: the most that one of its schedules allows (S16)."""
        return max((schedule.definition.policy.max_active_runs for schedule in self.live.values()), default=1)

    @property
    def is_local(self) -> bool:
        """Whether nodes tick all of it from their own index, so that no claim is to find it."""
        live = self.live
        return bool(live) and all(schedule.ticked_locally for schedule in live.values())

    @property
    def needs(self) -> list[str]:
        """The schedules, and the jobs, for whose successes it waits (S35)."""
        return sorted({after.needed for each in self.live.values() for after in each.definition.policy.after})

    @property
    def recorded(self) -> list[Decision]:
        """What is to be recorded: of decisions with one identity the last (S7)."""
        broken = (_broken(name, each) for name, each in self.unreadable.items() if each.live)
        return list({each.identity: each for each in (*broken, *self.decisions)}.values())

    def wake_at(self, now: int) -> int | None:
        """When it must be looked at: only a pass lets that be later than it was."""
        wakes = [each.wake_at for each in self.schedules.values() if each.live]
        if any(each.live for each in self.unreadable.values()):
            wakes.append(now + UNREADABLE_SECONDS)
        return min((wake for wake in (*wakes, self.woken_at) if wake is not None), default=None) if wakes else None

    def end_pauses(self, pauses: Iterable[EndedPause]) -> "JobState":
        """Let the ends of pauses of everything reach its schedules, each as of when it ended (S29)."""
        job = self
        for number, at, until in pauses:
            if number > job.pauses_seen:
                job = _end_pause(job, at, until)._replace(pauses_seen=number)
        return job

    def inherit(self, deleted: Iterable[ScheduleState]) -> "JobState":
        """Take over schedules that other jobs have deleted: defined again here, they go on (S23)."""
        schedules = dict(self.schedules)
        for each in deleted:
            definition = replace(each.schedule.definition, job=self.name)
            schedules[definition.name] = each._replace(schedule=each.schedule._replace(definition=definition))
        return self._replace(schedules=schedules)

    def reopened_by(self, definition: JobDefinition, now: int) -> dict[str, int]:
        """Schedules whose catch-up a definition turns on, and since when their missed slots run again (S25)."""
        live, found = self.live, {}
        for new in definition.schedules:
            known = live.get(new.name)
            if known and new.policy.catchup is Catchup.ALL and catchup_mode(known) is Catchup.SKIP:
                found[new.name] = now - new.policy.catchup_window
        return found

    def redefine(
        self, definition: JobDefinition, source: str, now: int, missed: Mapping[str, Ranges] = MappingProxyType({})
    ) -> "JobState":
        """Apply a definition: schedules are added, updated, deleted, enabled and disabled (S23-S28).

        Schedules that other sources have added to the job stay (S50). `missed` are slots recorded as missed, of
        the schedules that `reopened_by` names.
        """
        job = begin_anew(self, {schedule.name for schedule in definition.schedules})
        job = with_schedules(job, definition, source, now, missed)
        for name in job.live:
            job = apply_to(job, name, Switched(definition.enabled), now)
        return job._replace(queue=definition.queue, requires=requirements_of(definition))

    def remove(self, now: int) -> "JobState":
        """Delete all its schedules, whoever added them: there is nothing left that they could start (S23, S50)."""
        job = begin_anew(self, ())
        for name, schedule in job.live.items():
            job = apply_to(job, name, Deleted(schedule.definition.source), now)
        return job

    def change(self, name: str, change: Change, now: int) -> "JobState":
        """Apply a person's request to one schedule."""
        if isinstance(change, BackfillAsked) and change.history_from is None:
            change = replace(change, history_from=self.history_from)
        if isinstance(change, EventsReceived) and name in self.schedules:
            change = replace(change, slots_to=self.schedules[name].last_slot or 0)
        job = apply_to(self, name, change, now)
        return job._replace(changed=job.changed | {name})

    def slots_needed(self) -> dict[str, int]:
        """Schedules of which slots may be pending although they have a run, and after which second to look.

        Most often there is none, and the store need not ask.
        """
        return {
            name: since
            for name, each in self.schedules.items()
            if each.live and isinstance(each.last_slot, int) and each.last_slot > (since := each.undecided_from)
        }

    def facts(self, holders: Sequence[Holder], workers: LiveWorkers) -> JobFacts:
        """What the verdicts on its slots depend on: `holders` of its lanes, and the live workers."""
        missing = workers.missing(self.queue, self.requires)
        no_worker = missing.text if missing else ""
        return JobFacts(tuple(holders), no_worker, self.last_manual_start, self.last_success, self._damage)

    @property
    def _damage(self) -> str:
        """Why no guard can be read: a store whose fields have no types may hold anything there (S20)."""
        facts: list[object] = [self.last_manual_start, self.last_success]
        facts += [each.last_slot for each in self.schedules.values()]
        wrong = [fact for fact in facts if fact is not None and not isinstance(fact, int)]
        return f"{wrong[0]!r} stands where a number must be" if wrong else ""

    def commit(self, plan: TickPlan, now: int, *, look_again: bool = False) -> "JobState":
        """The job as its part of a plan leaves it; with `look_again` it stays due."""
        schedules = dict(self.schedules)
        for schedule, wake_at, _, remove in plan.schedules:
            name, last_slot = schedule.definition.name, schedules[schedule.definition.name].last_slot
            if remove:
                schedules[name] = ScheduleState(schedule._replace(deleted_at=now), None, last_slot)
            else:
                schedules[name] = ScheduleState(schedule, now if look_again else wake_at, last_slot)
        for start in plan.starts:
            known = schedules[start.schedule]
            newest = start.slot if known.last_slot is None else max(start.slot, known.last_slot)
            schedules[start.schedule] = known._replace(last_slot=newest)
        return self._replace(schedules=schedules, woken_at=None, decisions=self.decisions + plan.decisions)


def _end_pause(job: JobState, at: int, until: int) -> JobState:
    schedules, decisions = dict(job.schedules), job.decisions
    for name, each in job.schedules.items():
        since = max(at, each.schedule.first_seen)
        if each.live and since < until:
            applied = apply_change(each.schedule, Resumed(since=since), until)
            schedules[name] = each._replace(schedule=applied.schedules[0])
            decisions += applied.decisions
    return job._replace(schedules=schedules, decisions=decisions)


def with_schedules(
    job: JobState, definition: JobDefinition, source: str, now: int, missed: Mapping[str, Ranges]
) -> JobState:
    """Make the schedules of a source those of a definition."""
    wanted = {schedule.name: schedule for schedule in definition.schedules}
    since = job.reopened_by(definition, now)
    for name, schedule in job.live.items():
        if name not in wanted and schedule.definition.source == source:
            job = apply_to(job, name, Deleted(source), now)
    for name, new in wanted.items():
        known = job.schedules.get(name)
        if known and known.live:
            slots = _slots_of(known.schedule.definition.times, missed.get(name, ()), since.get(name, now))
            job = apply_to(job, name, Updated(new, slots), now)
        else:
            job = apply_to(job, name, Added(new), now)
    return job


def begin_anew(job: JobState, wanted: Collection[str]) -> JobState:
    """Drop schedules that cannot be read. One that is defined again begins anew, and that is recorded (S2)."""
    if not job.unreadable:
        return job
    again = {name: each for name, each in job.unreadable.items() if name in wanted}
    gone = {name for name, each in job.unreadable.items() if each.live and name not in wanted}
    return job._replace(
        unreadable=again,
        cancel_queued=job.cancel_queued | gone,
        decisions=job.decisions + tuple(_broken(name, each) for name, each in again.items()),
    )


def apply_to(job: JobState, name: str, change: Change, now: int) -> JobState:
    """Apply a change. A schedule that it alters is looked at in the next pass."""
    known, lost = job.schedules.get(name), job.unreadable.get(name)
    applied = apply_change(known.schedule if known else None, change, now)
    schedule = applied.schedules[0]
    if known and schedule == known.schedule:
        return job
    before = known or ScheduleState(schedule, now, lost.last_slot if lost else None)
    wake_at: int | None = now if before.wake_at is None else min(now, before.wake_at)
    if schedule.deleted_at is not None:
        wake_at = None
    return job._replace(
        schedules={**job.schedules, name: before._replace(schedule=schedule, wake_at=wake_at)},
        unreadable={other: each for other, each in job.unreadable.items() if other != name},
        changed=job.changed | {name},
        cancel_queued=job.cancel_queued | ({name} if applied.cancel_queued else frozenset()),
        decisions=job.decisions + applied.decisions,
    )


def _broken(name: str, schedule: UnreadableSchedule) -> Decision:
    return Decision(name, Reason.BROKEN, 0, 0, 1, schedule.problem)


def _slots_of(times: Recurrence, ranges: Ranges, since: int) -> tuple[int, ...]:
    """The slots of ranges, in order, but none before a second."""
    found = set[int]()
    for first, last in ranges:
        slot = times.after(max(first, since) - 1)
        while slot is not None and slot <= last:
            found.add(slot)
            slot = times.after(slot)
    return tuple(sorted(found))


def facts_of(
    jobs: Iterable[JobState],
    holders: Mapping[str, Sequence[Holder]],
    workers: LiveWorkers,
    slots: Mapping[str, AbstractSet[int]],
    successes: Mapping[str, Sequence[int]],
    failures: Mapping[str, int] = MappingProxyType({}),
    progress: Mapping[str, Mapping[int, RunProgress]] = MappingProxyType({}),
) -> Facts:
    """What the planner is to know: holders of lanes by job; the rest by schedule."""
    jobs = list(jobs)
    return Facts(
        jobs={job.name: job.facts(holders.get(job.name, ()), workers) for job in jobs},
        schedules={
            name: ScheduleFacts(
                slots.get(name, frozenset()), each.last_slot, failures.get(name, 0), progress.get(name, {})
            )
            for job in jobs
            for name, each in job.schedules.items()
        },
        successes={name: tuple(found) for name, found in successes.items()},
    )


def by_job(plan: TickPlan) -> dict[str, TickPlan]:
    """A plan's parts, job by job: each is committed as a whole or not at all."""
    if len(plan.schedules) == 1:
        return {plan.schedules[0].schedule.job: plan}
    job_of = {planned.schedule.name: planned.schedule.job for planned in plan.schedules}
    starts, cancels = defaultdict[str, list[Start]](list), defaultdict[str, list[PlannedCancel]](list)
    decisions, schedules = defaultdict[str, list[Decision]](list), defaultdict[str, list[Planned]](list)
    for start in plan.starts:
        starts[start.job].append(start)
    for cancel in plan.cancels:
        cancels[job_of[cancel.schedule]].append(cancel)
    for decision in plan.decisions:
        decisions[job_of[decision.schedule]].append(decision)
    for planned in plan.schedules:
        schedules[planned.schedule.job].append(planned)
    return {
        job: TickPlan(tuple(starts[job]), tuple(cancels[job]), tuple(decisions[job]), tuple(planned))
        for job, planned in schedules.items()
    }


def contested_jobs(starts: Iterable[Start], taken: Iterable[Key]) -> set[str]:
    """Jobs of which a start asks for a slot that has a run, or for a lane that is held (S16)."""
    known, jobs = set(taken), set()
    for start in starts:
        keys = {("slot", start.schedule, start.slot), ("lane", start.job, start.lane)}
        if keys & known:
            jobs.add(start.job)
        known |= keys
    return jobs
