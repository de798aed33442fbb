"""A node: the roles of one process, brought up in order and taken down in reverse.

news ──ring──► tickers ──leases──► worker ──ended──► finisher ──► store
                                     ▲ renewed, cancelled, lost
folders, definitions, reaper, pruner   keeper (a thread with a store of its own)
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from typing import NamedTuple
from uuid import uuid4

from ..clock import monotonic
from ..config import Settings
from ..core.payload import clip
from ..core.settle import Settled
from ..core.states import RunState
from ..core.timeparse import to_datetime
from ..log import get_logger
from ..runtime.execution import Execution
from ..runtime.executors.address import AddressPolicy
from ..runtime.heartbeat import Heartbeat, HeartbeatCallbacks
from ..runtime.local_ticker import LocalTicker
from ..runtime.loop import Loop, Turn
from ..runtime.maintenance import Pruner, Reaper
from ..runtime.notifications.channels import Channel, CommandChannel, WebhookChannel
from ..runtime.notifications.liveness import LivenessPing
from ..runtime.notifications.notifier import Notifier
from ..runtime.step_context import Services
from ..runtime.ticker import Ticker
from ..runtime.worker import Worker, WorkerOptions
from ..sources.folder import FolderSource
from ..stores.contract import Store
from ..stores.records import Finish, Lease, Node, Renewed, Role, TickResult
from .definition_sync import DefinitionSync
from .hooks import HookCaller, Hooks, RunEvent
from .registry import Registry

_log = get_logger()
EVERY_ROLE = (Role.TICKER, Role.WORKER)
_VERSION = version("tickwise")
_MISSED_POLLS, _SLACK = 3, 1.0  # after so many polls, and seconds, a node is not ready
_FOR_FOLDERS = 30.0  # seconds for a first look at all folders
_LAST_TURN = 10.0  # seconds for turns that are under way when a node ends
_MOST_PROBLEMS, _LONGEST_PROBLEM = 20, 1_000
_WORDS = {"handedback": "handed_back"}
_WELL = frozenset({"started", "succeeded", "snoozed", "unmet"})  # nobody need be told in a log


class NodeServices(NamedTuple):
    """Where a node lives: the store that it shares with its app, and the ways to it."""

    store: Store
    intake: DefinitionSync
    open_store: Callable[[], Store]  # for its keeper
    declare: Callable[[], Awaitable[object]]  # defines what the app's code has declared since


class NodeOptions(NamedTuple):
    """What a node is to do, and with which sources."""

    roles: Sequence[Role] = EVERY_ROLE
    folders: Sequence[FolderSource] = ()
    private: bool = False  # only who may run commands can write to the store


class NodeProcess:
    """Runs until it is told to stop."""

    def __init__(
        self, settings: Settings, place: NodeServices, registry: Registry, duty: NodeOptions, hooks: Hooks
    ) -> None:
        self.id = f"{socket.gethostname()[:60]}-{os.getpid()}-{uuid4().hex[:8]}"
        self.settings = settings
        self.roles = tuple(duty.roles)
        self._place = place
        self._registry = registry
        self._duty = duty
        self._calls = HookCaller(hooks)
        self._passed_at: float | None = None
        self._passed_since = False
        self._is_idle = False
        self._found_nothing = Role.WORKER not in self.roles  # when it last asked for runs, and has had none since
        self._read = [asyncio.Event() for _ in duty.folders]
        self.up = asyncio.Event()  # its roles run
        self.ready = asyncio.Event()  # the first pass is over
        self.worker = self._made_worker() if Role.WORKER in self.roles else None
        self._keeper = self._made_keeper()
        self._local: LocalTicker | None = None
        self._tickers = self._made_tickers() if Role.TICKER in self.roles else []
        self._leasing = self._made_leasing(self.worker) if self.worker else None

    async def run(self, stop: asyncio.Event) -> None:
        """Bring everything up, wait for the word, and take everything down."""
        await self._place.store.beat(self.as_node())  # its first pass would hold all slots for want of a worker
        down = asyncio.Event()  # the worker has ended
        bringing = [asyncio.create_task(loop.run(stop)) for loop in self._folders(stop)]
        ending = [asyncio.create_task(self._loop("news", self._hear).run(down))]
        self._keeper.start()
        try:
            await self._folders_read(stop)
            bringing += [asyncio.create_task(loop.run(stop)) for loop in self._until_stop()]
            ending += [asyncio.create_task(loop.run(down)) for loop in self._until_down()]
            self._calls.call("on_start")
            self.up.set()
            await stop.wait()
            closing = [self.worker.close(self.settings.shutdown_grace)] if self.worker else []
            await asyncio.gather(_ended(bringing), *closing)
        finally:
            stop.set()
            down.set()
            ending[0].cancel()  # news may be waited for for a while
            await _ended([*bringing, *ending])
            await self._keeper.close()
            self._calls.call("on_stop")
            await self._calls.finish(self.settings.shutdown_grace)

    async def _folders_read(self, stop: asyncio.Event) -> None:
        """Wait for them before anything is decided or run: what went or changed meanwhile is not as it was (S13).

        A disk that hangs holds up what comes from elsewhere for a while only.
        """
        reading = asyncio.gather(*(read.wait() for read in self._read))
        ending = asyncio.ensure_future(stop.wait())
        await asyncio.wait((reading, ending), timeout=_FOR_FOLDERS, return_when=asyncio.FIRST_COMPLETED)
        reading.cancel()
        ending.cancel()

    def end_grace(self) -> None:
        """Give running work no more time to end."""
        if self.worker:
            self.worker.end_grace()

    # Its parts.

    def _loop(self, name: str, turn: Turn, wake_event: asyncio.Event | None = None) -> Loop:
        return Loop(name, turn, lambda role, error: self._calls.call("on_error", role, error), wake_event)

    def _made_worker(self) -> Worker:
        settings, place = self.settings, self._place
        execution = Execution(
            place.store, self._registry.functions, tools=Services(addresses=AddressPolicy(settings.addresses)),
            may_run=lambda job: settings.allow_commands or self._duty.private or place.intake.trusts(job),
        )  # fmt: skip
        return Worker(
            place.store, self.id, execution,
            options=WorkerOptions(settings.concurrency, settings.queues, settings.lease),
            poll=settings.poll, on_started=self._started, on_ended=self._ended,
        )  # fmt: skip

    def _made_keeper(self) -> Heartbeat:
        loop, worker = asyncio.get_running_loop(), self.worker

        def on_loop(call: Callable[..., None], *arguments: object) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(call, *arguments)

        upkeep = HeartbeatCallbacks(
            node=self.as_node,
            passed=self._has_passed,
            held=worker.held if worker else dict,
            on_renewed=lambda asked, renewed: on_loop(self._renewed, asked, renewed),
            on_lost=lambda: on_loop(worker.on_leases_lost) if worker else None,
        )
        return Heartbeat(self._place.open_store, upkeep, every=self.settings.renew, lease=self.settings.lease)

    def _renewed(self, asked: Mapping[str, str], renewed: Renewed) -> None:
        if self.worker and self.worker.on_renewed(asked, renewed):
            self._keeper.wake()

    def _made_tickers(self) -> list[Loop]:
        settings, store = self.settings, self._place.store
        ticker = Ticker(
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
        return [self._loop("ticker", ticker.turn), self._loop("local ticker", self._local.turn)]

    def _made_leasing(self, worker: Worker) -> Loop:
        async def turn() -> float:
            asks = worker.free > 0
            delay = await worker.turn()
            self._found_nothing = asks and not worker.busy
            if not self._tickers:
                self._see_whether_idle()
            return delay

        return self._loop("worker", turn, worker.wake_event)

    def _folders(self, stop: asyncio.Event) -> list[Loop]:
        return [
            self._loop(f"folder {folder.path}", self._following(folder, read, stop))
            for folder, read in zip(self._duty.folders, self._read, strict=True)
        ]

    def _until_stop(self) -> list[Loop]:
        """What brings new work, or is nobody's in particular."""
        store = self._place.store
        return [
            *self._rung(),
            self._loop("definitions", self._define),
            self._loop("reaper", Reaper(store, lease=self.settings.lease).turn),
            self._loop("pruner", Pruner(store).turn),
            *(self._outward() if self._tickers else []),
        ]

    def _outward(self) -> list[Loop]:
        """What tells people elsewhere, as far as they want to be told."""
        settings, addresses = self.settings, AddressPolicy(self.settings.addresses)
        ways: list[Channel] = []
        if settings.notify_webhook:
            ways.append(WebhookChannel(settings.notify_webhook.value, settings.notify_secret.value, addresses))
        if settings.notify_command:
            ways.append(CommandChannel(settings.notify_command))
        notifier = Notifier(self._place.store, self.id, ways, settings.notify_on)
        ping = LivenessPing(settings.ping.value, lambda: self.healthy, settings.ping_every, addresses)
        return [
            *([self._loop("notifier", notifier.turn)] if ways else []),
            *([self._loop("ping", ping.turn)] if settings.ping else []),
        ]

    def _rung(self) -> list[Loop]:
        """Whom news are for."""
        return [*self._tickers, *([self._leasing] if self._leasing else [])]

    def _until_down(self) -> list[Loop]:
        """What running work needs to end well."""
        if self.worker is None:
            return []
        return [
            self._loop("finisher", self.worker.finish_turn, self.worker.finish_event),
            self._loop("reporter", self.worker.flush_turn),
        ]

    def _following(self, folder: FolderSource, read: asyncio.Event, stop: asyncio.Event) -> Turn:
        async def turn() -> float:
            await self._place.intake.follow(folder, stop, read)
            return 1.0

        return turn

    async def _define(self) -> float:
        await self._place.declare()
        return await self._place.intake.turn()

    async def _hear(self) -> float:
        """Ring everybody when there are news."""
        if await self._place.store.wait(self.settings.poll):
            if self._local:
                self._local.changed()
            if self.worker and self.worker.busy:
                self._keeper.wake()  # one of its runs may have been asked to end
            for loop in self._rung():
                loop.wake()
        return 0.0

    # What is seen of it.

    def as_node(self) -> Node:
        """This node as the others see it."""
        worker = self.worker
        return Node(
            self.id, self.roles, socket.gethostname()[:100], os.getpid(), _VERSION,
            self.settings.queues if worker else (), worker.options.concurrency if worker else 0,
            worker.busy if worker else 0,
            tuple(clip(problem, _LONGEST_PROBLEM) for problem in self.problems[:_MOST_PROBLEMS]),
            seconds=max(3 * round(self.settings.renew), 10),
        )  # fmt: skip

    @property
    def problems(self) -> tuple[str, ...]:
        """What its sources could not read, or the store refused."""
        return self._place.intake.problems

    async def settled(self) -> None:
        """Wait until its folders have been read once, and its ticker has completed a pass."""
        waits = [event.wait() for event in self._read]
        if Role.TICKER in self.roles:
            waits.append(self.ready.wait())
        await asyncio.gather(*waits)

    @property
    def healthy(self) -> bool:
        """Whether passes come, and work is asked for, as they should (three missed polls are too many)."""
        last = [self._passed_at] if self._tickers else []
        last += [self._leasing.turned_at] if self._leasing else []
        oldest = monotonic() - _MISSED_POLLS * self.settings.poll - _SLACK
        return all(at is not None and at > oldest for at in last)

    def _passed(self, ticked: TickResult) -> None:
        self._passed_at = monotonic()
        self._passed_since = True
        self.ready.set()
        self._see_whether_idle(due=ticked.jobs > 0 or ticked.more)

    def _see_whether_idle(self, *, due: bool = False) -> None:
        was_idle, self._is_idle = self._is_idle, self._found_nothing and not due
        if self._is_idle and not was_idle:
            self._calls.call("on_idle")

    def _has_passed(self) -> bool:
        passed, self._passed_since = self._passed_since, False
        return passed

    def _started(self, lease: Lease) -> None:
        self._is_idle = self._found_nothing = False  # it may be over before anybody looks
        self._tell("started", lease, RunState.RUNNING)

    def _ended(self, lease: Lease, finish: Finish, settled: Settled) -> None:
        what = type(finish.outcome).__name__.lower()
        self._tell(_WORDS.get(what, what), lease, settled.state, finish.error)

    def _tell(self, what: str, lease: Lease, state: RunState, error: str = "") -> None:
        if what not in _WELL:
            _log.warning(
                "run ended", what=what, run=lease.id, job=lease.job.name, attempt=lease.attempt, state=str(state),
                error=error.strip().rpartition("\n")[2],
            )  # fmt: skip
        if self._calls.hears("on_run"):
            slot = None if lease.slot is None else to_datetime(lease.slot)
            about = (lease.id, lease.job.name, lease.schedule, slot, lease.attempt)
            self._calls.call("on_run", RunEvent(what, *about, str(state), error))


async def _ended(tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Wait for all of them; a turn that hangs, because the store does not answer, is given up."""
    _, late = await asyncio.wait(tasks, timeout=_LAST_TURN)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
