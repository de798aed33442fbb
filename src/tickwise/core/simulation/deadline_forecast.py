"""How likely the next deadlines are to be missed, and why (S65, ADR 90).

The planner itself is played on from now, many times. Each run lasts as long as a run of its job may last, by its
newest runs (`run_times`); all else is as it stands: schedules with their state, active runs, successes. In each
play the planner judges the deadlines, as it will when they come. A forecast is the share of plays that missed.

Which runs a missed slot waited for is known from the same play, one by the other. The one of these that took
longest beyond what it usually takes is the cause.

There is no chance in it: the lots of a play are hashes of what they are for. So the same facts give the same
forecast.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import count

from ..deadline_forecast import HORIZON, CauseKind, DeadlineForecast, ForecastCause, ForecastFacts
from ..deadlines import OpenDeadline, next_deadlines
from ..definition import RetryPolicy
from ..planner import plan
from ..settle import Cancelled, Outcome
from ..states import RunState
from .deadline_causes import WaitChain
from .run_times import DrawnRun
from .state import SimulatedStore, SimulatedStoredRun

FEWEST_RUNS = 10  # of a job, that say how long the next one takes
PLAYS = 200
_FEWEST_PLAYS = 50  # after which a deadline that was never missed, or always, is not looked at more closely
_MAX_PASSES = 20_000  # of all plays together: some seconds


def forecast_deadlines(facts: ForecastFacts, plays: int = PLAYS) -> list[DeadlineForecast]:
    """The next open deadline of each kind of each schedule that has one within the horizon, in order of time."""
    groups = (_Forecast(facts, group) for group in _groups(facts))
    left, found = _MAX_PASSES, list[DeadlineForecast]()
    for group in sorted((each for each in groups if each.targets), key=lambda each: each.first):
        found += group.forecasts(plays, left)
        left -= group.passes
    return sorted(found, key=lambda each: (each.at, each.schedule, each.reason.code))


def _groups(facts: ForecastFacts) -> Iterator[frozenset[str]]:
    """Jobs that wait for one another; jobs of two groups have nothing to do with each other."""
    near = dict[str, set[str]]((job, set()) for job in facts.jobs)
    for schedule in facts.schedules.values():
        for needed in schedule.definition.policy.after:
            known = facts.schedules.get(needed.schedule)
            other = known.job if known else needed.job
            if other in near:
                near[schedule.job].add(other)
                near[other].add(schedule.job)
    left = sorted(near)
    while left:
        group, reached = set[str](), [left[0]]
        while reached:
            job = reached.pop()
            group.add(job)
            reached += near[job] - group
        left = [job for job in left if job not in group]
        yield frozenset(group)


class _Forecast:
    """The plays of one group of jobs."""

    def __init__(self, facts: ForecastFacts, group: frozenset[str]) -> None:
        self._facts = replace(
            facts,
            jobs={name: job for name, job in facts.jobs.items() if name in group},
            schedules={name: one for name, one in facts.schedules.items() if one.job in group},
            runs=[run for run in facts.runs if run.job in group],
        )
        self.passes = 0
        self.targets = [
            each
            for schedule in self._facts.schedules.values()
            for each in next_deadlines(schedule, facts.now, self._done(schedule.name))
            if each.at <= facts.now + HORIZON
        ]

    @property
    def first(self) -> int:
        """When the first of its deadlines is."""
        return min(target.at for target in self.targets)

    def forecasts(self, plays: int, most_passes: int) -> list[DeadlineForecast]:
        """Of each target, as far as so many passes suffice."""
        missed = {target: Counter[tuple[CauseKind, str]]() for target in self.targets}
        unknown, played = self._too_few_runs(), 0
        while not unknown and played < plays:
            play = _Play(self._facts, self.targets, played)
            is_over = play.play(most_passes - self.passes)
            self.passes += play.passes
            if not is_over:
                unknown = "" if played >= _FEWEST_PLAYS else "too many slots are to be decided before it"
                break
            for target, causes in missed.items():
                causes.update(play.causes(target))
            played += 1
            if played == _FEWEST_PLAYS and all(causes.total() in (0, played) for causes in missed.values()):
                break
        return [self._forecast(target, causes, played, unknown) for target, causes in missed.items()]

    def _done(self, schedule: str) -> set[int]:
        runs = (run for run in self._facts.runs if run.schedule == schedule and run.slot is not None)
        return {run.slot or 0 for run in runs if run.state is RunState.SUCCEEDED}

    def _too_few_runs(self) -> str:
        for name in sorted(self._facts.jobs):
            known = self._facts.run_times.get(name)
            runs = len(known.known) if known else 0
            if runs < FEWEST_RUNS:
                return (
                    f"{name} has {'only ' if runs else ''}{runs or 'no'} past runs of the {FEWEST_RUNS} it takes"
                )
        return ""

    def _forecast(
        self, target: OpenDeadline, causes: Counter[tuple[CauseKind, str]], played: int, unknown: str
    ) -> DeadlineForecast:
        schedule, misses = self._facts.schedules[target.schedule], causes.total()
        deadline = schedule.definition.policy.deadline
        return DeadlineForecast(
            schedule=schedule.name, job=schedule.job, slot=target.slot, reason=target.reason, at=target.at,
            limit=target.limit, zone=schedule.definition.times.zone, warn=deadline.warn if deadline else None,
            probability=None if unknown else misses / played,
            causes=tuple(ForecastCause(*cause, number / misses) for cause, number in causes.most_common()),
            unknown=unknown,
        )  # fmt: skip


class _Play:
    """One way in which it may go on."""

    def __init__(self, facts: ForecastFacts, targets: Iterable[OpenDeadline], number: int) -> None:
        self._facts, self._number = facts, number
        self._until = max(target.at for target in targets) + 1
        self._events: list[tuple[int, int, str]] = []  # when something becomes of a run
        self._order = count()
        self._drawn: dict[str, DrawnRun] = {}
        self.passes = 0
        self.store = _store_of(facts)
        for run in list(self.store.runs.values()):
            if run.active:
                self._expect(run, facts.now)

    def play(self, most: int) -> bool:
        """To the last of the deadlines; false if that takes too many passes."""
        while (now := self._next()) <= self._until:
            while self._events and self._events[0][0] <= now:
                second, _, number = heappop(self._events)
                self._meet(self.store.runs[number], second)
            schedules = self.store.claim(now)
            if not schedules:
                continue
            self.passes += 1
            if self.passes > most:
                return False
            decided = plan(now, schedules, self.store.facts(schedules))
            for run in self.store.commit(decided, now):
                self._expect(run, now)
            for cancel in decided.cancels:
                self._end(self.store.runs[cancel.run], Cancelled(), now)
        return True

    def _next(self) -> int:
        event = self._events[0][0] if self._events else self._until + 1
        wake = self.store.next_wake()
        return event if wake is None else min(event, max(wake, self._facts.now))

    def _expect(self, run: SimulatedStoredRun, now: int) -> None:
        """Draw how a run goes, and when it begins and ends."""
        times = self._facts.run_times[run.job]
        lots = _lots(self._number, run.job, run.schedule, run.slot, run.created_at)
        drawn = times.draw(*lots, now - run.created_at, has_begun=run.started_at is not None)
        self._drawn[run.id] = drawn
        if run.started_at is None:
            heappush(self._events, (run.created_at + drawn.begun_after, next(self._order), run.id))
        heappush(self._events, (max(now, run.created_at + drawn.ended_after), next(self._order), run.id))

    def _meet(self, run: SimulatedStoredRun, now: int) -> None:
        if run.state is RunState.QUEUED:
            self.store.lease(run.id, now)
        else:
            self._end(run, self._drawn[run.id].outcome, now)

    def _end(self, run: SimulatedStoredRun, outcome: Outcome, now: int) -> None:
        if run.active:
            self.store.finish(run.id, outcome, now)

    def causes(self, target: OpenDeadline) -> list[tuple[CauseKind, str]]:
        """Why a slot missed its deadline; nothing if it did not."""
        late = (told.decision for told in self.store.decisions.values() if told.decision.reason is target.reason)
        if not any(d.schedule == target.schedule and d.first <= target.slot <= d.last for d in late):
            return []
        usual = {job: times.usual for job, times in self._facts.run_times.items()}
        return [
            WaitChain(self.store, self._facts.schedules, usual, self._until).cause(target.schedule, target.slot)
        ]


def _store_of(facts: ForecastFacts) -> SimulatedStore:
    """What there is now. Each job has a queue of its own, so that one may be without a worker."""
    store = SimulatedStore()
    for name, job in facts.jobs.items():
        store.jobs[name] = replace(
            job, queue=name, retry=RetryPolicy()
        )  # retries are in the time that a run takes
    store.served_queues = frozenset(facts.jobs) - facts.unserved
    for name, schedule in facts.schedules.items():
        store.restore_schedule(schedule, facts.now, facts.last_slots.get(name), facts.successes.get(name, ()))
    for needed, references in facts.successes.items():
        if needed not in facts.schedules:
            store.restore_successes(needed, references)
    lanes = defaultdict[str, set[int]](set)
    for run in facts.runs:
        if run.lane is None or run.lane not in lanes[run.job]:
            store.restore_run(SimulatedStoredRun("", key=None, attempt=1, **run._asdict()))
            lanes[run.job] |= {run.lane} if run.lane is not None and run.finished_at is None else set()
    return store


def _lots(*of: object) -> tuple[float, float]:
    """Two numbers of [0, 1) that follow from what they are for."""
    digest = blake2b(repr(of).encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "big") / 2**64, int.from_bytes(digest[8:], "big") / 2**64
