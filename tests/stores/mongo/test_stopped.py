"""A process that is stopped in the middle of a pass, wherever that is, holds up nobody (S42)."""

import signal
from itertools import count

from ...support.races.file_clock import START
from ...support.races.processes import Child, Crew, tell
from ...support.races.race import Race, check_each_once, pair, slots_of_pairs

SOON = 3  # seconds after which a plan that nobody has settled is taken up


def test_a_stopped_claimer_blocks_nobody(on_mongodb: Race, crew: Crew) -> None:
    """Before whichever write a pass is stopped, others go on; continued, it changes nothing any more (S1)."""
    place = on_mongodb
    place.install(pair("a"))
    rescuer = crew.one("crash.rescue_on_word", **place.address, node="rescuer")
    stopped: list[Child] = []
    for write in count(1):
        place.clock.advance(120)
        child = crew.one("mongo.stop_in_a_pass", **place.address, node=f"stopped-{write}", stop_at=write)
        before = child.hear()
        if not isinstance(before, str):
            break
        stopped.append(child)
        tell(f"stopped before {before}")
        _settle(place, rescuer)
    assert len(stopped) > 3
    for child in stopped:
        child.signal(signal.SIGCONT)
        child.heard_last()
    _settle(place, rescuer)
    check_each_once(place.runs(), slots_of_pairs(["a"], START, place.clock.second))


def _settle(place: Race, rescuer: Child) -> None:
    """All that is due runs and ends, by somebody else."""
    place.clock.advance(SOON)
    rescuer.say("go")
    assert rescuer.hear() == "settled"
