"""`Tickwise`: the same names without await. Every call runs on one event loop in a thread of its own.

Nothing is written twice: the classes are made from the asynchronous ones, method by method. Written out below is
only what differs: what lasts, what meets signals, and what must happen in the caller's own thread.
"""

import asyncio
import atexit
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import wraps
from inspect import iscoroutinefunction
from pathlib import Path
from threading import Lock, Thread, current_thread, main_thread
from typing import Any, Self, TypeVar

from ..config import Settings
from ..core.errors import InputError, TickwiseError
from .health import App, health
from .hooks import Hooks
from .managers import Jobs, Runs, Schedules
from .node import NodeProcess
from .tickwise import AsyncTickwise, Function

T = TypeVar("T")


class Portal:
    """The thread and its loop, started when first needed; a forked process has none, and starts its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None
        self._pid = 0  # of the process that has the thread

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for it; what it raises is raised here."""
        if self._thread is current_thread():
            work.close()
            raise TickwiseError("this is the scheduler's own thread: use AsyncTickwise inside async code")
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._pid, self._loop = os.getpid(), asyncio.new_event_loop()
                self._thread = Thread(target=_serve, args=(self._loop,), name="tickwise", daemon=True)
                self._thread.start()
            return self._loop

    def close(self) -> None:
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


def _waiting(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def wait(self: Any, *arguments: Any, **named: Any) -> Any:
        return self._portal.call(method(self._awaited, *arguments, **named))

    return wait


def _synchronous(kind: type, name: str) -> type:
    """A class whose methods wait for those of another."""
    members = {
        each: _waiting(method)
        for each, method in vars(kind).items()
        if iscoroutinefunction(method) and not each.startswith("_")
    }

    def start(self: Any, awaited: Any, portal: Portal) -> None:
        self._awaited, self._portal = awaited, portal

    return type(name, (), {"__init__": start, "__doc__": kind.__doc__, **members})


_SyncSchedules = _synchronous(Schedules, "SyncSchedules")
_SyncRuns = _synchronous(Runs, "SyncRuns")
_SyncJobs = _synchronous(Jobs, "SyncJobs")
_Face: Any = _synchronous(AsyncTickwise, "Face")


class Tickwise(_Face):  # type: ignore[misc]  # made at run time
    """A scheduler over one store."""

    def __init__(self, store: str | None = None, **settings: Any) -> None:
        portal = Portal()
        super().__init__(AsyncTickwise(store, **settings), portal)
        self.schedules = _SyncSchedules(self._awaited.schedules, portal)
        self.runs = _SyncRuns(self._awaited.runs, portal)
        self.jobs = _SyncJobs(self._awaited.jobs, portal)

    @property
    def settings(self) -> Settings:
        return self.awaited.settings

    @property
    def hooks(self) -> Hooks:
        return self.awaited.hooks

    @property
    def declared(self) -> tuple[str, frozenset[str]]:
        return self.awaited.declared

    @property
    def node(self) -> NodeProcess | None:
        return self.awaited.node

    @property
    def awaited(self) -> AsyncTickwise:
        """The same scheduler, for code that awaits."""
        found: AsyncTickwise = self._awaited
        return found

    def configure(self, config: Path | None = None, **settings: Any) -> None:
        """Change settings before anything is opened: what is given here goes before what was given first."""
        self.awaited.configure(config, **settings)

    def job(
        self, schedule: Any = None, *, name: str | None = None, **options: Any
    ) -> Callable[[Function], Function]:
        """Declare a function as a job; options are the fields of a job file, and `pool="process"`."""
        return self.awaited.job(schedule, name=name, **options)

    def enqueue(
        self, job: Any, params: Mapping[str, Any] | None = None, *, connection: Any = None, **options: Any
    ) -> Any:
        """Queue a run: at a time (`at`), once per key (`key`), forgotten once it has succeeded (`auto_remove`).

        With a connection of your own, its id: the run exists when you commit. It is used in your own thread.
        """
        if connection is None:
            return self._portal.call(self.awaited.enqueue(job, params, **options))
        if iscoroutinefunction(getattr(connection, "execute", None)):
            raise InputError(f"{type(connection).__name__} is a connection that is awaited: use AsyncTickwise")
        store, asked = self._portal.call(self.awaited.prepared(job, params, **options))
        (made,) = _done_at_once(store.enqueue([asked], connection))
        return made.id

    def start(self, *paths: Any, **options: Any) -> NodeProcess:
        """Run in a thread of its own until `stop`, or until the program ends."""
        node: NodeProcess = self._portal.call(self.awaited.start(*paths, **options))
        atexit.register(self._at_exit)
        return node

    def run(self, *paths: Any, **options: Any) -> None:
        """Run until SIGINT or SIGTERM; a second one ends at once."""
        with _terminable():
            try:
                self._portal.call(self.awaited.start(*paths, **options))
                self._portal.call(self.awaited.wait())
            except KeyboardInterrupt:
                pass
            finally:
                self._end()

    def _end(self) -> None:
        try:
            self.close()
        except KeyboardInterrupt:
            self._portal.call(self.awaited.stop(grace=0))
            self.close()

    def _at_exit(self) -> None:
        with suppress(Exception):  # threads cannot be started any more, and some of what is closed would
            self.close()

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """Run beside a web application: `FastAPI(lifespan=tw.lifespan)`."""
        try:
            async with self.awaited.lifespan(app):
                yield
        finally:
            await asyncio.to_thread(self.close)

    def asgi(self) -> App:
        """An ASGI application that runs the scheduler as long as its server lives, and answers for its health."""
        return health(lambda: self.node is not None and self.node.healthy, self.lifespan)

    def close(self) -> None:
        """Stop, and let go of the store and the thread."""
        self._portal.call(self.awaited.close())
        self._portal.close()
        atexit.unregister(self._at_exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _done_at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of work that waits for nothing, in this thread."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise InputError("this connection is awaited: use AsyncTickwise")


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
