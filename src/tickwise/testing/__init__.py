"""What tests of time need: a clock that moves only when it is set, and a pytest plugin with one."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clock import FakeClock

__all__ = ["FakeClock"]


def __getattr__(name: str) -> Any:
    """Import the clock on first use: pytest imports this package at every start."""
    if name not in __all__:
        raise AttributeError(f"module 'tickwise.testing' has no attribute {name!r}")
    return getattr(import_module(".clock", __name__), name)
