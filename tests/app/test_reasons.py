"""Every reason there is: what leads to it, and that `why` answers with it."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

import pytest

from tickwise import AsyncTickwise
from tickwise.core.change import Restored
from tickwise.core.model import Facts, JobFacts, Schedule, TickPlan
from tickwise.core.planner import plan
from tickwise.core.reasons import Reason, Verdict
from tickwise.stores.records import Planner
from tickwise.testing.conformance.world import HOURLY, World, schedule
from tickwise.testing.conformance.world import job as define_job

from ..support.app import Clock, at, patiently


class Place:
    """An app on a moved clock: its public face, and the moves of its store where a process would be needed."""

    def __init__(self, app: AsyncTickwise, world: World) -> None:
        self.app = app
        self.world = world

    async def add(self, times: Any = HOURLY, name: str = "job", **fields: Any) -> None:
        """A job, defined through the public face, seen for the first time now."""
        await self.app.schedules.add(name, schedule=times, command="true", **fields)

    async def tick(self, time: str, planner: Planner = plan) -> None:
        """Time goes on in one leap; then there is a pass."""
        self.world.go(time)
        await self.world.tick(planner)

    async def occupy(self, time: str = "00:30") -> None:
        """A run by hand begins, and goes on."""
        self.world.go(time)
        await self.app.schedules.trigger("job")
        await self.world.lease(seconds=86_400)

    async def succeed(self, time: str) -> None:
        """A run by hand, from its beginning to its end."""
        self.world.go(time)
        await self.app.schedules.trigger("job")
        await self.world.work()


Asked: TypeAlias = tuple[str, datetime]  # the schedule and the slot to ask for
Scenario: TypeAlias = Callable[[Place], Awaitable[Asked]]
ONE = ("job", at("01:00"))


async def _on_time(place: Place) -> Asked:
    await place.add()
    await place.tick("01:00:10")
    return ONE


async def _catch_up(place: Place) -> Asked:
    await place.add()
    await place.tick("01:30")
    return ONE


async def _backfill(place: Place) -> Asked:
    await place.add(catchup="skip")
    await place.tick("03:30")
    await place.app.schedules.backfill("job", at("01:00"), at("02:00"))
    await place.tick("03:31")
    return ONE


async def _stopped(place: Place) -> Asked:
    await place.add({"start": "0 9 * * *", "stop": HOURLY})
    await place.occupy()
    await place.tick("01:00")
    return "job.stop", at("01:00")


async def _nothing_to_stop(place: Place) -> Asked:
    await place.add({"start": "0 9 * * *", "stop": HOURLY})
    await place.tick("01:00")
    return "job.stop", at("01:00")


async def _missed(place: Place) -> Asked:
    await place.add(catchup="skip")
    await place.tick("01:30")
    return ONE


async def _coalesced(place: Place) -> Asked:
    await place.add()
    await place.tick("03:30")
    return ONE


async def _too_old(place: Place) -> Asked:
    await place.add(catchup_window="1h")
    await place.tick("03:30")
    return ONE


async def _too_many(place: Place) -> Asked:
    await place.add(catchup="all", max_catchup=2)
    await place.tick("03:30")
    return ONE


async def _past_one_off(place: Place) -> Asked:
    place.world.go("02:00")
    await place.add({"at": "2026-01-01T01:00:00Z"})
    return ONE


async def _overlap(place: Place) -> Asked:
    await place.add()
    await place.occupy()
    await place.tick("01:00")
    return ONE


async def _lanes_full(place: Place) -> Asked:
    await place.add(overlap="allow", max_active_runs=1)
    await place.occupy()
    await place.tick("01:00")
    return ONE


async def _superseded(place: Place) -> Asked:
    await place.add(overlap="latest")
    await place.occupy()
    await place.tick("01:00")
    await place.tick("02:00")
    return ONE


async def _already_done(place: Place) -> Asked:
    await place.add()
    await place.succeed("01:00:10")
    await place.tick("01:00:20")
    return ONE


async def _already_successful(place: Place) -> Asked:
    await place.add(skip_if_successful=True)
    await place.succeed("00:30")
    await place.tick("01:00")
    return ONE


async def _dependency_missing(place: Place) -> Asked:
    await place.add("0 9 * * *", "first")
    await place.add(after=[{"schedule": "first", "within": "2h"}])
    await place.tick("01:00")
    return ONE


async def _paused(place: Place) -> Asked:
    await place.add()
    await place.app.schedules.pause("job", by="ada")
    place.world.go("01:30")
    await place.app.schedules.resume("job")
    return ONE


async def _blackout(place: Place) -> Asked:
    await place.add()
    await place.app.blackouts.add("freeze", start=at("00:30"), end=at("01:30"), jobs=["job"])
    await place.tick("01:30")
    return ONE


async def _rescheduled(place: Place) -> Asked:
    await place.add()
    await place.app.schedules.reschedule("job", at("01:30"))
    await place.tick("01:30")
    return ONE


async def _skipped_by_hand(place: Place) -> Asked:
    await place.add()
    await place.app.schedules.skip("job", at("01:00"), reason="no power")
    await place.tick("01:00")
    return ONE


async def _late(place: Place) -> Asked:
    await place.add(deadline={"start": "5m", "finish": "10m"})
    await place.tick("01:00")
    await place.tick("01:10")
    return ONE


async def _finished(place: Place) -> Asked:
    await place.add(catchup="all", overlap="allow", max_runs=1)
    await place.tick("02:30")
    return "job", at("02:00")


async def _catchup_goes_first(place: Place) -> Asked:
    await place.add({"start": "30 * * * *", "restart": HOURLY}, catchup="all")
    await place.tick("01:00")
    return "job.restart", at("01:00")


async def _stopped_since(place: Place) -> Asked:
    await place.add({"start": HOURLY, "stop": "30 * * * *"})
    await place.tick("01:45")
    return ONE


async def _catchup_off(place: Place) -> Asked:
    await place.add(catchup="all")
    await place.occupy()
    await place.tick("01:00")
    await place.app.schedules.update("job", schedule=HOURLY, command="true", catchup="skip")
    return ONE


async def _no_events(place: Place) -> Asked:
    await place.app.schedules.add("job", on_event={}, command="true")
    place.world.go("01:00")
    await place.app.events.send("job")
    await place.app.schedules.update("job", schedule=HOURLY, command="true")
    return ONE


async def _reset(place: Place) -> Asked:
    await place.add()
    place.world.go("01:30")
    await place.app.schedules.reset("job")
    return ONE


async def _restored(place: Place) -> Asked:
    await place.add()
    place.world.go("01:30")
    await place.world.store.change("job", Restored(place.world.now))
    return ONE


async def _deleted(place: Place) -> Asked:
    await place.add(overlap="queue")
    await place.occupy()
    await place.tick("01:00")
    await place.app.schedules.remove("job")
    place.world.go("01:01")
    await place.add(overlap="queue")
    return ONE


def _misled(**wrong: Any) -> Planner:
    """The planner, given facts that are wrong in some way."""

    def planner(now: int, schedules: Iterable[Schedule], facts: Facts) -> TickPlan:
        return plan(now, schedules, replace(facts, **wrong))

    return planner


async def _broken(place: Place) -> Asked:
    """It cannot be planned at all; that is told of where it stands, at its cursor."""
    await place.add()
    await place.tick("01:00", _misled(schedules={"job": None}))
    return "job", at("00:00")


async def _waits_for_run(place: Place) -> Asked:
    await place.add(overlap="queue")
    await place.occupy()
    await place.tick("01:00")
    return ONE


async def _waits_for_lane(place: Place) -> Asked:
    await place.add(overlap="allow", max_active_runs=1, catchup="all")
    await place.occupy()
    await place.tick("01:00")
    return ONE


async def _budget(place: Place) -> Asked:
    await place.add(max_starts={"count": 1, "per": "2h"})
    await place.tick("01:00")
    await place.world.work()
    await place.tick("02:00")
    return "job", at("02:00")


async def _waits_for_budget(place: Place) -> Asked:
    await place.add(max_starts={"count": 1, "per": "2h"}, catchup="all")
    await place.tick("01:00")
    await place.world.work()
    await place.tick("02:00")
    return "job", at("02:00")


async def _waits_behind(place: Place) -> Asked:
    later = schedule("later", "5 1 * * *", overlap="queue")
    await place.world.define(define_job("job", HOURLY, overlap="queue", also=[later]))
    await place.occupy()
    await place.tick("01:05")
    return "later", at("01:05")


async def _waits_for_success(place: Place) -> Asked:
    await place.add("0 9 * * *", "first")
    await place.add(after=[{"schedule": "first", "within": "2h"}], wait_for="30m")
    await place.tick("01:00")
    return ONE


async def _no_worker(place: Place) -> Asked:
    await place.add(queue="mail")
    await place.tick("01:00")
    return ONE


async def _shadow(place: Place) -> Asked:
    await place.add(shadow=True)
    await place.tick("01:00")
    return ONE


async def _unreadable(place: Place) -> Asked:
    await place.add()
    await place.tick("01:00", _misled(jobs={"job": JobFacts(unreadable="the cable is out")}))
    return ONE


SCENARIOS: dict[Reason, Scenario] = {
    Reason.ON_TIME: _on_time,
    Reason.CATCH_UP: _catch_up,
    Reason.BACKFILL: _backfill,
    Reason.STOPPED: _stopped,
    Reason.NOTHING_TO_STOP: _nothing_to_stop,
    Reason.MISSED: _missed,
    Reason.STOPPED_SINCE: _stopped_since,
    Reason.COALESCED: _coalesced,
    Reason.TOO_OLD: _too_old,
    Reason.TOO_MANY: _too_many,
    Reason.PAST_ONE_OFF: _past_one_off,
    Reason.OVERLAP: _overlap,
    Reason.LANES_FULL: _lanes_full,
    Reason.SUPERSEDED: _superseded,
    Reason.ALREADY_DONE: _already_done,
    Reason.ALREADY_SUCCESSFUL: _already_successful,
    Reason.DEPENDENCY_MISSING: _dependency_missing,
    Reason.PAUSED: _paused,
    Reason.BLACKOUT: _blackout,
    Reason.RESCHEDULED: _rescheduled,
    Reason.SKIPPED_BY_HAND: _skipped_by_hand,
    Reason.FINISHED: _finished,
    Reason.CATCHUP_GOES_FIRST: _catchup_goes_first,
    Reason.CATCHUP_OFF: _catchup_off,
    Reason.NO_EVENTS: _no_events,
    Reason.RESET: _reset,
    Reason.RESTORED: _restored,
    Reason.DELETED: _deleted,
    Reason.BROKEN: _broken,
    Reason.WAITS_FOR_RUN: _waits_for_run,
    Reason.WAITS_FOR_LANE: _waits_for_lane,
    Reason.BUDGET: _budget,
    Reason.WAITS_FOR_BUDGET: _waits_for_budget,
    Reason.WAITS_BEHIND: _waits_behind,
    Reason.WAITS_FOR_SUCCESS: _waits_for_success,
    Reason.NO_WORKER: _no_worker,
    Reason.UNREADABLE: _unreadable,
    Reason.SHADOW: _shadow,
}


ADVICE = {  # where it names the job's own command
    Reason.NO_WORKER: "Start one: tickwise worker --allow-commands --queues mail.",
}


@pytest.mark.parametrize("reason", [Reason.LATE_START, Reason.LATE_FINISH], ids=lambda reason: reason.code)
@patiently
async def test_why_notes_a_deadline_that_was_missed(reason: Reason, url: str, clock: Clock) -> None:
    """S65: beside what became of the slot, and not in its place."""
    async with AsyncTickwise(url, clock=clock) as app:
        world = World(await app.store(), clock)
        await world.begin()
        name, slot = await _late(Place(app, world))
        answer = await app.why(name, slot)
    assert answer.reason == Reason.ON_TIME.code
    said = reason.explain("5m after its slot" if reason is Reason.LATE_START else "10m after its slot")
    assert f"{said[0].upper()}{said[1:]} (recorded at 2026-01-01T01:10:00Z)." in answer.notes


ENDS = [reason for reason in Reason if reason.verdict is not Verdict.NOTED]


@pytest.mark.parametrize("reason", ENDS, ids=lambda reason: reason.code)
@patiently
async def test_why_answers_with_it(reason: Reason, url: str, clock: Clock) -> None:
    """What happened is told with the code, the verdict, the sentence with its detail, and the advice (S7)."""
    assert reason in SCENARIOS, "a reason without a way that leads to it"
    async with AsyncTickwise(url, clock=clock) as app:
        world = World(await app.store(), clock)
        await world.begin()
        name, slot = await SCENARIOS[reason](Place(app, world))
        answer = await app.why(name, slot)
    assert (answer.reason, answer.verdict, answer.slot) == (reason.code, reason.verdict, slot), answer
    assert answer.advice == ADVICE.get(reason, reason.advice)
    head, has_detail, tail = reason.text.partition("{detail}")
    assert (answer.text.startswith(head), answer.text.endswith(tail)) == (True, True)
    assert (answer.text != reason.explain()) is bool(has_detail), "the sentence names what it is about"
