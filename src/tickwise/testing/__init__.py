"""What tests of time need: a clock that moves only when it is set."""

from .clock import FakeClock

__all__ = ["FakeClock"]
