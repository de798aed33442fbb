"""The reference ledger: plain dictionaries that keep the law's unique keys, for tests and simulation.

It is the whole protocol in its shortest form. `claim` takes every schedule of each due job, `facts` reads what
their guards need, `commit` makes a plan true in one step, `finish` ends an attempt and wakes who waited for it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import takewhile
from typing import NamedTuple

from ..change import Added, Change, ChangeResult, Deleted, Updated, apply_change
from ..deadlines import slots_to_judge
from ..definition import JobDefinition, successes_of_job
from ..errors import ConflictError
from ..model import (
    Decision,
    Facts,
    Holder,
    JobFacts,
    RunProgress,
    Schedule,
    ScheduleFacts,
    Start,
    TickPlan,
    Trigger,
)
from ..reasons import Reason
from ..requirements import MissingWorker
from ..settle import Cancelled, EndingRun, Outcome, Settled, settle
from ..states import ACTIVE, FAILURES, Event, RunState, after

OUTCOMES = FAILURES | {RunState.SUCCEEDED}  # what counts for failed runs in a row
_KEEPS_KEY = ACTIVE | {RunState.SUCCEEDED}


@dataclass(slots=True)
class SimulatedStoredRun:
    """A run as it stands."""

    id: str
    job: str
    schedule: str | None
    slot: int | None
    trigger: Trigger
    lane: int | None
    key: str | None
    created_at: int
    state: RunState = RunState.QUEUED
    attempt: int = 0
    failures: int = 0
    losses: int = 0
    cancelling: bool = False
    failure: str = ""  # why it ends as failed when it is asked to end
    started_at: int | None = None
    finished_at: int | None = None
    not_before: int | None = None

    @property
    def active(self) -> bool:
        return self.state in ACTIVE


class RecordedDecision(NamedTuple):
    """A decision, when it was first made, and when it was last told."""

    decision: Decision
    made_at: int
    extended_at: int


class SimulatedStore:
    """Schedules, runs and decisions of any number of jobs."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobDefinition] = {}
        self.schedules: dict[str, Schedule] = {}
        self.runs: dict[str, SimulatedStoredRun] = {}
        self.decisions: dict[tuple[str, Reason, int], RecordedDecision] = {}  # by their identity
        self.served_queues: frozenset[str] | None = None  # none: every queue has a live worker
        self._wake_at: dict[str, int] = {}
        self._agenda: list[tuple[int, str]] = []  # (wake_at, schedule); an entry that _wake_at contradicts is void
        self._of_job: dict[str, dict[str, None]] = defaultdict(dict)
        self._needed_by: dict[str, dict[str, None]] = defaultdict(dict)
        self._slots: dict[str, dict[int, SimulatedStoredRun]] = defaultdict(dict)
        self._claimed_at = 0
        self._lanes: dict[str, dict[int, SimulatedStoredRun]] = defaultdict(dict)
        self._keys: dict[tuple[str, str], SimulatedStoredRun] = {}
        self._successes: dict[str, list[int]] = defaultdict(list)
        self._newest: dict[tuple[str, str], int] = {}  # (what, job or schedule): the newest instant of its kind

    def define(self, job: JobDefinition, now: int) -> None:
        """Take in a job: its schedules are added or updated, and those it no longer has are deleted."""
        self.jobs[job.name] = job
        wanted = {schedule.name: schedule for schedule in job.schedules}
        for name in [
            n for n in self._of_job[job.name] if n not in wanted and self.schedules[n].deleted_at is None
        ]:
            self.change(name, Deleted(self.schedules[name].definition.source), now)
        for name, definition in wanted.items():
            known = name in self.schedules and self.schedules[name].deleted_at is None
            self.change(name, Updated(definition, self.missed_slots(name)) if known else Added(definition), now)

    def missed_slots(self, name: str) -> tuple[int, ...]:
        """The slots that were recorded as missed, in order (S25)."""
        found, times = set(), self.schedules[name].definition.times
        for decision, _, _ in self.decisions.values():
            missed = decision.schedule == name and decision.reason is Reason.MISSED
            slot: int | None = decision.first if missed else None
            while slot is not None and slot <= decision.last:
                found.add(slot)
                slot = times.after(slot)
        return tuple(sorted(found))

    def restore_successes(self, needed: str, references: Sequence[int]) -> None:
        """Those of a job, whatever made its runs (S35)."""
        self._successes[needed] = sorted(references)

    def restore_schedule(
        self, schedule: Schedule, now: int, last_slot: int | None, successes: Sequence[int]
    ) -> None:
        """A schedule as it stood elsewhere; it is looked at now."""
        self.schedules[schedule.name] = schedule
        self._of_job[schedule.job][schedule.name] = None
        for needed in schedule.definition.policy.after:
            self._needed_by[needed.needed][schedule.name] = None
        self._successes[schedule.name] = sorted(successes)
        for slot in successes:
            self._note("success", schedule.job, slot)
        if last_slot is not None:
            self._note("slot", schedule.name, last_slot)
        self._wake(schedule.name, now)

    def restore_run(self, run: SimulatedStoredRun) -> None:
        """A run as it stood elsewhere, with an id of this store."""
        run.id = str(len(self.runs) + 1)
        self.runs[run.id] = run
        if run.schedule is not None and run.slot is not None:
            self._slots[run.schedule][run.slot] = run
            self._note("slot", run.schedule, run.slot)
        if run.active and run.lane is not None:
            self._lanes[run.job][run.lane] = run
        if run.trigger is Trigger.MANUAL and run.started_at is not None:
            self._note("manual", run.job, run.started_at)

    def run_of(self, schedule: str, slot: int) -> SimulatedStoredRun | None:
        """The run of a slot."""
        return self._slots[schedule].get(slot)

    def change(self, name: str, change: Change, now: int) -> ChangeResult:
        """Apply a change; the schedule is looked at in the next pass."""
        changed = apply_change(self.schedules.get(name), change, now)
        for schedule in changed.schedules:
            self.schedules[schedule.name] = schedule
            self._of_job[schedule.job][schedule.name] = None
            for needed in schedule.definition.policy.after:
                self._needed_by[needed.needed][schedule.name] = None
            self._wake(schedule.name, now)
        self._record(changed.decisions, now)
        if changed.cancel_queued:
            for run in list(self.runs.values()):
                if run.schedule == name and run.state is RunState.QUEUED:
                    self.finish(run.id, Cancelled(), now)
        return changed

    def next_wake(self) -> int | None:
        """The earliest instant at which a schedule must be looked at."""
        while self._agenda and self._wake_at.get(self._agenda[0][1]) != self._agenda[0][0]:
            heappop(self._agenda)
        return self._agenda[0][0] if self._agenda else None

    def claim(self, now: int) -> list[Schedule]:
        """All schedules of each job that has one to be looked at."""
        self._claimed_at = now
        jobs: dict[str, None] = {}
        while (wake := self.next_wake()) is not None and wake <= now:
            _, name = heappop(self._agenda)
            del self._wake_at[name]
            jobs[self.schedules[name].job] = None
        return [self.schedules[name] for job in jobs for name in self._of_job[job]]

    def facts(self, schedules: Sequence[Schedule]) -> Facts:
        """What the verdicts on these schedules depend on."""
        jobs = {schedule.job for schedule in schedules}
        needed = {after.needed for schedule in schedules for after in schedule.definition.policy.after}
        return Facts(
            jobs={job: self._job_facts(job) for job in jobs},
            schedules={schedule.name: self._schedule_facts(schedule) for schedule in schedules},
            successes={name: tuple(sorted(self._successes[name])) for name in needed},
        )

    def _schedule_facts(self, schedule: Schedule) -> ScheduleFacts:
        newest = self._newest.get(("slot", schedule.name))
        needed = schedule.backfill or schedule.reopened or (newest is not None and newest > schedule.cursor)
        slots = self._slots[schedule.name].keys() if needed else frozenset[int]()
        return ScheduleFacts(slots, newest, self._failures(schedule), self._progress(schedule))

    def _progress(self, schedule: Schedule) -> dict[int, RunProgress]:
        """The runs of slots whose deadlines have come (S65)."""
        runs = self._slots[schedule.name]
        found = (runs[slot] for slot in slots_to_judge(schedule, self._claimed_at) if slot in runs)
        return {
            run.slot or 0: RunProgress(run.id, run.state, run.attempt, run.started_at, run.finished_at)
            for run in found
        }

    def _failures(self, schedule: Schedule) -> int:
        """How many of its newest runs failed in a row (S66)."""
        if schedule.definition.policy.pause_after is None:
            return 0
        runs = [run for run in self.runs.values() if run.schedule == schedule.name and run.state in OUTCOMES]
        runs.sort(key=lambda run: run.slot or 0, reverse=True)
        failed = takewhile(lambda run: run.state is not RunState.SUCCEEDED, runs)
        return sum((run.finished_at or 0) > schedule.failures_from for run in failed)

    def _job_facts(self, job: str) -> JobFacts:
        queue = self.jobs[job].queue
        is_served = self.served_queues is None or queue in self.served_queues
        return JobFacts(
            holders=tuple(
                Holder(run.id, lane, run.trigger, run.cancelling) for lane, run in self._lanes[job].items()
            ),
            no_worker="" if is_served else MissingWorker(queue).text,
            last_manual_start=self._newest.get(("manual", job)),
            last_success=self._newest.get(("success", job)),
        )

    def is_held(self, job: str, lane: int) -> bool:
        """Whether a run holds a lane of a job."""
        return lane in self._lanes[job]

    def commit(self, plan: TickPlan, now: int) -> list[SimulatedStoredRun]:
        """Make a plan true: runs, cancels, decisions and cursors at once, or nothing if a unique key is taken."""
        for start in plan.starts:
            if start.slot in self._slots[start.schedule] or start.lane in self._lanes[start.job]:
                raise ConflictError(
                    f"{start.schedule} at {start.slot} has a run, or its lane {start.lane} is held"
                )
        made = [self._make(start, now) for start in plan.starts]
        self._record(plan.decisions, now)
        for planned in plan.schedules:
            name = planned.schedule.name
            self.schedules[name] = planned.schedule
            self._wake_at.pop(name, None)
            if planned.remove:
                del self.schedules[name], self._of_job[planned.schedule.job][name]
            elif planned.due_at is not None:  # here no wake-up is lost: no need to look in between
                self._wake(name, planned.due_at)
        for cancel in plan.cancels:  # last: a queued run ends at once, and wakes who has just begun to wait
            self.cancel(cancel.run, now, cancel.error)
        return made

    def _record(self, decisions: Iterable[Decision], now: int) -> None:
        """Keep decisions; one with the identity of another takes its place (S7)."""
        for decision in decisions:
            known = self.decisions.get(decision.identity)
            self.decisions[decision.identity] = RecordedDecision(decision, known.made_at if known else now, now)

    def _make(self, start: Start, now: int) -> SimulatedStoredRun:
        run = self.enqueue(
            start.job, start.trigger, now, schedule=start.schedule, slot=start.slot, lane=start.lane
        )
        self._slots[start.schedule][start.slot] = run
        self._note("slot", start.schedule, start.slot)
        return run

    def enqueue(
        self, job: str, trigger: Trigger, now: int, *, schedule: str | None = None, slot: int | None = None,
        lane: int | None = None, key: str | None = None,
    ) -> SimulatedStoredRun:  # fmt: skip
        """A queued run, or the one that has its key already (S48). Without a lane it holds none."""
        known = self._keys.get((job, key)) if key is not None else None
        if known and known.state in _KEEPS_KEY:
            return known
        stored = SimulatedStoredRun(str(len(self.runs) + 1), job, schedule, slot, trigger, lane, key, now)
        self.runs[stored.id] = stored
        if key is not None:
            self._keys[job, key] = stored
        if lane is not None:
            self._lanes[job][lane] = stored
        return stored

    def trigger(self, job: str, now: int) -> SimulatedStoredRun:
        """A run by hand, on a lane of its own (S30)."""
        lanes = max((self.schedules[n].definition.policy.max_active_runs for n in self._of_job[job]), default=1)
        free = next((lane for lane in range(lanes) if lane not in self._lanes[job]), None)
        if free is None:
            held = ", ".join(run.id for run in self._lanes[job].values())
            raise ConflictError(f"{job} is active: run {held} is in the way")
        return self.enqueue(job, Trigger.MANUAL, now, lane=free)

    def cancel(self, run_id: str, now: int, failure: str = "") -> None:
        """Ask an active run to end; one that has not started ends at once."""
        stored = self.runs[run_id]
        stored.failure = failure
        if stored.state is RunState.QUEUED:
            self.finish(run_id, Cancelled(), now)
        elif stored.active:
            stored.cancelling = True

    def lease(self, run_id: str, now: int) -> None:
        """A worker takes a queued run and starts it."""
        stored = self.runs[run_id]
        stored.state = after(stored.state, Event.LEASED)
        stored.started_at, stored.attempt = now, stored.attempt + 1
        if stored.trigger is Trigger.MANUAL:
            self._note("manual", stored.job, now)

    def finish(self, run_id: str, outcome: Outcome, now: int) -> Settled:
        """End an attempt. A run that is over frees its lane and wakes who waited for it (S15, S35)."""
        stored, job = self.runs[run_id], self.jobs[self.runs[run_id].job]
        run = EndingRun(
            stored.id, stored.state, stored.failures, stored.losses, job.retry, job.at_most_once,
            stored.cancelling, stored.failure,
        )  # fmt: skip
        settled = settle(run, outcome, now)
        stored.state, stored.failures, stored.losses = settled.state, settled.failures, settled.losses
        stored.not_before = settled.not_before
        if not stored.active:
            stored.finished_at = now
            if stored.lane is not None:
                del self._lanes[stored.job][stored.lane]
            if stored.state is RunState.SUCCEEDED:
                self._succeed(stored, now)
            for name in self._of_job[stored.job]:
                schedule = self.schedules[name]
                if schedule.deferral or schedule.backfill or schedule.definition.policy.pause_after is not None:
                    self._wake(name, now)
        return settled

    def _succeed(self, stored: SimulatedStoredRun, now: int) -> None:
        reference = (stored.started_at or now) if stored.slot is None else stored.slot
        self._note("success", stored.job, reference)
        names = [stored.schedule] if stored.schedule else list(self._of_job[stored.job])
        names.append(successes_of_job(stored.job))
        for name in names:
            self._successes[name].append(reference)
        for waiting in {name: None for needed in names for name in self._needed_by[needed]}:
            deferral = self.schedules[waiting].deferral
            if deferral and deferral.reason is Reason.WAITS_FOR_SUCCESS:
                self._wake(waiting, now)

    def _note(self, what: str, name: str, instant: int) -> None:
        self._newest[what, name] = max(instant, self._newest.get((what, name), instant))

    def _wake(self, name: str, at: int) -> None:
        if self._wake_at.get(name, at + 1) > at:
            self._wake_at[name] = at
            heappush(self._agenda, (at, name))
