"""`AsyncTickwise`: declare jobs, enqueue runs, explain them, and run a node.

What only a node, a forecast or a test needs is imported by the method that needs it (docs/adr/0026): declaring and
enqueueing load neither the runtime nor NumPy.
"""
# ruff: noqa: PLC0415

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, overload

from ..config import Settings, load
from ..core.errors import ConflictError
from ..core.model import Pause, Trigger
from ..ownership import WriterCheck
from ..sources.defaults import Defaults
from ..stores.contract import Store
from ..stores.records import MICRO, Enqueue, Role
from ..stores.url import is_private
from .explain import Explanation, why
from .health import App, Readiness, health
from .hooks import Hooks
from .managers import Jobs, Runs, Schedules, When, enqueued
from .registry import Registry
from .stores import LoopStores, StoreOfLoop
from .values import EVERY_ROLE, RunInfo, UpcomingRun, as_second

if TYPE_CHECKING:
    from .node import NodeProcess

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
Job: TypeAlias = Callable[..., Any] | str  # a function that is one, or its name
Function = TypeVar("Function", bound=Callable[..., Any])


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
        self, schedule: Any = None, *, name: str | None = None, **options: Any
    ) -> Callable[[Function], Function]: ...
    def job(self, schedule: Any = None, *, name: str | None = None, **options: Any) -> Any:
        """Declare a function as a job; options are the fields of a job file, and `pool="process"`.

        Without parentheses, or without a schedule, it runs only on demand.
        """

        def declare(function: Function, times: Any = schedule) -> Function:
            self._registry.declare(function, times, name, dict(options))
            return function

        return declare(schedule, None) if callable(schedule) else declare

    @property
    def declared(self) -> tuple[str, frozenset[str]]:
        """The source that this app is, and the jobs that its code has declared."""
        return self._source, frozenset(self._registry.declared)

    async def store(self) -> Store:
        """The store, opened, up to date, and with all that has been declared so far."""
        return (await self._opened()).store

    async def _opened(self) -> StoreOfLoop:
        opened = await self._stores.here()
        async with opened.lock:
            declared = [each.job for each in self._registry.declared.values()]
            new = {job.name: job for job in declared if opened.defined.get(job.name) is not job}
            if new:
                await opened.definitions.define_all(new.values(), self._source)
                opened.defined |= {name: new[name] for name in new if not self._refusal_of(opened, name)}
        return opened

    def _refusal_of(self, opened: StoreOfLoop, job: str) -> str:
        """Why the store refused a job that this code declares; each call tries it again."""
        return opened.definitions.refusal(self._source, job)

    @overload
    async def enqueue(
        self, job: Job, params: Mapping[str, Any] | None = None, *, connection: None = None, **options: Any
    ) -> RunInfo: ...
    @overload
    async def enqueue(
        self, job: Job, params: Mapping[str, Any] | None = None, *, connection: Any, **options: Any
    ) -> str: ...
    async def enqueue(
        self, job: Job, params: Mapping[str, Any] | None = None, *, connection: Any = None, **options: Any
    ) -> RunInfo | str:
        """Queue a run: at a time (`at`), once per key (`key`), forgotten once it has succeeded (`auto_remove`).

        With a connection of your own, its id: the run exists when you commit.
        """
        store, request = await self.prepared(job, params, **options)
        (made,) = await store.enqueue([request], connection)
        return made.id if connection is not None else await enqueued(store, request, made)

    async def prepared(
        self, job: Job, params: Mapping[str, Any] | None = None, *, at: When | None = None,
        key: str | None = None, auto_remove: bool = False,
    ) -> tuple[Store, Enqueue]:  # fmt: skip
        """The request that `enqueue` makes, and its store; arguments are bound by name and checked here."""
        opened = await self._opened()
        store, name = opened.store, self._registry.job_of(job)
        if callable(job) and (why := self._refusal_of(opened, name)):
            raise ConflictError(why)
        second = None if at is None else as_second(at, await store.now() // MICRO)
        return store, Enqueue(name, Trigger.ENQUEUE, params, second, key, auto_remove=auto_remove)

    async def upcoming(self, hours: float = 24, limit: int = 1_000) -> list[UpcomingRun]:
        """What will run, in time order, at the times at which it will really start."""
        from .upcoming import upcoming_runs

        return await upcoming_runs(await self.store(), hours, limit)

    async def why(self, name: str, slot: When | None = None) -> Explanation:
        """Why a slot ran or did not; without one, the newest that is due."""
        store = await self.store()
        return await why(store, name, None if slot is None else as_second(slot, await store.now() // MICRO))

    async def pause(self, *, reason: str = "", by: str = "") -> None:
        """Pause everything."""
        await (await self.store()).pause(Pause(0, by, reason))

    async def resume(self) -> None:
        """Resume everything."""
        await (await self.store()).pause(None)

    async def drain(self) -> int:
        """Do all that is due, without a node, and return how many attempts ended: for tests."""
        from .drain import drain

        return await drain(await self.store(), self._registry.functions)

    async def start(self, *paths: str | Path, roles: Sequence[Role] = EVERY_ROLE) -> "NodeProcess":
        """Run in the background of this event loop until `stop`."""
        from ..sources.folder import FolderSource
        from .node import NodeOptions, NodeProcess, NodeServices

        opened = await self._opened()
        if self._task is not None:
            raise ConflictError("it is running already: stop it first")
        writers = WriterCheck(self.settings.trusted_folders)
        folders = [FolderSource(Path(path), defaults=self._defaults(), writers=writers) for path in paths]
        node_options = NodeOptions(roles, folders, is_private(self.settings.store))
        services = NodeServices(opened.store, opened.definitions, self._stores.make, self.store)
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

    def _ended(self, _task: "asyncio.Task[None]") -> None:
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

    async def run(self, *paths: str | Path, roles: Sequence[Role] = EVERY_ROLE) -> None:
        """Run until SIGINT or SIGTERM, or until cancelled; then let go of the store."""
        try:
            await self.start(*paths, roles=roles)
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
    async def lifespan(self, _app: Any = None) -> AsyncIterator[None]:
        """Run beside a web application: `FastAPI(lifespan=tw.lifespan)`."""
        try:
            await self.start()
            yield
        finally:
            await self.close()

    def asgi(self) -> App:
        """An ASGI application that runs the scheduler as long as its server lives, and answers for its health."""
        return health(lambda: self.node.readiness if self.node else Readiness.NOT_READY, self.lifespan)

    async def close(self) -> None:
        """Stop, and let go of the store."""
        await self.stop()
        await self._stores.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
