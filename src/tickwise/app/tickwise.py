"""`AsyncTickwise`: declare jobs, enqueue runs, ask, and run."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from heapq import merge
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Self, TypeVar

from ..config import Settings, load
from ..core.errors import InputError
from ..core.instant import to_datetime
from ..core.model import Pause, Schedule, Trigger
from ..core.slots import due_at, next_slot
from ..runtime.forecast import all_schedules
from ..sources.folder import FolderSource
from ..stores.contract import Store
from ..stores.open import is_private, open_store
from ..stores.records import MICRO, Enqueue, Role
from .health import App, health
from .hooks import Hooks
from .intake import Intake
from .managers import Jobs, Runs, Schedules, When, run_info
from .node import Duty, NodeProcess
from .registry import Registry
from .values import Coming, RunInfo, as_second
from .why import Answer, why

Function = TypeVar("Function", bound=Callable[..., Any])


class AsyncTickwise:
    """A scheduler over one store. All that is asked of it is awaited."""

    def __init__(
        self,
        store: str | None = None,
        *,
        config: str | Path | None = None,
        name: str = "app",
        clock: Callable[[], int] | None = None,
        hooks: Hooks | None = None,
        **settings: Any,
    ) -> None:
        self._arguments = {"store": store, **settings}
        self._config = Path(config) if config else None
        self.settings: Settings = load(self._arguments, file=self._config)
        self.hooks = hooks or Hooks()
        self._clock = clock
        self._source = f"app:{name}"
        self._registry = Registry(lambda: self.settings.timezone)
        self._opened: Store | None = None
        self._opening = asyncio.Lock()
        self._defined: set[str] = set()
        self._stop: asyncio.Event | None = None
        self._background: asyncio.Task[None] | None = None
        self.node: NodeProcess | None = None
        self.schedules = Schedules(self.store)
        self.runs = Runs(self.store)
        self.jobs = Jobs(self.store)

    def configure(self, config: Path | None = None, **settings: Any) -> None:
        """Change settings before anything is opened: what is given here goes before what was given first."""
        if self._opened is not None or self._background is not None:
            raise InputError("settings cannot be changed any more: the store is open")
        given = {name: value for name, value in settings.items() if value is not None}
        self._arguments = {**self._arguments, **given}
        self._config = config or self._config
        self.settings = load(self._arguments, file=self._config)

    def job(
        self, schedule: Any = None, *, name: str | None = None, **options: Any
    ) -> Callable[[Function], Function]:
        """Declare a function as a job; options are the fields of a job file, and `pool="process"`."""

        def declare(function: Function) -> Function:
            self._registry.declare(function, schedule, name, dict(options))
            return function

        return declare

    async def store(self) -> Store:
        """The store, opened, up to date, and with all that has been declared so far."""
        async with self._opening:
            if self._opened is None:
                opened = self._open()
                await opened.schema.upgrade()
                self._opened = opened
            new = [d.job for name, d in self._registry.declared.items() if name not in self._defined]
            if new:
                await Intake(self._opened).define_all(new, self._source)
                self._defined |= {job.name for job in new}
        return self._opened

    def _open(self) -> Store:
        return open_store(self.settings.store, self._clock)

    async def enqueue(
        self, job: Callable[..., Any] | str, params: Mapping[str, Any] | None = None, *, at: When | None = None,
        key: str | None = None, auto_remove: bool = False, connection: Any = None,
    ) -> RunInfo | str:  # fmt: skip
        """Queue a run, once per key. With a connection of your own, its id: the run exists when you commit."""
        store = await self.store()
        name = self._registry.job_of(job)
        self._registry.check(name, params or {})
        second = None if at is None else as_second(at, await store.now() // MICRO)
        asked = Enqueue(name, Trigger.ENQUEUE, params, second, key, auto_remove=auto_remove)
        (made,) = await store.enqueue([asked], connection)
        return made.id if connection is not None else await run_info(store, made.id)

    async def upcoming(self, hours: float = 24, limit: int = 1_000) -> list[Coming]:
        """What will run, in time order, at the times at which it will really start."""
        store = await self.store()
        now = await store.now() // MICRO
        live = [s for s in await all_schedules(store.insights) if s.paused is None]
        until = now + round(hours * 3_600)
        found = takewhile(lambda coming: coming[0] < until, merge(*(_coming(s, now) for s in live)))
        return [
            Coming(to_datetime(due), name, job, to_datetime(slot)) for due, name, job, slot in islice(found, limit)
        ]

    async def why(self, name: str, slot: When | None = None) -> Answer:
        """Why a slot ran or did not; without one, the newest that is due."""
        store = await self.store()
        return await why(store, name, None if slot is None else as_second(slot, await store.now() // MICRO))

    async def pause(self, *, reason: str = "", by: str = "") -> None:
        """Pause everything."""
        await (await self.store()).pause(Pause(0, by, reason))

    async def resume(self) -> None:
        """Resume everything."""
        await (await self.store()).pause(None)

    async def start(self, *paths: str | Path, roles: Sequence[Role] = (Role.TICKER, Role.WORKER)) -> NodeProcess:
        """Run in the background of this event loop until `stop`."""
        if self._background is not None:
            raise InputError("it is running already: stop it first")
        self._stop = asyncio.Event()
        self.node = NodeProcess(
            self.settings, self._open, self._registry, hooks=self.hooks,
            duty=Duty(
                roles, [FolderSource(Path(path)) for path in paths], self._source, is_private(self.settings.store)
            ),
        )  # fmt: skip
        self._background = asyncio.create_task(self.node.run(self._stop))
        ready = asyncio.create_task(self.node.up.wait())
        await asyncio.wait((ready, self._background), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._background.done():
            failed, self._background = self._background, None
            failed.result()
        return self.node

    async def stop(self) -> None:
        """Take no new work, let running work end, and hand back the rest."""
        if self._background is not None and self._stop is not None:
            self._stop.set()
            background, self._background = self._background, None
            await background

    async def run(self, *paths: str | Path, roles: Sequence[Role] = (Role.TICKER, Role.WORKER)) -> None:
        """Run until SIGINT or SIGTERM, or until cancelled."""
        await self.start(*paths, roles=roles)
        await self.wait()

    async def wait(self) -> None:
        """Wait for SIGINT or SIGTERM, or until somebody else stops it; then stop."""
        loop = asyncio.get_running_loop()
        background, stop = self._background, self._stop
        if background is None or stop is None:
            return
        with suppress(NotImplementedError, ValueError, RuntimeError):  # signals reach the main thread only
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop.set)
        try:
            await asyncio.shield(background)
        finally:
            await self.stop()

    @asynccontextmanager
    async def lifespan(self, _app: Any = None) -> AsyncIterator[None]:
        """Run beside a web application: `FastAPI(lifespan=tw.lifespan)`."""
        await self.start()
        try:
            yield
        finally:
            await self.stop()
            await self.close()

    def asgi(self) -> App:
        """An ASGI application that runs the scheduler as long as its server lives, and answers for its health."""
        return health(lambda: self.node is not None and self.node.healthy, self.lifespan)

    async def close(self) -> None:
        """Stop, and let go of the store."""
        await self.stop()
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _coming(schedule: Schedule, now: int) -> Any:
    slot = next_slot(schedule, schedule.cursor)
    while slot is not None:
        yield max(now, due_at(schedule, slot)), schedule.name, schedule.job, slot
        slot = next_slot(schedule, max(slot, now))
