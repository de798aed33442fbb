"""Mistakes about events, for `mutations`."""

from typing import Any

from tickwise.core import change, event_inbox, schedule_pass
from tickwise.core.audit import Fault
from tickwise.core.event_inbox import EventsReceived
from tickwise.core.model import Schedule

from .mutation import Mutation, Patches, now_and_then


def accepted_unstored() -> Patches:
    receive, slips = event_inbox.receive, now_and_then(7)

    def forgetful(schedule: Schedule, received: EventsReceived, now: int) -> Schedule:
        after = receive(schedule, received, now)
        return schedule if slips() else after

    return [(change, "receive", forgetful)]


def key_forgotten() -> Patches:
    receive = event_inbox.receive

    def forgetful(schedule: Schedule, received: EventsReceived, now: int) -> Schedule:
        return receive(schedule._replace(inbox=schedule.inbox._replace(decided=())), received, now)

    return [(change, "receive", forgetful)]


def slots_shared() -> Patches:
    with_slots = event_inbox._with_slots

    def shared(schedule: Schedule, *given: Any) -> Any:
        return tuple(
            event._replace(slot=max(event.at, schedule.cursor + 1)) for event in with_slots(schedule, *given)
        )

    return [(event_inbox, "_with_slots", shared)]


def group_cut() -> Patches:
    events_of = event_inbox.events_of
    return [(schedule_pass, "events_of", lambda *given: events_of(*given)[-1:])]


def edit_forgets() -> Patches:
    redefined = event_inbox.redefined_inbox
    return [(change, "redefined_inbox", lambda *given: redefined(*given)._replace(pending=()))]


def edit_revives() -> Patches:
    return [(event_inbox, "with_decided", lambda schedule, _now: schedule.inbox)]


MUTATIONS: dict[str, Mutation] = {
    "an event is accepted and not stored": Mutation(
        accepted_unstored, 4, Fault.MISSED, "neither a run nor a reason"
    ),
    "a key is forgotten when its event has had its run": Mutation(
        key_forgotten, 4, Fault.DOUBLED, "is part of 2 runs"
    ),
    "events of one second share a slot": Mutation(slots_shared, 4, Fault.MISSED, "neither a run nor a reason"),
    "the run of a group has only its newest event": Mutation(
        group_cut, 4, Fault.MISSED, "neither a run nor a reason"
    ),
    "an edit loses the events that wait": Mutation(edit_forgets, 4, Fault.MISSED, "neither a run nor a reason"),
    "an edit runs events that a reset has dropped": Mutation(
        edit_revives, 24, Fault.EXTRA, "recorded as decided without a run"
    ),
}
