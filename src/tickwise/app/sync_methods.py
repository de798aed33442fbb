"""Classes whose methods wait for those of asynchronous ones, from which they are made: nothing is written twice.

Type checkers and editors read `sync_methods.pyi`, which `make format` makes from the same sources.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any

from ..core.errors import InputError
from .blackouts import Blackouts
from .calendar_manager import Calendars
from .events import Events
from .loop_thread import LoopThread, run_synchronously
from .managers import Jobs, Runs, Schedules
from .play_session import PlaySession
from .shadow import Shadows
from .sources import Sources
from .tickwise import AsyncTickwise


def _blocking(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def wait(self: Any, *arguments: Any, **named: Any) -> Any:
        return self._loop_thread.call(method(self._awaited, *arguments, **named))

    return wait


def _synchronous_class(kind: type, name: str, **others: Callable[..., Any]) -> Any:
    """A class whose methods wait for those of another, but for some that do otherwise."""
    members = {
        each: _blocking(method)
        for each, method in vars(kind).items()
        if iscoroutinefunction(method) and not each.startswith("_")
    }

    def start(self: Any, awaited: Any, loop_thread: LoopThread) -> None:
        self._awaited, self._loop_thread = awaited, loop_thread

    return type(name, (), {"__init__": start, "__doc__": kind.__doc__, **members, **others})


def _enqueue(
    self: Any, job: Any, params: Mapping[str, Any] | None = None, *, connection: Any = None, **options: Any
) -> Any:
    """Queue a run: at a time (`at`), once per key (`key`, `key_ttl`), forgotten on success (`auto_remove`).

    `queue` and `priority` go before those of the job. With a connection of your own, its id: the run exists when
    you commit. It is used in your own thread.
    """
    if connection is None:
        return self._loop_thread.call(self._awaited.enqueue(job, params, **options))
    if iscoroutinefunction(getattr(connection, "execute", None)):
        raise InputError(f"{type(connection).__name__} is a connection that is awaited: use AsyncTickwise")
    store, request = self._loop_thread.call(self._awaited.prepared(job, params, **options))
    (made,) = run_synchronously(store.enqueue([request], connection))
    return made.id


SyncSchedules = _synchronous_class(Schedules, "SyncSchedules")
SyncRuns = _synchronous_class(Runs, "SyncRuns")
SyncBlackouts = _synchronous_class(Blackouts, "SyncBlackouts")
SyncJobs = _synchronous_class(Jobs, "SyncJobs")
SyncEvents = _synchronous_class(Events, "SyncEvents")
SyncCalendars = _synchronous_class(Calendars, "SyncCalendars")
SyncShadows = _synchronous_class(Shadows, "SyncShadows")
SyncPlaySession = _synchronous_class(PlaySession, "SyncPlaySession")
SyncSources = _synchronous_class(Sources, "SyncSources")
Face = _synchronous_class(AsyncTickwise, "Face", enqueue=_enqueue)
