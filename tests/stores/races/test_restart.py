"""The server goes away and comes back: clients hear of it, and go on by themselves."""

from ...support.races.file_clock import SharedClock
from ...support.races.processes import Crew, next_word, say, tell
from ...support.races.race import Race, check_each_once, pair, slots_of_pairs
from ...support.races.server import CRASH, restarted
from ...support.servers.process import Server


def test_restarted_in_mid_batch(mortal: Server, clock: SharedClock, crew: Crew) -> None:
    """Each client is told that the store did not answer, goes on with the same store, and each slot runs once."""
    place = Race(mortal.url, clock)
    names, begin = [f"job-{n}" for n in range(20)], clock.second
    place.install(*(pair(name) for name in names))
    clock.advance(1_200)
    wanted = slots_of_pairs(names, begin, clock.second)
    clients = crew.start(4, "retry.persevere", **place.address)
    done = 0
    while done < len(wanted) // 3:
        done += next_word(clients)[1]
    with restarted(mortal, CRASH):
        while done < len(wanted):
            done += next_word(clients)[1]
        say(clients, "enough")
        silences = [client.heard_last() for client in clients]
        tell(f"silences: {silences}")
        assert all(silences)
        check_each_once(place.runs(), wanted)
