"""SIGKILL at random moments: whatever a server or a worker was doing, nothing is lost and nothing is done twice.

`TICKWISE_KILLS=200` kills more often than the twelve times of an ordinary run.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import time_ns

import pytest

from tickwise.core.settle import LOST_AT_MOST
from tickwise.core.states import RunState
from tickwise.stores.records import MICRO

from ..support.accounting import Told, check_ends, check_order, check_slots
from ..support.apps.ledger import LEDGER
from ..support.deployment import Deployment
from ..support.races.processes import tell
from ..support.store_reads import nothing_active, told
from ..support.tickwise_processes import Nest, Process

KILLS = int(os.environ.get("TICKWISE_KILLS", "12"))
LEASE = 2  # seconds
LONGEST_LIFE = 1.2  # seconds between two kills
VICTIMS = ("serve", "worker")  # beside a ticker that lives on
FUNCTIONS = ("one_by_one", "slow", "side_by_side", "at_most_once")
COMMAND = ('schedule: "*/2 * * * * *"', "overlap: queue",
           'command: [sh, -c, "echo begin $TICKWISE_RUN_ID $TICKWISE_ATTEMPT >> ledger"]')  # fmt: skip


@pytest.fixture
def place(nest: Nest, url: str, tmp_path: Path) -> Iterator[Deployment]:
    """In real time, with short leases."""
    with Deployment(nest, tmp_path, url, lease=LEASE, renew=0.5, poll=0.5) as place:
        yield place


class Fleet:
    """The processes, and when which of them was killed."""

    def __init__(self, place: Deployment) -> None:
        self._place = place
        self._random = Random(2026)
        self.killed: dict[int, int] = {}  # pid to microseconds
        self._witness = self._start("ticker")
        self._alive = [(role, self._start(role)) for role in VICTIMS]

    def _start(self, role: str) -> Process:
        return self._place.start(role, "tests.support.apps.ledger:app", "jobs")

    def kill_one(self) -> None:
        """After a while, whatever it does then; another takes its place at once."""
        role, victim = self._alive.pop(self._random.randrange(len(self._alive)))
        assert victim.lives_for(self._random.uniform(0, LONGEST_LIFE)), victim.output
        self.killed[victim.pid] = time_ns() // 1_000
        victim.kill()
        self._alive.append((role, self._start(role)))

    @property
    def living(self) -> list[Process]:
        return [self._witness, *(process for _, process in self._alive)]

    def all_up(self) -> None:
        for process in self.living:
            process.up()


def test_killed_at_random_moments(place: Deployment) -> None:
    """Every slot ran or has a reason, no run ended twice, and what was held is back within two leases (S42)."""
    place.write("command", *COMMAND)
    fleet = Fleet(place)
    fleet.all_up()
    for _ in range(KILLS):
        fleet.kill_one()
    fleet.all_up()
    place.do(place.tickwise.pause())
    place.eventually(nothing_active)
    runs = place.on_store(told)
    slots = _check(place, runs)
    taken = [a for one in runs for a in one.attempts if a.lost and _pid(a.node) not in fleet.killed]
    assert taken == [], {process.pid: process.output for process in fleet.living}  # from those who were alive
    waits = _recoveries(runs, fleet.killed)
    longest = max(waits, default=0)
    tell(
        f"{KILLS} kills: {slots} slots, {len(runs)} ran and {slots - len(runs)} have a reason, none lost, none "
        f"doubled; {len(waits)} attempts vanished with their process and were back after {longest:.2f} s at most"
    )
    assert longest <= 2 * LEASE


def _check(place: Deployment, runs: list[Told]) -> int:
    """All that was promised; how many slots there were."""
    slots = 0
    of_job = {name: [one for one in runs if one.run.job == name] for name in (*FUNCTIONS, "command")}
    for name, found in of_job.items():
        assert found
        slots += check_slots(place.known(name).schedule, [one.run for one in found], place.decided(name))
    check_ends(runs, place.folder / LEDGER)
    check_order(of_job["one_by_one"])
    check_order(of_job["command"])
    assert {one.run.attempt for one in of_job["at_most_once"]} == {1}
    for one in runs:
        may_be_lost = one.run.losses == LOST_AT_MOST or one.run.job == "at_most_once"
        assert one.run.state is RunState.SUCCEEDED or may_be_lost, one.run
    return slots


def _recoveries(runs: list[Told], killed: dict[int, int]) -> list[float]:
    """The seconds from a kill until what the process held was back in the queue, or given up."""
    lost = [attempt for one in runs for attempt in one.attempts if attempt.lost]
    return [(attempt.finished_at - killed[_pid(attempt.node)]) / MICRO for attempt in lost]


def _pid(node: str | None) -> int:
    """A node is called by its host, its pid and a number."""
    return int((node or "").split("-")[-2])
