"""The server is killed and comes back: clients go on by themselves, and what was acknowledged is there."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from ...support.races.file_clock import SharedClock
from ...support.races.processes import ROUNDS, Crew, next_word, say, tell
from ...support.races.race import Race, check_each_once, pair, slots_of_pairs
from ...support.servers import mongodb
from ...support.servers.process import Server
from .servers import restarted, standalone

MOMENT = 3  # seconds after which a plan that nobody has settled is taken up


@pytest.mark.parametrize("start", [mongodb.server, standalone])
def test_killed_in_mid_batch(
    start: Callable[[], AbstractContextManager[Server]], clock: SharedClock, crew: Crew
) -> None:
    """Every slot runs once, whatever each client was doing when the server died, on the stores they had (S1)."""
    with start() as server:
        _kill_and_go_on(server, Race(server.url, clock), crew)


def _kill_and_go_on(server: Server, place: Race, crew: Crew) -> None:
    clock = place.clock
    names, begin = [f"job-{n}" for n in range(10 * ROUNDS)], clock.second
    place.install(*(pair(name) for name in names))
    clock.advance(900)
    wanted = slots_of_pairs(names, begin, clock.second)
    clients, done = crew.start(3, "retry.persevere", **place.address), 0
    while done < len(wanted) // 3:
        done += next_word(clients)[1]
    with restarted(server):
        clock.advance(MOMENT)
        while done < len(wanted):
            done += next_word(clients)[1]
        say(clients, "enough")
        tell(f"silences: {[client.heard_last() for client in clients]}")  # the driver tries once more by itself
        check_each_once(place.runs(), wanted)
