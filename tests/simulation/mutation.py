"""A mistake that somebody could make, as a patch that is made while a history is lived through."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any
from unittest.mock import patch

from tickwise.core.audit import Fault

Patches = list[tuple[Any, str, Any]]  # of what, which name, what stands there instead


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mistake, the seed whose history shows it, and what the judge calls it."""

    what: Callable[[], Patches]
    seed: int
    kind: Fault

    @contextmanager
    def made(self) -> Iterator[None]:
        with ExitStack() as stack:
            for target, name, instead in self.what():
                stack.enter_context(patch.object(target, name, instead))
            yield


def now_and_then(every: int) -> Callable[[], bool]:
    turns = count(1)
    return lambda: next(turns) % every == 0
