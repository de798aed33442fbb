"""A node: the roles of one process, brought up in order and taken down in reverse.

news ──ring──► ticker ──leases──► worker ──ended──► finisher ──► store
▲ renewed, cancelled
reaper, pruner, folders           keeper (a thread with a store of its own)
"""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import NamedTuple
from uuid import uuid4

import structlog

from ..clock import monotonic
from ..config import Settings
from ..runtime.execution import Execution
from ..runtime.executors.surroundings import Tools
from ..runtime.keeper import Keeper, Upkeep
from ..runtime.local import LocalTicker
from ..runtime.loop import Loop, Turn
from ..runtime.reaper import Pruner, Reaper
from ..runtime.ticker import Ticker
from ..runtime.worker import Room, Worker
from ..sources.folder import FolderSource
from ..stores.contract import Store
from ..stores.records import Finish, Lease, Node, Role, Ticked
from .hooks import Hooks, RunEvent
from .intake import Intake
from .registry import Registry

_log = structlog.get_logger("tickwise")
_MISSED_POLLS = 3  # after so many a node is not ready


class Duty(NamedTuple):
    """What a node is to do, and with which sources."""

    roles: Sequence[Role] = (Role.TICKER, Role.WORKER)
    folders: Sequence[FolderSource] = ()
    source: str = "app"  # the name of its own code
    private: bool = False  # only who may run commands can write to the store


