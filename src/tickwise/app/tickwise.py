"""`AsyncTickwise`: declare jobs, enqueue runs, explain them, and run a node.

What only a node, a forecast or a test needs is imported by the method that needs it (docs/adr/0026): declaring and
enqueueing load neither the runtime nor NumPy.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, Unpack, overload

from ..config import Settings, load, parse_names
from ..core.definition import JobDefinition
from ..core.errors import ConflictError, InputError
from ..core.model import Trigger
from ..extras import packages_of
from ..ownership import WriterCheck
from ..runtime.executors.middleware import MiddlewareFunction
from ..sources.defaults import Defaults
from ..stores.contract import Store
from ..stores.records import MICRO, Enqueue, Role
from ..stores.url import is_private
from ..testing.clock import FakeClock
from ..trace_context import current_traceparent
from .blackouts import Blackouts
from .calendar_manager import Calendars
from .enqueue import EnqueueCall, enqueued
from .events import EventGate, Events
from .explain import Explanation, why
from .health import NOT_READY, App, health
from .hooks import Hooks
from .managers import Jobs, Runs, Schedules
from .options import EnqueueOptions, FunctionOptions, Times, When, as_seconds, check_enqueue_options
from .pause import pause_until
from .play_session import PlaySession
from .registry import Registry
from .shadow import Shadows
from .sources import DeclaredJobs, Sources
from .stores import LoopStores, StoreOfLoop
from .values import EVERY_ROLE, RunInfo, UpcomingRun, as_second

if TYPE_CHECKING:
    from ..sources.folder import FolderSource
    from .node import NodeProcess

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
Job: TypeAlias = Callable[..., Any] | str  # a function that is one, or its name
Params: TypeAlias = Mapping[str, Any] | None
Function = TypeVar("Function", bound=Callable[..., Any])
Wrapper = TypeVar("Wrapper", bound=MiddlewareFunction)


class AsyncTickwise:
    """A scheduler over one store; its methods are awaited."""

    def __init__(
        self,
        store: str | None = None,
        *,
        config: str | Path | None = None,
        name: str = "app",
        clock: Callable[[], int] | None = None,
        hooks: Hooks | None = None,
        create_store: bool = True,
        **settings: Any,
    ) -> None:
        self._arguments = {"store": store, **settings}
        self._config = Path(config) if config else None
        self.settings: Settings = load(self._arguments, file=self._config)
        self.hooks = hooks or Hooks()
        self._source = f"app:{name}"
        self._registry = Registry(self._defaults)
        self._stores = LoopStores(lambda: self.settings, clock, create=create_store)
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None  # the node's, while there is one
        self.node: NodeProcess | None = None
        self.schedules = Schedules(self.store, self._defaults, lambda: self.settings.ticking)
        self.runs = Runs(self.store)
        self.jobs = Jobs(self.store)
        self.blackouts = Blackouts(self.store)
        self.events = Events(self.store, self._event_gate)
        self.calendars = Calendars(self.store)
        self.shadow = Shadows(self.store)
        self.sources = Sources(self.store, lambda: self.declared)

    def configure(self, config: Path | None = None, **settings: Any) -> None:
        """Change settings before anything is opened: what is given here goes before what was given first."""
        if self._stores.is_open:
            raise ConflictError("settings cannot be changed any more: the store is open")
        given = {name: value for name, value in settings.items() if value is not None}
        self._arguments = {**self._arguments, **given}
        self._config = config or self._config
        self.settings = load(self._arguments, file=self._config)
        self._registry.read_again()

    def _defaults(self) -> Defaults:
        return self.settings.of_definitions

    @overload
    def job(self, function: Function, /) -> Function: ...
    @overload
    def job(
        self, schedule: Times | None = None, *, name: str | None = None, **options: Unpack[FunctionOptions]
    ) -> Callable[[Function], Function]: ...
    def job(self, schedule: Any = None, *, name: str | None = None, **options: Any) -> Any:
        """Declare a function as a job; options are the fields of a job file, and `pool="process"`.

        Without parentheses, or without a schedule, it runs only on demand.
        """

        def declare(function: Function, times: Any = schedule) -> Function:
            self._registry.declare(function, times, name, dict(options))
            return function

        return declare(schedule, None) if callable(schedule) else declare

    def middleware(self, function: Wrapper) -> Wrapper:
        """Put a middleware around each execution of a function, inside those before: a function that yields once.

        It may as well return a context manager: `tw.middleware(lambda run: flask_app.app_context())`.
        """
        self._registry.wrap(function)
        return function

    @property
    def declared(self) -> DeclaredJobs:
        """The source that this app is, and the jobs that its code has declared."""
        return DeclaredJobs(self._source, frozenset(self._registry.declared))

    async def store(self) -> Store:
        """The store, opened, up to date, and with all that has been declared so far."""
        return (await self.opened()).store

    async def opened(self) -> StoreOfLoop:
        """The same store, with what all callers of this event loop share."""
        opened = await self._stores.here()
        if self._undefined(opened):
            async with opened.lock:
                if new := self._undefined(opened):
                    self._registry.check_engines()
                    await opened.definitions.define_all(new.values(), self._source)
                    opened.defined |= {name: new[name] for name in new if not self._refusal_of(opened, name)}
        return opened

    async def _event_gate(self) -> EventGate:
        return (await self.opened()).events

    def _undefined(self, opened: StoreOfLoop) -> dict[str, JobDefinition]:
        """Jobs that the code has declared and the store does not have."""
        declared = [each.job for each in self._registry.declared.values()]
        return {job.name: job for job in declared if opened.defined.get(job.name) is not job}

    def _refusal_of(self, opened: StoreOfLoop, job: str) -> str:
        """Why the store refused a job that this code declares; each call tries it again."""
        return opened.definitions.refusal(self._source, job)

    @overload
    async def enqueue(
        self, job: Job, params: Params = None, *, connection: None = None, **options: Unpack[EnqueueOptions]
    ) -> RunInfo: ...
    @overload
    async def enqueue(
        self, job: Job, params: Params = None, *, connection: Any, **options: Unpack[EnqueueOptions]
    ) -> str: ...
    async def enqueue(
        self, job: Job, params: Params = None, *, connection: Any = None, **options: Unpack[EnqueueOptions]
    ) -> RunInfo | str:
        """Queue a run: at a time (`at`), once per key (`key`, `key_ttl`), forgotten on success (`auto_remove`).

        `queue` and `priority` go before those of the job. With a connection of your own, its id: the run exists
        when you commit.
        """
        store, request = await self.prepared(job, params, **options)
        if connection is not None:
            (made,) = await store.enqueue([request], connection)
            return made.id
        made = await (await self.opened()).enqueues.add(EnqueueCall(request))
        return await enqueued(store, request, made)

    async def prepared(
        self, job: Job, params: Params = None, **options: Unpack[EnqueueOptions]
    ) -> tuple[Store, Enqueue]:
        """The request that `enqueue` makes, and its store."""
        check_enqueue_options(options)
        opened = await self.opened()
        store, name = opened.store, self._registry.job_of(job)
        if callable(job) and (why := self._refusal_of(opened, name)):
            raise ConflictError(why)
        at, ttl = options.get("at"), options.get("key_ttl")
        return store, Enqueue(
            job=name, trigger=Trigger.ENQUEUE, params=params,
            at=None if at is None else as_second(at, await store.now() // MICRO),
            key=options.get("key"), key_ttl=None if ttl is None else as_seconds(ttl, "key_ttl"),
            queue=options.get("queue"), priority=options.get("priority"),
            auto_remove=options.get("auto_remove", False), traceparent=current_traceparent(),
        )  # fmt: skip

    async def upcoming(self, hours: float = 24, limit: int = 1_000) -> list[UpcomingRun]:
        """What will run, in time order, at the times at which it will really start."""
        with packages_of("server", "the list of what is upcoming"):
            from .upcoming import upcoming_runs

        return await upcoming_runs(await self.store(), hours, limit)

    async def why(self, name: str, slot: When | None = None) -> Explanation:
        """Why a slot ran or did not; without one, the newest that is due."""
        store = await self.store()
        return await why(store, name, None if slot is None else as_second(slot, await store.now() // MICRO))

    async def pause(self, *, reason: str = "", by: str = "", until: When | None = None) -> None:
        """Pause everything, until it is resumed or until a time (S66)."""
        store = await self.store()
        await store.pause(await pause_until(store, until, reason, by))

    async def resume(self) -> None:
        """Resume everything."""
        await (await self.store()).pause(None)

    async def drain(self) -> int:
        """Do all that is due, without a node, and return how many attempts ended: for tests."""
        from .drain import drain
        from .telemetry import make_telemetry
        from .worker_services import worker_services

        known, services = self._registry, worker_services(self.settings)
        telemetry = make_telemetry(self.settings)
        return await drain(await self.store(), known.functions, services, known.middleware, telemetry)

    @asynccontextmanager
    async def testing(self, clock: FakeClock) -> AsyncIterator[PlaySession]:
        """Use a memory store on this clock instead of the app's own as long as the block lasts: for tests."""
        if self._task is not None:
            raise ConflictError("it is running: stop it first")
        memory = replace(self.settings, store="memory://")
        own, self._stores = self._stores, LoopStores(lambda: memory, clock, create=True)
        try:
            yield PlaySession(clock, await self.store(), self.drain)
        finally:
            await self._stores.close()
            self._stores = own

    async def start(
        self, *paths: str | Path, roles: Sequence[Role] = EVERY_ROLE, source: str | Sequence[str] | None = None
    ) -> NodeProcess:
        """Run in the background of this event loop until `stop`; `source` names the folders, one name for each."""
        from .node import NodeOptions, NodeProcess, NodeServices

        opened = await self.opened()
        if self._task is not None:
            raise ConflictError("it is running already: stop it first")
        folders = self._folders(paths, source)
        node_options = NodeOptions(roles, folders, is_private(self.settings.store))
        services = NodeServices(opened.store, opened.definitions, self._stores.make, self.store, self._source)
        node = self.node = NodeProcess(self.settings, services, self._registry, node_options, self.hooks)
        self._stop = asyncio.Event()
        task = self._task = asyncio.create_task(node.run(self._stop))
        task.add_done_callback(self._ended)
        up = asyncio.create_task(node.up.wait())
        await asyncio.wait((up, task), return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if task.done():
            task.result()
        return node

    def _folders(self, paths: Sequence[str | Path], source: str | Sequence[str] | None) -> list[FolderSource]:
        """The folders with their names; without names they are known by their resolved paths (S50)."""
        given = self.settings.source if source is None else parse_names(source, "the name of a source")
        if given and paths and len(given) != len(paths):
            raise InputError(f"source names {len(given)} folders, and there are {len(paths)}: name each, in order")
        if not paths:
            return []
        with packages_of("server", "a folder of job files"):
            from ..sources.folder import FolderSource

        names = given or [""] * len(paths)
        writers = WriterCheck(self.settings.trusted_folders)
        return [
            FolderSource(Path(path), name, defaults=self._defaults(), writers=writers)
            for path, name in zip(paths, names, strict=True)
        ]

    def _ended(self, _task: asyncio.Task[None]) -> None:
        self._task = None

    async def stop(self, *, grace: float | None = None) -> None:
        """Take no new work, let running work end, and hand back the rest; with `grace=0` at once."""
        task, node = self._task, self.node
        if task is None or node is None:
            return
        if task.get_loop() is not asyncio.get_running_loop():
            raise ConflictError("it runs in another event loop: stop it there")
        if grace is not None:
            asyncio.get_running_loop().call_later(grace, node.end_grace)
        self._stop.set()
        await asyncio.shield(task)

    async def run(
        self, *paths: str | Path, roles: Sequence[Role] = EVERY_ROLE, source: str | Sequence[str] | None = None
    ) -> None:
        """Run until SIGINT or SIGTERM, or until cancelled; then let go of the store."""
        try:
            await self.start(*paths, roles=roles, source=source)
            await self.wait()
        finally:
            await self.close()

    async def wait(self) -> None:
        """Wait for SIGINT or SIGTERM, or until somebody else stops it; then stop. A second signal ends at once."""
        task = self._task
        if task is None:
            return
        loop = asyncio.get_running_loop()
        with suppress(NotImplementedError, ValueError, RuntimeError):  # signals reach the main thread only
            for number in _SIGNALS:
                loop.add_signal_handler(number, self._interrupted)
        try:
            await asyncio.shield(task)
        finally:
            await self.stop()
            with suppress(NotImplementedError, ValueError, RuntimeError):
                for number in _SIGNALS:
                    loop.remove_signal_handler(number)

    def _interrupted(self) -> None:
        if self._stop.is_set() and self.node:
            self.node.end_grace()
        self._stop.set()

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """Run beside a web application: `FastAPI(lifespan=tw.lifespan)`. It is then `app.state.tickwise`."""
        if app is not None and hasattr(app, "state"):
            app.state.tickwise = self
        try:
            await self.start()
            yield
        finally:
            await self.close()

    def asgi(self) -> App:
        """An ASGI application that runs the scheduler as long as its server lives, and answers for its health."""
        return health(lambda: self.node.readiness if self.node else NOT_READY, self.lifespan)

    async def close(self) -> None:
        """Stop, and let go of the store."""
        await self.stop()
        await self._stores.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
