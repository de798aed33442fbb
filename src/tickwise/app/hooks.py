"""Hooks: what a user's code hears of a node's life. They may be async, and none of them can harm the node."""

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
    """Calls of hooks. What they raise is logged; async ones go on beside the node."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._under_way: set[asyncio.Task[None]] = set()

    def hears(self, name: str) -> bool:
        """Whether anybody listens."""
        return getattr(self._hooks, name) is not None

    def call(self, name: str, *arguments: object) -> None:
        hook: Hook | None = getattr(self._hooks, name)
        if hook is None:
            return
        try:
            answer = hook(*arguments)
        except Exception as error:  # noqa: BLE001  (the user's own)
            _told(name, error)
            return
        if isawaitable(answer):
            task = asyncio.ensure_future(_awaited(name, answer))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def finish(self, patience: float) -> None:
        """Wait for the async ones, but not for ever."""
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=patience)
            for task in late:
                task.cancel()


async def _awaited(name: str, answer: Awaitable[Any]) -> None:
    try:
        await answer
    except Exception as error:  # noqa: BLE001  (the user's own)
        _told(name, error)


def _told(name: str, error: Exception) -> None:
    _log.warning("hook failed", hook=name, error=str(error), kind=type(error).__name__)
