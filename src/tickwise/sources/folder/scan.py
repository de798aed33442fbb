"""What a folder holds on disk. A scan reads only files that may have changed, and parses only those that did.

Files and folders that another user may write are not used (`ownership`).
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ...ownership import STRICT, WriterCheck
from ..calendars.reader import CalendarFolder, read_calendar_folder
from ..defaults import NO_DEFAULTS, Defaults
from ..yaml import DefinitionError
from ..yaml.reader import ParsedDocument, read_documents
from ..yaml.text import job_files, read_file
from .reconcile import FolderContent, ParsedFile

MAX_FILES = 10_000
_UNTIL_FIXED = "; what it held goes on until that is mended"


class ScanRequest(NamedTuple):
    """A request to scan: which files to read even if they look unchanged; all if it is thorough."""

    named: frozenset[str] = frozenset()
    thorough: bool = False


class _FileStamp(NamedTuple):
    """The identity, size and times of a file: while they are the same, it is not read again."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


@dataclass(frozen=True, slots=True)
class _KnownFile:
    stamp: _FileStamp | None  # None: it could not be read, and every scan tries again
    digest: bytes
    parsed: ParsedFile


class FolderReader:
    """Scans one folder, or one file, and remembers what it has parsed."""

    def __init__(
        self, path: Path, source: str, defaults: Defaults = NO_DEFAULTS, writers: WriterCheck = STRICT
    ) -> None:
        self._source = source
        self._defaults = defaults
        self._writers = writers
        self._path = path
        self._listing = FolderListing(path, self._writers)
        self._known: dict[str, _KnownFile] = {}

    def read(self, request: ScanRequest, is_over: Callable[[], bool]) -> FolderContent:
        """What the folder holds now. If `is_over` becomes true meanwhile, the content is incomplete."""
        files, errors = self._listing.files()
        before, self._known = self._known, {}
        for file in files:
            if is_over():
                break
            name = str(file)
            is_doubted = request.thorough or os.path.abspath(name) in request.named  # noqa: PTH100  (no link followed)
            self._known[name] = self._read(file, before.get(name), is_doubted=is_doubted)
        parsed_files = {name: known.parsed for name, known in self._known.items()}
        unseen = tuple(error.file for error in errors)
        calendars = CalendarFolder(is_seen=False)
        if str(self._path) not in unseen:
            calendars = read_calendar_folder(self._path, self._writers)
        return FolderContent(parsed_files, unseen, (*errors, *calendars.errors), calendars)

    def _read(self, file: Path, known: _KnownFile | None, *, is_doubted: bool) -> _KnownFile:
        status = _stat_or_none(file)
        stamp = status and _stamp_of(status)
        if known and known.stamp and known.stamp == stamp and not is_doubted:
            return known
        errors: list[DefinitionError] = []
        if status and (why := self._writers.refusal(file, status)):
            errors.append(DefinitionError(why, file=str(file)))
        text = None if errors else read_file(file, errors)
        if text is None:
            return _KnownFile(None, b"", ParsedFile((), tuple(errors)))
        digest = sha256(text.encode()).digest()
        if known and known.digest == digest:
            return replace(known, stamp=stamp)
        return _KnownFile(stamp, digest, parse_file(text, file, self._source, self._defaults))


def parse_file(
    text: str,
    file: Path,
    source: str,
    defaults: Defaults = NO_DEFAULTS,
) -> ParsedFile:
    """The documents of a text, with the source in every schedule (S50)."""
    documents, wrong = read_documents(text, str(file), file.stem, defaults)
    good = tuple(sourced for document in documents if (sourced := _with_source(document, source)))
    return ParsedFile(good, tuple(wrong))


def _stat_or_none(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _stamp_of(status: os.stat_result) -> _FileStamp:
    return _FileStamp(
        device=status.st_dev,
        inode=status.st_ino,
        size=status.st_size,
        modified=status.st_mtime_ns,
        changed=status.st_ctime_ns,
    )


def _with_source(document: ParsedDocument, source: str) -> ParsedDocument | None:
    if document.located is None:
        return None
    job = document.located.job
    schedules = tuple(replace(schedule, source=source) for schedule in job.schedules)
    return replace(document, located=document.located._replace(job=replace(job, schedules=schedules)))


class _UnusableFolder(Exception):  # noqa: N818  (users see it as a DefinitionError)
    """A folder whose content is unknown or in doubt."""


class FolderListing:
    """Lists the job files of one folder, or one file."""

    def __init__(self, path: Path, writers: WriterCheck) -> None:
        self._path = path
        self._writers = writers
        self._device: int | None = None

    def files(self) -> tuple[list[Path], list[DefinitionError]]:
        """The job files, and an error for each folder that cannot be used and whose files are left out."""
        errors: list[DefinitionError] = []
        try:
            status = self._path.stat()
            if not stat.S_ISDIR(status.st_mode):
                return [self._path], []
            files = list(islice(job_files(self._path, errors), MAX_FILES + 1))
            self._check_whole(status, files)
        except (OSError, ValueError, _UnusableFolder) as error:
            return [], [DefinitionError(_describe_error(error) + _UNTIL_FIXED, file=str(self._path))]
        refused = {folder: why for folder in _folders_above(self._path, files) if (why := self._refusal(folder))}
        errors += [DefinitionError(why + _UNTIL_FIXED, file=str(folder)) for folder, why in refused.items()]
        return [
            file for file in files if not refused or not refused.keys() & _folders_above(self._path, [file])
        ], errors

    def _check_whole(self, status: os.stat_result, files: list[Path]) -> None:
        """Raise if the list of files cannot be complete."""
        if files == [self._path]:
            raise _UnusableFolder("it is no folder any more")
        if len(files) > MAX_FILES:
            raise _UnusableFolder(f"there are more than {MAX_FILES:,} job files")
        if not files and self._device not in (None, status.st_dev):
            raise _UnusableFolder("the folder is empty and on another disk than before: is a disk not mounted?")
        self._device = status.st_dev

    def _refusal(self, folder: Path) -> str | None:
        try:
            return self._writers.refusal(folder, folder.stat())
        except OSError as error:
            return _describe_error(error)


def _folders_above(top: Path, files: list[Path]) -> set[Path]:
    """The folders from the top to the files, including the top."""
    parents = {file.parent for file in files}
    return {top} | {
        folder for parent in parents for folder in (parent, *parent.parents) if folder.is_relative_to(top)
    }


def _describe_error(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    return f"it cannot be looked at: {error.strerror}" if isinstance(error, OSError) else str(error)
