"""One pass: from due schedules and facts to a plan. Every verdict about every slot is made here, and only here.

A job is the unit: the slots of its schedules are decided together, in time order (S12). For each job

1. the backlog of each schedule is found and sifted: what has a run already, what is too much, too old or too
   late, what a newer slot stands for (`catchup`, `policy`);
2. the slots still wanted are judged in order. One that starts counts as active for those behind it, one that
   waits makes those behind it wait;
3. the verdicts become starts, cancels, decisions, moved cursors, and the time to look again.

Nothing here reads a clock, waits or draws lots: the same schedules and facts give the same plan, and planning jobs
apart gives the same as planning them together.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import merge
from typing import TypeAlias

from .catchup import Backlog, Pending, backlog
from .definition import Kind, Overlap
from .instant import iso
from .model import (
    Cancel,
    Decision,
    Deferral,
    Facts,
    Holder,
    JobFacts,
    Planned,
    Schedule,
    ScheduleFacts,
    Start,
    TickPlan,
    Trigger,
)
from .policy import SIEVES, Go, Skip, Unwanted, Wait, dependencies, guard, held, overlap, stop
from .reasons import Reason
from .slots import next_slot, passed_over, summed_up

LONGEST_SLEEP = 60  # of a schedule with pending slots, whatever wake-up was lost (S15)
_SHORTEST_BACK_OFF, _LONGEST_BACK_OFF = 5, 600
_ORDER = {kind: place for place, kind in enumerate(Kind)}
_BEHIND_LIVE = {Trigger.CATCHUP: 1, Trigger.BACKFILL: 2}
_BACKFILL_AT_ONCE = 1_000  # slots of a backfill that one pass looks at


def plan(now: int, due: Iterable[Schedule], facts: Facts) -> TickPlan:
    """Decide what is pending. `due` holds all schedules of each job that was claimed."""
    jobs: dict[str, list[Schedule]] = defaultdict(list)
    for schedule in due:
        jobs[schedule.job].append(schedule)
    desks = [desk for job in sorted(jobs) for desk in _decided(now, jobs[job], facts)]
    return TickPlan(
        starts=_in_order([start for desk in desks for start in desk.starts]),
        cancels=tuple(cancel for desk in desks for cancel in desk.cancels),
        decisions=tuple(decision for desk in desks for decision in desk.decisions),
        schedules=tuple(desk.planned() for desk in desks),
    )


def _in_order(starts: Sequence[Start]) -> tuple[Start, ...]:
    """Backlogs behind the live slots of other jobs, but a job's own slots in time order (S12), backfills last."""
    if len(starts) < 2:
        return tuple(starts)
    ranks: dict[str, int] = defaultdict(int)
    ranked = []
    for start in sorted(starts, key=lambda s: (s.trigger is Trigger.BACKFILL, s.slot, s.schedule)):
        ranks[start.job] = max(ranks[start.job], _BEHIND_LIVE.get(start.trigger, 0))
        ranked.append((ranks[start.job], start))
    return tuple(start for _, start in sorted(ranked, key=lambda pair: pair[0]))


def _decided(now: int, schedules: Sequence[Schedule], facts: Facts) -> Sequence["_Desk | _SetAside"]:
    """The schedules of a job, decided. One that cannot be planned never holds up the others (S20)."""
    try:
        return _JobPass(now, schedules, facts).decided()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is this schedule's own)
        apart = [_decided(now, [schedule], facts)[0] for schedule in schedules] if len(schedules) > 1 else []
        sound = [desk.schedule for desk in apart if isinstance(desk, _Desk)]
        if not apart or len(sound) == len(apart):
            return [_SetAside(now, schedule, f"{type(error).__name__}: {error}") for schedule in schedules]
        bad = [desk for desk in apart if isinstance(desk, _SetAside)]
        return [*bad, *(_decided(now, sound, facts) if sound else ())]


