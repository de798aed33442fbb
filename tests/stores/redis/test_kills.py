"""A process dies, gives up or stops around any script: nothing is lost and nothing is done twice (S1, S42)."""

import signal
from collections import Counter
from itertools import count

import pytest

from tickwise.core.states import RunState
from tickwise.stores.contract import Store
from tickwise.stores.pages import all_pages

from ...support.races.file_clock import START
from ...support.races.processes import Child, Crew, Gone, tell
from ...support.races.race import Race, all_runs, check_each_once, job, pair, slots_of, slots_of_pairs
from ..races.roles.mongo import LEFT_ALONE, ONE_BY_ONE, PARTS, QUEUES

MADE = {"asked": 4, "other": 1, "rare": 1, "far": 1}  # runs of a job that are enqueued together, all or none
JOBS = {
    "work": (pair("a"),),
    "enqueue": (job("asked"), job("other"), job("rare", queue="rare")),
    "define": (job("rests", "* * * * *", policy=ONE_BY_ONE),),
    "hand over": (job("far", queue="far"),),
}


@pytest.mark.parametrize("part", PARTS)
def test_killed_around_every_script(on_redis: Race, crew: Crew, part: str) -> None:
    """Whatever somebody was about to do, another process completes it once, or it never began (S1, S42)."""
    place = on_redis
    place.install(*JOBS[part])
    rescuer = crew.one("crash.rescue_on_word", **place.address, node="rescuer", queues=QUEUES)
    for point in count(1):
        place.clock.advance(60)
        victim = crew.one("mongo.die", **place.address, node=f"victim-{point}", part=part, die_at=point)
        try:
            passed = victim.heard_last()
        except Gone:
            passed = None
        place.clock.advance(LEFT_ALONE)
        rescuer.say("go")
        assert rescuer.hear() == "settled"
        if passed is not None:
            break
    tell("\n  ".join([f"{len(passed)} points:", *passed]))
    assert point > len(passed) > 10  # how many jobs are pruned depends on what was left before
    _check_what_came_of_it(place)


@pytest.mark.parametrize("part", PARTS)
def test_given_up_around_every_script(on_redis: Race, crew: Crew, part: str) -> None:
    """Whatever a task was cancelled in, nothing is half done, and the store goes on with the next call."""
    place = on_redis
    place.install(*JOBS[part])
    passed = crew.one("mongo.give_up_everywhere", **place.address, node="node", part=part).heard_last()
    tell(f"{len(passed)} points")
    assert len(passed) > 10
    _check_what_came_of_it(place)


def _check_what_came_of_it(place: Race) -> None:
    place.do(lambda store: _check_slots(store, place.clock.second))
    runs = place.runs()
    known = {row.definition.name for row in place.do(lambda store: all_pages(store.insights.jobs))}
    asked = Counter((run.job, run.params["by"]) for run in runs if run.params)
    assert all(made == MADE[name] for (name, _), made in asked.items())
    ended = {RunState.SUCCEEDED, RunState.CANCELLED, RunState.FAILED}
    assert all(run.state in (ended if run.job in known else {RunState.CANCELLED}) for run in runs)
    assert {run.attempt for run in runs if run.hand_over} <= {1}, "adopted, not repeated (S54)"


async def _check_slots(store: Store, now: int) -> None:
    """Every slot of every schedule that is left has had its run."""
    schedules = [row.schedule for row in await all_pages(lambda after: store.insights.schedules(after=after))]
    wanted = [
        (each.name, slot) for each in schedules for slot in slots_of(each.definition.times, each.first_seen, now)
    ]
    names = {each.name for each in schedules}
    check_each_once([run for run in await all_runs(store) if run.schedule in names], wanted)


def test_a_stopped_claimer_blocks_nobody(on_redis: Race, crew: Crew) -> None:
    """Around whichever script a pass is stopped, others go on; continued, it changes nothing any more (S1)."""
    place = on_redis
    place.install(pair("a"))
    rescuer = crew.one("crash.rescue_on_word", **place.address, node="rescuer")
    stopped: list[Child] = []
    for point in count(1):
        place.clock.advance(120)
        child = crew.one("mongo.stop_in_a_pass", **place.address, node=f"stopped-{point}", stop_at=point)
        at = child.hear()
        if not isinstance(at, str):
            break
        stopped.append(child)
        tell(f"stopped {at}")
        _settle(rescuer)
    assert len(stopped) > 1
    for child in stopped:
        child.signal(signal.SIGCONT)
        child.heard_last()
    _settle(rescuer)
    check_each_once(place.runs(), slots_of_pairs(["a"], START, place.clock.second))


def _settle(rescuer: Child) -> None:
    """All that is due runs and ends, by somebody else."""
    rescuer.say("go")
    assert rescuer.hear() == "settled"
