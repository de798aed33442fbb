"""`Tickwise`: the same names without await. Every call runs on one event loop in a thread of its own.

Nothing is written twice: the classes are made from the asynchronous ones, method by method.
"""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from inspect import iscoroutinefunction
from threading import Lock, Thread, current_thread, main_thread
from typing import Any, Self, TypeVar

from ..core.errors import TickwiseError
from .managers import Jobs, Runs, Schedules
from .tickwise import AsyncTickwise

T = TypeVar("T")


class Portal:
    """The thread and its loop, started when first needed."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

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
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, name="tickwise", daemon=True)
                self._thread.start()
            return self._loop

    def close(self) -> None:
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
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
    def settings(self) -> Any:
        return self._awaited.settings

    @property
    def awaited(self) -> AsyncTickwise:
        """The same scheduler, for code that awaits."""
        found: AsyncTickwise = self._awaited
        return found

    def job(self, schedule: Any = None, **options: Any) -> Any:
        """Declare a function as a job; options are the fields of a job file, and `pool="process"`."""
        return self._awaited.job(schedule, **options)

    def asgi(self) -> Any:
        """An ASGI application that runs the scheduler as long as its server lives, and answers for its health."""
        return self._awaited.asgi()

    @property
    def lifespan(self) -> Any:
        """Run beside a web application: `FastAPI(lifespan=tw.lifespan)`."""
        return self._awaited.lifespan

    def run(self, *paths: Any, **options: Any) -> None:
        """Run until SIGINT or SIGTERM."""
        stopped = False
        if current_thread() is main_thread():
            signal.signal(signal.SIGTERM, _interrupt)
        try:
            self._portal.call(self._awaited.run(*paths, **options))
            stopped = True
        except KeyboardInterrupt:
            with suppress(KeyboardInterrupt):
                self._portal.call(self._awaited.stop())
                stopped = True
        finally:
            if stopped:
                self.close()

    def close(self) -> None:
        """Stop, and let go of the store and the thread."""
        self._portal.call(self._awaited.close())
        self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
