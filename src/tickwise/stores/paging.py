"""Pages of a read: how long one may be, and all of them one after the other."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..core.errors import InputError
from .records import Page

T = TypeVar("T")
_MOST = 10_000


def size(limit: int) -> int:
    """The rows of a page, if it may have so many."""
    if not 1 <= limit <= _MOST:
        raise InputError(f"a page has 1 to {_MOST} rows, not {limit}")
    return limit


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
