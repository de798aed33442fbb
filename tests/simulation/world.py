"""A fleet on made-up time: three real nodes over one memory store, some jobs, and a seed full of trouble.

For a while things happen, drawn from the seed: nodes crash, freeze and are cut off, answers are lost, the store's
clock is set, people edit, pause, move, trigger and cancel. Then all that stops, the fleet is given time to settle,
and what is in the store must be whole (`judge`). Each kind of chance is drawn for itself, so that a change of the
runtime does not change what happens to it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

from tickwise.app.definition_sync import DefinitionSync
from tickwise.app.hooks import Hooks
from tickwise.app.node import NodeOptions, NodeProcess, NodeServices
from tickwise.app.registry import Registry
from tickwise.config import Settings
from tickwise.core.audit import DefinedSpan
from tickwise.core.change import Paused, Reset, Resumed
from tickwise.core.definition import Catchup, JobDefinition
from tickwise.core.model import Pause, Schedule, Trigger
from tickwise.core.policy import catchup_mode
from tickwise.core.slots import next_slot
from tickwise.core.timeparse import iso
from tickwise.runtime.engines.catalog import ConfiguredEngine
from tickwise.runtime.heartbeat import Heartbeat
from tickwise.sources.defaults import NO_DEFAULTS
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import MICRO

from .engines import EnginePlace
from .loop import OWNER, SimulatedLoop
from .rules import Skips
from .truth import Truth
from .wire import Weather, Wire

BEGIN = 1_767_225_600  # Thursday, 1 January 2026
NODES = ("n1", "n2", "n3")
LEASE, POLL = 30, 40.0
SETTINGS = Settings(poll=POLL, lease=LEASE, renew=10.0, concurrency=4, queues=("default", "narrow"))


class BrokenError(Exception):
    """What a job raises."""


@dataclass(slots=True)
class Pausing:
    """A pause of a schedule, or of everything: no run of a slot is made meanwhile. Told by the runs' numbers."""

    schedule: str | None
    after: int
    until: int | None = None


@dataclass
class World:
    """All that there is in one history."""

    seed: int
    loop: SimulatedLoop
    chance: Random
    offset: int = 0  # of the store's clock, in microseconds
    calm: bool = False  # the trouble is over
    calm_at: int = 0  # since when, by the store's clock
    clock_set: bool = False
    clock_set_back: bool = False
    nodes: dict[str, "Member"] = field(default_factory=dict)
    jobs: dict[str, JobDefinition] = field(default_factory=dict)
    spans: dict[str, list[DefinedSpan]] = field(default_factory=lambda: defaultdict(list))
    editions: dict[str, tuple[JobDefinition, JobDefinition]] = field(default_factory=dict)
    pauses: list[Pausing] = field(default_factory=list)
    rests: list[Pausing] = field(default_factory=list)  # in blackouts
    skips: Skips = field(default_factory=Skips)
    weather: Weather = field(default_factory=Weather)

    def __post_init__(self) -> None:
        self.truth = Truth(self.loop.time)
        self.engines = dict[str, EnginePlace]()
        self.store = MemoryStore(self.now)

    def now(self) -> int:
        """The store's clock."""
        return BEGIN * MICRO + round(self.loop.time() * MICRO) + self.offset

    @property
    def second(self) -> int:
        return self.now() // MICRO

    # Definitions, and what their slots are from when on.

    async def define(self, job: JobDefinition) -> None:
        before = await self._states(job.name)
        await self.store.define(job, "app")
        self.jobs[job.name] = job
        after = await self._states(job.name)
        for name, state in after.items():
            if name not in before or state.definition != before[name].definition:
                self._cut(name, before.get(name), state)

    def _cut(self, name: str, before: Schedule | None, after: Schedule) -> None:
        """Pending slots are found anew by the new times, or dropped; else there is no past (S24, S25)."""
        begin = max([after.cursor, *(until for _, until in after.dropped)])  # decided by the times before
        if before:
            last, pending = self.spans[name][-1], next_slot(before, before.cursor)
            self.spans[name][-1] = last._replace(until=max(last.after, before.cursor))
            off = catchup_mode(before) is not Catchup.SKIP and catchup_mode(after) is Catchup.SKIP
            if pending is not None and pending <= self.second and not off and not after.dropped:
                begin = max(before.cursor, pending - 1)
        self.spans[name].append(DefinedSpan(begin, begin, after.definition.times))

    async def schedules(self) -> list[str]:
        return [row.schedule.name for row in (await self.store.insights.schedules()).items]

    async def pause(self, schedule: str | None) -> None:
        if schedule is None:
            await self.store.pause(Pause(0, "ann", "a flood"))
        else:
            await self.store.change(schedule, Paused("ann", "a flood"))
        self.pauses.append(Pausing(schedule, self._newest_run))

    async def resume(self, schedule: str | None, run_missed: bool | None = None) -> None:
        """Refused while an edit has taken the schedule out: when it is back soon after, it is still paused."""
        newest = self._newest_run
        if schedule is None:
            await self.store.pause(None)
        else:
            await self.store.change(schedule, Resumed(run_missed))
        for pausing in self.pauses:
            if pausing.schedule == schedule and pausing.until is None:
                pausing.until = newest

    def begin_rest(self, schedule: str) -> Pausing:
        """A schedule is in a blackout."""
        self.rests.append(Pausing(schedule, self._newest_run))
        return self.rests[-1]

    def end_rest(self, resting: Pausing) -> None:
        resting.until = self._newest_run

    async def reset(self, schedule: str) -> None:
        """Not while the cursor is ahead: what it has decided would be decided again."""
        row = await self.store.insights.schedule(schedule)
        if row and row.schedule.cursor <= self.second:
            self.truth.tell("ann", f"resets {schedule}")
            await self.store.change(schedule, Reset())

    @property
    def _newest_run(self) -> int:
        return self.store._memory._numbers

    async def _states(self, job: str) -> dict[str, Schedule]:
        rows = (await self.store.insights.schedules()).items
        return {row.schedule.name: row.schedule for row in rows if row.schedule.job == job}

    # Nodes.

    def settings_of(self, node: str) -> Settings:
        engines = {name: cast("ConfiguredEngine", place.connection(node)) for name, place in self.engines.items()}
        return replace(SETTINGS, engines=engines, api_url="http://simulated")

    def start(self, name: str) -> None:
        self.nodes[name] = Member(self, name)
        self.truth.tell(name, "starts")

    def crash(self, name: str) -> None:
        self.nodes.pop(name).kill()
        self.truth.killed(name)
        self.truth.tell(name, "crashes")

    def freeze(self, name: str, seconds: float) -> None:
        self.nodes[name].freeze(seconds)
        self.truth.stands_still(name, seconds)
        self.truth.tell(name, f"freezes for {seconds:.0f} s")

    def set_clock(self, seconds: int) -> None:
        self.offset += seconds * MICRO
        self.clock_set_back |= seconds < 0
        self.clock_set |= True
        works = [work.owner for place in self.engines.values() for work in place.living]
        for name in (*NODES, *works):
            self.truth.stands_still(name, 0.0)
        self.truth.tell("clock", f"is set by {seconds} s, to {iso(self.second)}")

    def build_engines(self, jobs: Iterable[JobDefinition]) -> None:
        """Those that these jobs name."""
        for name in sorted({job.engine.name for job in jobs if job.engine}):
            self.engines[name] = EnginePlace(self, name)

    # Jobs.

    async def work(self, node: str, run: Any) -> None:
        """What every job does: take a while, and now and then fail."""
        laned = run.trigger != Trigger.ENQUEUE
        execution = self.truth.began(run.id, run.job, node, laned=laned, attempt=run.attempt)
        chance = Random(f"{self.seed} {run.id} {run.attempt}")
        self.truth.tell(node, f"begins run {run.id} of {run.job} ({run.slot and iso(int(run.slot.timestamp()))})")
        try:
            await asyncio.sleep(chance.choice((0.0, 1.0, 3.0) if self.calm else (0.0, 2.0, 15.0, 50.0)))
            if not self.calm and chance.random() < 0.15:
                raise BrokenError("by chance")
        finally:
            execution.ended = self.loop.time()


