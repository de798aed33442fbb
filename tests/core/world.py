"""A small world to state rules in: define jobs, let time pass, be down, and read what ran and what was decided.

It is the real planner over the reference ledger, on a clock that the test moves. Times of the world's first day
are said as `03:00` or `03:00:30`, others as `2026-01-02T03:00`, both ways.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tickwise.core.backfill import BackfillAsked, BackfillCancelled
from tickwise.core.change import Change, ChangeResult, Deleted, Paused, Rescheduled, Reset, Resumed
from tickwise.core.cron import Recurrence, parse
from tickwise.core.cron.recurrences import AnyOf, At
from tickwise.core.cron.zone import zone
from tickwise.core.definition import (
    After,
    BlackoutMode,
    Catchup,
    JobDefinition,
    Kind,
    Overlap,
    Policy,
    RetryPolicy,
    ScheduleDefinition,
)
from tickwise.core.model import Decision, Facts, Schedule, Start, TickPlan
from tickwise.core.planner import plan
from tickwise.core.settle import Cancelled, Failed, Outcome, Succeeded
from tickwise.core.simulation.state import SimulatedStore, SimulatedStoredRun
from tickwise.core.states import RunState
from tickwise.core.timeparse import floor_second, parse_duration, to_datetime
from tickwise.testing import FakeClock

START = "2026-01-01T00:00:00Z"  # a Thursday
_DURATIONS = ("catchup_window", "grace", "jitter", "wait_for", "expires")


def seconds(text: str) -> int:
    """A duration as people write it, and `0`."""
    return 0 if text == "0" else parse_duration(text)


def instant(text: str, day: str = START[:10]) -> int:
    """`03:00` on that day, or a whole date and time; UTC."""
    return floor_second(datetime.fromisoformat(text if "T" in text else f"{day}T{text}").replace(tzinfo=UTC))


def once(*times: str) -> At:
    """One-offs."""
    return At(tuple(map(instant, times)), zone("UTC"))


def policy(**given: Any) -> Policy:
    """A policy as people write it, defaults filled in."""
    read: dict[str, Any] = {
        name: seconds(value) if name in _DURATIONS else value for name, value in given.items() if value is not None
    }
    if "catchup" in read:
        read["catchup"] = Catchup(read["catchup"])
    if "blackout" in read:
        read["blackout"] = BlackoutMode(read["blackout"])
    if "overlap" in read:
        read["overlap"] = Overlap(read["overlap"])
    if "until" in read:
        read["until"] = instant(read["until"])
    read["after"] = tuple(After(name, seconds(within)) for name, within in read.get("after", {}).items())
    return Policy.of(**read)


def schedule(
    name: str, times: str | list[str] | Recurrence, job: str = "", kind: Kind = Kind.START, **given: Any
) -> ScheduleDefinition:
    """A schedule: a cron text, several, or times ready made; the rest is its policy."""
    if isinstance(times, list):
        times = AnyOf(tuple(map(parse, times)))
    read = parse(times, key=name) if isinstance(times, str) else times
    return ScheduleDefinition(name, job or name, read, str(times), kind, policy(**given))


def job(
    name: str,
    times: str | list[str] | Recurrence | None = None,
    *,
    stop: str | None = None,
    restart: str | None = None,
    beside: Sequence[ScheduleDefinition] = (),
    queue: str = "default",
    retry: RetryPolicy | None = None,
    **given: Any,
) -> JobDefinition:
    """A job with a schedule of its own name, its stop and restart, and other schedules beside."""
    schedules = [schedule(name, times, name, **given)] if times is not None else []
    for kind, text in ((Kind.STOP, stop), (Kind.RESTART, restart)):
        if text:
            schedules.append(schedule(f"{name}.{kind}", text, name, kind))
    schedules += [replace(other, job=name) for other in beside]
    return JobDefinition(name, schedules=tuple(schedules), queue=queue, retry=retry or RetryPolicy())


class Moody(Recurrence):
    """Hourly times that cannot be told from some second on."""

    zone = zone("UTC")

    def __init__(self, broken_from: int | None) -> None:
        self.broken_from = broken_from
        self._hourly = parse("0 * * * *")

    def after(self, second: int) -> int | None:
        return self._hourly.after(self._checked(second))

    def before(self, second: int) -> int | None:
        return self._hourly.before(self._checked(second))

    def count(self, after: int, until: int) -> int:
        return self._hourly.count(after, until)

    def explain(self) -> str:
        return "Hourly, if it likes"

    def _checked(self, second: int) -> int:
        if self.broken_from is not None and second >= self.broken_from:
            raise ValueError("no such hour")
        return second


class World:
    """Everything there is: a clock, a ledger, and how long jobs run."""

    def __init__(self, start: str = START) -> None:
        self.clock = FakeClock(datetime.fromisoformat(start))
        self.ledger = SimulatedStore()
        self.run_time: dict[str, str] = {}  # by job; none: it ends in the second it began
        self.cancel_time = "0"  # how long a run takes to end when asked to
        self.failing: set[str] = set()  # jobs
        self.unreadable: dict[str, str] = {}  # jobs whose facts cannot be read, and why
        self._day = start[:10]
        self._alarms: dict[str, int] = {}  # by run: when it ends, or starts again

    @property
    def now(self) -> int:
        return self.clock.second

    # What happens.

    def define(self, *jobs: JobDefinition) -> None:
        """Take definitions in, as a source does: add what is new, update the rest, delete what is gone."""
        for each in jobs:
            self.ledger.define(each, self.now)

    def change(self, name: str, change: Change) -> ChangeResult:
        return self.ledger.change(name, change, self.now)

    def delete(self, name: str) -> ChangeResult:
        return self.change(name, Deleted())

    def pause(self, name: str, by: str = "", reason: str = "") -> None:
        self.change(name, Paused(by, reason))

    def resume(self, name: str, *, run_missed: bool | None = None) -> None:
        self.change(name, Resumed(run_missed))

    def reschedule(self, name: str, to: str) -> None:
        self.change(name, Rescheduled(self.at(to)))

    def reset(self, name: str) -> None:
        self.change(name, Reset())

    def backfill(self, name: str, start: str, end: str, overlap: str = "queue", **given: Any) -> None:
        self.change(name, BackfillAsked(self.at(start), self.at(end), Overlap(overlap), **given))

    def cancel_backfill(self, name: str) -> None:
        self.change(name, BackfillCancelled())

    def trigger(self, name: str) -> SimulatedStoredRun:
        """A run by hand, started at once."""
        run = self.ledger.trigger(name, self.now)
        self._begin(run)
        return run

    def tick(self) -> TickPlan:
        """One pass, now; runs that are done by now have ended."""
        self._meet_alarms()
        due = self.ledger.claim(self.now)
        decided = plan(self.now, due, self._facts(due))
        for run in self.ledger.commit(decided, self.now):
            self._begin(run)
        for cancel in decided.cancels:
            self._alarms[cancel.run] = self.now + seconds(self.cancel_time)
        return decided

    def plan(self) -> TickPlan:
        """What a pass over everything would decide now; nothing is committed."""
        everything = list(self.ledger.schedules.values())
        return plan(self.now, everything, self._facts(everything))

    def pass_time(self, to: str = "", **duration: int) -> None:
        """Let time pass with the scheduler up: a pass at every wake-up, and runs end when they are done."""
        target = self._target(to, duration)
        while (event := self._next_event()) is not None and event <= target:
            self.clock.set(to_datetime(max(event, self.now)))
            self.tick()
        self.clock.set(to_datetime(target))

    def down(self, to: str = "", **duration: int) -> None:
        """Let time pass with the scheduler down: nothing is decided. Workers live on and end what they run."""
        target = self._target(to, duration)
        while (event := min(self._alarms.values(), default=target)) < target:
            self.clock.set(to_datetime(max(event, self.now)))
            self._meet_alarms()
        self.clock.set(to_datetime(target))

    def end(self, name: str, outcome: Outcome | None = None) -> None:
        """The oldest active run of a job ends now."""
        run = self.active(name)[0]
        self._alarms.pop(run.id, None)
        self.ledger.finish(run.id, outcome or Succeeded(), self.now)

    # What can be read.

    def at(self, text: str) -> int:
        return instant(text, self._day)

    def says(self, second: int) -> str:
        """An instant as the tests write it."""
        text = f"{to_datetime(second):%Y-%m-%dT%H:%M:%S}".removesuffix(":00")
        return text.removeprefix(f"{self._day}T")

    def schedule(self, name: str) -> Schedule:
        return self.ledger.schedules[name]

    def cursor(self, name: str) -> str:
        return self.says(self.schedule(name).cursor)

    def runs(self, name: str) -> list[SimulatedStoredRun]:
        """The runs of a schedule, or of a job by hand, as they were made."""
        return [
            run for run in self.ledger.runs.values() if name in (run.schedule, run.job if not run.slot else "")
        ]

    def active(self, name: str) -> list[SimulatedStoredRun]:
        return [run for run in self.ledger.runs.values() if run.job == name and run.active]

    def ran(self, name: str) -> list[tuple[str, str]]:
        """The runs of a schedule: slot and trigger."""
        return [(self.says(run.slot), str(run.trigger)) for run in self.runs(name) if run.slot is not None]

    def started(self, name: str) -> list[tuple[str, str]]:
        """The runs of a schedule: slot, and when it was made."""
        return [(self.says(r.slot), self.says(r.created_at)) for r in self.runs(name) if r.slot is not None]

    def decisions(self, name: str) -> list[Decision]:
        return [told.decision for told in self.ledger.decisions.values() if told.decision.schedule == name]

    def verdicts(self, name: str) -> list[str]:
        """What was decided without a run: reason, slots, and how many if it is more than one."""
        return [self.tells(d) for d in self.decisions(name) if not d.waits]

    def waits(self, name: str) -> list[str]:
        """What had to wait."""
        return [self.tells(d) for d in self.decisions(name) if d.waits]

    def tells(self, decision: Decision) -> str:
        row = f" to {self.says(decision.last)} ({decision.count})" if decision.count > 1 else ""
        return f"{decision.reason.code} {self.says(decision.first)}{row}"

    def starts(self, decided: TickPlan) -> list[tuple[str, str, str]]:
        """A plan's starts: schedule, slot and trigger."""
        return [self.names(start) for start in decided.starts]

    def names(self, start: Start) -> tuple[str, str, str]:
        return start.schedule, self.says(start.slot), str(start.trigger)

    # How it goes on.

    def _target(self, to: str, duration: dict[str, int]) -> int:
        units = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
        return self.at(to) if to else self.now + sum(units[unit] * n for unit, n in duration.items())

    def _next_event(self) -> int | None:
        return min((t for t in (self.ledger.next_wake(), *self._alarms.values()) if t is not None), default=None)

    def _facts(self, schedules: Sequence[Schedule]) -> Facts:
        facts = self.ledger.facts(schedules)
        for name in self.unreadable.keys() & facts.jobs.keys():
            blind = facts.jobs[name]._replace(unreadable=self.unreadable[name])
            facts = replace(facts, jobs={**facts.jobs, name: blind})
        return facts

    def _begin(self, run: SimulatedStoredRun) -> None:
        self.ledger.lease(run.id, self.now)
        self._alarms[run.id] = self.now + seconds(self.run_time.get(run.job, "0"))

    def _meet_alarms(self) -> None:
        for run_id in [run_id for run_id, at in self._alarms.items() if at <= self.now]:
            del self._alarms[run_id]
            run = self.ledger.runs[run_id]
            if run.state is RunState.QUEUED:
                self._begin(run)
            elif run.active:
                settled = self.ledger.finish(run_id, self._outcome(run), self.now)
                if settled.not_before is not None:
                    self._alarms[run_id] = settled.not_before

    def _outcome(self, run: SimulatedStoredRun) -> Outcome:
        if run.cancelling:
            return Cancelled()
        return Failed() if run.job in self.failing else Succeeded()
