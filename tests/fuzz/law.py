"""The law for whatever people or damaged files hand in: it is taken or refused as wrong input, and soon.

Time is the CPU time of this process, told by a peer at the same moment: a second is what it takes to count to
fifty million, and that takes longer on a busy machine. An input that seems slow is tried again.
`TICKWISE_EXAMPLES=30` looks thirty times as long, and with `TICKWISE_EXPLORE=1` elsewhere each time.
"""

import os
import tracemalloc
from collections.abc import Callable
from time import process_time
from typing import TypeVar

from hypothesis import settings

from tickwise.core.errors import InputError

T = TypeVar("T")
MORE = int(os.environ.get("TICKWISE_EXAMPLES", "1"))
SOON = 0.1  # seconds
_TRIES = 3
_COUNTED_IN_A_SECOND, _COUNTED = 50_000_000, 1_000_000
_LONGEST_WORDS = 2_000


def examples(number: int) -> settings:
    return settings(max_examples=number * MORE)


def lawful(act: Callable[[], T], seconds: float = SOON) -> T | None:
    """The answer, or none if the input was refused in words that can be printed."""
    took = []
    for _ in range(_TRIES):
        answer, cost = _timed(lambda: _answer(act))
        took.append(cost)
        if cost < seconds or cost < seconds * _timed(_count)[1] * _COUNTED_IN_A_SECOND / _COUNTED:
            return answer
    raise AssertionError(f"it took {min(took):.3f} s of CPU time, and {seconds:.3f} s are allowed")


def _timed(act: Callable[[], T]) -> tuple[T, float]:
    began = process_time()
    return act(), process_time() - began


def _count() -> None:
    for _ in range(_COUNTED):
        pass


def _answer(act: Callable[[], T]) -> T | None:
    try:
        return act()
    except InputError as refused:
        words = str(refused)
        assert words.encode("utf-8"), "a refusal says what is wrong"
        assert len(words) < _LONGEST_WORDS
        return None


def memory(act: Callable[[], object]) -> int:
    """The most bytes that were in use at once, beyond those before."""
    tracemalloc.start()
    try:
        _answer(act)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
