"""The rules between a pending slot and a run, each a pure function that decides and never acts.

`catch_up` says which pending slots are still wanted; `guard`, `dependencies` and `overlap` say of one wanted slot
whether it goes, is skipped, or waits. `retry_delay` says when a failed attempt is tried again.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from .blackout import rest_end
from .catchup import Backlog, Pending, newest_due
from .cron.recurrences import At
from .definition import Catchup, Kind, Overlap, RetryPolicy
from .events import OnEvent
from .model import Holder, JobFacts, Schedule, ScheduleFacts, Trigger
from .reasons import Reason
from .slots import next_slot
from .timeparse import format_duration, iso


class Go(NamedTuple):
    """Start it, on this lane."""

    lane: int


_FIRST_LANE = Go(0)


class Skip(NamedTuple):
    """It gets no run, for this reason. `cancel` are runs that a stop ends."""

    reason: Reason
    detail: str = ""
    cancel: tuple[str, ...] = ()


class Wait(NamedTuple):
    """It stays pending, for this reason; looked at again by `until`. `cancel` are runs to end meanwhile."""

    reason: Reason
    detail: str = ""
    until: int | None = None
    cancel: tuple[str, ...] = ()


Ruling: TypeAlias = Go | Skip | Wait


def catchup_mode(schedule: Schedule) -> Catchup:
    """The policy in force: one-offs always fire (S33), stop and restart never late (S21)."""
    if schedule.definition.kind is not Kind.START:
        return Catchup.SKIP
    return Catchup.ALL if is_one_off(schedule) else schedule.definition.policy.catchup


def is_one_off(schedule: Schedule) -> bool:
    """Whether it starts at given instants (S33)."""
    return isinstance(schedule.definition.times, At) and schedule.definition.kind is Kind.START


class Unwanted(NamedTuple):
    """The pending slots of (after, until] get no run, for this reason."""

    after: int
    until: int
    why: Skip


def too_many(backlog: Backlog, _now: int) -> Unwanted | None:
    """What is beyond the bound of what is ever looked at (S6)."""
    until = backlog.excess_to()
    if until is None:
        return None
    most = str(backlog.schedule.definition.policy.max_catchup)
    return Unwanted(backlog.begin, until, Skip(Reason.TOO_MANY, most))


def last_stop(schedules: Iterable[Schedule], now: int) -> int | None:
    """The newest slot of a job's stops that has passed, whatever became of it (S22).

    One at or before the cursor was decided, unless times of an older definition were: those name it no more.
    """
    stops = [s for s in schedules if s.definition.kind is Kind.STOP]
    awake = [s for s in stops if not s.rests and rest_end(s.blackouts, now) is None]
    passed = [(stop, slot) for stop in awake if (slot := newest_due(stop, now)) is not None]
    return max((slot for stop, slot in passed if slot > min(stop.cursor, stop.edited_at)), default=None)


def stopped_since(stop: int, backlog: Backlog, _now: int) -> Unwanted | None:
    """Missed starts whose stop has passed too: what they would begin should have ended (S22)."""
    if backlog.schedule.definition.kind is not Kind.START or not backlog.any_missed:
        return None
    return Unwanted(backlog.begin, min(stop - 1, backlog.missed_to), Skip(Reason.STOPPED_SINCE, iso(stop)))


def catch_up(backlog: Backlog, now: int) -> Unwanted | None:
    """What is not wanted after an interruption (S10)."""
    schedule, last = backlog.schedule, backlog.last
    if last is None or not backlog.any_missed:
        return None
    mode, policy = catchup_mode(schedule), schedule.definition.policy
    if mode is Catchup.SKIP:
        return Unwanted(backlog.begin, backlog.missed_to, Skip(Reason.MISSED))
    if mode is Catchup.ONCE:
        return Unwanted(backlog.begin, last - 1, Skip(Reason.COALESCED, iso(last)))
    if is_one_off(schedule):
        return None
    until = min(now - policy.catchup_window - 1, backlog.missed_to)
    why = Skip(Reason.TOO_OLD, format_duration(policy.catchup_window))
    return Unwanted(max(schedule.last_seen_slot, schedule.cursor), until, why)


def keep_newest(backlog: Backlog, _now: int) -> Unwanted | None:
    """Under `latest`, `replace` and restart only the newest slot is wanted (S14, S21), but each one-off (S33)."""
    definition, last = backlog.schedule.definition, backlog.last
    one = definition.policy.overlap in (Overlap.LATEST, Overlap.REPLACE) or definition.kind is Kind.RESTART
    if not one or last is None or is_one_off(backlog.schedule):
        return None
    return Unwanted(backlog.begin, last - 1, Skip(Reason.SUPERSEDED, iso(last)))


Sieve: TypeAlias = Callable[[Backlog, int], Unwanted | None]
_SIEVES: tuple[Sieve, ...] = (too_many, catch_up, keep_newest)


def sieves(stop: int | None) -> tuple[Sieve, ...]:
    """What a backlog goes through, in this order. `stop` is the newest stop of the job that has passed."""
    return _SIEVES if stop is None else (partial(stopped_since, stop), *_SIEVES)


def guard(schedule: Schedule, pending: Pending, job: JobFacts, own: ScheduleFacts) -> Skip | None:
    """Whether a slot has been done already, by another slot, by hand, or by a success (S17-S19); no event has."""
    late_all = pending.missed and catchup_mode(schedule) is Catchup.ALL
    if late_all or isinstance(schedule.definition.times, OnEvent) or schedule.definition.kind is Kind.RESTART:
        return None
    if own.last_slot_with_run is not None and own.last_slot_with_run >= pending.slot:
        return Skip(Reason.ALREADY_DONE, f"the slot {iso(own.last_slot_with_run)} has a run")
    if job.last_manual_start is not None and job.last_manual_start >= pending.slot:
        return Skip(Reason.ALREADY_DONE, f"a run by hand started at {iso(job.last_manual_start)}")
    if schedule.definition.policy.skip_if_successful and job.last_success is not None:
        previous = schedule.definition.times.before(pending.slot)
        since = schedule.edited_at if previous is None else max(schedule.edited_at, previous)
        if job.last_success > since:
            return Skip(Reason.ALREADY_SUCCESSFUL, iso(job.last_success))
    return None


def dependencies(
    schedule: Schedule, pending: Pending, following: int | None, successes: Mapping[str, tuple[int, ...]], now: int
) -> Skip | Wait | None:
    """Whether each schedule that a slot depends on has succeeded in time, or may still (S35)."""
    policy = schedule.definition.policy
    missing = [str(a) for a in policy.after if not _succeeded(successes.get(a.needed, ()), pending.slot, a.within)]
    if not missing:
        return None
    names = ", ".join(missing)
    began = schedule.deferral
    waits = began is not None and began.slot == pending.slot and began.reason is Reason.WAITS_FOR_SUCCESS
    until = (began.since if began and waits else now) + policy.wait_for
    if following is not None and policy.catchup is not Catchup.ALL:
        until = min(until, following)
    return Skip(Reason.DEPENDENCY_MISSING, names) if now >= until else Wait(Reason.WAITS_FOR_SUCCESS, names, until)


def _succeeded(successes: Sequence[int], slot: int, within: int) -> bool:
    newest = bisect_right(successes, slot)
    return newest > 0 and successes[newest - 1] > slot - within


def overlap(schedule: Schedule, holders: Sequence[Holder], *, missed: bool = False) -> Ruling:
    """Whether a slot goes beside the runs that hold its job's lanes (S14-S16); no one-off is dropped (S33)."""
    policy, kind = schedule.definition.policy, schedule.definition.kind
    side_by_side = policy.overlap is Overlap.ALLOW and kind is Kind.START
    lanes = policy.max_active_runs if side_by_side else 1
    if len(holders) < lanes:
        taken = {holder.lane for holder in holders}
        return Go(next(lane for lane in range(lanes) if lane not in taken)) if taken else _FIRST_LANE
    if side_by_side:
        patient = catchup_mode(schedule) is Catchup.ALL or _clearing(holders)
        full = str(lanes)
        return Wait(Reason.WAITS_FOR_LANE, full) if patient else Skip(Reason.LANES_FULL, full)
    in_the_way = ", ".join(holder.run for holder in holders)
    one_off = is_one_off(schedule)
    if kind is Kind.RESTART or (policy.overlap is Overlap.REPLACE and not (one_off and missed)):
        ending = tuple(holder.run for holder in holders if not holder.cancelling)
        return Wait(Reason.WAITS_FOR_RUN, in_the_way, cancel=ending)
    if policy.overlap is Overlap.SKIP and not one_off and not _clearing(holders):
        return Skip(Reason.OVERLAP, in_the_way)
    return Wait(Reason.WAITS_FOR_RUN, in_the_way)