class _SetAside:
    """A schedule that could not be planned: an error, recorded once, and a back-off of its own (S20)."""

    starts: tuple[Start, ...] = ()
    cancels: tuple[Cancel, ...] = ()
    decisions: tuple[Decision, ...] = ()

    def __init__(self, now: int, schedule: Schedule, problem: str) -> None:
        began = schedule.deferral
        if began is None or began.reason is not Reason.BROKEN:
            began = Deferral(schedule.cursor, Reason.BROKEN, now, problem)
            self.decisions = (
                Decision(schedule.name, Reason.BROKEN, schedule.cursor, schedule.cursor, 1, problem),
            )
        wait = min(max(now - began.since, _SHORTEST_BACK_OFF), _LONGEST_BACK_OFF)
        self._planned = Planned(replace(schedule, deferral=began), now + wait, now + wait)

    def planned(self) -> Planned:
        return self._planned


_Verdict: TypeAlias = Go | Skip | Wait


class _JobPass:
    """The pass over one job: its schedules on their desks, and who holds its lanes as the pass goes on."""

    def __init__(self, now: int, schedules: Sequence[Schedule], facts: Facts) -> None:
        self.now = now
        self.facts = facts
        self.job = facts.jobs.get(schedules[0].job, JobFacts())
        self.desks = [
            _Desk(now, s, facts.schedules.get(s.name, ScheduleFacts()))
            for s in (sorted(schedules, key=lambda s: s.name) if len(schedules) > 1 else schedules)
        ]

    def decided(self) -> list["_Desk"]:
        for desk in self.desks:
            desk.sift(held(desk.schedule, self.job, self.now + LONGEST_SLEEP))
        verdicts, holders = self._verdicts()
        for desk, pending, verdict in verdicts:
            desk.carry_out(pending, verdict)
        for desk in self.desks:
            desk.go_on_with_backfill(holders)
        return self.desks

    def _verdicts(self) -> tuple[list["_Judged"], list[Holder]]:
        """All verdicts, in time order. Catch-up under way holds stop and restart back (S22)."""
        others = [desk for desk in self.desks if desk.kind is not Kind.START and any(desk.pending())]
        if not others:
            return self._judge(self.desks)
        verdicts, holders = self._judge([desk for desk in self.desks if desk.kind is Kind.START])
        if any(pending.missed and not isinstance(verdict, Skip) for _, pending, verdict in verdicts):
            back = Skip(Reason.CATCHUP_GOES_FIRST)
            return verdicts + [(desk, pending, back) for desk in others for pending in desk.pending()], holders
        return self._judge(self.desks)

    def _judge(self, desks: Sequence["_Desk"]) -> tuple[list["_Judged"], list[Holder]]:
        """Judge slot by slot, until each schedule has none left or one that waits."""
        holders, verdicts = list(self.job.holders), list[_Judged]()
        made = {desk.schedule.name: desk.schedule.runs_made for desk in desks}
        first_waiting: Pending | None = None
        rows = [desk.entries() for desk in desks]
        for _, pending, desk in rows[0] if len(rows) == 1 else merge(*rows):
            if first_waiting and desk.kind is Kind.START:
                verdict: _Verdict = Wait(Reason.WAITS_BEHIND, iso(first_waiting.slot))
            else:
                verdict = self._possible(self._verdict(desk, pending, holders, made[desk.schedule.name]), holders)
            verdicts.append((desk, pending, verdict))
            if isinstance(verdict, Go):
                made[desk.schedule.name] += 1
                holders.append(Holder(desk.run_name(pending.slot), verdict.lane, desk.trigger(pending)))
            elif verdict.cancel:
                holders = [h._replace(cancelling=True) if h.run in verdict.cancel else h for h in holders]
            if isinstance(verdict, Wait):
                desk.waits = True
                if desk.kind is Kind.START:
                    first_waiting = first_waiting or pending
        return verdicts, holders

    def _verdict(self, desk: "_Desk", pending: Pending, holders: list[Holder], made: int) -> _Verdict:
        schedule, policy = desk.schedule, desk.schedule.definition.policy
        if desk.kind is Kind.STOP:
            return stop(holders)
        if desk.kind is Kind.START:
            if policy.max_runs is not None and made >= policy.max_runs:
                return Skip(Reason.FINISHED, str(policy.max_runs))
            if done := guard(schedule, pending, self.job, desk.own):
                return done
            if policy.after:
                following = next_slot(schedule, pending.slot)
                held_up = dependencies(schedule, pending, following, self.facts.successes, self.now)
                if held_up:
                    return held_up
        return overlap(schedule, holders)

    def _possible(self, verdict: _Verdict, holders: list[Holder]) -> _Verdict:
        """What this pass starts has no id yet: whoever would cancel it waits for the pass that follows at once."""
        if isinstance(verdict, Go) or not verdict.cancel:
            return verdict
        new = next((h.run for h in holders[len(self.job.holders) :] if h.run in verdict.cancel), None)
        return verdict if new is None else Wait(Reason.WAITS_BEHIND, new, until=self.now)


