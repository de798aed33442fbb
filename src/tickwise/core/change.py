"""What a new definition, or a person's request, does to a schedule (S2, S4, S23-S34). Pure, like the planner.

A change never loses pending work by accident: what it drops, it records. All but `Reset` keep the cursor from
moving back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from .backfill import BackfillAsked, BackfillCancelled, begin_backfill
from .blackout import Blackout
from .blackout_slots import replace_blackouts
from .catchup import grace_of
from .cron import Recurrence
from .cron.recurrences import At
from .deadlines import redefined_deadlines, with_reliefs
from .definition import Catchup, ScheduleDefinition, Ticking
from .errors import InputError, other_source
from .event_inbox import EventsReceived, new_inbox, receive, redefined_inbox
from .events import EventInbox, OnEvent
from .model import Decision, Disabled, Pause, Schedule, SlotSkip
from .pauses import Decided, end_pause
from .policy import catchup_mode
from .reasons import Reason
from .reschedule import move_next
from .shadow import SHADOW_CHANGES, FireSeen, ShadowAdopted, ShadowResumed, shadow_begun, shadow_redefined
from .skips import mark_skip, unmark_skip, without_lost_skips
from .slots import next_slot, note_move, received_until, summed_up
from .timeparse import iso

TOMBSTONE_SECONDS = 120  # how long a deleted schedule's cursor is kept (S23)


@dataclass(frozen=True, slots=True)
class Added:
    """A definition seen for the first time, or again shortly after it was deleted."""

    definition: ScheduleDefinition


@dataclass(frozen=True, slots=True)
class Updated:
    """The same name with another definition. `missed` are slots recorded as missed, newest last (S25)."""

    definition: ScheduleDefinition
    missed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Renamed:
    """Another name: a delete and an add (S26)."""

    definition: ScheduleDefinition


@dataclass(frozen=True, slots=True)
class Deleted:
    """The definition is gone from its source."""

    source: str = ""


@dataclass(frozen=True, slots=True)
class Switched:
    """Its job's definition has `enabled: true` or `enabled: false` (S28)."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class Paused:
    """A person pauses it: nothing is decided until it is resumed, or until an instant."""

    by: str = ""
    reason: str = ""
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Resumed:
    """Decisions go on. `run_missed` says what becomes of the pause's slots; `since`: everything was paused."""

    run_missed: bool | None = None
    since: int | None = None


@dataclass(frozen=True, slots=True)
class Rescheduled:
    """The next fire moves to this instant, once (S31)."""

    to: int


@dataclass(frozen=True, slots=True)
class SkipAsked:
    """A slot to come is not to run (S66)."""

    slot: int
    by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SkipTakenBack:
    """It is to run after all."""

    slot: int


@dataclass(frozen=True, slots=True)
class BlackoutsSet:
    """These blackouts are in force for it, and no others (S62)."""

    blackouts: tuple[Blackout, ...]


@dataclass(frozen=True, slots=True)
class Reset:
    """The cursor is set to now, forwards or back (S4)."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The store comes from a backup; until this instant the one that was lost decided the slots (S78)."""

    until: int


@dataclass(frozen=True, slots=True)
class Adopted:
    """From now on these find its slots: the store, each node's own index, or, if none, as its definition says."""

    ticking: Ticking | None = None


