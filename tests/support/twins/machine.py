"""The moves that are made up for a store beside the memory store, and the machine that makes them.

    run_state_machine_as_test(machine(loop, emptied), settings=…)

What both stores answer to each move is compared at once, and all that they show after every few.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tickwise.core.definition import JobDefinition, Overlap
from tickwise.core.model import Pause

from . import strategies
from .strategies import DAY, HOUR, JOBS
from .twins import ALIVE, Emptied, Twins


class Move:
    """A method of the twins with what it is called with."""

    def __init__(self, method: Callable[..., None], given: dict[str, Any]) -> None:
        self.method = method
        self.given = given

    def __call__(self, twins: Twins) -> None:
        self.method(twins, **self.given)

    def __repr__(self) -> str:
        return f"{self.method.__name__}({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"


def _often(weight: int, method: Callable[..., None], **given: st.SearchStrategy[Any]) -> list[Any]:
    return [st.fixed_dictionaries(given).map(partial(Move, method))] * weight


_maybe = st.none() | strategies.reservations
_few = st.integers(0, 5)
_ended = st.tuples(_few, strategies.outcomes, st.sampled_from((None, [1], {1})))
_MOVES: list[st.SearchStrategy[Move]] = [
    *_often(4, Twins.define, job=strategies.jobs, source=strategies.sources),
    *_often(1, Twins.remove, job=st.sampled_from(JOBS), source=strategies.sources),
    *_often(3, Twins.change, number=strategies.numbers, change=strategies.changes),
    *_often(1, Twins.reschedule, number=strategies.numbers, after=st.sampled_from((-HOUR, -30, 0, 90, HOUR))),
    *_often(
        2, Twins.backfill, number=strategies.numbers, ago=strategies.long, minutes=strategies.numbers,
        most=strategies.rarely(1_000, 2), overlap=strategies.rarely(Overlap.QUEUE, Overlap.ALLOW, Overlap.SKIP),
        again=st.booleans(),
    ),
    *_often(2, Twins.pause, pause=strategies.rarely(None, Pause(0, "ann", "a flood"))),
    *_often(3, Twins.tick, limit=st.sampled_from((1, 2, 200)), reserve=_maybe),
    *_often(2, Twins.tick_these, names=st.lists(st.sampled_from((*JOBS, "d")), max_size=3), reserve=_maybe),
    *_often(
        4, Twins.enqueue, many=st.lists(strategies.asked, min_size=1, max_size=3),
        after=strategies.rarely(None, -60, 30, 600),
    ),
    *_often(
        2, Twins.ask_and_take, many=st.lists(strategies.asked, min_size=1, max_size=2),
        after=st.sampled_from((None, 30, 600)), wanted=strategies.reservations,
    ),
    *_often(2, Twins.lose, outcome=strategies.outcomes),
    *_often(2, Twins.cancel, number=strategies.numbers),
    *_often(2, Twins.retry, number=strategies.numbers),
    *_often(3, Twins.lease, wanted=strategies.reservations),
    *_often(
        2, Twins.renew, node=st.sampled_from(strategies.NODES), numbers=st.sets(st.integers(0, 2), max_size=2),
        seconds=strategies.rarely(30, 1_000),
    ),
    *_often(
        2, Twins.report, number=_few, size=strategies.rarely(1, 100_000),
        states=st.lists(strategies.numbers, max_size=2),
    ),
    *_often(4, Twins.finish, ended=st.lists(_ended, min_size=1, max_size=3)),
    *_often(1, Twins.expire),
    *_often(1, Twins.beat, node=strategies.nodes, passed=st.booleans()),
    *_often(1, Twins.leave, node=st.sampled_from(("w2", "w1", "w9"))),
    *_often(1, Twins.limit, limit=strategies.limits),
    *_often(2, Twins.prune, after=st.sampled_from((2 * HOUR, 2 * DAY))),
    *_often(5, Twins.go, seconds=strategies.steps_in_time),
    *_often(8, Twins.work, minutes=st.integers(1, 4), outcome=strategies.outcomes, reserve=_maybe),
]  # fmt: skip
MOVES = st.integers(0, len(_MOVES) - 1).flatmap(_MOVES.__getitem__)  # one_of would count each of them once


def machine(loop: asyncio.Runner, emptied: Emptied, looks_every: int = 1) -> type[RuleBasedStateMachine]:
    """Makes moves, and looks at both stores after every few of them."""

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.twins = Twins(loop, emptied)
            self.steps = 0

        @initialize(jobs=st.tuples(*map(strategies.job_of, ("a", "b"))))
        def begin(self, jobs: tuple[JobDefinition, ...]) -> None:
            self.twins.beat(ALIVE, passed=False)
            for job in jobs:
                self.twins.define(job, "app")

        @rule(move=MOVES)
        def make(self, move: Move) -> None:
            move(self.twins)

        @invariant()
        def looks_the_same(self) -> None:
            self.steps += 1
            if self.steps % looks_every == 0:
                self.twins.look()

        def teardown(self) -> None:
            if not self.twins.differ:
                self.twins.look()

    return Machine
