"""When to look at a folder: at once, and whenever something in it may have changed.

The kernel tells of changes (watchfiles) in the folder and below it; of a single file, in the folder around it, as
editors put a new file in the place of the old one; of a path that is not there, in the folder where it should
appear. Every half second the watched place itself is checked, as a watch dies silently with its folder.

Where the kernel cannot tell (network disks, no watches left) there is a reason to look twice a second. A look is
cheap, and sees more than the polling of watchfiles: two changes in one second, and folders with circular links.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from pathlib import Path, PurePath
from typing import NamedTuple

from watchfiles import awatch

from ...log import get_logger
from .scan import Look

MOST_CHANGES = 256
_PAUSE = 0.5
_QUIET_MS = 50  # a burst has settled when nothing came for this long,
_LONGEST_BURST_MS = 400  # or when it took this long
_REMOTE = frozenset("9p afs ceph cifs lustre ncpfs nfs nfs4 prl_fs smb3 smbfs vboxsf virtiofs vmhgfs".split())
_HINT = "more watches: sysctl fs.inotify.max_user_watches and fs.inotify.max_user_instances"

log = get_logger()


class _Place(NamedTuple):
    """What is watched, and by what it is known to be the same."""

    folder: Path
    is_whole: bool  # with all that is below
    device: int
    inode: int
    mode: int


class _Ended(asyncio.Event):
    """An event that follows another, which is not ours to set: watchfiles sets its event when it is cancelled."""

    def __init__(self, stop: asyncio.Event) -> None:
        super().__init__()
        self._stop = stop

    def is_set(self) -> bool:
        return self._stop.is_set() or super().is_set()


async def looks(
    path: Path, stop: asyncio.Event, *, poll: bool | None, thorough_every: float
) -> AsyncGenerator[Look]:
    """Reasons to look until `stop` is set, a thorough one at once and then at least every so many seconds."""
    clock = asyncio.get_running_loop().time
    due = clock()
    async with aclosing(_ticks(path, stop, poll=poll)) as ticks:
        async for tick in ticks:
            look = Look(thorough=True) if clock() >= due else tick
            if look:
                due = clock() + thorough_every if look.thorough else due
                yield look


async def _ticks(path: Path, stop: asyncio.Event, *, poll: bool | None) -> AsyncGenerator[Look | None]:
    """At least one tick every half second; most have no reason to look."""
    yield None  # the first look does not wait for the watch; the watch begins with another
    is_polled = await asyncio.to_thread(_needs_polling, path) if poll is None else poll
    while not stop.is_set():
        try:
            place = None if is_polled else await asyncio.to_thread(_place, path)
            if place:
                async with aclosing(_told(path, place, stop)) as ticks:
                    async for tick in ticks:
                        yield tick
                continue
        except FileNotFoundError:
            pass  # not even the folder around it is there
        except (OSError, RuntimeError, ExceptionGroup) as error:
            is_polled = True
            log.warning("folder_is_polled", path=str(path), because=_cause(error), hint=_HINT)
        await _pause(stop)
        yield Look()


async def _told(path: Path, place: _Place, stop: asyncio.Event) -> AsyncGenerator[Look | None]:
    """Ticks from the kernel for as long as the place is the same."""
    changes = awatch(
        place.folder,
        recursive=place.is_whole,
        stop_event=_Ended(stop),
        watch_filter=None,
        step=_QUIET_MS,
        debounce=_LONGEST_BURST_MS,
        rust_timeout=int(_PAUSE * 1_000),
        yield_on_timeout=True,
        force_polling=False,
        ignore_permission_denied=True,
    )
    is_new = True
    async with aclosing(changes) as bursts:
        async for burst in bursts:
            if await asyncio.to_thread(_place, path) != place:
                yield Look()
                return
            look = _look(place.folder, (file for _, file in burst))
            yield Look(thorough=True) if is_new else look
            is_new = False


def _look(folder: Path, changed: Iterable[str]) -> Look | None:
    """The look that a burst asks for. Hidden files do not, but for `..data`, by which config maps are swapped."""
    named = frozenset(file for file in changed if not _is_hidden(os.path.relpath(file, folder)))
    if len(named) > MOST_CHANGES:
        log.warning("many_changes", folder=str(folder), changes=len(named), action="the folder is read in full")
        return Look(thorough=True)
    return Look(named) if named else None


def _is_hidden(below: str) -> bool:
    return any(part[0] == "." and part[:2] != ".." for part in PurePath(below).parts)


def _place(path: Path) -> _Place:
    is_whole = path.is_dir()
    folder = path if is_whole else path.parent
    found = folder.stat()
    return _Place(folder, is_whole, found.st_dev, found.st_ino, found.st_mode)


def _needs_polling(path: Path) -> bool:
    """Whether the kernel cannot tell of changes, or somebody said so to watchfiles."""
    said = os.environ.get("WATCHFILES_FORCE_POLLING", "").lower()
    if said:
        return said not in ("false", "disable", "disabled")
    kind = _file_system(path)
    return kind in _REMOTE or kind.startswith("fuse.")


def _file_system(path: Path) -> str:
    """The kind of file system a path is on, or nothing where that is not told."""
    try:
        device = path.stat().st_dev
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    fields = next((line.split() for line in mounts.splitlines() if line.split()[2] == number), ["-", ""])
    return fields[fields.index("-") + 1]


def _cause(error: Exception) -> str:
    return str(error.exceptions[0] if isinstance(error, ExceptionGroup) else error)


async def _pause(stop: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), _PAUSE)
