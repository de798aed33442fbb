"""A definition as a tree of nodes: values that know where they were written, and what is wrong with them.

A job file and a mapping of plain values become the same nodes, so one reader serves both. Positions only order the
errors of plain values, which have no lines.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...core.errors import CronError, InputError
from .error import Loc, printable

MAX_NODES = 20_000
MAX_DEPTH = 32
_MAX_NUMBER_LENGTH = 300
TOO_LONG_NUMBER = "a number this long cannot be read: quote it if it is meant as text"
_UNFIT_TEXT = "a text cannot hold a NUL or half a character (\\0, \\ud800)"


class Flaw(NamedTuple):
    """What is wrong with which value, and the character of the document to point at."""

    loc: Loc
    problem: str
    at: int
    position: int | None = None  # in a cron text
    nearest: str | None = None  # what was probably meant

    @property
    def field(self) -> str:
        """The way to the value, for people."""
        return ".".join(printable(str(part)) for part in self.loc)


@dataclass(slots=True)
class ValueNode:
    """A value and its position. `value` holds nodes if it is a list or a mapping."""

    value: Any
    at: int
    written: str = ""  # a scalar as written, without its quotes
    text_at: int | None = None  # where that begins, if it stands in the source as it is
    keys: dict[str, int] = field(default_factory=dict)  # the positions of the keys of a mapping
    size: int = 1
    depth: int = 0

    def children(self) -> list["ValueNode"]:
        if isinstance(self.value, dict):
            return list(self.value.values())
        return self.value if isinstance(self.value, list) else []

    def data(self) -> Any:
        """The plain value, without positions."""
        if isinstance(self.value, dict):
            return {key: node.data() for key, node in self.value.items()}
        return [node.data() for node in self.value] if isinstance(self.value, list) else self.value

    def find(self, loc: Loc) -> "ValueNode":
        """The node at the end of a path, or the last one that exists on the path."""
        node = self
        for part in loc:
            match node.value:
                case dict() if part in node.value:
                    node = node.value[part]
                case list() if isinstance(part, int) and part < len(node.value):
                    node = node.value[part]
                case _:
                    break
        return node

    def key_at(self, loc: Loc) -> int:
        """The position of the key of a value, or of the value itself if it has no key."""
        return self.find(loc[:-1]).keys.get(str(loc[-1]), self.find(loc).at)

    def walk(self, loc: Loc = ()) -> Iterator[tuple[Loc, "ValueNode"]]:
        yield loc, self
        inner = self.value.items() if isinstance(self.value, dict) else enumerate(self.children())
        for part, node in inner:
            yield from node.walk((*loc, part))

    def flaw(self, loc: Loc, error: InputError) -> Flaw:
        """An error about this value; of a cron text on one line, at the character that is wrong."""
        position = error.position if isinstance(error, CronError) else None
        at = self.at if position is None or self.text_at is None else self.text_at + position
        return Flaw(loc, str(error), at, position=position, nearest=error.nearest)


class FlawList:
    """The flaws that are found in a tree. A value that has one already gets no second."""

    def __init__(self, known: list[Flaw]) -> None:
        self.found: list[Flaw] = []
        self.count = 0  # also of those that are not kept
        self._known = {flaw.loc for flaw in known}

    def add(self, flaw: Flaw) -> None:
        self.count += 1
        if flaw.loc not in self._known:
            self.found.append(flaw)


def text_problem(text: str) -> str | None:
    """What is wrong with the characters of a text, if anything."""
    return _UNFIT_TEXT if any(c == "\0" or "\ud800" <= c <= "\udfff" for c in text) else None


def is_too_long(number: str) -> bool:
    return len(number) > _MAX_NUMBER_LENGTH
