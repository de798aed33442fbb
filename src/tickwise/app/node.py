"""A node: the roles of one process, started in order and stopped in reverse.

notifications ──wake──► tickers ──leases──► worker ──ended──► completions ──► store
                                              ▲ renewed, cancelled, lost
folders, definitions, reaper, pruner        heartbeat (a thread with a store of its own)
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from ..clock import microseconds, monotonic
from ..config import Settings
from ..core.payload import clip
from ..core.requirements import ALL
from ..core.settle import Settled
from ..core.timeparse import iso
from ..log import get_logger
from ..runtime.child_watch import ChildWatch
from ..runtime.engines.watcher import EndOfAttempt
from ..runtime.heartbeat import Heartbeat, HeartbeatCallbacks
from ..runtime.local_ticker import LocalTicker
from ..runtime.loop import FailureLog, Loop, Turn
from ..runtime.maintenance import upkeep
from ..runtime.ticker import MAX_MISSED_POLLS, Ticker
from ..runtime.waits import wait_for_all, wait_for_any
from ..runtime.worker import Worker
from ..sources.files import FileWatch
from ..stores.contract import Store
from ..stores.records import MICRO, Finish, Lease, Node, Renewed, Role, TickResult
from .definition_sync import DefinitionSync
from .event_sources import EventSources
from .health import DEGRADED, NO_ROOM, NOT_READY, READY, Readiness
from .hooks import HookCaller, Hooks
from .machine_start import MachineStartEvents
from .node_workers import NodeWorkers, WorkerCallbacks, make_workers
from .notifications import liveness_ping, make_notifier, notifier_turns
from .registry import Registry
from .run_events import RunEvents
from .sources import OrphanCheck
from .values import EVERY_ROLE
from .worker_advice import NO_ROOM_SECONDS

if TYPE_CHECKING:
    from ..sources.folder import FolderSource

_log = get_logger()
_VERSION = version("tickwise")
_SLACK = 1.0  # seconds beyond the polls that may be missed, after which a node is not healthy
_FOLDER_TIMEOUT = 30.0  # seconds for a first look at all folders
_LAST_TURN_TIMEOUT = 10.0  # seconds for turns that are under way when a node ends
_MAX_PROBLEMS, _MAX_PROBLEM_LENGTH = 20, 1_000
_ANY_COMMANDS = frozenset({ALL})


class NodeServices(NamedTuple):
    """What a node shares with its app: the store, and the definitions that go into it."""

    store: Store
    definitions: DefinitionSync
    open_store: Callable[[], Store]  # for its heartbeat
    declare: Callable[[], Awaitable[object]]  # writes what the app's code has declared since
    app_source: str = ""  # what its code has written is of this source


class NodeOptions(NamedTuple):
    """What a node is to do, and with which sources."""

    roles: Sequence[Role] = EVERY_ROLE
    folders: "Sequence[FolderSource]" = ()
    private: bool = False  # only people who may run commands can write to the store


class NodeProcess:
    """Runs until its stop event is set."""

    def __init__(
        self, settings: Settings, services: NodeServices, registry: Registry, options: NodeOptions, hooks: Hooks
    ) -> None:
        self.id = f"{socket.gethostname()[:60]}-{os.getpid()}-{uuid4().hex[:8]}"
        self.settings = settings
        self.roles = tuple(options.roles)
        self._services = services
        self._registry = registry
        self._options = options
        self._hooks = HookCaller(hooks)
        self._run_events = RunEvents(self._hooks)
        self._failure_log = FailureLog()
        self._passed_at: float | None = None
        self._fell_back_at: float | None = None  # when a turn last committed without a claim
        self._has_new_pass = False
        self._set_back: tuple[int, ...] = ()
        self._is_idle = False
        self._machine_start = MachineStartEvents(services.store)
        self._orphans = OrphanCheck(services.store, services.app_source)
        self._notifier = make_notifier(services.store, self.id, settings) if Role.TICKER in self.roles else None
        self._found_no_run = Role.WORKER not in self.roles  # in its last lease, and none was started since
        self._folder_events = [asyncio.Event() for _ in options.folders]
        self.up = asyncio.Event()  # its roles run
        self.ready = asyncio.Event()  # the first pass is over
        self._workers = self._make_workers()
        self.worker = self._workers.local
        self._children = ChildWatch(services.store, self._workers.held)
        self._events = EventSources(services.store, FileWatch(settings.event_folders))
        self._heartbeat = self._make_heartbeat()
        self._ticker: Ticker | None = None
        self._local: LocalTicker | None = None
        self._tickers = self._make_tickers() if Role.TICKER in self.roles else []
        self._lease_loop = self._make_lease_loop(self.worker) if self.worker else None
        watcher = self._workers.watcher
        self._watch_loops = [self._loop("watcher", watcher.turn, watcher.wake_event)] if watcher else []

    async def run(self, stop: asyncio.Event) -> None:
        """Start everything, wait for the stop event, and stop everything."""
        await self._announce()  # else its first pass finds no live worker and holds slots
        self._services.definitions.announce = self._announce
        down = asyncio.Event()  # the worker has ended
        until_stop = [asyncio.create_task(loop.run(stop)) for loop in self._folder_loops(stop)]
        until_down = [asyncio.create_task(self._loop("notifications", self._wake_on_notification).run(down))]
        self._heartbeat.start()
        try:
            await self._wait_for_folders(stop)
            await self._heartbeat.tried()
            until_stop += [asyncio.create_task(loop.run(stop)) for loop in self._loops_until_stop()]
            until_down += [asyncio.create_task(loop.run(down)) for loop in self._loops_until_down()]
            self._hooks.call("on_start")
            self.up.set()
            await stop.wait()
            await asyncio.gather(
                wait_for_all(_LAST_TURN_TIMEOUT, until_stop), self._workers.close(self.settings.shutdown_grace)
            )
        finally:
            stop.set()
            down.set()
            until_down[0].cancel()  # it may wait for a notification for a while
            await wait_for_all(_LAST_TURN_TIMEOUT, [*until_stop, *until_down])
            await self._heartbeat.close()
            self._hooks.call("on_stop")
            await self._hooks.finish(self.settings.shutdown_grace)

    async def _announce(self) -> None:
        """Let the fleet know of this node, and of what its worker may execute by now."""
        await self._services.store.beat(self.as_node())

    async def _wait_for_folders(self, stop: asyncio.Event) -> None:
        """Read all folders before anything is decided or run: jobs may have been deleted or changed (S13).

        A disk that hangs delays the jobs of other sources for `_FOLDER_TIMEOUT` only.
        """
        reading = asyncio.gather(*(read.wait() for read in self._folder_events))
        await wait_for_any(_FOLDER_TIMEOUT, reading, stop.wait())

    def end_grace(self) -> None:
        """Give running work no more time to end."""
        self._workers.end_grace()

    # Its parts

    def _loop(self, name: str, turn: Turn, wake_event: asyncio.Event | None = None) -> Loop:
        def on_error(role: str, error: Exception) -> None:
            self._hooks.call("on_error", role, error)

        return Loop(name, turn, on_error, wake_event, self._failure_log)

    def _make_workers(self) -> NodeWorkers:
        settings, services = self.settings, self._services

        def commands() -> Collection[str]:
            is_any = settings.allow_commands or self._options.private
            return _ANY_COMMANDS if is_any else services.definitions.commands

        callbacks = WorkerCallbacks(commands, self._started, self._ended, self._reported)
        return make_workers(settings, services.store, self.id, self._registry, self.roles, callbacks)

    def _make_heartbeat(self) -> Heartbeat:
        loop, workers = asyncio.get_running_loop(), self._workers

        def on_loop(call: Callable[..., None], *arguments: object) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(call, *arguments)

        callbacks = HeartbeatCallbacks(
            node=self.as_node,
            passed=self._take_new_pass,
            held=workers.held,
            on_renewed=lambda requested, renewed: on_loop(self._renewed, requested, renewed),
            on_lost=lambda: on_loop(workers.on_leases_lost),
            on_set_back=lambda since, until: on_loop(self._note_set_back, since, until),
        )
        return Heartbeat(
            self._services.open_store, callbacks, every=self.settings.renew, lease=self.settings.lease
        )

    def _renewed(self, requested: Mapping[str, str], renewed: Renewed) -> None:
        if self._workers.on_renewed(requested, renewed):
            self._heartbeat.wake()

    def _note_set_back(self, since: int, until: int) -> None:
        """Let people know: slots of that time are decided again (S78)."""
        self._set_back = since, until
        _log.error("the store was set back", since=iso(since // MICRO), until=iso(until // MICRO))
        self._heartbeat.wake()

    def _make_tickers(self) -> list[Loop]:
        settings, store = self.settings, self._services.store
        self._ticker = ticker = Ticker(
            store,
            self.id,
            batch=settings.claim_batch,
            poll=settings.poll,
            worker=self.worker,
            on_pass=self._passed,
        )
        self._local = LocalTicker(
            store, ticker, monotonic, ticking=settings.ticking, poll=settings.poll,
            rebuild=settings.index_rebuild, lookahead=settings.lookahead,
        )  # fmt: skip
        return [self._loop("ticker", ticker.turn), self._loop("local ticker", self._local_turn(self._local))]

    def _local_turn(self, local: LocalTicker) -> Turn:
        """Its turns; the others are to know at once when it begins or ends to stand in for claims."""

        async def turn() -> float:
            before = local.fell_back
            delay = await local.turn()
            if local.fell_back:
                self._fell_back_at = monotonic()
                self.ready.set()
            if local.fell_back is not before:
                self._heartbeat.wake()
            return delay

        return turn

    def _make_lease_loop(self, worker: Worker) -> Loop:
        async def turn() -> float:
            asks = worker.free > 0
            delay = await worker.turn()
            self._found_no_run = asks and not worker.busy
            if not self._tickers:
                self._check_idle()
            return delay

        return self._loop("worker", turn, worker.wake_event)

    def _folder_loops(self, stop: asyncio.Event) -> list[Loop]:
        return [
            self._loop(f"folder {folder.path}", self._follow(folder, read, stop))
            for folder, read in zip(self._options.folders, self._folder_events, strict=True)
        ]

    def _loops_until_stop(self) -> list[Loop]:
        """Loops that bring new work, and upkeep that any node can do: they end first."""
        store, settings = self._services.store, self.settings
        turns = upkeep(store, lease=settings.lease, keep=settings.keep, steady_for=self._heartbeat.steady_for)
        return [
            *self._work_loops(),
            self._loop("definitions", self._define),
            *(self._loop(name, turn) for name, turn in turns.items()),
            *(self._notifier_loops() + self._event_loops() if self._tickers else []),
        ]

    def _event_loops(self) -> list[Loop]:
        events = self._events
        return [
            self._loop("ends of runs", events.end_turn, events.wake_event),
            self._loop("files", events.file_turn),
        ]

    def _notifier_loops(self) -> list[Loop]:
        """Notifications and the liveness ping, if they are configured."""
        ping = liveness_ping(self.settings, lambda: self.healthy)
        turns = notifier_turns(self._services.store, self._notifier) | ({"ping": ping.turn} if ping else {})
        return [self._loop(name, turn) for name, turn in turns.items()]

    def _work_loops(self) -> list[Loop]:
        """Loops that a notification of the store wakes."""
        return [*self._tickers, *([self._lease_loop] if self._lease_loop else []), *self._watch_loops]

    def _loops_until_down(self) -> list[Loop]:
        """Loops that running work needs until the worker has ended."""
        return [
            loop
            for worker in self._workers.all
            for loop in (
                self._loop("finisher", worker.finish_turn, worker.finish_event),
                self._loop("reporter", worker.flush_turn),
            )
        ] + ([self._loop("children", self._children.turn, self._children.wake_event)] if self._workers.all else [])

    def _follow(self, folder: "FolderSource", read: asyncio.Event, stop: asyncio.Event) -> Turn:
        async def turn() -> float:
            await self._services.definitions.follow(folder, stop, read)
            return 1.0

        return turn

    async def _define(self) -> float:
        await self._services.declare()
        if await self._orphans.look(self._registry.declared):
            self._heartbeat.wake()
        delay = await self._services.definitions.turn()
        await self._machine_start.tell(self._services.definitions.on_start)
        return delay

    async def _wake_on_notification(self) -> float:
        """Wait for a notification of the store, and wake the loops that look for work."""
        if await self._services.store.wait(self.settings.poll):
            if self._local:
                self._local.changed()
            if self._workers.busy:
                self._heartbeat.wake()  # one of its runs may have been cancelled
            for loop in self._work_loops():
                loop.wake()
        return 0.0

    # What others see of it

    def as_node(self) -> Node:
        """This node as the others see it."""
        app = (self._services.app_source,) if self._registry.declared else ()
        worker = self.worker
        return Node(
            id=self.id, roles=self.roles, host=socket.gethostname()[:100], pid=os.getpid(), version=_VERSION,
            queues=self.settings.queues if worker else (), offers=self._workers.offers,
            capacity=worker.concurrency if worker else 0,
            busy=worker.busy if worker else 0, full_seconds=worker.full_seconds if worker else 0,
            sources=(*app, *(folder.name for folder in self._options.folders)), orphans=self._orphans.found,
            undelivered=self._notifier.undelivered if self._notifier else (),
            problems=tuple(clip(problem, _MAX_PROBLEM_LENGTH) for problem in self.problems[:_MAX_PROBLEMS]),
            set_back=self._set_back,
            claims_fail=clip(self._ticker.claims.problem, _MAX_PROBLEM_LENGTH) if self._ticker else "",
            seconds=max(3 * round(self.settings.renew), 10),
        )  # fmt: skip

    @property
    def problems(self) -> tuple[str, ...]:
        """Definitions that its sources could not read, or the store refused."""
        return (*self._services.definitions.problems, *self._events.problems)

    async def settled(self) -> None:
        """Wait until its folders have been read once, and its ticker has completed a pass."""
        waits = [event.wait() for event in self._folder_events]
        if Role.TICKER in self.roles:
            waits.append(self.ready.wait())
        await asyncio.gather(*waits)

    @property
    def healthy(self) -> bool:
        """Whether it decides what is due, and leases."""
        return self.readiness != NOT_READY

    @property
    def readiness(self) -> Readiness:
        """Whether passes and leases come as often as they should; three missed polls are too many."""
        fell_back = self._local is not None and self._local.fell_back
        last = [self._fell_back_at if fell_back else self._passed_at] if self._tickers else []
        last += [self._lease_loop.turned_at] if self._lease_loop else []
        oldest = monotonic() - MAX_MISSED_POLLS * self.settings.poll - _SLACK
        if not all(at is not None and at > oldest for at in last):
            return NOT_READY
        if fell_back:
            return DEGRADED
        full = self.worker.full_seconds if self.worker else 0
        return Readiness(NO_ROOM, microseconds() // MICRO - full) if full >= NO_ROOM_SECONDS else READY

    def _passed(self, ticked: TickResult) -> None:
        self._passed_at = monotonic()
        self._has_new_pass = True
        self.ready.set()
        self._check_idle(due=ticked.jobs > 0 or ticked.more)

    def _check_idle(self, *, due: bool = False) -> None:
        was_idle, self._is_idle = self._is_idle, self._found_no_run and not due
        if self._is_idle and not was_idle:
            self._hooks.call("on_idle")

    def _take_new_pass(self) -> bool:
        passed, self._has_new_pass = self._has_new_pass, False
        return passed

    def _started(self, lease: Lease) -> None:
        self._is_idle = self._found_no_run = False  # the run may have ended by the next turn
        self._children.started(lease)
        self._run_events.started(lease)

    def _ended(self, lease: Lease, finish: Finish, settled: Settled) -> None:
        self._children.ended(lease, settled.state)
        self._events.ended(lease.job.name)
        self._run_events.ended(lease, finish, settled)

    def _reported(self, end: EndOfAttempt) -> None:
        if end.node == self.id:  # its last watcher tells
            self._children.ended(end.lease, end.state)
            self._run_events.reported(end)
