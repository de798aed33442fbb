"""What would run: the real planner and the reference ledger on a virtual clock.

Time leaps from event to event: a schedule's wake-up, the end of a run, the end of a downtime. While it is down
nothing is decided and nothing runs; what was running is handed back, as at a shutdown (S45).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from ..catchup import backlog
from ..cron import Recurrence
from ..definition import JobDefinition
from ..errors import InputError
from ..model import Decision, ScheduleFacts, Trigger
from ..planner import plan
from ..reasons import Reason, Verdict
from ..settle import Cancelled, Failed, HandedBack, Outcome, Succeeded
from ..states import RunState
from ..timeparse import format_duration, iso
from .state import SimulatedStore, SimulatedStoredRun

_REASONS = {Trigger.CATCHUP: Reason.CATCH_UP, Trigger.BACKFILL: Reason.BACKFILL}
_LISTED_ONE_BY_ONE = 10_000  # a decision about more slots than this is shown as one line


@dataclass(frozen=True, slots=True)
class Scenario:
    """What to play through, in UTC seconds: slots of [start, end), downtimes, how long jobs run and which fail."""

    jobs: Sequence[JobDefinition]
    start: int
    end: int
    down: tuple[tuple[int, int], ...] = ()
    run_time: Mapping[str, int] = field(default_factory=dict)
    fail: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.start >= self.end:
            raise InputError(f"the end, {iso(self.end)}, must come after the start, {iso(self.start)}")
        for begin, end in self.down:
            if begin >= end:
                raise InputError(f"a downtime must end after it begins, not {iso(begin)} to {iso(end)}")
        names = {job.name for job in self.jobs}
        unknown = sorted((set(self.run_time) | self.fail) - names)
        if unknown:
            raise InputError(f"no job is named {unknown[0]!r}; there are {', '.join(sorted(names)) or 'none'}")


class SimulatedRun(NamedTuple):
    """How a run would have gone; one that has not ended by then has no end."""

    trigger: Trigger
    started_at: int | None
    finished_at: int | None
    outcome: RunState | None


class SlotReport(NamedTuple):
    """One slot, its verdict, and its run if it got one."""

    schedule: str
    slot: int
    verdict: Verdict
    reason: Reason
    detail: str
    run: SimulatedRun | None = None


def simulate(scenario: Scenario) -> list[SlotReport]:
    """Every slot of the scenario with its verdict, in (slot, schedule) order."""
    world = _World(scenario)
    world.play()
    return slot_reports(world.ledger, world.times, scenario.start, scenario.end)


class _World:
    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.ledger = SimulatedStore()
        self._alarms: list[
            tuple[int, str, int]
        ] = []  # (instant, run, which of its attempts): it starts or ends then
        self._attempts: dict[str, int] = {}
        self.times = {schedule.name: schedule.times for job in scenario.jobs for schedule in job.schedules}
        for job in scenario.jobs:
            if job.enabled:
                self.ledger.define(job, scenario.start - 1)

    def play(self) -> None:
        downtimes, up_at = sorted(self.scenario.down), self.scenario.start
        while (now := max(self._next_event(), up_at)) < self.scenario.end:
            if downtimes and now >= downtimes[0][0]:
                begin, end = downtimes.pop(0)
                self._shut_down(begin, end)
                up_at = max(up_at, end)
                continue
            self._meet_alarms(now)
            schedules = self.ledger.claim(now)
            if schedules:
                decided = plan(now, schedules, self.ledger.facts(schedules))
                for run in self.ledger.commit(decided, now):
                    self._start(run, now)
                for cancel in decided.cancels:
                    self._end(self.ledger.runs[cancel.run], Cancelled(), now)

    def _next_event(self) -> int:
        wake = self.ledger.next_wake()
        alarm = self._alarms[0][0] if self._alarms else None
        return min(t for t in (wake, alarm, self.scenario.end) if t is not None)

    def _shut_down(self, begin: int, end: int) -> None:
        for run in self.ledger.runs.values():
            if run.state is RunState.RUNNING:
                self._end(run, HandedBack(), begin)
                self._alarm(run, end)

    def _meet_alarms(self, now: int) -> None:
        while self._alarms and self._alarms[0][0] <= now:
            _, run_id, attempt = heappop(self._alarms)
            run = self.ledger.runs[run_id]
            if attempt != self._attempts.get(run_id):
                continue
            if run.state is RunState.QUEUED:
                self._start(run, now)
            elif run.state is RunState.RUNNING:
                self._end(run, self._outcome(run), now)

    def _start(self, run: SimulatedStoredRun, now: int) -> None:
        self.ledger.lease(run.id, now)
        if lasts := self.scenario.run_time.get(run.job):
            self._alarm(run, now + lasts)
        else:
            self._end(run, self._outcome(run), now)

    def _outcome(self, run: SimulatedStoredRun) -> Outcome:
        return Failed() if run.job in self.scenario.fail else Succeeded()

    def _end(self, run: SimulatedStoredRun, outcome: Outcome, now: int) -> None:
        if run.active:
            settled = self.ledger.finish(run.id, outcome, now)
            if settled.not_before is not None:
                self._alarm(run, settled.not_before)

    def _alarm(self, run: SimulatedStoredRun, at: int) -> None:
        self._attempts[run.id] = self._attempts.get(run.id, 0) + 1
        heappush(self._alarms, (at, run.id, self._attempts[run.id]))


def slot_reports(
    ledger: SimulatedStore, times: Mapping[str, Recurrence], start: int, end: int
) -> list[SlotReport]:
    """What a store says that was played through: each slot of [start, end) once, in (slot, schedule) order."""
    told: dict[tuple[int, str], SlotReport] = {}
    for report in _reports(ledger, times, start, end):
        # The range of a record may reach over slots that were told before.
        told.setdefault((report.slot, report.schedule), report)
    return [told[slot] for slot in sorted(told)]


def _reports(
    ledger: SimulatedStore, times: Mapping[str, Recurrence], start: int, end: int
) -> Iterator[SlotReport]:
    for run in ledger.runs.values():
        if run.schedule in times:
            yield _of_run(run)
    for decision, _, _ in ledger.decisions.values():
        if decision.is_final and decision.last >= start:
            yield from _of_decision(decision, times[decision.schedule])
    for schedule in ledger.schedules.values():
        for pending in backlog(schedule, ScheduleFacts(), end - 1):
            waiting = schedule.deferral
            reason = waiting.reason if waiting else Reason.WAITS_BEHIND
            detail = waiting.detail if waiting else "the end of the simulation"
            if schedule.rests:
                reason, detail = Reason.PAUSED, ""
            yield SlotReport(schedule.name, pending.slot, Verdict.DEFERRED, reason, detail)


def _of_decision(decision: Decision, times: Recurrence) -> Iterator[SlotReport]:
    reason, detail = decision.reason, decision.reason.explain(decision.detail)
    if decision.count > _LISTED_ONE_BY_ONE:
        summed = f"{decision.count} slots up to {iso(decision.last)}: {detail}"
        yield SlotReport(decision.schedule, decision.first, reason.verdict, reason, summed)
        return
    slot: int | None = decision.first
    while slot is not None and slot <= decision.last:
        yield SlotReport(decision.schedule, slot, reason.verdict, reason, detail)
        slot = times.after(slot)


def _of_run(run: SimulatedStoredRun) -> SlotReport:
    late = run.trigger is Trigger.CATCHUP
    reason = _REASONS.get(run.trigger, Reason.ON_TIME)
    waited = run.created_at - (run.slot or run.created_at)
    detail = reason.explain()
    if waited and reason is not Reason.BACKFILL:
        after = format_duration(waited)
        detail = f"{detail}, {after} late" if late else f"it was met on time and waited {after} for its turn"
    outcome = None if run.active else run.state
    simulated = SimulatedRun(run.trigger, run.started_at, run.finished_at, outcome)
    return SlotReport(run.schedule or "", run.slot or 0, reason.verdict, reason, detail, simulated)