def _earliest(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


class _Desk:
    """One schedule during a pass: what is pending, and what has been decided so far."""

    def __init__(self, now: int, schedule: Schedule, own: ScheduleFacts) -> None:
        self.now = now
        self.schedule = schedule
        self.own = own
        self.kind = schedule.definition.kind
        self.starts: list[Start] = []
        self.cancels: list[Cancel] = []
        self.decisions: list[Decision] = []
        self._rests = schedule.paused is not None or schedule.deleted_at is not None
        self._backlog = (
            Backlog(schedule, None, None, schedule.missed, None) if self._rests else backlog(schedule, own, now)
        )
        self._work = self._backlog.schedule  # as decided so far
        self.waits = False
        self._open = False
        self._newest: int | None = None
        self._missed_to = schedule.missed
        self._decided = self._work.cursor  # the newest slot decided one by one
        self._deferral: Deferral | None = None
        self._look_again: int | None = None

    def sift(self, hold: Wait | None) -> None:
        """Meet what is pending and sift it; or hold it all if nothing can be decided now."""
        if self._rests:
            self._deferral = self.schedule.deferral
            return
        if hold:
            if oldest := self._backlog.oldest:
                self.carry_out(oldest, hold)
            if hold.reason is Reason.UNREADABLE and self._backlog.missed_to == self.schedule.missed:
                self._meet()  # on time it is, and stays (S9); what was missed is judged when it can be
            return
        self._open = True
        self._meet()
        for sieve in SIEVES:
            if unwanted := sieve(self._backlog, self.now):
                self._discard(unwanted)
                self._backlog = self._backlog.left(self._work)

    def pending(self) -> Iterator[Pending]:
        """What is wanted, oldest first; nothing where nothing can be decided."""
        return iter(self._backlog) if self._open else iter(())

    def entries(self) -> Iterator["_Entry"]:
        """What is wanted, in the order in which the slots of a job go, up to one that waits."""
        self.waits = False
        rank, name = _ORDER[self.kind], self.schedule.name
        for pending in self.pending():
            yield (pending.slot, rank, name), pending, self
            if self.waits:
                return

    def carry_out(self, pending: Pending, verdict: _Verdict) -> None:
        slot, name = pending.slot, self.schedule.name
        match verdict:
            case Go(lane):
                self.starts.append(Start(self.schedule.job, name, slot, self.trigger(pending), lane))
                self._pass(slot)
            case Skip(reason, detail, cancel):
                self.cancels += [Cancel(run, name, slot) for run in cancel]
                self._record(Decision(name, reason, slot, slot, 1, detail))
                self._pass(slot)
            case _:
                self.cancels += [Cancel(run, name, slot) for run in verdict.cancel]
                self._look_again = verdict.until
                self._defer(Deferral(slot, verdict.reason, self.now, verdict.detail))

    def trigger(self, pending: Pending) -> Trigger:
        if self.kind is Kind.RESTART:
            return Trigger.RESTART
        return Trigger.CATCHUP if pending.missed else Trigger.SCHEDULE

    def run_name(self, slot: int) -> str:
        """What a run is called that has no id yet."""
        return f"{self.schedule.name}@{iso(slot)}"

    def go_on_with_backfill(self, holders: list[Holder]) -> None:
        """Enqueue the next slots of the past that have no run, as far as lanes are free (S32)."""
        left = self.schedule.backfill
        if left is None or not self._open or self._deferral:
            return
        spoken_for = {*self._work.reopened, *(start.slot for start in self.starts)}
        for _ in range(_BACKFILL_AT_ONCE):
            slot = self.schedule.definition.times.after(left.cursor)
            if slot is None or slot >= left.end or not left.most:
                self._work = replace(self._work, backfill=None)
                return
            if slot > self._cursor:
                break
            if slot not in self.own.slots_with_run and slot not in spoken_for:
                if not self._backfilled(slot, left.overlap, holders):
                    break
                left = replace(left, most=left.most - 1)
            left = replace(left, cursor=slot)
        else:
            self._look_again = self.now  # there is more, and no event to announce it
        self._work = replace(self._work, backfill=left)

    def _backfilled(self, slot: int, rule: Overlap, holders: list[Holder]) -> bool:
        """Start a slot of the past, if the backfill's own overlap rule lets it."""
        definition = self.schedule.definition
        ruled = replace(definition, policy=replace(definition.policy, overlap=rule))
        verdict = overlap(replace(self.schedule, definition=ruled), holders)
        if not isinstance(verdict, Go):
            return False
        holders.append(Holder(self.run_name(slot), verdict.lane, Trigger.BACKFILL))
        self.starts.append(Start(definition.job, definition.name, slot, Trigger.BACKFILL, verdict.lane))
        return True

    def planned(self) -> Planned:
        """The schedule as the pass leaves it, and when to look again; never, if nothing can come."""
        work, cursor = self._work, self._cursor
        made = sum(start.trigger is not Trigger.BACKFILL for start in self.starts)
        after = replace(
            work,
            cursor=cursor,
            met=max(work.met, self._newest or work.met),
            missed=max(work.missed, self._missed_to),
            moved=work.moved if work.moved and work.moved.to > cursor else None,
            dropped=work.dropped and self._open_holes(cursor),
            runs_made=work.runs_made + made,
            deferral=self._deferral,
        )
        due_at = _earliest(self._look_again, None if after.finished else self._backlog.next_due)
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

    def _meet(self) -> None:
        self._newest, self._missed_to = self._backlog.newest, self._backlog.missed_to
        self._note_moved()

    def _note_moved(self) -> None:
        """Record what a move by hand passed over, when its new time is met (S31)."""
        moved, newest = self._work.moved, self._backlog.newest
        if moved and newest is not None and self._work.met < moved.to <= newest:
            unmoved = replace(self._work, moved=None)
            for decision in summed_up(
                unmoved, max(moved.asked_at, self._work.cursor), moved.to - 1, Reason.RESCHEDULED, iso(moved.to)
            ):
                self._record(decision)

    def _discard(self, unwanted: Unwanted) -> None:
        """Decide a range of pending slots at once: those re-opened, which are the oldest, and the rest in one."""
        until, why = unwanted.until, unwanted.why
        again = tuple(t for t in self._work.reopened if unwanted.after < t <= until)
        if again:
            self._record(Decision(self.schedule.name, why.reason, again[0], again[-1], len(again), why.detail))
            self._work = replace(self._work, reopened=tuple(t for t in self._work.reopened if t > until))
        after = max(unwanted.after, self._work.cursor)
        for decision in summed_up(self._work, after, until, why.reason, why.detail):
            self._record(decision)
            self._work = passed_over(self._work, after, until)

    def _record(self, decision: Decision) -> None:
        """Keep a verdict; equal ones in a row are one record (S7)."""
        last = self.decisions[-1] if self.decisions else None
        alike = last and (last.reason, last.detail) == (decision.reason, decision.detail)
        if last and alike and self.schedule.definition.times.after(last.last) == decision.first:
            self.decisions[-1] = replace(last, last=decision.last, count=last.count + decision.count)
        else:
            self.decisions.append(decision)

    def _pass(self, slot: int) -> None:
        """Move the cursor past a decided slot; one that was re-opened is closed again."""
        self._decided = max(self._decided, slot)
        if self._work.reopened:
            self._work = replace(self._work, reopened=tuple(t for t in self._work.reopened if t > slot))

    def _defer(self, deferral: Deferral) -> None:
        """The oldest waiting slot stands for the schedule; its waiting is recorded when it begins (S7)."""
        began = self.schedule.deferral
        if began and (began.slot, began.reason) == (deferral.slot, deferral.reason):
            self._deferral = began
            return
        self._deferral = deferral
        self._record(
            Decision(self.schedule.name, deferral.reason, deferral.slot, deferral.slot, 1, deferral.detail)
        )


_Judged: TypeAlias = tuple[_Desk, Pending, _Verdict]
_Entry: TypeAlias = tuple[tuple[int, int, str], Pending, _Desk]
