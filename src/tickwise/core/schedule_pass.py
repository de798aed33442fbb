"""One schedule during a pass: what is pending, what is decided of it, and how the pass leaves it.

`filter_backlog` finds what is still wanted, `entries` gives it in order, `apply` takes the verdict on each slot,
and `plan` returns the result. The verdicts, and the other schedules of the job, are the planner's.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from .advance_requests import apply_advance_requests
from .catchup import Backlog, Pending, backlog
from .deadlines import judge
from .definition import Kind, Overlap
from .event_inbox import events_of, with_decided
from .journal import Journal
from .model import (
    Decision,
    Deferral,
    Holder,
    Planned,
    PlannedCancel,
    Schedule,
    ScheduleFacts,
    Start,
    TickPlan,
    Trigger,
)
from .policy import Go, Ruling, Skip, Unwanted, Wait, overlap, sieves
from .reasons import Reason
from .slots import passed_over, summed_up
from .start_budget import starts_to_remember
from .timeparse import iso

LONGEST_SLEEP = 60  # of a schedule with pending slots, whatever wake-up was lost (S15)
_BACKFILL_BATCH = 1_000  # slots of a backfill that one pass looks at
_KIND_ORDER = {kind: place for place, kind in enumerate(Kind)}


class SchedulePass:
    """One schedule during a pass: what is pending, and what has been decided so far."""

    def __init__(self, now: int, schedule: Schedule, own: ScheduleFacts) -> None:
        self.now = now
        self._before = schedule
        schedule, decided, rests_until = apply_advance_requests(schedule, own, now)
        self.schedule = schedule
        self.own = own
        self.kind = schedule.definition.kind
        self._rests = schedule.rests or rests_until is not None
        self.starts: list[Start] = []
        self.cancels: list[PlannedCancel] = []
        self._journal = Journal(schedule)
        self._told: list[Decision] = []
        for decision in decided:
            self._tell(decision)
        self._backlog = (
            Backlog(schedule, None, None, schedule.last_missed_slot, rests_until or schedule.resumes_at)
            if self._rests
            else backlog(schedule, own, now)
        )
        self._work = self._backlog.schedule  # as decided so far
        self.waits = False
        self._open = False
        self._newest: int | None = None
        self._missed_to = schedule.last_missed_slot
        self._decided = self._work.cursor  # the newest slot decided one by one
        self._deferral: Deferral | None = None
        self._look_again: int | None = None

    def filter_backlog(self, hold: Wait | None, stop: int | None) -> None:
        """Note what is pending and filter it; or hold all of it if nothing can be decided now.

        `stop` is the newest stop of the job that has passed.
        """
        if self._rests:
            self._deferral = self.schedule.deferral
            return
        if hold:
            if oldest := self._backlog.oldest:
                self.apply(oldest, hold)
            if hold.reason is Reason.UNREADABLE and self._backlog.missed_to == self.schedule.last_missed_slot:
                self._meet()  # on time it is, and stays (S9); what was missed is judged when it can be
            return
        self._open = True
        self._meet()
        for sieve in sieves(stop):
            if unwanted := sieve(self._backlog, self.now):
                self._discard(unwanted)
                self._backlog = self._backlog.left(self._work)

    def pending(self) -> Iterator[Pending]:
        """What is wanted, oldest first; nothing where nothing can be decided."""
        return iter(self._backlog) if self._open else iter(())

    def entries(self) -> Iterator["Entry"]:
        """What is wanted, in the order in which the slots of a job go, up to one that waits."""
        self.waits = False
        rank, name = _KIND_ORDER[self.kind], self.schedule.name
        for pending in self.pending():
            yield (pending.slot, rank, name), pending, self
            if self.waits:
                return

    def apply(self, pending: Pending, verdict: Ruling) -> None:
        slot, name = pending.slot, self.schedule.name
        match verdict:
            case Go(lane):
                events = events_of(self.schedule, slot) if self.schedule.inbox.pending else ()
                self.starts.append(Start(self.schedule.job, name, slot, self.trigger(pending), lane, events))
                self._journal.close()
                self._pass(slot)
            case Skip(reason, detail, cancel):
                self.cancels += [PlannedCancel(run, name, slot) for run in cancel]
                self._tell(Decision(name, reason, slot, slot, 1, detail))
                self._pass(slot)
            case _:
                self.cancels += [PlannedCancel(run, name, slot) for run in verdict.cancel]
                self._look_again = verdict.until
                self._defer(Deferral(slot, verdict.reason, self.now, verdict.detail))

    def trigger(self, pending: Pending) -> Trigger:
        if self.kind is Kind.RESTART:
            return Trigger.RESTART
        return Trigger.CATCHUP if pending.missed else Trigger.SCHEDULE

    def run_name(self, slot: int) -> str:
        """What a run is called that has no id yet."""
        return f"{self.schedule.name}@{iso(slot)}"

    def continue_backfill(self, holders: list[Holder]) -> None:
        """Enqueue the next slots of the past that have no run, as far as lanes are free (S32)."""
        asked = self.schedule.backfill
        if asked is None or not self._open or self._deferral or self.schedule.in_shadow:
            return
        cursor, most = asked.cursor, asked.most
        spoken_for = {*self._work.reopened, *(start.slot for start in self.starts)}
        for _ in range(_BACKFILL_BATCH):
            slot = self.schedule.definition.times.after(cursor)
            if slot is None or slot >= asked.end or not most:
                self._work = self._work._replace(backfill=None)
                return
            if slot > self._cursor:
                break
            if slot not in self.own.slots_with_run and slot not in spoken_for:
                if not self._backfilled(slot, asked.overlap, holders):
                    break
                most -= 1
            cursor = slot
        else:
            self._look_again = self.now  # there is more, and no event to announce it
        self._work = self._work._replace(backfill=replace(asked, cursor=cursor, most=most))

    def _backfilled(self, slot: int, rule: Overlap, holders: list[Holder]) -> bool:
        """Start a slot of the past, if the backfill's own overlap rule lets it."""
        definition = self.schedule.definition
        ruled = replace(definition, policy=replace(definition.policy, overlap=rule))
        verdict = overlap(self.schedule._replace(definition=ruled), holders)
        if not isinstance(verdict, Go):
            return False
        holders.append(Holder(self.run_name(slot), verdict.lane, Trigger.BACKFILL))
        self.starts.append(Start(definition.job, definition.name, slot, Trigger.BACKFILL, verdict.lane))
        return True

    def plan(self) -> TickPlan:
        after, judge_at = self._after(), None
        if after.definition.policy.deadline:
            after, judge_at = self._judge_deadlines(after)
        planned = self._planned(after, judge_at)
        return TickPlan(tuple(self.starts), tuple(self.cancels), tuple(self._journal.decisions), (planned,))

    def _judge_deadlines(self, after: Schedule) -> tuple[Schedule, int | None]:
        """The schedule with its deadlines judged by all that the pass decides, and when to judge the next."""
        judged = judge(self._before, after, self._told, self.own.progress, self.now)
        for missed in judged.missed:
            self._journal.tell(missed)
        self.cancels += [PlannedCancel(run, after.name, slot, error) for run, slot, error in judged.overdue]
        return after._replace(records=self._journal.open, deadlines=judged.state), judged.look_at

    def _after(self) -> Schedule:
        """The schedule with all that is decided of its slots."""
        work, cursor = self._work, self._cursor
        made = len([start for start in self.starts if start.trigger is not Trigger.BACKFILL])
        waits_or_known = work.inbox.pending or work.inbox.decided
        return work._replace(
            inbox=with_decided(work._replace(cursor=cursor), self.now) if waits_or_known else work.inbox,
            cursor=cursor,
            last_seen_slot=max(work.last_seen_slot, self._newest or work.last_seen_slot),
            last_missed_slot=max(work.last_missed_slot, self._missed_to),
            moved=work.moved if work.moved and work.moved.to > cursor else None,
            dropped=work.dropped and self._open_holes(cursor),
            runs_made=work.runs_made + made,
            recent_starts=starts_to_remember(work, made, self.now),
            deferral=self._deferral,
            records=self._journal.open,
        )

    def _planned(self, after: Schedule, judge_at: int | None) -> Planned:
        """The schedule as the pass leaves it, and when to look again; never, if nothing can come."""
        next_due = _earliest(None if after.finished else self._backlog.next_due, judge_at)
        due_at = _earliest(self._look_again, next_due)
        unfinished = (after.deferral or after.backfill) and not self._rests
        wake_at = _earliest(due_at, self.now + LONGEST_SLEEP) if unfinished else due_at
        over = wake_at is None and not self._rests and after.definition.policy.auto_remove
        return Planned(after, wake_at, due_at, remove=over)

    def _open_holes(self, cursor: int) -> tuple[tuple[int, int], ...]:
        """What is decided after the cursor, but for slots whose run says so itself."""
        return tuple(h for h in self._work.dropped if h[1] > cursor and h[1] not in self.own.slots_with_run)

    @property
    def _cursor(self) -> int:
        return max(self._work.cursor, self._decided)

    def _tell(self, decision: Decision) -> None:
        self._told.append(decision)
        self._journal.tell(decision)

    def _meet(self) -> None:
        self._newest, self._missed_to = self._backlog.newest, self._backlog.missed_to
        self._note_moved()

    def _note_moved(self) -> None:
        """Record what a move by hand passed over, when its new time is met (S31)."""
        moved, newest = self._work.moved, self._backlog.newest
        if moved and newest is not None and self._work.last_seen_slot < moved.to <= newest:
            unmoved = self._work._replace(moved=None)
            for decision in summed_up(
                unmoved, max(moved.asked_at, self._work.cursor), moved.to - 1, Reason.RESCHEDULED, iso(moved.to)
            ):
                self._tell(decision)

    def _discard(self, unwanted: Unwanted) -> None:
        """Decide a range of pending slots at once: those re-opened, which are the oldest, and the rest in one."""
        until, why = unwanted.until, unwanted.why
        again = tuple(t for t in self._work.reopened if unwanted.after < t <= until)
        if again:
            self._tell(Decision(self.schedule.name, why.reason, again[0], again[-1], len(again), why.detail))
            self._work = self._work._replace(reopened=tuple(t for t in self._work.reopened if t > until))
        after = max(unwanted.after, self._work.cursor)
        for decision in summed_up(self._work, after, until, why.reason, why.detail):
            self._tell(decision)
            self._work = passed_over(self._work, after, until)

    def _pass(self, slot: int) -> None:
        """Move the cursor past a decided slot; one that was re-opened is closed again."""
        self._decided = max(self._decided, slot)
        if self._work.reopened:
            self._work = self._work._replace(reopened=tuple(t for t in self._work.reopened if t > slot))

    def _defer(self, deferral: Deferral) -> None:
        """The oldest waiting slot stands for the schedule; its waiting is recorded when it begins (S7)."""
        began = self.schedule.deferral
        if began and (began.slot, began.reason) == (deferral.slot, deferral.reason):
            self._deferral = began
            return
        self._deferral = deferral
        self._tell(Decision(self.schedule.name, deferral.reason, deferral.slot, deferral.slot, 1, deferral.detail))


def _earliest(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


Entry: TypeAlias = tuple[tuple[int, int, str], Pending, SchedulePass]
