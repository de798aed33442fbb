"""The server is killed and comes back: clients go on by themselves, and what was acknowledged is there."""

from ...support.races.file_clock import SharedClock
from ...support.races.processes import ROUNDS, Crew, next_word, say, tell
from ...support.races.race import Race, check_each_once, pair, slots_of_pairs
from ...support.servers import valkey


def test_killed_in_mid_batch(clock: SharedClock, crew: Crew) -> None:
    """With appendfsync always every slot runs once, whatever each client was doing when the server died (S1)."""
    with valkey.server(*valkey.DURABLE) as server:
        place = Race(server.url, clock)
        names, begin = [f"job-{n}" for n in range(10 * ROUNDS)], clock.second
        place.install(*(pair(name) for name in names))
        clock.advance(900)
        wanted = slots_of_pairs(names, begin, clock.second)
        clients, done = crew.start(3, "retry.persevere", **place.address), 0
        while done < len(wanted) // 3:
            done += next_word(clients)[1]
        with valkey.restarted(server):
            while done < len(wanted):
                done += next_word(clients)[1]
            say(clients, "enough")
            tell(f"silences: {[client.heard_last() for client in clients]}")
            check_each_once(place.runs(), wanted)
