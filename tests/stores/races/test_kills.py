"""A process dies, at every statement there is: nothing is lost and nothing is done twice (S1, S42)."""

import signal
from itertools import count
from random import Random

from .clock import START
from .place import Place, check_each_once, pair, slots_of_pairs
from .processes import ROUNDS, Crew, Gone, next_word, say, tell

LEASE = 30


def test_killed_at_every_statement(on_sql: Place, crew: Crew) -> None:
    """Whatever a ticker, worker and finisher was about to do, another process completes it exactly once (S42)."""
    place = on_sql
    place.install(pair("a"))
    rescuer = crew.one("dying.rescue_on_word", **place.address, node="rescuer")
    for point in count(1):
        place.clock.advance(120)
        victim = crew.one("dying.one_cycle", **place.address, node=f"victim-{point}", die_at=point)
        try:
            passed = victim.hear()
        except Gone:
            passed = None
        place.clock.advance(LEASE + 1)
        rescuer.say("go")
        assert rescuer.hear() == "settled"
        if passed is not None:
            break
    tell("\n  ".join([f"{len(passed)} failpoints:", *(text[:60] for text in passed)]))
    assert point == len(passed) + 1 > 10
    wanted = slots_of_pairs(["a"], START, place.clock.second)
    check_each_once(place.runs(), wanted)


def test_killed_at_any_moment(place: Place, crew: Crew) -> None:
    """Processes that die wherever they are just then, in a commit too, lose and double nothing (S1, S42)."""
    names, chance = [f"job-{n}" for n in range(100 * ROUNDS)], Random(1)  # more than the dead can hold
    place.install(*map(pair, names))
    place.clock.advance(600)
    fleet = crew.start(3, "persevering.do_everything", **place.address)
    for _ in range(10 * ROUNDS):
        for _ in range(chance.randint(1, 20)):
            next_word(fleet)
        victim = fleet.pop(chance.randrange(len(fleet)))
        victim.signal(signal.SIGKILL)
        fleet += crew.start(1, "persevering.do_everything", **place.address)
    say(fleet, "enough")
    for survivor in fleet:
        survivor.heard_last()
    place.clock.advance(LEASE + 1)
    rescuer = crew.one("dying.rescue_on_word", **place.address, node="rescuer")
    rescuer.say("go")
    assert rescuer.hear() == "settled"
    check_each_once(place.runs(), slots_of_pairs(names, START, place.clock.second))
