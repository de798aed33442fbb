"""Tickwise: a Python scheduler that runs every scheduled slot exactly once, or records why it did not."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import AsyncTickwise, Tickwise
    from .app.explain import Explanation
    from .app.hooks import Hooks, RunEvent
    from .app.managers import Adoption, BackfillStatus
    from .app.options import EnqueueOptions, FunctionOptions, JobFields
    from .app.values import RunInfo, ScheduleInfo, UpcomingRun
    from .core.errors import ConflictError, InputError, TickwiseError
    from .runtime.context import Run
    from .runtime.executors.result import Cancel, Retry, Snooze
    from .stores.contract import StoreUnavailableError

__all__ = [
    "Adoption",
    "AsyncTickwise",
    "BackfillStatus",
    "Cancel",
    "ConflictError",
    "EnqueueOptions",
    "Explanation",
    "FunctionOptions",
    "Hooks",
    "InputError",
    "JobFields",
    "Retry",
    "Run",
    "RunEvent",
    "RunInfo",
    "ScheduleInfo",
    "Snooze",
    "StoreUnavailableError",
    "Tickwise",
    "TickwiseError",
    "UpcomingRun",
]
_HOMES = {
    "AsyncTickwise": ".app",
    "Tickwise": ".app",
    "Explanation": ".app.explain",
    "Hooks": ".app.hooks",
    "RunEvent": ".app.hooks",
    "Adoption": ".app.managers",
    "BackfillStatus": ".app.managers",
    "EnqueueOptions": ".app.options",
    "FunctionOptions": ".app.options",
    "JobFields": ".app.options",
    "RunInfo": ".app.values",
    "ScheduleInfo": ".app.values",
    "UpcomingRun": ".app.values",
    "ConflictError": ".core.errors",
    "InputError": ".core.errors",
    "TickwiseError": ".core.errors",
    "Run": ".runtime.context",
    "Cancel": ".runtime.executors.result",
    "Retry": ".runtime.executors.result",
    "Snooze": ".runtime.executors.result",
    "StoreUnavailableError": ".stores.contract",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that one function can run without loading the whole package."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tickwise' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
