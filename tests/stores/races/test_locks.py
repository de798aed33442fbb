"""Moves that meet do not lock each other out: what need not wait does not, and the others wait in one order."""

from tickwise.core.definition import Overlap, Policy
from tickwise.core.planner import plan
from tickwise.stores.records import Enqueue, LeaseRequest

from ...support.races.processes import Child, Crew
from ...support.races.race import Race, job
from ...support.races.server import wait_until_somebody_waits


def test_a_renewal_waits_for_nobody(on_server: Race, crew: Crew) -> None:
    """A batch that is being finished holds up no renewal of the same runs, and does not deadlock with it (S42)."""
    place = on_server
    place.install(job("a"), job("b"))
    place.do(lambda store: store.enqueue([Enqueue("a"), Enqueue("b")]))
    finisher = crew.one(
        "halt.finish_haltingly", **place.address, node="n", failing=["a"], before="ORDER BY id FOR UPDATE"
    )
    held = dict(finisher.hear().values())
    keeper = crew.one("halt.renew_on_word", **place.address, node="n")
    finisher.say("finish")
    assert finisher.hear() == "halted"
    keeper.say(held)
    assert keeper.hear() == sorted(held)
    finisher.say("go on")
    assert finisher.heard_last() == (2, 1)


def test_two_finishers_meet_at_two_jobs(on_server: Race, crew: Crew) -> None:
    """Ends that note a success on one job and wake another take both in one order: nobody has to begin again."""
    place, policy = on_server, Policy.of(overlap=Overlap.QUEUE, skip_if_successful=True)
    place.install(*(job(name, "* * * * *", policy=policy) for name in ("a", "b")))
    place.clock.advance(300)
    place.do(lambda store: store.tick(plan, "t"))
    place.do(lambda store: store.lease(LeaseRequest("holds the lanes", 2)))
    halts = {"before": "wake_at = CASE WHEN t.wake_at"}
    first, second = (_finisher(place, crew, failing, halts) for failing in ("a", "b"))
    first.say("finish")
    assert first.hear() == "halted"
    second.say("finish")
    wait_until_somebody_waits(place.url)
    first.say("go on")
    assert first.heard_last() == (2, 1)
    assert second.hear() == "halted"
    second.say("go on")
    assert second.heard_last() == (2, 1)


def _finisher(place: Race, crew: Crew, failing: str, halts: dict[str, str]) -> Child:
    """A process that holds a run of either job; the one will fail, the other succeed."""
    place.do(lambda store: store.enqueue([Enqueue("a"), Enqueue("b")]))
    child = crew.one("halt.finish_haltingly", **place.address, **halts, node=failing, failing=[failing])
    assert sorted(child.hear()) == ["a", "b"]
    return child
