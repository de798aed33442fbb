"""Hooks: what a user's code hears of a node's life."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import structlog

_log = structlog.get_logger("tickwise")
Hook: TypeAlias = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class RunEvent:
    """Something happened to a run: `started`, or how its attempt ended."""

    what: str
    run: str
    job: str
    schedule: str | None
    slot: int | None
    attempt: int
    error: str = ""


@dataclass(slots=True)
class Hooks:
    """None of them can harm the node: what they raise is logged."""

    on_start: Hook | None = None
    on_stop: Hook | None = None
    on_idle: Hook | None = None  # once per idle period
    on_error: Hook | None = None  # (role, error)
    on_run: Hook | None = None  # (RunEvent)

    def call(self, name: str, *arguments: object) -> None:
        hook = getattr(self, name)
        if hook is None:
            return
        try:
            hook(*arguments)
        except Exception as error:  # noqa: BLE001  (the user's own)
            _log.warning("hook failed", hook=name, error=str(error))
