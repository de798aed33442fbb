"""The composition root: all parts put together behind the public face."""

from .sync import Tickwise
from .tickwise import AsyncTickwise

__all__ = ["AsyncTickwise", "Tickwise"]
