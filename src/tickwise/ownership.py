"""Who may write a file or a folder: whoever may decides what runs here, as with a crontab.

A file that decides what runs must belong to the user of this process or to root, and nobody else may write it.
That holds for job files and their folders, the settings, the state folder with the admin token, and the files of
an SQLite store. A group may write them only if it is the owner's private group (the same number). On a file system
that is mounted read-only nobody can write, whatever the modes say: config maps are mounted so.

A folder of another owner (a bind mount, a user that deploys) is used if the setting `trusted_folders` names it, or
a folder above it. What everybody may write is never used.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from .core.errors import InputError

SETTING = "trusted_folders"


class OwnershipError(InputError):
    """A file or folder is not used, because another user may write it."""


class WriterCheck:
    """Checks who may write files and folders; `trusted` are folders whose owners and groups may be others."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        self._trusted = tuple(Path(os.path.realpath(folder)) for folder in trusted)

    def refusal(self, path: Path, status: os.stat_result) -> str | None:
        """Why a file or folder is not used, and how to fix that."""
        here, mode = quote(str(path)), 0 if stat.S_ISLNK(status.st_mode) else status.st_mode  # a link has none
        if status.st_uid not in (os.geteuid(), 0) and not self._is_trusted(path):
            owner, how = f"another user (number {status.st_uid})", f"chown {os.geteuid()} {here}"
            return f"it belongs to {owner}, who could so decide what runs here: {how}{_or_trust(path)}"
        if not mode & (stat.S_IWOTH | stat.S_IWGRP) or _is_read_only(path):
            return None
        if mode & stat.S_IWOTH:
            return f"everybody may write it, and so decide what runs here: chmod o-w {here}"
        if status.st_gid != status.st_uid and not self._is_trusted(path):
            group, how = f"the group {status.st_gid}", f"chmod g-w {here}"
            return f"{group} may write it, and so decide what runs here: {how}{_or_trust(path)}"
        return None

    def check(self, path: Path, *, sticky: bool = False) -> None:
        """Raise `OwnershipError` if a file or folder, or the link to it, may be written by another user.

        With `sticky`, a folder is enough in which everybody may make files, but replace only their own: /tmp.
        """
        status = path.stat()
        is_shared = sticky and status.st_mode & stat.S_ISVTX and status.st_uid in (os.geteuid(), 0)
        _raise(path, None if is_shared else self.refusal(path, status))
        if path.is_symlink():
            _raise(path, self.refusal(path, path.lstat()))

    def read(self, path: Path, *, follow: bool = True) -> bytes:
        """The content of a file. What is checked is the file that was opened, and before that whether to open it.

        Without `follow`, a link is refused, whoever made it.
        """
        self.check(path)
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)), "rb") as file:
            _raise(path, self.refusal(path, os.fstat(file.fileno())))
            return file.read()

    def make(self, path: Path) -> None:
        """Make an empty private file; check the one that is there."""
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            self.check(path)

    def _is_trusted(self, path: Path) -> bool:
        if not self._trusted:
            return False
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(folder) for folder in self._trusted)


STRICT = WriterCheck()  # no folder of another owner is trusted


def _or_trust(path: Path) -> str:
    return f", or name it in the setting {SETTING}: TICKWISE_{SETTING.upper()}={quote(os.path.realpath(path))}"


def _raise(path: Path, refusal: str | None) -> None:
    if refusal:
        raise OwnershipError(f"{path} is not used: {refusal}")


def _is_read_only(path: Path) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