Change: TypeAlias = (
    Added
    | Updated
    | Renamed
    | Deleted
    | Switched
    | Paused
    | Resumed
    | Rescheduled
    | SkipAsked
    | SkipTakenBack
    | BlackoutsSet
    | Reset
    | Restored
    | BackfillAsked
    | BackfillCancelled
    | Adopted
    | EventsReceived
    | FireSeen
    | ShadowAdopted
    | ShadowResumed
)


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The schedules as a change leaves them, what it decided, and whether queued runs are to be cancelled."""

    schedules: tuple[Schedule, ...]
    decisions: tuple[Decision, ...] = ()
    cancel_queued: bool = False


def apply_change(schedule: Schedule | None, change: Change, now: int) -> ChangeResult:
    """What becomes of a schedule, or of a name that has none yet. A change ends the row of equal verdicts (S7)."""
    changed = _changed(schedule, change, now)
    if changed.schedules == (schedule,):
        return changed
    anew = tuple(with_reliefs(each, changed.decisions)._replace(records=()) for each in changed.schedules)
    return ChangeResult(anew, changed.decisions, changed.cancel_queued)


def _changed(schedule: Schedule | None, change: Change, now: int) -> ChangeResult:
    if isinstance(change, Added) and (schedule is None or _forgotten(schedule, now)):
        return _add(change.definition, now)
    if schedule is None or (schedule.deleted_at is not None and not isinstance(change, Added)):
        raise InputError("there is no such schedule")
    if isinstance(change, Added | Updated | Renamed | Deleted):
        _check_source(schedule, change.source if isinstance(change, Deleted) else change.definition.source)
    if isinstance(change, Added):
        return _apply_update(schedule._replace(deleted_at=None), Updated(change.definition), now)
    if isinstance(change, FireSeen | ShadowAdopted | ShadowResumed):
        return _decided(SHADOW_CHANGES[type(change)](schedule, change, now))
    return _APPLIED[type(change)](schedule, change, now)


def _check_source(schedule: Schedule, source: str) -> None:
    """A definition is changed where it was written (S50); one that is deleted may come back from elsewhere."""
    own = schedule.definition.source
    if source != own and schedule.deleted_at is None:
        raise other_source(schedule.name, own, source)


def _forgotten(schedule: Schedule, now: int) -> bool:
    return schedule.deleted_at is not None and now - schedule.deleted_at > TOMBSTONE_SECONDS


def _add(definition: ScheduleDefinition, now: int) -> ChangeResult:
    cursor = _beginning(definition, now)
    schedule = Schedule(
        definition, cursor=cursor, last_seen_slot=cursor, last_missed_slot=cursor, edited_at=now, first_seen=now,
        inbox=new_inbox(definition.times, now),
    )  # fmt: skip
    return ChangeResult((shadow_begun(schedule, now),), _past_one_offs(definition, cursor))


def _beginning(definition: ScheduleDefinition, now: int) -> int:
    """New times have no past (S2); of one-offs, those within grace are still on time (S33)."""
    return now - grace_of(definition.policy) - 1 if isinstance(definition.times, At) else now


def _past_one_offs(
    definition: ScheduleDefinition, cursor: int, known: Recurrence | None = None
) -> tuple[Decision, ...]:
    """One-offs first seen in their past never fire (S33); those known before have been decided."""
    if not isinstance(definition.times, At):
        return ()
    past = [t for t in definition.times.seconds if t <= cursor and not (known and known.after(t - 1) == t)]
    return (Decision(definition.name, Reason.PAST_ONE_OFF, past[0], past[-1], len(past)),) if past else ()


def _apply_update(schedule: Schedule, change: Updated, now: int) -> ChangeResult:
    """Pending slots survive and are found anew by the new times; where none was pending there is no past (S24)."""
    definition = change.definition
    if definition == schedule.definition:
        return ChangeResult((schedule,))
    if definition.policy.pause_after != schedule.definition.policy.pause_after:
        schedule = schedule._replace(failures_from=now)
    before, after = catchup_mode(schedule), catchup_mode(schedule._replace(definition=definition))
    most = definition.policy.max_runs
    if before is not Catchup.SKIP and after is Catchup.SKIP:  # S25
        schedule, decisions = _drop(schedule, Reason.CATCHUP_OFF, now)
    elif isinstance(schedule.definition.times, OnEvent) and not isinstance(definition.times, OnEvent):
        schedule, decisions = _drop(schedule, Reason.NO_EVENTS, now)
        schedule = schedule._replace(inbox=EventInbox())
    elif most is not None and schedule.runs_made >= most:  # S34
        schedule, decisions = _drop(schedule, Reason.FINISHED, now, str(most))
    else:
        schedule, decisions = note_move(schedule, now)
    pending = _oldest_pending(schedule, now)
    cursor = max(schedule.cursor, _beginning(definition, now) if pending is None else pending - 1)
    decisions += _past_one_offs(definition, cursor, schedule.definition.times)
    changed = _redefined(schedule._replace(cursor=cursor), definition, now)
    if before is Catchup.SKIP and after is Catchup.ALL:  # S25
        oldest = now - definition.policy.catchup_window
        again = sorted({*changed.reopened, *(t for t in change.missed if oldest <= t <= cursor)})
        changed = changed._replace(reopened=tuple(again[-definition.policy.max_catchup :]))
    changed, adopted = shadow_redefined(changed, schedule.definition, now)
    return ChangeResult((changed,), decisions + adopted)


def _redefined(schedule: Schedule, definition: ScheduleDefinition, now: int) -> Schedule:
    schedule = schedule._replace(deadlines=redefined_deadlines(schedule, definition))
    if definition.times == schedule.definition.times:
        return schedule._replace(definition=definition)
    still = tuple(t for t in schedule.reopened if definition.times.after(t - 1) == t)
    inbox = redefined_inbox(schedule, definition.times, now)
    changed = schedule._replace(definition=definition, edited_at=now, reopened=still, inbox=inbox)
    return without_lost_skips(changed)


def _rename(schedule: Schedule, change: Renamed, now: int) -> ChangeResult:
    deleted, added = _delete(schedule, Deleted(), now), _add(change.definition, now)
    return ChangeResult(
        deleted.schedules + added.schedules, deleted.decisions + added.decisions, cancel_queued=True
    )


def _delete(schedule: Schedule, _change: Deleted, now: int) -> ChangeResult:
    dropped, decisions = _drop(schedule, Reason.DELETED, now)
    return ChangeResult((dropped._replace(deleted_at=now, backfill=None),), decisions, cancel_queued=True)


def _reset(schedule: Schedule, _change: Reset, now: int) -> ChangeResult:
    dropped, decisions = _drop(schedule, Reason.RESET, now)
    to = max(now, dropped.cursor) if isinstance(schedule.definition.times, OnEvent) else now  # no slot comes again
    return ChangeResult((dropped._replace(cursor=to, last_seen_slot=to, last_missed_slot=to),), decisions)


def _restored(schedule: Schedule, change: Restored, now: int) -> ChangeResult:
    """What the lost store decided is not decided again; what came after it is pending, as after an outage."""
    if change.until > now:
        raise InputError(f"{iso(change.until)} is to come: give a time until now ({iso(now)})")
    if change.until <= schedule.cursor and schedule.backfill is None:
        return ChangeResult((schedule,))
    dropped, decisions = _drop(schedule, Reason.RESTORED, change.until, iso(change.until))
    return ChangeResult((dropped._replace(backfill=None),), decisions)


def _drop(schedule: Schedule, reason: Reason, now: int, detail: str = "") -> tuple[Schedule, tuple[Decision, ...]]:
    """Decide all that is pending as not wanted. A move that is still ahead stays."""
    schedule, decisions = note_move(schedule, now)
    again, moved = schedule.reopened, schedule.moved
    if again:
        decisions += (Decision(schedule.name, reason, again[0], again[-1], len(again), detail),)
    until = received_until(schedule, now)
    decisions += summed_up(schedule, schedule.cursor, until, reason, detail)
    moved = moved if moved and moved.to > now else None
    cursor = max(schedule.cursor, until)
    return schedule._replace(cursor=cursor, moved=moved, reopened=(), dropped=(), deferral=None), decisions


def _oldest_pending(schedule: Schedule, now: int) -> int | None:
    slot = next_slot(schedule, schedule.cursor)
    return slot if slot is not None and slot <= now else None


def _decided(result: Decided) -> ChangeResult:
    schedule, decisions = result
    return ChangeResult((schedule,), decisions)


def _switch(schedule: Schedule, change: Switched, now: int) -> ChangeResult:
    """A disabled schedule rests until it is enabled or a person resumes it; a person's own pause stays (S28)."""
    disabled, pause = schedule.disabled, schedule.disabled_pause
    if change.enabled is (disabled is None):
        return ChangeResult((schedule,))
    switched = schedule._replace(disabled=None if change.enabled else Disabled(now))
    return _decided(end_pause(switched, pause, pause.at, now)) if pause else ChangeResult((switched,))


