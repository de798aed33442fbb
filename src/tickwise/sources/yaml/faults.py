"""Faults found while a definition is built: collected, each with the way to the value, so that all can be told."""

from collections.abc import Iterator
from contextlib import contextmanager

from ...core.errors import InputError
from .nodes import Loc

MOST_ERRORS = 100


class Faults:
    def __init__(self) -> None:
        self.found: list[tuple[Loc, InputError]] = []

    @property
    def are_many(self) -> bool:
        """Whether more of them would help nobody."""
        return len(self.found) >= MOST_ERRORS

    def add(self, loc: Loc, problem: str) -> None:
        self.found.append((loc, InputError(problem)))

    @contextmanager
    def at(self, *loc: str | int) -> Iterator[None]:
        """Keep an error of what is done inside, and go on."""
        try:
            yield
        except InputError as error:
            self.found.append((loc, error))
