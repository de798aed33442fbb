"""Job files as text: which files there are, their text, and the documents in it.

A document knows the line and column of its characters. A file that cannot be read is an error beside the others.
"""

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

from ..spec.error import DefinitionError, printable

SUFFIXES = (".yaml", ".yml")
CALENDAR_FOLDER = "calendars"  # in a folder of jobs; its files are calendars (S60)
MAX_BYTES = 1 << 20
MAX_DOCUMENTS = 200
_MAX_LINE_LENGTH = 1 << 15
_DOCUMENT_START = re.compile(r"^---(?=[ \t\n]|\Z)", re.MULTILINE)
_YAML_VERSION = re.compile(r"%YAML +1\.2\s*(?:#.*)?")
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Source:
    """The text of one document, and the number of its first line."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.text = text
        self.first_line = first_line

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self.text.split("\n")[:-1]), initial=0))

    def place(self, at: int) -> tuple[int, int]:
        """The line and column of a character, both counted from 1."""
        row = bisect_right(self._starts, max(0, at)) - 1
        return self.first_line + row, max(0, at) - self._starts[row] + 1

    def line_of(self, at: int) -> tuple[str, int]:
        """The line that holds a character, and where the line starts."""
        start = self.text.rfind("\n", 0, at) + 1
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end], start


class UnusableText(Exception):  # noqa: N818  (users see it as a DefinitionError)
    """A text that is not parsed at all, and the position of the character that is the cause, if there is one."""

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(problem)
        self.line = line
        self.column = column


def split_documents(text: str) -> list[Source]:
    """The documents of a text that are not empty. A `---` at the start of a line always begins a new one."""
    if len(text) > MAX_BYTES:
        raise UnusableText(f"larger than {MAX_BYTES >> 20} MiB")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    whole = Source(text)
    _check_characters(whole)
    cuts = [0, *(match.start() for match in _DOCUMENT_START.finditer(text)), len(text)]
    if len(cuts) > MAX_DOCUMENTS + 1:
        raise UnusableText(f"more than {MAX_DOCUMENTS} documents in one file")
    sources = (Source(text[start:end], whole.place(start)[0]) for start, end in pairwise(cuts))
    return [source for source in sources if not _is_empty(source)]


def _is_empty(source: Source) -> bool:
    """Whether a document has nothing but comments and directives."""
    lines = source.text.removeprefix("---").split("\n")
    if any(line.strip() not in ("", "...") and line.lstrip()[0] != "#" and line[0] != "%" for line in lines):
        return False
    for number, line in enumerate(lines, source.first_line):
        if line.startswith("%") and not _YAML_VERSION.fullmatch(line):
            raise UnusableText(f"{printable(line)!r} cannot be followed: files are read as YAML 1.2", number, 1)
    return True


def _check_characters(whole: Source) -> None:
    match = _UNPRINTABLE.search(whole.text)
    if match:
        code = f"U+{ord(match.group()):04X}"
        raise UnusableText(
            f"the character {code} cannot stand in a YAML file: remove it", *whole.place(match.start())
        )
    for number, line in enumerate(whole.text.split("\n"), 1):
        if len(line) > _MAX_LINE_LENGTH:
            raise UnusableText(f"a line of more than {_MAX_LINE_LENGTH:,} characters", number, 1)


def job_files(path: Path, errors: list[DefinitionError]) -> Iterator[Path]:
    """The job files of a path, each folder's in the order of their names; links to folders are not followed."""
    if not os.path.isdir(path):  # noqa: PTH112  (Path.is_dir raises where it may not look)
        yield path
        return
    folders = [path]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            errors.append(DefinitionError(f"the folder cannot be read: {error.strerror}", file=str(folder)))
            continue
        shown = [(Path(entry.path), _is_folder(entry)) for entry in entries if entry.name[:1] != "."]
        yield from (file for file, is_folder in shown if not is_folder and file.name.endswith(SUFFIXES))
        calendars = path / CALENDAR_FOLDER
        folders += [inner for inner, is_folder in reversed(shown) if is_folder and inner != calendars]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def read_file(file: Path, errors: list[DefinitionError]) -> str | None:
    """The text of a file; None and an error if it cannot be read."""
    try:
        return _read_bytes(file).decode("utf-8")
    except FileNotFoundError:
        problem = UnusableText("there is no such file or folder")
    except OSError as error:
        problem = UnusableText(f"the file cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = UnusableText("the file is not UTF-8 text: save it as UTF-8", line, 1)
    except ValueError:
        problem = UnusableText("this cannot be the name of a file")
    except UnusableText as error:
        problem = error
    errors.append(DefinitionError(str(problem), file=str(file), line=problem.line, column=problem.column))
    return None


def _read_bytes(file: Path) -> bytes:
    """The content of a regular file that is not too large. Pipes and devices are not read."""
    if not stat.S_ISREG(file.stat().st_mode):
        raise UnusableText("this is not a regular file")
    with file.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnusableText(f"larger than {MAX_BYTES >> 20} MiB")
    return data
