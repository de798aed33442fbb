"""`Tickwise`: the same names without await. Every call runs on one event loop in a thread of its own.

`sync_methods` makes its methods from the asynchronous ones. Here stands what differs: what lasts, and signals.
"""

import asyncio
import atexit
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, overload

from ..config import Settings
from ..stores.records import Role
from ..testing.clock import FakeClock
from .health import NOT_READY, App, health
from .hooks import Hooks
from .loop_thread import LoopThread
from .options import FunctionOptions, Times
from .sources import DeclaredJobs
from .sync_methods import (
    Face,
    SyncBlackouts,
    SyncCalendars,
    SyncEvents,
    SyncJobs,
    SyncPlaySession,
    SyncRuns,
    SyncSchedules,
    SyncShadows,
    SyncSources,
)
from .tickwise import AsyncTickwise, Function, Wrapper
from .values import EVERY_ROLE

if TYPE_CHECKING:
    from .node import NodeProcess

T = TypeVar("T")


class Tickwise(Face):
    """A scheduler over one store."""

    def __init__(self, store: str | None = None, *, awaited: AsyncTickwise | None = None, **settings: Any) -> None:
        """Over a store, with settings; or over a scheduler that is there already (`awaited`)."""
        loop_thread = LoopThread()
        super().__init__(awaited or AsyncTickwise(store, **settings), loop_thread)
        self.schedules = SyncSchedules(self._awaited.schedules, loop_thread)
        self.runs = SyncRuns(self._awaited.runs, loop_thread)
        self.jobs = SyncJobs(self._awaited.jobs, loop_thread)
        self.blackouts = SyncBlackouts(self._awaited.blackouts, loop_thread)
        self.events = SyncEvents(self._awaited.events, loop_thread)
        self.calendars = SyncCalendars(self._awaited.calendars, loop_thread)
        self.shadow = SyncShadows(self._awaited.shadow, loop_thread)
        self.sources = SyncSources(self._awaited.sources, loop_thread)

    @property
    def settings(self) -> Settings:
        return self.awaited.settings

    @property
    def hooks(self) -> Hooks:
        return self.awaited.hooks

    @property
    def declared(self) -> DeclaredJobs:
        return self.awaited.declared

    @property
    def node(self) -> "NodeProcess | None":
        return self.awaited.node

    @property
    def awaited(self) -> AsyncTickwise:
        """The same scheduler, for code that awaits."""
        return self._awaited

    def configure(self, config: Path | None = None, **settings: Any) -> None:
        """Change settings before anything is opened: what is given here goes before what was given first."""
        self.awaited.configure(config, **settings)

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
        return self.awaited.job(schedule, name=name, **options)

    def middleware(self, function: Wrapper) -> Wrapper:
        """Put a middleware around each execution of a function, inside those before: a function that yields once.

        It may as well return a context manager: `tw.middleware(lambda run: flask_app.app_context())`.
        """
        return self.awaited.middleware(function)

    @contextmanager
    def testing(self, clock: FakeClock) -> Iterator[SyncPlaySession]:
        """Use a memory store on this clock instead of the app's own as long as the block lasts: for tests."""
        block = self.awaited.testing(clock)
        session = self._loop_thread.call(_entered(block))
        try:
            yield SyncPlaySession(session, self._loop_thread)
        finally:
            self._loop_thread.call(_left(block))

    def start(
        self, *paths: str | Path, roles: Sequence[Role] = EVERY_ROLE, source: str | Sequence[str] | None = None
    ) -> "NodeProcess":
        """Run in a thread of its own until `stop`, or until the program ends."""
        node = self._loop_thread.call(self.awaited.start(*paths, roles=roles, source=source))
        atexit.register(self._at_exit)
        return node

    def run(
        self, *paths: str | Path, roles: Sequence[Role] = EVERY_ROLE, source: str | Sequence[str] | None = None
    ) -> None:
        """Run until SIGINT or SIGTERM; a second one ends at once."""
        with _terminable():
            try:
                self._loop_thread.call(self.awaited.start(*paths, roles=roles, source=source))
                self._loop_thread.call(self.awaited.wait())
            except KeyboardInterrupt:
                pass
            finally:
                self._close_on_interrupt()

    def _close_on_interrupt(self) -> None:
        try:
            self.close()
        except KeyboardInterrupt:
            self._loop_thread.call(self.awaited.stop(grace=0))
            self.close()

    def _at_exit(self) -> None:
        with suppress(Exception):  # threads cannot be started any more, and some of what is closed would
            self.close()

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """Run beside a web application: `FastAPI(lifespan=tw.lifespan)`, as `app.state.tickwise`."""
        try:
            async with self.awaited.lifespan(app):
                yield
        finally:
            await asyncio.to_thread(self.close)

    def asgi(self) -> App:
        """An ASGI application that runs the scheduler as long as its server lives, and answers for its health."""
        return health(lambda: self.node.readiness if self.node else NOT_READY, self.lifespan)

    def close(self) -> None:
        """Stop, and let go of the store and the thread."""
        self._loop_thread.call(self.awaited.close())
        self._loop_thread.close()
        atexit.unregister(self._at_exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _entered(block: AbstractAsyncContextManager[T]) -> T:
    return await block.__aenter__()


async def _left(block: AbstractAsyncContextManager[object]) -> None:
    await block.__aexit__(None, None, None)


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM is heard like Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
