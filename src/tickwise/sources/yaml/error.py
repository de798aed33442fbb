"""The one error of definition files: what is wrong, and the place to look."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from ...core.errors import InputError

Loc: TypeAlias = tuple[str | int, ...]  # the way to a value in a document
_SHOWN = 60
MOST_ERRORS = 100


class DefinitionError(InputError):
    """A definition that cannot be used.

    `line` and `column` count from 1 and are none where the file as a whole is meant; `field` is the way to the
    value, list places counting from 0 (`steps.2.command`), and empty where the document as a whole is meant.
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
        place = ":".join(str(part) for part in (shown(file, len(file)), line, column) if part is not None)
        text = f"{place}: {field}: {problem}" if field else f"{place}: {problem}"
        super().__init__(text, field=field, position=position, nearest=nearest)


def shown(text: str, length: int = _SHOWN) -> str:
    """A foreign text, fit to stand in a message: short, on one line, printable."""
    cut = text if len(text) <= length else f"{text[:length]}…"
    return "".join(c if c.isprintable() else "�" for c in cut)


class ErrorList:
    """Errors found while a definition is built, each with the way to its value, so that all can be shown."""

    def __init__(self) -> None:
        self.found: list[tuple[Loc, InputError]] = []

    @property
    def are_many(self) -> bool:
        """Whether more of them would help nobody."""
        return len(self.found) >= MOST_ERRORS

    def add(self, loc: Loc, problem: str, nearest: str | None = None) -> None:
        self.found.append((loc, InputError(problem, nearest=nearest)))

    @contextmanager
    def at(self, *loc: str | int) -> Iterator[None]:
        """Keep an error of what is done inside, and go on."""
        try:
            yield
        except InputError as error:
            self.found.append((loc, error))
