"""A process dies, or gives up, before any write: nothing is lost and nothing is done twice (S1, S42)."""

from collections import Counter
from itertools import count
from typing import Any

import pytest
from pymongo import MongoClient

from tickwise.core.states import RunState
from tickwise.stores.contract import Store
from tickwise.stores.pages import all_pages

from ...support.races.processes import Crew, Gone, tell
from ...support.races.race import Race, all_runs, check_each_once, job, pair, slots_of
from ..races.roles.mongo import LEFT_ALONE, ONE_BY_ONE, PARTS, QUEUES

LEFTOVERS: dict[str, dict[str, Any]] = {
    "intents": {},
    "runs": {"$or": [{"unwoken": True}, {"state": "draft"}, {"seat": {"$exists": True}}]},
    "batches": {},
}
MADE = {"asked": 4, "other": 1, "rare": 1, "far": 1}  # runs of a job that are enqueued together, all or none
JOBS = {
    "work": (pair("a"),),
    "enqueue": (job("asked"), job("other"), job("rare", queue="rare")),
    "define": (job("rests", "* * * * *", policy=ONE_BY_ONE),),
    "hand over": (job("far", queue="far"),),
}


@pytest.mark.parametrize("part", PARTS)
def test_killed_before_every_write(on_mongodb: Race, crew: Crew, part: str) -> None:
    """Whatever somebody was about to do, another process completes it once, or it never began (S1, S42)."""
    place = on_mongodb
    place.install(*JOBS[part])
    rescuer = crew.one("crash.rescue_on_word", **place.address, node="rescuer", queues=QUEUES)
    for point in count(1):
        place.clock.advance(60)
        victim = crew.one("mongo.die", **place.address, node=f"victim-{point}", part=part, die_at=point)
        try:
            writes = victim.heard_last()
        except Gone:
            writes = None
        place.clock.advance(LEFT_ALONE)
        rescuer.say("go")
        assert rescuer.hear() == "settled"
        if writes is not None:
            break
    tell("\n  ".join([f"{len(writes)} writes:", *writes]))
    assert point > len(writes) > 4  # those before had more to do, if it fell to them to look at jobs to prune
    _check_what_came_of_it(place)


@pytest.mark.parametrize("part", PARTS)
def test_given_up_before_every_write(on_mongodb: Race, crew: Crew, part: str) -> None:
    """Whatever a task was cancelled in, nothing is half done, and the store goes on with the next call."""
    place = on_mongodb
    place.install(*JOBS[part])
    writes = crew.one("mongo.give_up_everywhere", **place.address, node="node", part=part).heard_last()
    tell(f"{len(writes)} writes")
    assert len(writes) > 5
    _check_what_came_of_it(place)


def _check_what_came_of_it(place: Race) -> None:
    place.do(lambda store: _check_slots(store, place.clock.second))
    runs, known = (
        place.runs(),
        {row.definition.name for row in place.do(lambda store: all_pages(store.insights.jobs))},
    )
    asked = Counter((run.job, run.params["by"]) for run in runs if run.params)
    assert all(made == MADE[name] for (name, _), made in asked.items())
    ended = {RunState.SUCCEEDED, RunState.CANCELLED, RunState.FAILED}
    assert all(run.state in (ended if run.job in known else {RunState.CANCELLED}) for run in runs)
    assert {run.attempt for run in runs if run.hand_over} <= {1}, "adopted, not repeated (S54)"
    with MongoClient[Any](place.url) as client:
        database = client.get_default_database()
        found = {name: database[f"tickwise_{name}"].count_documents(which) for name, which in LEFTOVERS.items()}
    assert found == dict.fromkeys(LEFTOVERS, 0)


async def _check_slots(store: Store, now: int) -> None:
    """Every slot of every schedule that is left has had its run."""
    schedules = [row.schedule for row in await all_pages(lambda after: store.insights.schedules(after=after))]
    wanted = [
        (each.name, slot) for each in schedules for slot in slots_of(each.definition.times, each.first_seen, now)
    ]
    names = {each.name for each in schedules}
    check_each_once([run for run in await all_runs(store) if run.schedule in names], wanted)