def _pause(schedule: Schedule, change: Paused, now: int) -> ChangeResult:
    """A second pause changes when the first ends, and nothing else."""
    if change.until is not None and change.until <= now:
        raise InputError(f"{iso(change.until)} has passed: give a time after now ({iso(now)})")
    known = schedule.manual_pause
    pause = Pause(known.at if known else now, change.by, change.reason, change.until)
    if known and known.until == change.until:
        return ChangeResult((schedule,))
    return ChangeResult((schedule._replace(manual_pause=pause),))


def _resume(schedule: Schedule, change: Resumed, now: int) -> ChangeResult:
    """A person's resume overrules `enabled: false`, until the definition enables the schedule (S28)."""
    if change.since is not None:
        return _decided(end_pause(schedule, schedule.paused, change.since, now, run_missed=change.run_missed))
    if not (pauses := [pause for pause in (schedule.manual_pause, schedule.disabled_pause) if pause]):
        return ChangeResult((schedule,))
    overruled = Disabled(schedule.disabled.at, overruled=True) if schedule.disabled else None
    since = min(pause.at for pause in pauses)
    awake = schedule._replace(manual_pause=None, disabled=overruled, failures_from=now)
    return _decided(end_pause(awake, pauses[0], since, now, run_missed=change.run_missed))


