"""The fleet's limits on a queue hold, however many processes lease at once."""

from operator import methodcaller

from tickwise.core.states import RunState
from tickwise.stores.records import Enqueue, QueueLimit

from ...support.races.processes import ROUNDS, Crew, say
from ...support.races.race import Race, job


def test_no_more_run_than_may(place: Race, crew: Crew) -> None:
    """Ten processes that lease at once get as many runs as the queue allows in all, and no more."""
    place.install(job("a"))
    workers = crew.start(10, "halt.lease_on_word", **place.address, capacity=2)
    assert {worker.hear() for worker in workers} == {"ready"}
    place.do(lambda store: store.enqueue([Enqueue("a")] * 100))
    for allowed in range(3, 3 + 4 * ROUNDS):
        limit = QueueLimit("default", concurrency=allowed)
        place.do(methodcaller("limit", limit))
        say(workers, "go")
        for worker in workers:
            worker.hear()
        assert place.do(lambda store: store.insights.counts()).runs[RunState.RUNNING] == allowed


def test_no_more_start_than_may(place: Race, crew: Crew) -> None:
    """A burst is given out once, whoever asks for it."""
    place.install(job("a"))
    workers = crew.start(10, "halt.lease_on_word", **place.address, capacity=2)
    assert {worker.hear() for worker in workers} == {"ready"}
    place.do(lambda store: store.enqueue([Enqueue("a")] * 100))
    place.do(lambda store: store.limit(QueueLimit("default", starts_per_second=5.0)))
    for _ in range(3 * ROUNDS):
        say(workers, "go")
        assert sum(worker.hear() for worker in workers) == 5
        place.clock.advance(2)


def test_a_slow_lease_gives_nobody_credit(on_server: Race, crew: Crew) -> None:
    """A worker that read the time long before its turn does not turn the queue's clock back."""
    place = on_server
    place.install(job("a"))
    place.do(lambda store: store.enqueue([Enqueue("a")] * 100))
    place.do(lambda store: store.limit(QueueLimit("default", starts_per_second=5.0)))
    slow = crew.one("halt.lease_haltingly", **place.address, node="slow", before="FROM tickwise_queues")
    assert slow.hear() == "halted"
    place.clock.advance(60)
    quick = crew.one("halt.lease_on_word", **place.address, node="quick", capacity=1)
    assert quick.hear() == "ready"
    quick.say("go")
    assert quick.hear() == 1
    slow.say("go on")
    started = 1 + slow.heard_last()
    rest = crew.one("halt.lease_on_word", **place.address, node="rest", capacity=100)
    assert rest.hear() == "ready"
    rest.say("go")
    assert started + rest.hear() == 5
