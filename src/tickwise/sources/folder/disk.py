"""What a folder holds on disk. Each look reads only what may have changed, and parses only what did."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ..defaults import NO_DEFAULTS, Defaults
from ..yaml import DefinitionError, _read
from ..yaml.files import text_of
from ..yaml.reader import Read
from .standing import Content, Reading
from .trust import Trust
from .view import FolderView


class Look(NamedTuple):
    """A reason to look: files that an event named, or all if it is thorough."""

    named: frozenset[str] = frozenset()
    thorough: bool = False


class _Mark(NamedTuple):
    """By what a changed file is known without reading it."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


@dataclass(frozen=True, slots=True)
class _Known:
    mark: _Mark | None  # none: it could not be read, and is tried again at every look
    digest: bytes
    reading: Reading


class FolderReader:
    """Reads one folder, or one file, again and again."""

    def __init__(self, path: Path, source: str, defaults: Defaults = NO_DEFAULTS) -> None:
        self._source = source
        self._defaults = defaults
        self._trust = Trust()
        self._view = FolderView(path, self._trust)
        self._known: dict[str, _Known] = {}

    def read(self, look: Look, is_over: Callable[[], bool]) -> Content:
        """What is there now. If it `is_over` meanwhile, the content is not all there is."""
        files, errors = self._view.files()
        before, self._known = self._known, {}
        for file in files:
            if is_over():
                break
            name = str(file)
            is_doubted = look.thorough or os.path.abspath(name) in look.named  # noqa: PTH100  (no link followed)
            self._known[name] = self._read(file, before.get(name), is_doubted=is_doubted)
        readings = {name: known.reading for name, known in self._known.items()}
        return Content(readings, tuple(error.file for error in errors), tuple(errors))

    def _read(self, file: Path, known: _Known | None, *, is_doubted: bool) -> _Known:
        found = _stat(file)
        mark = found and _mark(found)
        if known and known.mark and known.mark == mark and not is_doubted:
            return known
        errors: list[DefinitionError] = []
        if found and (why := self._trust.refusal(file, found)):
            errors.append(DefinitionError(why, file=str(file)))
        text = None if errors else text_of(file, errors)
        if text is None:
            return _Known(None, b"", Reading((), tuple(errors)))
        digest = sha256(text.encode()).digest()
        if known and known.digest == digest:
            return replace(known, mark=mark)
        return _Known(mark, digest, reading_of(text, file, self._source, self._defaults))


def reading_of(
    text: str,
    file: Path,
    source: str,
    defaults: Defaults = NO_DEFAULTS,
) -> Reading:
    """What the text of a file says, with its source on every schedule (S50)."""
    documents, wrong = _read(text, str(file), file.stem, defaults)
    good = tuple(signed for document in documents if (signed := _signed(document, source)))
    return Reading(good, tuple(wrong))


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _mark(found: os.stat_result) -> _Mark:
    return _Mark(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _signed(document: Read, source: str) -> Read | None:
    if document.placed is None:
        return None
    job = document.placed.job
    schedules = tuple(replace(schedule, source=source) for schedule in job.schedules)
    return replace(document, placed=document.placed._replace(job=replace(job, schedules=schedules)))
