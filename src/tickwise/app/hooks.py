"""Hooks: functions of the user that a node calls. They may be async, and what they raise cannot harm the node."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from inspect import isawaitable
from typing import Any, TypeAlias

from ..log import get_logger

_log = get_logger()
Hook: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An attempt has `started`, or is over: `succeeded failed cancelled snoozed handed_back unmet`."""

    what: str
    run: str
    job: str
    schedule: str | None
    slot: datetime | None
    attempt: int
    state: str  # of the run, now: `queued` if it will be tried again
    error: str = ""


@dataclass(slots=True)
class Hooks:
    """Called in the node's event loop: what takes long should be async, or be handed to a thread."""

    on_start: Hook | None = None
    on_stop: Hook | None = None
    on_idle: Hook | None = None  # once per idle period
    on_error: Hook | None = None  # (role, error)
    on_run: Hook | None = None  # (RunEvent)


class HookCaller:
    """Calls hooks. What they raise is logged; async ones run as tasks beside the node."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._tasks: set[asyncio.Task[None]] = set()

    def has(self, name: str) -> bool:
        """Whether there is such a hook."""
        return getattr(self._hooks, name) is not None

    def call(self, name: str, *arguments: object) -> None:
        hook: Hook | None = getattr(self._hooks, name)
        if hook is None:
            return
        try:
            result = hook(*arguments)
        except Exception as error:  # noqa: BLE001  (the user's own)
            _log_failure(name, error)
            return
        if isawaitable(result):
            task = asyncio.ensure_future(_await_hook(name, result))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def finish(self, grace: float) -> None:
        """Wait for async hooks, and cancel those that take longer than the grace."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace)
            for task in late:
                task.cancel()


async def _await_hook(name: str, result: Awaitable[Any]) -> None:
    try:
        await result
    except Exception as error:  # noqa: BLE001  (the user's own)
        _log_failure(name, error)


def _log_failure(name: str, error: Exception) -> None:
    _log.warning("hook failed", hook=name, error=str(error), kind=type(error).__name__)
