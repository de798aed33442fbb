"""Which job files a folder has, as far as it can be looked into and trusted."""

import os
import stat
from itertools import islice
from pathlib import Path

from ..yaml import DefinitionError
from ..yaml.files import job_files
from .trust import Trust

MOST_FILES = 10_000
_GOES_ON = "; what it held goes on until that is mended"


class _Unseen(Exception):  # noqa: N818  (it is told to the user as a DefinitionError)
    """A path that cannot be taken for what it should be."""


class FolderView:
    """Looks at one folder, or one file, again and again."""

    def __init__(self, path: Path, trust: Trust) -> None:
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
