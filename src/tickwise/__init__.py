"""Tickwise: a Python scheduler that runs every scheduled slot exactly once, or records why it did not."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import AsyncTickwise, Tickwise
    from .app.hooks import Hooks
    from .core.errors import ConflictError, InputError, TickwiseError
    from .runtime.executors.result import Cancel, Retry, Snooze

__all__ = [
    "AsyncTickwise",
    "Cancel",
    "ConflictError",
    "Hooks",
    "InputError",
    "Retry",
    "Snooze",
    "Tickwise",
    "TickwiseError",
]
_HOMES = {
    "AsyncTickwise": ".app",
    "Tickwise": ".app",
    "Hooks": ".app.hooks",
    "ConflictError": ".core.errors",
    "InputError": ".core.errors",
    "TickwiseError": ".core.errors",
    "Cancel": ".runtime.executors.result",
    "Retry": ".runtime.executors.result",
    "Snooze": ".runtime.executors.result",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that one function can run without loading the whole package."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tickwise' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
