"""Nodes that disagree: about the time, or about who holds a run."""

import asyncio

from tickwise.core.cron import parse
from tickwise.core.definition import Catchup, Overlap, Policy
from tickwise.core.states import Event, RunState
from tickwise.stores.contract import Store
from tickwise.stores.records import Enqueue

from ...support.races.processes import Crew, say
from ...support.races.race import Race, check_each_once, job, opened, slots_of

EVERY_MINUTE = "* * * * *"
ALL_AT_ONCE = Policy.of(overlap=Overlap.ALLOW, catchup=Catchup.ALL, max_active_runs=1_000)
HOUR = 3_600
MICRO = 1_000_000


def test_clocks_an_hour_apart(place: Race, crew: Crew) -> None:
    """Nodes whose own clocks are an hour apart fire the same slots once, at the store's time (S5)."""
    began = _store_time(place)
    place.clock.set(began // MICRO - HOUR)
    place.install(job("a", EVERY_MINUTE, policy=ALL_AT_ONCE), job("b", EVERY_MINUTE, policy=ALL_AT_ONCE))
    nodes = [
        crew.one("fleet.settle_with_clock_off", url=place.url, node=f"off by {seconds}", seconds=seconds)
        for seconds in (0, HOUR, -HOUR)
    ]
    assert {node.hear() for node in nodes} == {"ready"}
    say(nodes, "go")
    ends = [node.heard_last() for node in nodes]
    assert max(ends) - min(ends) >= 2 * HOUR - 60
    ended, runs = _store_time(place), place.runs()
    newest = max(run.slot or 0 for run in runs)
    wanted = slots_of(parse(EVERY_MINUTE), began // MICRO - HOUR, newest)
    check_each_once(runs, [(name, slot) for name in ("a", "b") for slot in wanted])
    assert began // MICRO - 60 < newest <= ended // MICRO
    told = [at for run in runs for at in (run.created_at, run.started_at, run.finished_at)]
    assert all(at is not None and began <= at <= ended for at in told)


def _store_time(place: Race) -> int:
    async def now() -> int:
        store = opened(place.url, None)
        try:
            return await store.now()
        finally:
            await store.close()

    return asyncio.run(now())


def test_a_late_worker_is_refused(place: Race, crew: Crew) -> None:
    """Once a run whose lease ran out is another's, its old worker can finish, report and renew nothing (S42)."""
    place.install(job("a"))
    place.do(lambda store: store.enqueue([Enqueue("a")]))
    late = crew.one("fleet.lose_a_lease", **place.address, node="late")
    run = late.hear()
    place.clock.advance(31)
    other = crew.one("fleet.take_over", **place.address, node="other")
    assert other.hear() == [run]
    late.say("try")
    assert late.heard_last() == {"finish": (None,), "report": False, "renew": (frozenset(), frozenset(), ())}
    assert place.do(lambda store: _kept(store, run)) == (RunState.RUNNING, "other", None, (), ())
    other.say("finish")
    assert other.heard_last() == 1
    assert place.do(lambda store: _kept(store, run)) == (RunState.SUCCEEDED, "other", None, (), ())
    (lost,) = place.do(lambda store: store.insights.attempts(run))
    assert (lost.number, lost.node, lost.event) == (1, "late", Event.LEASE_EXPIRED)


async def _kept(store: Store, id_: str) -> tuple[object, ...]:
    """All that the late worker might have left."""
    run = await store.insights.run(id_)
    assert run is not None
    log = await store.insights.log(id_)
    return run.state, run.node, run.result, await store.insights.steps(id_), log.items