class Member:
    """One process of the fleet: a real node, whose every callback carries its name."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.life = f"{name}-{len(world.truth.timeline)}"
        self.wire = Wire(world.store, name, Random(f"{world.seed} {name}"), world.weather, world.truth)
        self._context = copy_context()
        self._context.run(OWNER.set, self.life)
        self.task = world.loop.create_task(self._live(), context=self._context)

    async def _live(self) -> None:
        async def job(run: Any) -> None:
            await self.world.work(self.name, run)

        wire = cast("Store", self.wire)
        services = NodeServices(wire, DefinitionSync(wire), lambda: wire, _nothing)
        registry = Registry(lambda: NO_DEFAULTS)
        registry.functions |= dict.fromkeys(self.world.jobs, job)
        settings = self.world.settings_of(self.name)
        while True:  # as a supervisor would start it again
            with suppress(StoreUnavailableError):
                await NodeProcess(settings, services, registry, NodeOptions(), Hooks()).run(asyncio.Event())
            await asyncio.sleep(1.0)

    def kill(self) -> None:
        self.world.loop.kill(self.life)

    def freeze(self, seconds: float) -> None:
        self.world.loop.freeze(self.life, seconds)


async def _nothing() -> None:
    """What the code of these nodes declares."""


class SimulatedKeeper(Heartbeat):
    """The keeper without its thread: in the one loop that there is, as a task of its node."""

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._live())

    async def _live(self) -> None:
        try:
            await self._beat()
        finally:
            self._ended.set_result(None)


@contextmanager
def made_up_time(loop: SimulatedLoop) -> Iterator[None]:
    """Let whoever reads a clock, or makes up a name, ask the loop; and let nobody log."""
    names = count()
    with ExitStack() as stack:
        for module in ("app.node", "runtime.loop", "runtime.heartbeat"):
            stack.enter_context(patch(f"tickwise.{module}.monotonic", loop.time))
        stack.enter_context(patch("tickwise.app.node.Heartbeat", SimulatedKeeper))
        tickets = count()
        ticket = "tickwise.runtime.engines.watcher.token_urlsafe"
        stack.enter_context(patch(ticket, lambda _size: f"ticket {next(tickets)}"))
        stack.enter_context(patch("tickwise.app.node.uuid4", lambda: SimpleNamespace(hex=f"{next(names):08}")))
        stack.enter_context(patch("tickwise.app.node.os", SimpleNamespace(getpid=lambda: 1)))
        stack.enter_context(patch("tickwise.app.node.socket", SimpleNamespace(gethostname=lambda: "sim")))
        stack.enter_context(patch("tickwise.runtime.execution.FLUSH_EVERY", 60.0))
        stack.enter_context(patch("tickwise.log._LazyLogger.__getattr__", lambda _logger, _method: _unheard))
        yield


def _unheard(*_line: Any, **_fields: Any) -> None:
    """A line of a log that nobody reads."""