def _reschedule(schedule: Schedule, change: Rescheduled, now: int) -> ChangeResult:
    return _decided(move_next(schedule, change.to, now))


def _mark_skip(schedule: Schedule, change: SkipAsked, now: int) -> ChangeResult:
    return ChangeResult((mark_skip(schedule, SlotSkip(change.slot, change.by, change.reason), now),))


def _set_blackouts(schedule: Schedule, change: BlackoutsSet, now: int) -> ChangeResult:
    return _decided(replace_blackouts(schedule, change.blackouts, now))


def _unmark_skip(schedule: Schedule, change: SkipTakenBack, _now: int) -> ChangeResult:
    return ChangeResult((unmark_skip(schedule, change.slot),))


def _backfill(schedule: Schedule, change: BackfillAsked, now: int) -> ChangeResult:
    return ChangeResult((begin_backfill(schedule, change, now),))


def _cancel_backfill(schedule: Schedule, _change: BackfillCancelled, _now: int) -> ChangeResult:
    return ChangeResult((schedule._replace(backfill=None),))


def _receive(schedule: Schedule, change: EventsReceived, now: int) -> ChangeResult:
    return ChangeResult((receive(schedule, change, now),))


def _adopt(schedule: Schedule, change: Adopted, _now: int) -> ChangeResult:
    return ChangeResult((schedule._replace(ticking=change.ticking),))


_APPLIED: dict[type, Callable[[Schedule, Any, int], ChangeResult]] = {
    Updated: _apply_update,
    Renamed: _rename,
    Deleted: _delete,
    Switched: _switch,
    Paused: _pause,
    Resumed: _resume,
    Rescheduled: _reschedule,
    SkipAsked: _mark_skip,
    SkipTakenBack: _unmark_skip,
    BlackoutsSet: _set_blackouts,
    Reset: _reset,
    Restored: _restored,
    BackfillAsked: _backfill,
    BackfillCancelled: _cancel_backfill,
    Adopted: _adopt,
    EventsReceived: _receive,
}
