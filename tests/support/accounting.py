"""The account of a store and a ledger: every slot ran once or has a reason, and every run ended once."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tickwise.core.model import Schedule
from tickwise.core.slots import next_slot
from tickwise.core.states import Event, RunState
from tickwise.stores.records import AttemptRow, DecisionRow, RunRow

AGAIN = frozenset({Event.LEASE_EXPIRED, Event.HAND_BACK, Event.RETRY})


class Attempt(NamedTuple):
    """One attempt of a run, the last included, by stored timestamps."""

    number: int
    node: str | None
    started_at: int
    finished_at: int
    lost: bool  # its worker vanished


class Told(NamedTuple):
    """A run with its attempts."""

    run: RunRow
    before: tuple[AttemptRow, ...]

    @property
    def attempts(self) -> list[Attempt]:
        earlier = [
            Attempt(row.number, row.node, row.started_at or 0, row.finished_at, row.event is Event.LEASE_EXPIRED)
            for row in self.before
        ]
        run = self.run
        if run.started_at is None or run.finished_at is None:
            return earlier
        lost = run.state is RunState.LOST
        return [*earlier, Attempt(run.attempt, run.node, run.started_at, run.finished_at, lost)]


def check_slots(schedule: Schedule, runs: Sequence[RunRow], decided: Sequence[DecisionRow]) -> int:
    """Each slot up to the cursor has one run, or one reason (S1, S7); how many slots there are."""
    slots, slot = set[int](), next_slot(schedule, schedule.first_seen)
    while slot is not None and slot <= schedule.cursor:
        slots.add(slot)
        slot = next_slot(schedule, slot)
    ran = Counter(run.slot or 0 for run in runs if run.schedule == schedule.name)
    assert ran.keys() <= slots, f"{schedule.name} ran at no slot of it: {sorted(ran.keys() - slots)[:5]}"
    assert not [slot for slot, times in ran.items() if times > 1], f"{schedule.name} ran a slot twice"
    for slot in sorted(slots):
        reasons = sum(told.first <= slot <= told.last for told in decided)
        found = f"{schedule.name} at {slot} has {ran[slot]} runs and {reasons} reasons"
        assert (ran[slot], reasons) in {(1, 0), (0, 1)}, found
    assert sum(told.count for told in decided) == len(slots) - len(ran)
    return len(slots)


def check_ends(told: Sequence[Told], ledger: Path) -> None:
    """Each attempt began at most once, the last one alone ended the run, and no run ended twice (S42, S43)."""
    lines = Counter(tuple(line.split()) for line in ledger.read_text().splitlines())
    assert not [line for line, times in lines.items() if times > 1], "an attempt began or ended twice"
    ended = Counter(run for what, run, _ in lines if what == "succeeded")
    assert not [run for run, times in ended.items() if times > 1], "a run succeeded twice"
    for one in told:
        run, numbers = one.run, [row.number for row in one.before]
        assert numbers == list(range(1, run.attempt)), f"run {run.id} has attempts {numbers} before {run.attempt}"
        assert {row.event for row in one.before} <= AGAIN
        if run.state is RunState.SUCCEEDED:  # if not in its last attempt, its steps were done before that
            began = [number for number in range(1, run.attempt + 1) if lines["begin", run.id, str(number)]]
            assert began, f"run {run.id} succeeded, but never began"
        else:
            assert ended[run.id] == 0, f"run {run.id} is {run.state}, but succeeded once"


def check_order(told: Sequence[Told]) -> None:
    """Runs of one lane, in the order of their slots, never stand beside each other (S12, S14, S16)."""
    attempts = [attempt for one in sorted(told, key=_slot) for attempt in one.attempts]
    for first, second in pairwise(attempts):
        assert first.finished_at <= second.started_at


def _slot(one: Told) -> int:
    return one.run.slot or 0


def busiest(attempts: Sequence[Attempt]) -> int:
    """How many attempts stood beside each other at most; one that ends when another starts does not."""
    changes = sorted([(one.started_at, 1) for one in attempts] + [(one.finished_at, -1) for one in attempts])
    most = now = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most
