"""Watchers and work on engines, in processes of their own, at the same moment (S53-S56)."""

import signal
from collections import Counter
from collections.abc import Mapping
from itertools import count, cycle
from typing import Any

from tickwise.core.handover import Intended, digest
from tickwise.core.states import RunState
from tickwise.stores.contract import Store
from tickwise.stores.records import Enqueue, LeaseRequest
from tickwise.testing.conformance.handover import record_of

from ...support.races.processes import ROUNDS, Child, Crew, Gone, say, tell
from ...support.races.race import Race, job

WATCHERS, RUNS = 6, 40 * ROUNDS
LEASE, PATIENCE = 30, 600


def test_a_gate_lets_one_in(place: Race, crew: Crew) -> None:
    """However many copies of the work ask at once, each attempt begins once (S53)."""
    held, copies = _handed_over(place), _watchers(place, crew)
    let_in = _do(copies, "ask the gate", held)
    _check_each_once(let_in, held)
    claims = {run.id: run.hand_over.claim for run in place.runs() if run.hand_over}
    assert claims == {run: digest(node) for node, runs in let_in.items() for run in runs}


def test_a_run_is_adopted_by_one_watcher(place: Race, crew: Crew) -> None:
    """Watchers that adopt at once share what nobody watches, and begin no other attempt (S54)."""
    held, watchers = _handed_over(place), _watchers(place, crew)
    place.clock.advance(LEASE + 1)
    adopted = _do(watchers, "adopt", {})
    _check_each_once(adopted, held)
    nodes = {run.id: run.node for run in place.runs()}
    assert nodes == {run: node for node, runs in adopted.items() for run in runs}
    assert {run.attempt for run in place.runs()} == {1}
    assert _do(watchers, "renew", held) == {node: sorted(runs) for node, runs in adopted.items()}


def test_an_end_is_taken_from_one_watcher(place: Race, crew: Crew) -> None:
    """All of them have the token, and one end counts (S56)."""
    held, watchers = _handed_over(place), _watchers(place, crew)
    taken = _do(watchers, "finish", held)
    _check_each_once(taken, held)
    assert {run.state for run in place.runs()} == {RunState.SUCCEEDED}


def test_a_watcher_that_was_stopped_past_its_lease(place: Race, crew: Crew) -> None:
    """It comes back to runs that are another's: it renews none, and ends none that has ended (S54, S56)."""
    held = _handed_over(place, "stopped")
    watchers = _watchers(place, crew, "stopped", "other")
    stopped = watchers["stopped"]
    stopped.signal(signal.SIGSTOP)
    stopped.say(("renew", held))
    place.clock.advance(LEASE + 1)
    assert set(_do({"other": watchers["other"]}, "adopt", {})["other"]) == set(held)
    stopped.signal(signal.SIGCONT)
    assert stopped.hear() == []
    taken = _do(watchers, "finish", held)
    _check_each_once(taken, held)
    assert {run.attempt for run in place.runs()} == {1}


def test_the_last_moment_to_adopt(place: Race, crew: Crew) -> None:
    """When the patience is over, watchers and reapers meet: a run is adopted or lost, and never both (S54)."""
    held, watchers = _handed_over(place), _watchers(place, crew)
    place.clock.advance(LEASE + PATIENCE + 1)
    duties = dict(zip(watchers.values(), cycle(("adopt", "expire")), strict=False))
    for watcher, duty in duties.items():
        watcher.say((duty, {}))
    adopted = [run for watcher, duty in duties.items() if duty == "adopt" for run in watcher.hear()]
    lost = sum(watcher.hear() for watcher, duty in duties.items() if duty == "expire")
    tell(f"{len(adopted)} adopted, {lost} lost")
    assert len(set(adopted)) == len(adopted) == len(held) - lost
    states = Counter(run.state for run in place.runs())
    assert (states[RunState.LOST], states[RunState.RUNNING]) == (lost, len(adopted))


def test_killed_at_every_statement_of_a_hand_over(on_sql: Race, crew: Crew) -> None:
    """What has an intent is adopted, what has none is tried again, and each run ends once (S52, S54)."""
    on_sql.install(job("far", queue="far"))
    rescuer = crew.one("crash.rescue_on_word", **on_sql.address, node="rescuer", queues=("far",))
    for point in count(1):
        victim = crew.one("watcher.die", **on_sql.address, node=f"victim-{point}", die_at=point)
        passed = _heard(victim)
        on_sql.clock.advance(LEASE + 1)
        rescuer.say("go")
        assert rescuer.hear() == "settled"
        if passed:
            break
    assert point > len(passed) > 20
    runs = on_sql.runs()
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
    assert {run.attempt for run in runs if run.hand_over} == {1}
    assert {run.attempt for run in runs} == {1, 2}, "some died before the intent"


def _heard(child: Child) -> Any:
    try:
        return child.heard_last()
    except Gone:
        return None


def _handed_over(place: Race, node: str = "first") -> dict[str, str]:
    """Runs that a watcher holds and has handed over, with their tokens."""
    place.install(job("a"))

    async def hand_over(store: Store) -> dict[str, str]:
        await store.enqueue([Enqueue("a") for _ in range(RUNS)])
        leases = await store.lease(LeaseRequest(node, RUNS, seconds=LEASE))
        for lease in leases:
            await store.hand_over(lease.id, lease.token, Intended(record_of(lease, PATIENCE)))
        return {lease.id: lease.token for lease in leases}

    held = place.do(hand_over)
    assert len(held) == RUNS
    return held


def _watchers(place: Race, crew: Crew, *names: str) -> dict[str, Child]:
    """Processes by the names of their nodes."""
    names = names or tuple(f"w{number}" for number in range(WATCHERS))
    watchers = {name: crew.one("watcher.do_on_word", **place.address, node=name) for name in names}
    assert {watcher.hear() for watcher in watchers.values()} == {"ready"}
    return watchers


def _do(watchers: Mapping[str, Child], duty: str, held: Mapping[str, str]) -> dict[str, list[str]]:
    """Let all of them do it at once; for which runs each of them did it."""
    say(list(watchers.values()), (duty, held))
    return {name: watcher.hear() for name, watcher in watchers.items()}


def _check_each_once(done: Mapping[str, list[str]], held: Mapping[str, str]) -> None:
    assert sorted(run for runs in done.values() for run in runs) == sorted(held)
