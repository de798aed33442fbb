"""Pages of rows: how long they may be, and the keys by which the next one is asked for."""

import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..core.errors import InputError
from .records import DecisionKey, Page
from .validation import MAX_SECOND, can_exist, is_number

T = TypeVar("T")
_MAX_PAGE = 10_000  # rows


def check_page_size(limit: int) -> None:
    if not 1 <= limit <= _MAX_PAGE:
        raise InputError(f"a page has 1 to {_MAX_PAGE} rows, not {limit}")


def page_number(after: str | None) -> int | None:
    """The key of a page of numbered rows."""
    if after is None:
        return None
    if not is_number(after):
        raise _wrong_page_key(after)
    return int(after)


def decision_key(after: str | None) -> DecisionKey | None:
    """The key of a page of decisions, as `decision_page` wrote it."""
    if after is None:
        return None
    try:
        first, schedule, reason = json.loads(after)
    except (ValueError, TypeError, RecursionError):
        raise _wrong_page_key(after) from None
    if not (isinstance(first, int) and isinstance(schedule, str) and isinstance(reason, str)):
        raise _wrong_page_key(after)
    if not (-MAX_SECOND < first < MAX_SECOND and can_exist(schedule, reason)):
        raise _wrong_page_key(after)
    return DecisionKey(first, schedule, reason)


def decision_page(key: DecisionKey) -> str:
    """The key of the page that follows a decision."""
    return json.dumps(key)


def _wrong_page_key(after: str) -> InputError:
    return InputError(f"{after[:60]!r} is not the key of a page: pass on what the page before gave")


async def all_pages(read: Callable[[str | None], Awaitable[Page[T]]]) -> list[T]:
    """The rows of all pages; `read` is given the key of the page before."""
    rows: list[T] = []
    after: str | None = None
    while True:
        page = await read(after)
        rows += page.items
        if page.after is None:
            return rows
        after = page.after