class NodeProcess:
    """Runs until it is told to stop."""

    def __init__(
        self,
        settings: Settings,
        open_store: Callable[[], Store],
        registry: Registry,
        *,
        duty: Duty,
        hooks: Hooks | None = None,
    ) -> None:
        self.id = f"{socket.gethostname()[:60]}-{os.getpid()}-{uuid4().hex[:8]}"
        self.settings = settings
        self.roles = tuple(duty.roles)
        self._open_store = open_store
        self._registry = registry
        self._duty = duty
        self._hooks = hooks or Hooks()
        self._loops: list[Loop] = []
        self._passed_at: float | None = None
        self._passed_since = False
        self._idle = False
        self._read = [asyncio.Event() for _ in duty.folders]
        self.up = asyncio.Event()  # its own jobs are defined, and its roles run
        self.ready = asyncio.Event()  # the first pass is over
        self.worker: Worker | None = None
        self.intake: Intake | None = None

    async def run(self, stop: asyncio.Event) -> None:
        """Bring everything up, wait for the word, and take everything down."""
        store = self._open_store()
        try:
            await store.schema.upgrade()
            self.intake = Intake(store)
            jobs = [declared.job for declared in self._registry.declared.values()]
            await self.intake.define_all(jobs, self._duty.source)
            await self._live(store, self.intake, stop)
        finally:
            await store.close()

    async def _live(self, store: Store, intake: Intake, stop: asyncio.Event) -> None:
        down = asyncio.Event()  # the roles end after the worker has
        worker = self.worker = self._worker(store, intake) if Role.WORKER in self.roles else None
        keeper = self._keeper = self._made_keeper(worker)
        keeper.start()
        tasks = [
            asyncio.create_task(self._follow(intake, folder, read, stop))
            for folder, read in zip(self._duty.folders, self._read, strict=True)
        ]
        loops = [*self._ticking(store, worker), *self._upkeep(store)]
        working = self._working(worker) if worker else []
        tasks += [asyncio.create_task(loop.run(stop)) for loop in loops]
        tasks += [asyncio.create_task(self._news(store, down))]
        enders = [asyncio.create_task(loop.run(down)) for loop in working]
        self._hooks.call("on_start")
        self.up.set()
        try:
            await stop.wait()
            if worker:
                await worker.close(self.settings.shutdown_grace)
                await self._drained(worker)
        finally:
            stop.set()
            down.set()
            await asyncio.gather(*tasks, *enders, return_exceptions=True)
            await asyncio.to_thread(keeper.close)
            self._hooks.call("on_stop")

    async def _drained(self, worker: Worker) -> None:
        """Wait until what has ended is stored; a store that does not come back in time is left to the leases."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.settings.lease):
                while worker.unfinished:
                    worker.ring_finisher()
                    await worker.settled.wait()

    def _loop(self, name: str, turn: Turn) -> Loop:
        loop = Loop(name, turn, lambda role, error: self._hooks.call("on_error", role, error))
        self._loops.append(loop)
        return loop

    def _ticking(self, store: Store, worker: Worker | None) -> list[Loop]:
        if Role.TICKER not in self.roles:
            return []
        settings = self.settings
        ticker = Ticker(
            store, self.id, batch=settings.claim_batch, poll=settings.poll, hands=worker, on_pass=self._passed
        )
        local = LocalTicker(
            store, ticker, monotonic, ticking=settings.ticking, poll=settings.poll,
            rebuild=settings.index_rebuild, lookahead=settings.lookahead,
        )  # fmt: skip
        self._local = local
        return [self._loop("ticker", ticker.turn), self._loop("local ticker", local.turn)]

    def _working(self, worker: Worker) -> list[Loop]:
        lease = self._loop("worker", worker.turn)
        finish = self._loop("finisher", worker.finish_turn)
        flush = self._loop("reporter", worker.flush_turn)
        worker.ring, worker.ring_finisher = lease.ring, finish.ring
        return [lease, finish, flush]

    def _upkeep(self, store: Store) -> list[Loop]:
        return [
            self._loop("reaper", Reaper(store, lease=self.settings.lease).turn),
            self._loop("pruner", Pruner(store).turn),
        ]

    def _worker(self, store: Store, intake: Intake) -> Worker:
        settings = self.settings
        execution = Execution(
            store, self._registry.functions, tools=Tools(),
            may_run=lambda job: settings.allow_commands or self._duty.private or intake.trusts(job),
        )  # fmt: skip
        room = Room(settings.concurrency, settings.queues, settings.lease)
        return Worker(store, self.id, execution, room=room, poll=settings.poll, on_ended=self._ended)

    def _made_keeper(self, worker: Worker | None) -> Keeper:
        loop = asyncio.get_running_loop()

        def on_loop(call: Callable[..., None], *arguments: object) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(call, *arguments)

        upkeep = Upkeep(
            node=self.as_node,
            passed=self._has_passed,
            held=worker.held if worker else dict,
            renewed=lambda asked, renewed: on_loop(worker.renewed, asked, renewed) if worker else None,
            lost=lambda: on_loop(worker.lose_all) if worker else None,
        )
        return Keeper(self._open_store, upkeep, every=self.settings.renew, lease=self.settings.lease)

    def as_node(self) -> Node:
        """This node as the others see it."""
        worker = self.worker
        return Node(
            self.id, self.roles, socket.gethostname()[:100], os.getpid(), version("tickwise"),
            self.settings.queues if worker else (), worker.room.concurrency if worker else 0,
            worker.busy if worker else 0, self.problems[:20],
            seconds=max(3 * round(self.settings.renew), 10),
        )  # fmt: skip

    @property
    def problems(self) -> tuple[str, ...]:
        """What its sources could not read, or the store refused."""
        return self.intake.problems if self.intake else ()

    async def settled(self) -> None:
        """Wait until its folders have been read once, and its ticker has completed a pass."""
        waits = [event.wait() for event in self._read]
        if Role.TICKER in self.roles:
            waits.append(self.ready.wait())
        await asyncio.gather(*waits)

    async def _follow(
        self, intake: Intake, folder: FolderSource, read: asyncio.Event, stop: asyncio.Event
    ) -> None:
        """Follow a folder; if that fails as a whole, try again."""

        async def turn() -> float:
            await intake.follow(folder, stop, read)
            return 1.0

        await self._loop(f"folder {folder.path}", turn).run(stop)

    async def _news(self, store: Store, down: asyncio.Event) -> None:
        """Ring everybody when there are news."""

        async def turn() -> float:
            if await store.wait(self.settings.poll):
                if Role.TICKER in self.roles:
                    self._local.changed()
                if self.worker and self.worker.busy:
                    self._keeper.ring()  # one of its runs may have been asked to end
                for loop in self._loops:
                    if loop.name in _RUNG:
                        loop.ring()
            return 0.0

        await self._loop("news", turn).run(down)

    def _passed(self, ticked: Ticked) -> None:
        self._passed_at = monotonic()
        self._passed_since = True
        self.ready.set()
        idle = not ticked.jobs and not (self.worker and self.worker.busy)
        if idle and not self._idle:
            self._hooks.call("on_idle")
        self._idle = idle

    def _has_passed(self) -> bool:
        passed, self._passed_since = self._passed_since, False
        return passed

    def _ended(self, lease: Lease, finish: Finish) -> None:
        what = type(finish.outcome).__name__.lower()
        event = RunEvent(what, lease.id, lease.job.name, lease.schedule, lease.slot, lease.attempt, finish.error)
        self._hooks.call("on_run", event)

    @property
    def healthy(self) -> bool:
        """Whether passes come as they should (three missed polls are too many)."""
        if Role.TICKER not in self.roles:
            return all(loop.failures < _MISSED_POLLS for loop in self._loops)
        return (
            self._passed_at is not None and monotonic() - self._passed_at < _MISSED_POLLS * self.settings.poll + 1
        )


_RUNG = frozenset({"ticker", "local ticker", "worker"})
