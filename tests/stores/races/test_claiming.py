"""Many processes claim at once (S1, S16): what is due is decided once."""

from statistics import quantiles

import pytest

from tickwise.core.definition import Overlap, Policy
from tickwise.core.states import RunState

from ...support.races.file_clock import START
from ...support.races.processes import ROUNDS, Crew, say, tell
from ...support.races.race import Race, check_each_once, job

EVERY_MINUTE = "* * * * *"
SIDE_BY_SIDE = Policy.of(overlap=Overlap.ALLOW, max_active_runs=1_000)


@pytest.mark.parametrize("processes", [10, 50])
def test_one_slot_gets_one_run(place: Race, crew: Crew, processes: int) -> None:
    """However many processes tick one due schedule at once, one of them makes the run (S1)."""
    place.install(job("a", EVERY_MINUTE, policy=SIDE_BY_SIDE))
    racers = crew.start(processes, "worker.tick_on_word", **place.address)
    assert {racer.hear() for racer in racers} == {"ready"}
    slots = [START + 60 * n for n in range(1, 3 * ROUNDS + 1)]
    for slot in slots:
        place.clock.set(slot)
        say(racers, "go")
        assert sorted(racer.hear() for racer in racers) == [0] * (processes - 1) + [1]
    check_each_once(place.runs(), [("a", slot) for slot in slots], RunState.QUEUED)


def test_a_thousand_schedules_and_fifty_claimers(place: Race, crew: Crew) -> None:
    """Fifty stores in ten processes divide a thousand due schedules among them, and none is decided twice (S1)."""
    names = [f"job-{n}" for n in range(1_000)]
    place.install(*(job(name, EVERY_MINUTE, policy=SIDE_BY_SIDE) for name in names))
    racers = crew.start(10, "worker.claim_everything", **place.address, stores=5, limit=20)
    assert {racer.hear() for racer in racers} == {"ready"}
    place.clock.advance(60)
    say(racers, "go")
    results = [racer.heard_last() for racer in racers]
    assert sum(made for made, _ in results) == len(names)
    check_each_once(place.runs(), [(name, START + 60) for name in names], RunState.QUEUED)
    took = [milliseconds for _, all_of_them in results for milliseconds in all_of_them]
    tell(f"{len(took)} claims, p99 {quantiles(took, n=100)[98]:.1f} ms")


def test_runs_that_the_cursor_does_not_know(on_sql: Race, crew: Crew) -> None:
    """A cursor that is older than the runs, as from a backup, is decided by them, and goes on (S1)."""
    place = on_sql
    place.install(job("a", EVERY_MINUTE, policy=SIDE_BY_SIDE))
    place.clock.advance(120)
    tickers = crew.start(5, "worker.tick_on_word", **place.address)
    assert {ticker.hear() for ticker in tickers} == {"ready"}
    cursor = "`cursor`" if place.kind == "mysql" else "cursor"  # a word of its own there
    place.execute(
        f"UPDATE tickwise_schedules SET {cursor} = first_seen, last_slot = NULL",
        f"UPDATE tickwise_job_state SET wake_at = 0, {cursor} = NULL, last_seen_slot = NULL, last_slot = NULL, "
        "runs_made = NULL",
    )
    place.clock.advance(60)
    made = 0
    for _ in range(3):
        say(tickers, "go")
        made += sum(ticker.hear() for ticker in tickers)
    assert (made, place.do(lambda store: store.insights.next_due())) == (1, START + 240)
    check_each_once(place.runs(), [("a", START + 60 * n) for n in (1, 2, 3)], RunState.QUEUED)
