"""What tests of time need: a clock that moves only when told to."""

from .clock import FakeClock

__all__ = ["FakeClock"]
