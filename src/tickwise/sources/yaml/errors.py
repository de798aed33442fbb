"""The one error of definition files: what is wrong, and the place to look."""

from ...core.errors import InputError

_SHOWN = 60


class DefinitionError(InputError):
    """A definition that cannot be used.

    `line` and `column` count from 1 and are none where the file as a whole is meant; `field` is the way to the
    value, list places counting from 0 (`steps.2.command`), and empty where the document as a whole is meant.
    """

    def __init__(
        self, problem: str, *, file: str, line: int | None = None, column: int | None = None, field: str = ""
    ) -> None:
        self.problem = problem
        self.file = file
        self.line = line
        self.column = column
        self.field = field
        place = ":".join(str(part) for part in (shown(file, len(file)), line, column) if part is not None)
        super().__init__(f"{place}: {field}: {problem}" if field else f"{place}: {problem}")


def shown(text: str, length: int = _SHOWN) -> str:
    """A foreign text, fit to stand in a message: short, on one line, printable."""
    cut = text if len(text) <= length else f"{text[:length]}…"
    return "".join(c if c.isprintable() else "�" for c in cut)
