"""Whether a function's return value can be kept."""

from typing import Any

from ...core.errors import InputError
from ...core.payload import encode


def why_not_kept(value: Any) -> str | None:
    """Why this is no result, for people; none if it is one."""
    try:
        encode(value, "the result")
    except InputError as problem:
        return f"no result is kept: {problem}"
    return None
