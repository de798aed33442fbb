"""Which files of a directory have settled (S70).

A directory is read once a second: the kernel tells nothing of what other machines write into a shared one, and a
file has settled just when there is nothing to tell. Only folders that the settings name are read, links are not
followed, and a directory with too much in it is not read to its end. So a job file that anybody may write neither
probes other paths nor costs much.
"""

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from ...clock import monotonic
from ...core.event_sources import MAX_FILES, FoundFiles, SettledFile
from ...core.events import SettledFiles
from ...log import get_logger

MAX_ENTRIES = 20_000  # names in a directory
_log = get_logger()


class _Listing(NamedTuple):
    """The files of a directory that match, or why they cannot be told."""

    files: tuple[SettledFile, ...] = ()
    problem: str = ""


def may_watch(source: SettledFiles, folders: Sequence[str]) -> bool:
    """Whether a directory is one of these folders, or lies in one, wherever links lead."""
    directory = os.path.realpath(source.directory)
    return any(os.path.commonpath((directory, top)) == top for top in map(os.path.realpath, folders))


class FileWatch:
    """Remembers since when files have not changed."""

    def __init__(self, folders: Sequence[str], clock: Callable[[], float] = monotonic) -> None:
        self._folders = tuple(folders)
        self._clock = clock
        self._since: dict[str, dict[SettledFile, float]] = {}  # by schedule
        self._problems: dict[str, str] = {}  # the same

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(self._problems.values())

    def forget_others(self, schedules: Collection[str]) -> None:
        """Keep nothing of schedules that are gone."""
        self._since = {name: since for name, since in self._since.items() if name in schedules}
        self._problems = {name: text for name, text in self._problems.items() if name in schedules}

    async def look(self, schedule: str, source: SettledFiles, taken: Collection[str]) -> FoundFiles | None:
        """What is there that was not taken; none if this node may not look, or cannot."""
        if not self._folders:
            return None
        listing = await asyncio.to_thread(_read_allowed, source, self._folders)
        if listing is None:
            self.forget_others([name for name in self._since if name != schedule])
            return None
        self._note_problem(schedule, source.directory, listing.problem)
        if listing.problem:
            return None
        now, before = self._clock(), self._since.get(schedule, {})
        keys = {file: file.key for file in listing.files}
        since = {file: before.get(file, now) for file, key in keys.items() if key not in taken}
        self._since[schedule] = since
        settled = sorted(file for file, first in since.items() if now - first >= source.settle)
        return FoundFiles(tuple(settled), tuple(keys.values()))

    def _note_problem(self, schedule: str, directory: str, problem: str) -> None:
        text = f"{directory}: {schedule} waits for files, and it {problem}" if problem else ""
        if text and self._problems.get(schedule) != text:
            _log.warning("files cannot be read", schedule=schedule, directory=directory, problem=problem)
        self._problems = {**self._problems, schedule: text} if text else _without(self._problems, schedule)


def _without(problems: Mapping[str, str], schedule: str) -> dict[str, str]:
    return {name: text for name, text in problems.items() if name != schedule}


def _read_allowed(source: SettledFiles, folders: Sequence[str]) -> _Listing | None:
    """The files that match; none if nobody may look there."""
    if not may_watch(source, folders):
        return None
    try:
        return _list(source)
    except OSError as error:
        return _Listing(problem=f"cannot be read: {error.strerror}")


def _list(source: SettledFiles) -> _Listing:
    files: list[SettledFile] = []
    with os.scandir(os.path.realpath(source.directory)) as entries:
        for count, entry in enumerate(entries):
            if count >= MAX_ENTRIES or len(files) > MAX_FILES:
                break
            if _matches(entry.name, source.names) and (file := _file(source, entry)):
                files.append(file)
        else:
            if len(files) <= MAX_FILES:
                return _Listing(tuple(files))
    most = f"{MAX_FILES:,} files that match" if len(files) > MAX_FILES else f"{MAX_ENTRIES:,} names"
    return _Listing(problem=f"has more than {most}: move away what is done")


def _matches(name: str, pattern: str) -> bool:
    """Hidden files match only a pattern that begins with a dot."""
    return fnmatchcase(name, pattern) and (not name.startswith(".") or pattern.startswith("."))


def _file(source: SettledFiles, entry: "os.DirEntry[str]") -> SettledFile | None:
    """A regular file as it is now; none if it is something else, or gone."""
    try:
        if not entry.is_file(follow_symlinks=False):
            return None
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return SettledFile(f"{source.directory.rstrip('/')}/{entry.name}", status.st_size, status.st_mtime_ns)
