"""A schedule in shadow: another scheduler starts the job, is heard, and is replaced when a person says so (S80).

All of it is state of the schedule, changed in one move each. So a fire and an adoption have an order: a fire that
was heard before lies behind the cursor that the adoption sets, and one that is heard after finds the schedule
adopted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from .definition import ScheduleDefinition
from .errors import ConflictError
from .model import Decision, Schedule, SeenFire, Shadow
from .parity import slot_of_fire, tolerance_of
from .pauses import Decided
from .reasons import Reason
from .slots import next_slot, passed_over, previous_slot, summed_up
from .timeparse import iso

_REMEMBERED = 100  # fires by which a repetition is known, and of which several in one second are counted


@dataclass(frozen=True, slots=True)
class FireSeen:
    """Another scheduler starts the job at this instant; with `unless_adopted`, only if Tickwise does not."""

    at: int
    key: str
    unless_adopted: bool = False


@dataclass(frozen=True, slots=True)
class ShadowAdopted:
    """Tickwise takes over from the other scheduler; `stopped`: that starts nothing more."""

    by: str = ""
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class ShadowResumed:
    """An adoption is taken back: the other scheduler starts the slots that come, Tickwise those that have come."""


def shadow_begun(schedule: Schedule, now: int) -> Schedule:
    """A new schedule, in shadow if its definition says so."""
    return schedule._replace(shadow=Shadow(now)) if schedule.definition.policy.shadow else schedule


def shadow_redefined(schedule: Schedule, before: ScheduleDefinition, now: int) -> Decided:
    """A schedule with an edited definition. Other times are compared anew; `shadow: false` is an adoption."""
    after, known = schedule.definition, schedule.shadow
    if after.policy.shadow is not before.policy.shadow:
        if after.policy.shadow:
            return schedule._replace(shadow=Shadow(now, known.fires if known else ())), ()
        if known and known.adopted_at is None:
            return _taken_over(schedule, known, after.source, now)
    if known and after.times != before.times:
        return schedule._replace(shadow=replace(known, since=now)), ()
    return schedule, ()


def hear_fire(schedule: Schedule, change: FireSeen, now: int) -> Decided:
    """Record a fire, once for each key. After an adoption it decides its slot, if nothing has yet."""
    known = schedule.shadow or Shadow(now, adopted_at=now)
    if any(one.key == change.key for one in known.fires) or (
        change.unless_adopted and is_ours(schedule, change.at)
    ):
        return schedule, ()
    fire = SeenFire(min(change.at, now), change.key)
    fires = tuple(sorted((*known.fires, fire), key=lambda one: one.at)[-_REMEMBERED:])
    count = max(1, sum(one.at == fire.at for one in fires))
    noted = Decision(schedule.name, Reason.SEEN, fire.at, fire.at, count, fire.key)
    heard = schedule._replace(shadow=replace(known, fires=fires))
    slot = None if schedule.in_shadow else slot_of_fire(schedule, fire.at)
    if slot is None or not schedule.cursor < slot <= now:
        return heard, (noted,)
    return passed_over(heard, slot - 1, slot), (noted, *_done_by_other(schedule, slot - 1, slot))


def is_ours(schedule: Schedule, fire: int) -> bool:
    """Whether Tickwise starts the slot for which the other scheduler fires at this instant."""
    slot = slot_of_fire(schedule, fire)
    if slot is None or fire - slot > tolerance_of(schedule):
        return not schedule.in_shadow
    return not schedule.is_shadowed(slot)


def adopt_from_shadow(schedule: Schedule, change: ShadowAdopted, now: int) -> Decided:
    """Go on after the last fire that was heard; refused while one may be on its way."""
    known = schedule.shadow
    if not schedule.in_shadow or known is None:
        raise ConflictError(f"{schedule.name} is not in shadow: there is nothing to adopt")
    pending = next_slot(schedule, schedule.cursor)
    if pending is not None and pending <= min(known.ours_until, now):
        raise ConflictError(
            f"{schedule.name} was adopted before, and its slot {iso(pending)} of then waits still: "
            f"tickwise why {schedule.name} says for what"
        )
    if not change.stopped:
        _check_heard(schedule, known, now)
    return _taken_over(schedule, known, change.by, now)


def cut_over_slot(schedule: Schedule) -> int:
    """The newest slot that the other scheduler has started: Tickwise goes on after it."""
    fires = schedule.shadow.fires if schedule.shadow else ()
    slot = slot_of_fire(schedule, fires[-1].at) if fires else None
    return schedule.cursor if slot is None else max(slot, schedule.shadow.since if schedule.shadow else slot)


def resume_shadow(schedule: Schedule, _change: ShadowResumed, now: int) -> Decided:
    known = schedule.shadow
    if known is None or known.adopted_at is None or not schedule.definition.policy.shadow:
        raise ConflictError(
            f"{schedule.name} cannot go back into shadow: its definition must say shadow: true, and be adopted"
        )
    return schedule._replace(shadow=Shadow(now, known.fires, ours_until=now)), ()


def _check_heard(schedule: Schedule, known: Shadow, now: int) -> None:
    if not known.fires:
        raise ConflictError(
            f"no fire of {schedule.name} has been heard: let the other scheduler call tickwise seen "
            f"{schedule.name}, or say that it is stopped"
        )
    newest = previous_slot(schedule, now + 1)
    ends = None if newest is None else newest + tolerance_of(schedule)
    if newest is not None and ends is not None and newest > cut_over_slot(schedule) and now <= ends:
        raise ConflictError(
            f"{schedule.name} was due at {iso(newest)}, and the fire of the other scheduler may still come: "
            f"adopt it after that, or after {iso(ends)}, or say that the other scheduler is stopped"
        )


def _taken_over(schedule: Schedule, known: Shadow, by: str, now: int) -> Decided:
    """What follows the last fire is judged anew, as after an outage (S9, S10)."""
    slot = cut_over_slot(schedule)
    decisions = _done_by_other(schedule, schedule.cursor, slot)
    adopted = schedule._replace(
        cursor=slot, last_seen_slot=slot, last_missed_slot=slot, edited_at=now, reopened=(), dropped=(),
        deferral=None, shadow=replace(known, adopted_at=now, adopted_by=by),
    )  # fmt: skip
    return adopted, decisions


def _done_by_other(schedule: Schedule, after: int, until: int) -> tuple[Decision, ...]:
    """The slots of (after, until] have been started by the other scheduler."""
    return summed_up(schedule, after, until, Reason.ALREADY_DONE, "another scheduler started it")


SHADOW_CHANGES: Mapping[type, Callable[[Schedule, Any, int], Decided]] = MappingProxyType(
    {FireSeen: hear_fire, ShadowAdopted: adopt_from_shadow, ShadowResumed: resume_shadow}
)
