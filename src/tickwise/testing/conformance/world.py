"""A small world around a store: a clock that both read, words to define jobs with, and what became of their slots.

Times of the first day are said as `03:00` or `03:00:30`, those of later days as `2T03:00`. A worker named w1 lives
for good and serves the queues `default` and `other`.
"""
# ruff: noqa: S101  (a suite of tests asserts)

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ...core.cron import Recurrence, parse
from ...core.cron.recurrences import At
from ...core.cron.zone import zone
from ...core.definition import Catchup, JobDefinition, Kind, Overlap, Policy, ScheduleDefinition
from ...core.errors import InputError, TickwiseError
from ...core.model import Schedule, Trigger
from ...core.planner import plan
from ...core.reasons import Verdict
from ...core.settle import Outcome, Settled, Succeeded
from ...core.timeparse import floor_second, to_datetime
from ...stores.contract import Store
from ...stores.insights_contract import Insights
from ...stores.pages import all_pages
from ...stores.records import (
    DecisionFilter,
    Enqueue,
    Finish,
    JobRow,
    Lease,
    LeaseRequest,
    LogPart,
    Node,
    Planner,
    Role,
    RunFilter,
    RunRow,
    ScheduleRow,
    StepReport,
    TickResult,
)
from ..clock import FakeClock
from .snapshot import snapshot

START = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday
HOURLY = "0 * * * *"
SOURCE = "app"
SUCCESS = Succeeded()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FOR_GOOD = 10**9
_POLICY = frozenset(field.name for field in fields(Policy))
_WORDS = {"catchup": Catchup, "overlap": Overlap}
_MOST_PASSES = 1_000
_SILENCE, _HEARD = 0.6, 10.0  # seconds without a notification; seconds to wait for one


def worker_node(name: str, *queues: str) -> Node:
    """A worker that lives for good."""
    return Node(name, (Role.WORKER,), queues=queues or ("default", "other"), seconds=_FOR_GOOD)


def instant(text: str) -> int:
    """`03:00` of the first day, or `2T03:00` of the second."""
    day, _, time = text.rpartition("T")
    return floor_second(datetime.fromisoformat(f"2026-01-{int(day or 1):02}T{time}+00:00"))


def short_time(second: int | None) -> str:
    """An instant as the stories write it."""
    if second is None:
        return "never"
    when = to_datetime(second)
    day = "" if when.day == 1 else f"{when.day}T"
    return f"{day}{when:%H:%M:%S}".removesuffix(":00")


def microseconds(clock: FakeClock) -> int:
    return (clock.now() - _EPOCH) // timedelta(microseconds=1)


def schedule(
    name: str, times: str | Recurrence = HOURLY, *, kind: Kind = Kind.START, **policy: Any
) -> ScheduleDefinition:
    """A schedule: a cron text or times ready made; the rest is its policy, in the words of a job file."""
    given: dict[str, Any] = {key: _WORDS[key](value) if key in _WORDS else value for key, value in policy.items()}
    read = parse(times, key=name) if isinstance(times, str) else times
    return ScheduleDefinition(name, "", read, str(times), kind, Policy.of(**given))


def once(*times: str) -> At:
    """One-offs."""
    return At(tuple(map(instant, times)), zone("UTC"))


def job(
    name: str, times: str | Recurrence | None = None, *, also: Sequence[ScheduleDefinition] = (), **given: Any
) -> JobDefinition:
    """A job, with a schedule of its name if it has times, and others; the rest is policy or the job's own."""
    policy = {key: given.pop(key) for key in list(given) if key in _POLICY}
    own = () if times is None else (schedule(name, times, **policy),)
    return JobDefinition(name, schedules=tuple(replace(each, job=name) for each in (*own, *also)), **given)


