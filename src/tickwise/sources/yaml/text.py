"""The text of a file, cut into its documents, each of which knows the line and column of its characters."""

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate, pairwise

from .error import shown

LARGEST = 1 << 20
MOST_DOCUMENTS = 200
_LONGEST_LINE = 1 << 15
_MARKER = re.compile(r"^---(?=[ \t\n]|\Z)", re.MULTILINE)
_VERSION = re.compile(r"%YAML +1\.2\s*(?:#.*)?")
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Source:
    """The text of one document and the number of the line it starts in."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.text = text
        self.first_line = first_line

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self.text.split("\n")[:-1]), initial=0))

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        row = bisect_right(self._starts, max(0, at)) - 1
        return self.first_line + row, max(0, at) - self._starts[row] + 1

    def line_of(self, at: int) -> tuple[str, int]:
        """The line that holds a character, and where the line starts."""
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end], start


class UnusableText(Exception):  # noqa: N818  (it is told to the user as a DefinitionError)
    """A text that is not even looked at, and the character that is to blame, if one is."""

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(problem)
        self.line = line
        self.column = column


def split(text: str) -> list[Source]:
    """The documents of a text that hold anything. A `---` at the start of a line always begins a new one."""
    if len(text) > LARGEST:
        raise UnusableText(f"larger than {LARGEST >> 20} MiB")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    whole = Source(text)
    _check_characters(whole)
    cuts = [0, *(found.start() for found in _MARKER.finditer(text)), len(text)]
    if len(cuts) > MOST_DOCUMENTS + 1:
        raise UnusableText(f"more than {MOST_DOCUMENTS} documents in one file")
    sources = (Source(text[start:end], whole.place(start)[0]) for start, end in pairwise(cuts))
    return [source for source in sources if not _is_empty(source)]


def _is_empty(source: Source) -> bool:
    """Whether nothing but comments and directives stands here."""
    lines = source.text.removeprefix("---").split("\n")
    if any(line.strip() not in ("", "...") and line.lstrip()[0] != "#" and line[0] != "%" for line in lines):
        return False
    for number, line in enumerate(lines, source.first_line):
        if line.startswith("%") and not _VERSION.fullmatch(line):
            raise UnusableText(f"{shown(line)!r} cannot be followed: files are read as YAML 1.2", number, 1)
    return True


def _check_characters(whole: Source) -> None:
    found = _UNPRINTABLE.search(whole.text)
    if found:
        code = f"U+{ord(found.group()):04X}"
        raise UnusableText(
            f"the character {code} cannot stand in a YAML file: remove it", *whole.place(found.start())
        )
    for number, line in enumerate(whole.text.split("\n"), 1):
        if len(line) > _LONGEST_LINE:
            raise UnusableText(f"a line of more than {_LONGEST_LINE:,} characters", number, 1)