def stop(holders: Sequence[Holder]) -> Skip:
    """What a stop slot does: it ends all active runs (S21)."""
    if not holders:
        return Skip(Reason.NOTHING_TO_STOP)
    runs = ", ".join(holder.run for holder in holders)
    return Skip(Reason.STOPPED, runs, cancel=tuple(h.run for h in holders if not h.cancelling))


def held(schedule: Schedule, job: JobFacts, look_again: int) -> Wait | None:
    """Whether none of a schedule's slots can be decided now (S20, S47). Stopping, and shadow, need no worker."""
    if job.unreadable:
        return Wait(Reason.UNREADABLE, job.unreadable, look_again)
    if job.no_worker and _needs_worker(schedule):
        return Wait(Reason.NO_WORKER, job.no_worker, look_again)
    return None


def _needs_worker(schedule: Schedule) -> bool:
    slot = next_slot(schedule, schedule.cursor)
    return schedule.definition.kind is not Kind.STOP and not (slot is not None and schedule.is_shadowed(slot))


def _clearing(holders: Sequence[Holder]) -> bool:
    """Whether all in the way is backfill or being cancelled: a live slot waits for those (S32)."""
    return all(holder.cancelling or holder.trigger is Trigger.BACKFILL for holder in holders)


def retry_delay(retry: RetryPolicy, failures: int, key: str) -> int:
    """Seconds before the next try after this many failures: growing, capped, and spread."""
    delay = min(retry.interval * retry.backoff ** (failures - 1), retry.max_interval)
    digest = blake2b(f"{key}\0{failures}".encode(), digest_size=8).digest()
    return round(delay + delay * retry.jitter * int.from_bytes(digest, "big") / 2**64)
