"""A store beside the memory store: both make the same moves at the same time, and are compared.

Ids are a store's own, so runs are named by the order in which they were made. Two things are a store's own choice,
and the memory store makes the same one: which of several due jobs a pass takes, if it may not take all, and the
order in which it makes the runs of different jobs. A store may look at a job sooner than it must, but never later.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeAlias

from tickwise.core.backfill import BackfillAsked
from tickwise.core.change import Change, Rescheduled
from tickwise.core.definition import JobDefinition, Overlap
from tickwise.core.errors import ConflictError, InputError
from tickwise.core.model import Facts, Pause, Schedule, TickPlan
from tickwise.core.planner import plan
from tickwise.core.settle import Outcome, Succeeded
from tickwise.core.states import RunState
from tickwise.stores.contract import Store
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import (
    Enqueue,
    Finish,
    Lease,
    LeaseRequest,
    LogPart,
    Node,
    QueueLimit,
    Renewed,
    Role,
    RunFilter,
    RunRow,
    StepReport,
    TickResult,
)
from tickwise.testing import FakeClock
from tickwise.testing.conformance import snapshot
from tickwise.testing.conformance.world import START, microseconds, worker_node

from .strategies import DAY, FOR_GOOD, MINUTE, QUEUES

FIRST_RUN = 10_000  # ids begin here, so that no other number in a text looks like one
ALIVE = Node("w1", (Role.WORKER,), queues=QUEUES, seconds=FOR_GOOD)
Act: TypeAlias = Callable[["Side"], Awaitable[Any]]
Emptied: TypeAlias = Callable[[Callable[[], int]], Coroutine[Any, Any, Store]]  # a store, by its clock


class Side:
    """One of the stores, and how the runs in it are called here."""

    def __init__(self, number: int, store: Store) -> None:
        self.number = number
        self.store = store
        self.ids: list[str] = []
        self.names: dict[str, str] = {}

    async def learn(self) -> None:
        """Give names to new runs."""
        for run in await self.new_runs():
            self.names[run.id] = f"#{len(self.ids)}"
            self.ids.append(run.id)

    async def new_runs(self) -> list[RunRow]:
        """Runs that have no name yet, oldest first."""
        new, page = list[RunRow](), await self.store.insights.runs(limit=20)
        while True:
            new += [run for run in page.items if run.id not in self.names]
            if page.after is None or page.items[-1].id in self.names:
                return new[::-1]
            page = await self.store.insights.runs(after=page.after, limit=1_000)

    def run(self, number: int) -> str:
        return self.ids[-1 - number % len(self.ids)] if self.ids else "1"

    def told(self, answer: Any) -> Any:
        """An answer with names instead of ids, and of schedules only which."""
        if isinstance(answer, str):
            return self.names.get(answer, answer)
        if isinstance(answer, Schedule):
            return answer.name
        if isinstance(answer, frozenset):
            return frozenset(map(self.told, answer))
        return [self.told(each) for each in answer] if isinstance(answer, tuple) else answer


class Twins:
    """A store beside the reference, on one clock."""

    def __init__(self, loop: asyncio.Runner, emptied: Emptied) -> None:
        self.loop = loop
        self.clock = FakeClock(START)
        self.latest = START
        self.was_set_back = False  # then a scan of all jobs may find some to look at again (S15)
        self.leases: list[tuple[Lease, ...]] = []  # as each side has it
        self.differ = False
        reference = MemoryStore(lambda: microseconds(self.clock))
        reference._memory._numbers = FIRST_RUN
        self.sides = Side(0, loop.run(emptied(lambda: microseconds(self.clock)))), Side(1, reference)

    @property
    def now(self) -> int:
        return self.clock.second

    def both(self, act: Act) -> list[Any]:
        """Let both stores do something; what they answer is the same, and so is what they refuse."""
        self.differ = True
        answers = [self.loop.run(_answer(act, side)) for side in self.sides]
        for side in self.sides:
            self.loop.run(side.learn())
        tested, reference = (side.told(answer) for side, answer in zip(self.sides, answers, strict=True))
        assert tested == reference, f"{tested} is not {reference}"
        self.differ = False
        return answers

    # Definitions, and a person's word.

    def define(self, job: JobDefinition, source: str) -> None:
        self.both(lambda side: _in_order(side.store.define(job, source), lambda schedule: schedule.name))

    def remove(self, job: str, source: str) -> None:
        self.both(lambda side: side.store.remove(job, source))

    def change(self, number: int, change: Change) -> None:
        rows = self.loop.run(self.sides[1].store.insights.schedules()).items
        name = rows[number % len(rows)].schedule.name if rows else "a"
        self.both(lambda side: side.store.change(name, change))

    def reschedule(self, number: int, after: int) -> None:
        self.change(number, Rescheduled(self.now + after))

    def backfill(self, number: int, ago: int, minutes: int, most: int, overlap: Overlap, again: bool) -> None:
        start = self.now - ago
        end = min(self.now, start + minutes * MINUTE)
        self.change(number, BackfillAsked(start, end, overlap, most, again=again))

    def pause(self, pause: Pause | None) -> None:
        self.both(lambda side: side.store.pause(pause))

    # Passes.

    def tick(self, limit: int, reserve: LeaseRequest | None) -> None:
        due, claimed, made = self._due(), set[str](), _StartOrder()

        def planner(now: int, given: Iterable[Schedule], facts: Facts) -> TickPlan:
            given = list(given)
            claimed.update(schedule.job for schedule in given)
            return plan(now, given, facts)

        async def act(side: Side) -> TickResult:
            if side.number:
                return await side.store.tick(made.plan, "t", jobs=sorted(claimed), reserve=reserve)
            ticked = await side.store.tick(planner, "t", limit=limit, reserve=reserve)
            claimed.update(await made.learn(side))  # a store plans equal schedules once
            again = ticked.more or (ticked.next_due is not None and ticked.next_due <= self.now)
            assert due <= claimed or again, f"{due - claimed} is due and was not found"
            assert ticked.more == (len(claimed) == limit) or (ticked.more and self.was_set_back)
            return ticked

        self._ticked(act)

    def _due(self) -> set[str]:
        """The jobs that a pass must find."""
        seen = self.sides[1].store.insights
        rows, pauses = self.loop.run(seen.schedules()).items, self.loop.run(seen.pauses())
        if pauses and pauses[0].until is None:
            return set()
        due = {row.schedule.job for row in rows if row.wake_at is not None and row.wake_at <= self.now}
        return due & {row.schedule.job for row in rows if not row.schedule.ticked_locally}

    def tick_these(self, names: list[str], reserve: LeaseRequest | None) -> None:
        made = _StartOrder()

        async def act(side: Side) -> TickResult:
            ticked = await side.store.tick(made.plan, "t", jobs=names, reserve=reserve)
            await made.learn(side)
            return ticked

        self._ticked(act)

    def _ticked(self, act: Callable[[Side], Awaitable[TickResult]]) -> None:
        found: list[Sequence[Lease]] = []

        async def told(side: Side) -> TickResult:
            ticked = await act(side)
            found.append(sorted(ticked.leases, key=_number))
            return ticked._replace(leases=tuple(found[-1]), more=False, next_due=None)

        self.both(told)
        self.leases += zip(*found, strict=True)

    # Runs.

    def enqueue(self, many: list[Enqueue], after: int | None) -> None:
        at = None if after is None else self.now + after
        self.both(lambda side: side.store.enqueue([replace(one, at=at) for one in many]))

    def cancel(self, number: int) -> None:
        self.both(lambda side: side.store.cancel(side.run(number)))

    def retry(self, number: int) -> None:
        """One that has ended badly, if there is one."""
        wanted = RunFilter(states=frozenset({RunState.FAILED, RunState.LOST, RunState.CANCELLED}))
        ended = self.loop.run(self.sides[1].store.insights.runs(wanted)).items
        if ended:
            place = self.sides[1].ids.index(ended[number % len(ended)].id)
            self.both(lambda side: side.store.retry(side.ids[place]))
        else:
            self.both(lambda side: side.store.retry(side.run(number)))

    def lease(self, wanted: LeaseRequest) -> None:
        self.leases += zip(*self.both(lambda side: side.store.lease(wanted)), strict=True)

    def held(self, side: Side, numbers: Iterable[int]) -> list[Lease]:
        """Leases that were once given, the latest first; some are old."""
        return [self.leases[-1 - n % len(self.leases)][side.number] for n in numbers] if self.leases else []

    def renew(self, node: str, numbers: set[int], seconds: int) -> None:
        async def act(side: Side) -> Renewed:
            leases = self.held(side, sorted(numbers))
            held = {lease.id: lease.token for lease in leases if lease.token.startswith(f"{node}/")}
            renewed = await side.store.beat(worker_node(node), held, seconds)
            return renewed._replace(unknown=tuple(sorted(renewed.unknown, key=_number)))

        self.both(act)

    def report(self, number: int, size: int, states: list[int]) -> None:
        steps = [StepReport(f"s{n % 2}", f"state {n}", n, None, n, "e" * n, f'{{"n":{n}}}') for n in states]
        log = [LogPart(f"s{n % 2}", "stdout", "x" * size, n) for n in range(3)]

        async def act(side: Side) -> list[bool]:
            return [
                await side.store.report(lease.id, lease.token, steps, log) for lease in self.held(side, [number])
            ]

        self.both(act)

    def finish(self, ended: list[tuple[int, Outcome, Any]]) -> None:
        def act(side: Side) -> Awaitable[Any]:
            leases = self.held(side, [number for number, *_ in ended])
            given = [
                Finish(lease.id, lease.token, outcome, result, f"error {number}" if result else "")
                for lease, (number, outcome, result) in zip(leases, ended, strict=bool(leases))
            ]
            return side.store.finish(given)

        self.both(act)

    def ask_and_take(self, many: list[Enqueue], after: int | None, wanted: LeaseRequest) -> None:
        """What is enqueued is leased at once, if it is time."""
        self.enqueue(many, after)
        self.lease(wanted)

    def lose(self, outcome: Outcome) -> None:
        """A worker that was away speaks of its runs when others have them (S42)."""
        before = len(self.leases)
        self.lease(LeaseRequest("w1", 3, QUEUES))
        lost = len(self.leases) - before
        self.go(31)
        self.expire()
        self.lease(LeaseRequest("w2", 3, QUEUES))
        late = [len(self.leases) - 1 - place for place in range(before, before + lost)]
        for number in late:
            self.report(number, 1, [number])
        self.renew("w1", set(late), 1_000)
        self.finish([(number, outcome, None) for number in late])

    def expire(self) -> None:
        self.both(lambda side: side.store.expire())

    # The fleet, and time.

    def beat(self, node: Node, passed: bool) -> None:
        async def act(side: Side) -> Renewed:
            renewed = await side.store.beat(node, passed=passed)
            return renewed._replace(unknown=tuple(sorted(renewed.unknown, key=_number)))

        self.both(act)

    def leave(self, node: str) -> None:
        self.both(lambda side: side.store.leave(node))

    def limit(self, limit: QueueLimit) -> None:
        self.both(lambda side: side.store.limit(limit))

    def prune(self, after: int) -> None:
        """A store may look for what to remove only once an hour."""
        self.clock.set(self.latest)
        self.go(after)
        self.both(lambda side: side.store.prune())

    def go(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds, microseconds=seconds % 7))
        self.latest = max(self.latest, self.clock.now())
        self.was_set_back |= seconds < 0

    def work(self, minutes: int, outcome: Outcome, reserve: LeaseRequest | None) -> None:
        """What mostly happens: time passes, and what is due runs and ends."""
        self.beat(ALIVE, passed=True)
        for _ in range(minutes):
            self.go(MINUTE)
            self.tick(200, reserve)
            self.lease(LeaseRequest("w1", 2, QUEUES))
        self.expire()
        self.finish([(0, outcome, None), (1, Succeeded(), None)])

    # What is compared.

    def look(self) -> None:
        """Both stores show the same."""
        self.differ = True
        tested, reference = (self.loop.run(self._all_of(side)) for side in self.sides)
        sooner, later = tested.pop("next due"), reference.pop("next due")
        assert later is None or (sooner is not None and sooner <= max(later, self.now)), f"{sooner} is not {later}"
        for part, expected in reference.items():
            assert tested[part] == expected, f"{part}: {_difference(tested[part], expected)}"
        self.differ = False

    async def _all_of(self, side: Side) -> dict[str, Any]:
        now, store = microseconds(self.clock), side.store
        timeline = await store.insights.timeline(now - DAY * 1_000_000, now)
        shown = (await snapshot(store, side.names))._asdict()
        del shown["everything_rests"]  # as far as it must, it is told by the next due
        return {
            **shown,
            "next due": await store.insights.next_due(),
            "hours": await store.insights.hourly_stats(48),
            "timeline": [(run.job, run.slot, run.started_at, run.state) for run in timeline],
        }


class _StartOrder:
    """The order in which one store made the runs of a pass, for the planner of the other."""

    def __init__(self) -> None:
        self._places: dict[tuple[str | None, int | None], int] = {}

    async def learn(self, side: Side) -> set[str]:
        """Read the order; returns the jobs of the new runs."""
        runs = await side.new_runs()
        self._places |= {(run.schedule, run.slot): place for place, run in enumerate(runs)}
        return {run.job for run in runs}

    def plan(self, now: int, given: Iterable[Schedule], facts: Facts) -> TickPlan:
        planned = plan(now, given, facts)
        starts = sorted(planned.starts, key=lambda start: self._places.get((start.schedule, start.slot), 0))
        return planned._replace(starts=type(planned.starts)(starts))


async def _answer(act: Act, side: Side) -> Any:
    try:
        return await act(side)
    except (InputError, ConflictError) as error:
        return type(error)


async def _in_order(answer: Awaitable[tuple[Any, ...]], key: Callable[[Any], Any]) -> tuple[Any, ...]:
    return tuple(sorted(await answer, key=key))


def _number(lease: Lease) -> int:
    return int(lease.id)


def _difference(tested: Any, expected: Any) -> str:
    if not isinstance(expected, dict):
        return f"{tested} is not {expected}"
    keys = [key for key in {**tested, **expected} if tested.get(key) != expected.get(key)]
    return "; ".join(f"{key}: {tested.get(key)} is not {expected.get(key)}" for key in keys)
