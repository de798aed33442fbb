"""How a past would have gone: the real planner over what a store has kept of that time.

Definitions may be others than those of the time. All else is as it was: when nobody looked, what was paused, which
runs people and code asked for, and how long the run of each slot held its lane. A slot that had no run then gets
the median of the others, and is told as estimated.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from heapq import heappop, heappush
from itertools import count
from statistics import median_low
from typing import NamedTuple, TypeAlias

from ..change import Added, Paused, Resumed
from ..definition import JobDefinition, RetryPolicy, ScheduleDefinition
from ..errors import ConflictError
from ..model import Start, TickPlan, Trigger
from ..planner import plan
from ..settle import Cancelled, Failed, Outcome, Succeeded
from ..states import FAILURES, RunState
from .past import MADE_BY_PASSES, Circumstances, Interval, Past, PastRun, PastSuccess
from .simulate import SlotReport, slot_reports
from .state import SimulatedStore, SimulatedStoredRun

_FAR = 1 << 40
_END, _OTHER = 0, 1  # in one second lanes are freed first
SlotKey: TypeAlias = tuple[str, int]  # schedule and slot


class Replay(NamedTuple):
    """Every slot with its verdict, and which runs lasted as long as others did."""

    slots: Mapping[SlotKey, SlotReport]
    estimated: frozenset[SlotKey]
    refused: int  # other runs of that time that would have found no free lane


def replay(past: Past, job: JobDefinition, circumstances: Circumstances, target: SlotKey | None = None) -> Replay:
    """Play the planner over a past; only until a slot is decided, if one is given."""
    played = _Replay(past, job, circumstances)
    played.play(target)
    times = {schedule.name: schedule.times for schedule in job.schedules}
    found = slot_reports(played.ledger, times, past.start, past.end)
    slots = {(report.schedule, report.slot): report for report in found if past.start <= report.slot < past.end}
    return Replay(slots, frozenset(played.estimated), played.refused)


class _Replay:
    def __init__(self, past: Past, job: JobDefinition, circumstances: Circumstances) -> None:
        self.ledger = SimulatedStore()
        self.estimated: set[SlotKey] = set()
        self.refused = 0
        self._past, self._job, self._circumstances = past, job, circumstances
        self._events: list[tuple[int, int, int, Callable[[int], None]]] = []
        self._number = count()
        ended = [run.held for run in past.runs if run.state is RunState.SUCCEEDED and run.held is not None]
        self._usual = median_low(ended) if ended else 0
        self._known = {(run.schedule or "", run.slot or 0): run for run in past.runs if self._is_of_slot(run, job)}
        self.ledger.jobs[job.name] = replace(job, retry=RetryPolicy())  # retries are in the time that a run held
        self._expect_everything()

    def _is_of_slot(self, run: PastRun, job: JobDefinition) -> bool:
        """Whether passes over these definitions make the run, if they make one for its slot."""
        if run.slot is None or run.slot < self._past.start or run.trigger not in MADE_BY_PASSES:
            return False
        return any(one.name == run.schedule and one.times.after(run.slot - 1) == run.slot for one in job.schedules)

    def _expect_everything(self) -> None:
        for definition in self._job.schedules:
            stored = self._past.schedules.get(definition.name)
            since = max(self._past.start - 1, stored.first_seen if stored else 0)
            self._at(since, partial(self._add, definition))
            for begin, end in self._circumstances.paused.get(definition.name, ()):
                self._at(max(begin, since), partial(self._pause, definition.name))
                self._at(max(end, since), partial(self._resume, definition.name))
        for run in self._past.runs:
            if not (self._is_of_slot(run, self._job) or self._is_of_slot(run, self._past.job)):
                self._at(run.created_at, partial(self._begin_other, run))
        for success in self._past.successes:
            self._at(success.at, partial(self._note_success, success))
        for begin, end in self._circumstances.no_worker:
            self._at(begin, partial(self._serve, frozenset()))
            self._at(end, partial(self._serve, None))

    def _at(self, second: int, act: Callable[[int], None], rank: int = _OTHER) -> None:
        heappush(self._events, (second, rank, next(self._number), act))

    def play(self, target: SlotKey | None) -> None:
        while (now := self._next()) < self._past.end:
            while self._events and self._events[0][0] <= now:
                second, _, _, act = heappop(self._events)
                act(second)
            if self._gap_at(now):
                continue
            schedules = self.ledger.claim(now)
            decided = plan(now, schedules, self.ledger.facts(schedules))
            for run in self.ledger.commit(decided, now):
                self._begin(run, now)
            for cancel in decided.cancels:
                self._end(self.ledger.runs[cancel.run], Cancelled(), now)
            if target is not None and _decides(decided, target):
                return

    def _next(self) -> int:
        """When something happens next; passes wait for the end of a downtime."""
        event = self._events[0][0] if self._events else self._past.end
        wake = self.ledger.next_wake()
        if wake is None:
            return event
        gap = self._gap_at(wake)
        return min(event, gap[1] if gap else wake)

    def _gap_at(self, second: int) -> Interval | None:
        """The downtime that a second lies in."""
        down = self._circumstances.down
        place = bisect_right(down, (second, _FAR)) - 1
        return down[place] if place >= 0 and second < down[place][1] else None

    def _add(self, definition: ScheduleDefinition, now: int) -> None:
        name = definition.name
        self.ledger.change(name, Added(definition), now)
        stored = self._past.schedules.get(name)
        holes = tuple((a - 1, b - 1) for a, b in self._circumstances.by_hand.get(name, ()))
        added = self.ledger.schedules[name]._replace(dropped=holes)
        if stored is not None:
            made = sum(key[0] == name and run.trigger in MADE_BY_PASSES for key, run in self._known.items())
            added = added._replace(
                edited_at=min(stored.edited_at, now), runs_made=max(0, stored.runs_made - made),
                recent_starts=self._starts_before(name, now),
            )  # fmt: skip
        self.ledger.schedules[name] = added

    def _starts_before(self, name: str, now: int) -> tuple[int, ...]:
        """When runs of its slots were made before, for a budget of starts (S77)."""
        own = (run for run in self._past.runs if run.schedule == name and run.trigger in MADE_BY_PASSES)
        return tuple(sorted(run.created_at for run in own if run.created_at <= now))

    def _pause(self, name: str, now: int) -> None:
        self.ledger.change(name, Paused(), now)

    def _resume(self, name: str, now: int) -> None:
        self.ledger.change(name, Resumed(), now)

    def _serve(self, queues: frozenset[str] | None, _now: int) -> None:
        self.ledger.served_queues = queues

    def _begin(self, run: SimulatedStoredRun, now: int) -> None:
        """A run of a slot, for as long as the slot's own run held its lane, or else as long as most did."""
        key = (run.schedule or "", run.slot or 0)
        was = self._known.get(key)
        if was is None:
            self.estimated.add(key)
            was = PastRun(*key, run.trigger, now, now + self._usual, RunState.SUCCEEDED)
        self._hold(run, was, now)

    def _hold(self, run: SimulatedStoredRun, was: PastRun, now: int) -> None:
        self.ledger.lease(run.id, now)
        if was.held is not None:
            self._at(now + was.held, partial(self._end, run, _outcome(was.state)), _END)

    def _end(self, run: SimulatedStoredRun, outcome: Outcome, now: int) -> None:
        if run.active:
            self.ledger.finish(run.id, outcome, now)

    def _begin_other(self, was: PastRun, now: int) -> None:
        """A run that no pass of this past makes: by hand, by code, a backfill, or one from before the start."""
        run = self._slot_run(was, now) if was.slot is not None else self._requested_run(was, now)
        if run is not None:
            self._hold(run, was, now)

    def _slot_run(self, was: PastRun, now: int) -> SimulatedStoredRun | None:
        """None if the slot has a run by now, or no lane is free."""
        lanes = {lane for lane in range(self._lanes) if not self.ledger.is_held(self._job.name, lane)}
        if not lanes or was.schedule is None or was.slot is None:
            self.refused += 1
            return None
        start = Start(self._job.name, was.schedule, was.slot, was.trigger, min(lanes))
        try:
            return self.ledger.commit(TickPlan((start,)), now)[0]
        except ConflictError:
            return None

    @property
    def _lanes(self) -> int:
        return max((one.policy.max_active_runs for one in self._job.schedules), default=1)

    def _requested_run(self, was: PastRun, now: int) -> SimulatedStoredRun:
        """What code enqueues holds no lane, and neither does a run that was started beside others."""
        if was.trigger is not Trigger.ENQUEUE:
            try:
                return self.ledger.trigger(self._job.name, now)
            except ConflictError:
                self.refused += 1
        return self.ledger.enqueue(self._job.name, was.trigger, now)

    def _note_success(self, success: PastSuccess, now: int) -> None:
        """A success of a schedule that this job depends on."""
        self.ledger.jobs.setdefault(success.schedule, JobDefinition(success.schedule))
        run = self.ledger.enqueue(
            success.schedule, Trigger.SCHEDULE, now, schedule=success.schedule, slot=success.slot
        )
        self.ledger.lease(run.id, now)
        self.ledger.finish(run.id, Succeeded(), now)


def _outcome(state: RunState) -> Outcome:
    if state is RunState.SUCCEEDED:
        return Succeeded()
    return Failed() if state in FAILURES else Cancelled()


def _decides(decided: TickPlan, target: SlotKey) -> bool:
    """Whether a plan gives a slot a run, or says that it gets none."""
    name, slot = target
    return any((start.schedule, start.slot) == target for start in decided.starts) or any(
        told.is_final and told.schedule == name and told.first <= slot <= told.last for told in decided.decisions
    )
