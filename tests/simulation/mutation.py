"""A mistake that somebody could make, as a patch that is made while a history is lived through.

A seed is only where to begin: any change of what is drawn makes other histories. So the search goes on from there
until the judge names the mistake.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple
from unittest.mock import patch

from tickwise.core.audit import Fault
from tickwise.core.reasons import Reason

from .history import History, simulate

Patches = list[tuple[Any, str, Any]]  # of what, which name, what stands there instead


class Shown(NamedTuple):
    """A history that shows a mistake, and the same without it."""

    spoiled: History
    clean: History


@dataclass(frozen=True, slots=True)
class Mutation:
    """A mistake, the seed from which histories show it, and what the judge says of it."""

    what: Callable[[], Patches]
    seed: int
    kind: Fault
    says: str

    @contextmanager
    def made(self) -> Iterator[None]:
        with ExitStack() as stack:
            for target, name, instead in self.what():
                stack.enter_context(patch.object(target, name, instead))
            yield

    def shown(self, seeds: Iterable[int]) -> Shown | None:
        """The first of these histories in which the judge names it."""
        for seed in seeds:
            with self.made():
                history = simulate(seed)
            if self._is_named(history):
                return Shown(history, simulate(seed))
        return None

    def _is_named(self, history: History) -> bool:
        if repr(Reason.BROKEN) in history.told():
            raise AssertionError(f"the patch itself is the mistake\n{history.told()}")
        return any(one.kind is self.kind and self.says in one.text for one in history.findings)


def now_and_then(every: int) -> Callable[[], bool]:
    turns = count(1)
    return lambda: next(turns) % every == 0
