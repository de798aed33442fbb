"""Who waits for news hears them: no connection is deaf, and a lost one is made again."""

from tickwise.stores.records import Enqueue

from ...support.races.file_clock import SharedClock
from ...support.races.processes import Crew
from ...support.races.race import Race, job
from ...support.races.server import CRASH, restarted
from ...support.servers.process import Server


def test_who_gave_up_while_beginning_to_listen(on_postgres: Race, crew: Crew) -> None:
    """A wait that ended before the connection listened leaves no connection behind that never will."""
    place = on_postgres
    place.install(job("a"))
    listener = crew.one("listener.listen_again", **place.address, node="n")
    assert listener.hear() == "beginning"
    listener.say("give up")
    assert listener.hear() == "listening"
    place.do(lambda store: store.enqueue([Enqueue("a")]))
    assert listener.hear() is True


def test_who_waits_while_the_server_restarts(mortal: Server, clock: SharedClock, crew: Crew) -> None:
    """A long wait does not sleep through the end of its connection, and hears what is said after the restart."""
    place = Race(mortal.url, clock)
    place.install(job("a"))
    listener = crew.one("listener.say_news", **place.address, node="n")
    assert listener.hear() == "listening"
    with restarted(mortal, CRASH):
        assert listener.hear() == "news"  # that the connection is gone: look
        assert listener.hear() == "news"  # that there is a new one: look
        place.do(lambda store: store.enqueue([Enqueue("a")]))
        assert listener.hear() == "news"
