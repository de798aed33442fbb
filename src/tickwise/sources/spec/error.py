"""The error of a definition: what is wrong, and where."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from ...core.errors import InputError

Loc: TypeAlias = tuple[str | int, ...]  # the path to a value in a document
_MAX_LENGTH = 60
MAX_ERRORS = 100


class DefinitionError(InputError):
    """A definition that cannot be used.

    `line` and `column` count from 1 and are None if the error is about the whole file; `field` is the path to the
    value, with list indexes from 0 (`steps.2.command`), and empty if the error is about the whole document.
    """

    field: str

    def __init__(
        self, problem: str, *, file: str, line: int | None = None, column: int | None = None, field: str = "",
        position: int | None = None, nearest: str | None = None,
    ) -> None:  # fmt: skip
        self.problem = problem
        self.file = file
        self.line = line
        self.column = column
        place = ":".join(str(part) for part in (printable(file, len(file)), line, column) if part is not None)
        text = f"{place}: {field}: {problem}" if field else f"{place}: {problem}"
        super().__init__(text, field=field, position=position, nearest=nearest)


def printable(text: str, length: int = _MAX_LENGTH) -> str:
    """A text from outside in a form for messages: short, on one line, printable."""
    cut = text if len(text) <= length else f"{text[:length]}…"
    return "".join(c if c.isprintable() else "�" for c in cut)


class ErrorList:
    """The errors found while a definition is built, each with the path to its value."""

    def __init__(self) -> None:
        self.found: list[tuple[Loc, InputError]] = []

    @property
    def are_many(self) -> bool:
        """Whether there are enough: more would not help."""
        return len(self.found) >= MAX_ERRORS

    def add(self, loc: Loc, problem: str, nearest: str | None = None) -> None:
        self.found.append((loc, InputError(problem, nearest=nearest)))

    @contextmanager
    def at(self, *loc: str | int) -> Iterator[None]:
        """Collect an error that the block raises, and continue after the block."""
        try:
            yield
        except InputError as error:
            self.found.append((loc, error))
