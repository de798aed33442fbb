"""All pages of a read, one after the other."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from .records import Page

T = TypeVar("T")


async def every(read: Callable[[str | None], Awaitable[Page[T]]]) -> list[T]:
    """What all pages hold; `read` is given the key of the page before."""
    found: list[T] = []
    after: str | None = None
    while True:
        page = await read(after)
        found += page.items
        if page.after is None:
            return found
        after = page.after
