"""What a function may return or raise instead of a result: a wish for what becomes of its run.

Exceptions, so that they can be raised from any depth; a process of its own imports this module, so it stays light.
"""

import math
from typing import ClassVar

from ...core.duration import parse_duration
from ...core.errors import InputError


class Wish(Exception):  # noqa: N818 (a wish is no error)
    """The base of the three."""

    kind: ClassVar[str]
    seconds: int | None = None
    reason: str = ""


class Retry(Wish):
    """Count this attempt as failed, and try again after this time if tries are left.

    Without a time the job's retry policy says when.
    """

    kind = "retry"

    def __init__(self, after: str | float | None = None, reason: str = "") -> None:
        super().__init__(after, str(reason))
        self.seconds = None if after is None else _seconds(after)
        self.reason = str(reason)


class Cancel(Wish):
    """End the run as cancelled; it is not tried again."""

    kind = "cancel"

    def __init__(self, reason: str = "") -> None:
        super().__init__(str(reason))
        self.reason = str(reason)


class Snooze(Wish):
    """Run it again after this time; that is no failure and uses up no try."""

    kind = "snooze"

    def __init__(self, for_: str | float, reason: str = "") -> None:
        super().__init__(for_, str(reason))
        self.seconds = _seconds(for_)
        self.reason = str(reason)


def _seconds(time: str | float) -> int:
    if isinstance(time, str):
        return parse_duration(time)
    if not 0 <= time < math.inf:
        raise InputError(f"{time!r} is no time to wait: give seconds, or a text such as 90s or 15m")
    return math.ceil(time)
