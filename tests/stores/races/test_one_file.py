"""Several processes share one SQLite file as if it were a server."""

from collections import Counter

from tickwise.core.states import RunState

from ...support.races.processes import ROUNDS, Crew, next_word, say
from ...support.races.race import Race, check_each_once, job, pair, slots_of_pairs


def test_three_processes_do_everything_at_once(on_sqlite: Race, crew: Crew) -> None:
    """None of them ever hears that the file is locked, and every run is done once (S1, S48)."""
    place, enqueues = on_sqlite, 30 * ROUNDS
    names, begin = [f"job-{n}" for n in range(10)], place.clock.second
    place.install(*(pair(name) for name in names), job("asked"))
    place.clock.advance(600)
    wanted = slots_of_pairs(names, begin, place.clock.second)
    total, done = len(wanted) + 3 * enqueues + enqueues, 0
    crowd = crew.start(3, "retry.do_everything", **place.address, enqueues=enqueues)
    while done < total:
        done += next_word(crowd)[1]
    say(crowd, "enough")
    for child in crowd:
        child.heard_last()
    runs = place.runs()
    check_each_once(runs, wanted)
    keys = Counter(run.key for run in runs if run.job == "asked")
    assert (len(keys), set(keys.values())) == (4 * enqueues, {1})
    assert {(run.state, run.attempt) for run in runs} == {(RunState.SUCCEEDED, 1)}
