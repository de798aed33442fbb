"""What a folder holds on disk. Each look reads only what may have changed, and parses only what did."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from ...log import get_logger
from ..defaults import NO_DEFAULTS, Defaults
from ..yaml import DefinitionError, _read
from ..yaml.files import job_files, text_of
from ..yaml.reader import Read
from .reconcile import Content, ParsedFile

# Who may decide what runs here: whoever may write a job file, or a folder of them, as with a crontab.
#
# Files and folders belong to the user whom the scheduler runs as, or to root, and nobody else may write them. A
# group may, with a warning; without one if it has the owner's own number: by custom nobody else is in it.
# On a file system that is mounted read-only nobody can write, whatever the modes say: config maps are mounted so.

_log = get_logger()


class WriterCheck:
    """Judges files and folders, and warns of each one once."""

    def __init__(self) -> None:
        self._warned: set[Path] = set()

    def refusal(self, path: Path, found: os.stat_result) -> str | None:
        """Why a file or folder is not used, and how to mend that."""
        here = quote(str(path))
        if found.st_uid not in (os.geteuid(), 0):
            owner = f"another user (number {found.st_uid})"
            return f"it belongs to {owner}, who could so decide what runs here: chown {os.geteuid()} {here}"
        if not found.st_mode & (stat.S_IWOTH | stat.S_IWGRP) or _is_read_only(path):
            return None
        if found.st_mode & stat.S_IWOTH:
            return f"everybody may write it, and so decide what runs here: chmod o-w {here}"
        if found.st_gid != found.st_uid and path not in self._warned:
            self._warned.add(path)
            _log.warning("group_may_write", path=str(path), group=found.st_gid, unless_wanted=f"chmod g-w {here}")
        return None


def _is_read_only(path: Path) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


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
    reading: ParsedFile


class FolderReader:
    """Reads one folder, or one file, again and again."""

    def __init__(self, path: Path, source: str, defaults: Defaults = NO_DEFAULTS) -> None:
        self._source = source
        self._defaults = defaults
        self._trust = WriterCheck()
        self._view = FolderListing(path, self._trust)
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
            return _Known(None, b"", ParsedFile((), tuple(errors)))
        digest = sha256(text.encode()).digest()
        if known and known.digest == digest:
            return replace(known, mark=mark)
        return _Known(mark, digest, reading_of(text, file, self._source, self._defaults))


def reading_of(
    text: str,
    file: Path,
    source: str,
    defaults: Defaults = NO_DEFAULTS,
) -> ParsedFile:
    """What the text of a file says, with its source on every schedule (S50)."""
    documents, wrong = _read(text, str(file), file.stem, defaults)
    good = tuple(signed for document in documents if (signed := _signed(document, source)))
    return ParsedFile(good, tuple(wrong))


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


# Which job files a folder has, as far as it can be looked into and trusted.

MOST_FILES = 10_000
_GOES_ON = "; what it held goes on until that is mended"


class _Unseen(Exception):  # noqa: N818  (it is told to the user as a DefinitionError)
    """A path that cannot be taken for what it should be."""


class FolderListing:
    """Looks at one folder, or one file, again and again."""

    def __init__(self, path: Path, trust: WriterCheck) -> None:
        self._path = path
        self._trust = trust
        self._device: int | None = None

    def files(self) -> tuple[list[Path], list[DefinitionError]]:
        """The job files, and an error for each folder that cannot be used and whose files are left out."""
        errors: list[DefinitionError] = []
        try:
            found = self._path.stat()
            if not stat.S_ISDIR(found.st_mode):
                return [self._path], []
            files = list(islice(job_files(self._path, errors), MOST_FILES + 1))
            self._check_whole(found, files)
        except (OSError, ValueError, _Unseen) as error:
            return [], [DefinitionError(_words(error) + _GOES_ON, file=str(self._path))]
        refused = {folder: why for folder in _ways(self._path, files) if (why := self._refusal(folder))}
        errors += [DefinitionError(why + _GOES_ON, file=str(folder)) for folder, why in refused.items()]
        return [file for file in files if not refused or not refused.keys() & _ways(self._path, [file])], errors

    def _check_whole(self, found: os.stat_result, files: list[Path]) -> None:
        """Raise if what was found cannot be taken for all there is."""
        if files == [self._path]:
            raise _Unseen("it is no folder any more")
        if len(files) > MOST_FILES:
            raise _Unseen(f"there are more than {MOST_FILES:,} job files")
        if not files and self._device not in (None, found.st_dev):
            raise _Unseen("the folder is empty and on another disk than before: is a disk not mounted?")
        self._device = found.st_dev

    def _refusal(self, folder: Path) -> str | None:
        try:
            return self._trust.refusal(folder, folder.stat())
        except OSError as error:
            return _words(error)


def _ways(top: Path, files: list[Path]) -> set[Path]:
    """The folders on the way to files, the top among them."""
    parents = {file.parent for file in files}
    return {top} | {way for parent in parents for way in (parent, *parent.parents) if way.is_relative_to(top)}


def _words(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    return f"it cannot be looked at: {error.strerror}" if isinstance(error, OSError) else str(error)
