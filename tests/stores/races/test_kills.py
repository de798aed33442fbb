"""A process dies, at every statement there is: nothing is lost and nothing is done twice (S1, S42)."""

import signal
from contextlib import suppress
from itertools import count
from random import Random

from ...support.races.file_clock import START
from ...support.races.processes import ROUNDS, Crew, Gone, next_word, say, tell
from ...support.races.race import Race, check_each_once, job, pair, slots_of, slots_of_pairs

LEASE = 30


def test_killed_at_every_statement(on_sql: Race, crew: Crew) -> None:
    """Whatever a ticker, worker and finisher was about to do, another process completes it exactly once (S42)."""
    on_sql.install(pair("a"))
    _kill_at_each(on_sql, crew, every=120 + LEASE + 1)
    check_each_once(on_sql.runs(), slots_of_pairs(["a"], START, on_sql.clock.second))


def test_killed_at_every_statement_of_the_plain_path(on_sql: Race, crew: Crew) -> None:
    """The same where simple jobs are started by one statement: each of them gets its slot once (S1, S42)."""
    jobs = [job(name, "* * * * *") for name in "abc"]
    on_sql.install(*jobs)
    on_sql.clock.advance(LEASE + 1)
    passed = _kill_at_each(on_sql, crew, every=60)
    assert any("runs_made = coalesce(t.runs_made, 0) + 1" in text for text in passed), "they were simple"
    until = on_sql.clock.second
    wanted = [(one.name, slot) for one in jobs for slot in slots_of(one.schedules[0].times, START, until)]
    check_each_once(on_sql.runs(), wanted)


def _kill_at_each(place: Race, crew: Crew, *, every: int) -> list[str]:
    """Let a process die at the first point, another at the second and so on, each so long after the one before."""
    rescuer = crew.one("crash.rescue_on_word", **place.address, node="rescuer")
    for point in count(1):
        place.clock.advance(every - LEASE - 1)
        given = {"node": f"victim-{point}", "die_at": point}
        victim = crew.one("crash.one_cycle", **place.address, **given)
        passed: list[str] = []
        with suppress(Gone):
            passed = victim.hear()
        place.clock.advance(LEASE + 1)
        rescuer.say("go")
        assert rescuer.hear() == "settled"
        if passed:
            break
    tell("\n  ".join([f"{len(passed)} failpoints:", *(text[:60] for text in passed)]))
    assert point == len(passed) + 1 > 10
    return passed


def test_killed_at_any_moment(place: Race, crew: Crew) -> None:
    """Processes that die wherever they are just then, in a commit too, lose and double nothing (S1, S42)."""
    names, chance = [f"job-{n}" for n in range(100 * ROUNDS)], Random(1)  # more than the dead can hold
    place.install(*map(pair, names))
    place.clock.advance(600)
    fleet = crew.start(3, "retry.do_everything", **place.address)
    for _ in range(10 * ROUNDS):
        for _ in range(chance.randint(1, 20)):
            next_word(fleet)
        victim = fleet.pop(chance.randrange(len(fleet)))
        victim.signal(signal.SIGKILL)
        fleet += crew.start(1, "retry.do_everything", **place.address)
    say(fleet, "enough")
    for survivor in fleet:
        survivor.heard_last()
    place.clock.advance(LEASE + 1)
    rescuer = crew.one("crash.rescue_on_word", **place.address, node="rescuer")
    rescuer.say("go")
    assert rescuer.hear() == "settled"
    check_each_once(place.runs(), slots_of_pairs(names, START, place.clock.second))