class World:
    """A store and its clock, with one method for each thing that can happen."""

    def __init__(self, store: Store, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock
        self.jobs: set[str] = set()

    @property
    def insights(self) -> Insights:
        return self.store.insights

    @property
    def now(self) -> int:
        """In seconds."""
        return self.clock.second

    @property
    def micro(self) -> int:
        """Now, in microseconds."""
        return microseconds(self.clock)

    # What happens.

    async def begin(self) -> None:
        await self.store.beat(worker_node("w1"))

    def go(self, to: str) -> None:
        """Move the clock; nothing is decided."""
        self.clock.set(to_datetime(instant(to)))

    async def pass_time(self, to: str) -> None:
        """Let time pass with a ticker at work: a pass whenever a job is due."""
        target = instant(to)
        for _ in range(_MOST_PASSES):
            due = await self.insights.next_due()
            if due is None or due > target:
                self.go(to)
                return
            self.clock.set(to_datetime(max(due, self.now)))
            await self.tick()
        raise AssertionError(f"after {_MOST_PASSES} passes a job is still due at {short_time(self.now)}")

    async def define(self, *jobs: JobDefinition, source: str = SOURCE) -> set[str]:
        """The names of the schedules that changed."""
        self.jobs |= {each.name for each in jobs}
        changed = [await self.store.define(each, source) for each in jobs]
        return {state.name for states in changed for state in states}

    async def tick(self, planner: Planner = plan, node: str = "t1", **given: Any) -> TickResult:
        return await self.store.tick(planner, node, **given)

    async def enqueue(self, name: str, **given: Any) -> str:
        """The id of the run."""
        return (await self.store.enqueue([Enqueue(name, **given)]))[0].id

    async def trigger(self, name: str, **given: Any) -> str:
        """A run by hand."""
        return await self.enqueue(name, trigger=Trigger.MANUAL, **given)

    def reservation(self, capacity: int = 100, node: str = "w1", **given: Any) -> LeaseRequest:
        return LeaseRequest(node, capacity, **given)

    async def lease(self, capacity: int = 100, node: str = "w1", **given: Any) -> tuple[Lease, ...]:
        return await self.store.lease(self.reservation(capacity, node, **given))

    async def start(self) -> Lease:
        """The one run that can be leased."""
        (lease,) = await self.lease()
        return lease

    async def end(self, lease: Lease, outcome: Outcome = SUCCESS, result: Any = None, error: str = "") -> Settled:
        """The attempt ends; a success by default."""
        (settled,) = await self.store.finish([Finish(lease.id, lease.token, outcome, result, error)])
        assert settled is not None, "the token was refused"
        return settled

    async def is_fenced(self, lease: Lease) -> bool:
        """Whether nothing that is done with a lease's token has any effect (S42)."""
        await self.store.beat(worker_node("w1"))
        before = await snapshot(self.store)
        ended = await self.store.finish([Finish(lease.id, lease.token, SUCCESS, "late", "late")])
        step, part = StepReport("late", "late"), LogPart("late", "late", "late", 0)
        reported = await self.store.report(lease.id, lease.token, [step], [part])
        renewed = await self.store.beat(worker_node("w1"), {lease.id: lease.token}, 10**6)
        unchanged = await snapshot(self.store) == before
        return (ended, reported, renewed.held, unchanged) == ((None,), False, frozenset(), True)

    async def work(self, outcome: Outcome = SUCCESS) -> list[str]:
        """All that can be leased runs and ends now."""
        leases = await self.lease()
        for lease in leases:
            await self.end(lease, outcome)
        return [lease.id for lease in leases]

    async def is_notified(self, act: Callable[[], Awaitable[object]]) -> bool:
        """Whether those who wait hear of what is done; notifications of what was before are waited for first."""
        while await self.store.wait(_SILENCE):
            pass
        waiting = asyncio.create_task(self.store.wait(_HEARD))
        await asyncio.sleep(0)  # it waits now
        await act()
        return await waiting

    # What can be seen.

    async def run(self, run: str) -> RunRow:
        found = await self.insights.run(run)
        assert found is not None
        return found

    async def runs(self, **wanted: Any) -> list[RunRow]:
        """Oldest first."""
        return (await all_pages(lambda after: self.insights.runs(RunFilter(**wanted), after)))[::-1]

    async def ran(self, name: str) -> list[str]:
        """The slots of a schedule that got a run, in the order they got it; with the trigger if not on time."""
        runs = await self.runs(schedule=name)
        return [short_time(r.slot) + (f" {r.trigger}" if r.trigger is not Trigger.SCHEDULE else "") for r in runs]

    async def decided(self, name: str, *, waits: bool = False) -> list[str]:
        """What was decided about a schedule's slots without a run, or what had to wait; oldest first."""
        rows = await all_pages(lambda after: self.insights.decisions(DecisionFilter(schedule=name), after))
        return [
            f"{row.reason.code} {short_time(row.first)}"
            + (f" to {short_time(row.last)} ({row.count})" if row.count > 1 else "")
            for row in reversed(rows)
            if (row.reason.verdict is Verdict.DEFERRED) is waits
        ]

    async def job(self, name: str) -> JobRow:
        found = await self.insights.job(name)
        assert found is not None
        return found

    async def row(self, name: str) -> ScheduleRow:
        found = await self.insights.schedule(name)
        assert found is not None
        return found

    async def schedule(self, name: str) -> Schedule:
        return (await self.row(name)).schedule

    async def next_slot(self, name: str) -> str:
        return short_time((await self.row(name)).next_slot)

    @asynccontextmanager
    async def refuses(self, error: type[TickwiseError], *words: str) -> AsyncIterator[None]:
        """What is tried here is refused in these words, and changes nothing."""
        before = await snapshot(self.store)
        with pytest.raises(error) as caught:
            yield
        assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
        assert await snapshot(self.store) == before

    async def not_refused(self, act: Callable[[Any], Awaitable[Any]], inputs: Iterable[Any]) -> list[str]:
        """Which of these inputs were taken, or refused in another way than by an error that says so."""
        before, found = await snapshot(self.store), []
        for bad in inputs:
            try:
                await act(bad)
                found.append(f"{bad!r:.60} was taken")
            except InputError:
                pass
            except Exception as error:  # noqa: BLE001  (whatever it is, the others are tried too)
                found.append(f"{bad!r:.60} led to {error!r:.200}")
        return found if await snapshot(self.store) == before else [*found, "something changed"]
