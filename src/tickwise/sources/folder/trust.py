"""Who may decide what runs here: whoever may write a job file, or a folder of them, as with a crontab.

Files and folders belong to the user whom the scheduler runs as, or to root, and nobody else may write them. A
group may, with a warning; without one if it has the owner's own number, as by custom nobody else is a member then.
On a file system that is mounted read-only nobody can write, whatever the modes say: config maps are mounted so.
"""

import os
import stat
from pathlib import Path
from shlex import quote

from ...log import get_logger

log = get_logger()


class Trust:
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
            log.warning("group_may_write", path=str(path), group=found.st_gid, unless_wanted=f"chmod g-w {here}")
        return None


def _is_read_only(path: Path) -> bool:
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
