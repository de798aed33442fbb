"""When to scan a folder: at once, and whenever something in it may have changed.

The kernel reports changes (through watchfiles) in the folder and below it. For a single file, the folder around it
is watched, since editors replace the file by a new one; for a missing path, the folder where it should appear.
Every half second the watched folder itself is checked, because a watch ends silently with its folder.

Where the kernel cannot report changes (network disks, no watches left), the folder is scanned twice a second. A
scan is cheap, and sees more than the polling of watchfiles: two changes in one second, and folders with circular
links.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from pathlib import Path, PurePath
from typing import NamedTuple

from watchfiles import awatch

from ...log import get_logger
from .scan import ScanRequest

MAX_CHANGES = 256
_INTERVAL = 0.5  # seconds
_QUIET_MS = 50  # a burst has ended when nothing came for this long,
_MAX_BURST_MS = 400  # or when it took this long
_NETWORK_FILE_SYSTEMS = frozenset(
    "9p afs ceph cifs lustre ncpfs nfs nfs4 prl_fs smb3 smbfs vboxsf virtiofs vmhgfs".split()
)
_HINT = "more watches: sysctl fs.inotify.max_user_watches and fs.inotify.max_user_instances"

log = get_logger()


class _WatchedPlace(NamedTuple):
    """What is watched, and its identity."""

    folder: Path
    is_whole: bool  # with all folders below
    device: int
    inode: int
    mode: int


class _LinkedStopEvent(asyncio.Event):
    """Set if `stop` is. watchfiles sets its event when it is cancelled, so it must not get `stop` itself."""

    def __init__(self, stop: asyncio.Event) -> None:
        super().__init__()
        self._stop = stop

    def is_set(self) -> bool:
        return self._stop.is_set() or super().is_set()


async def scan_requests(
    path: Path, stop: asyncio.Event, *, poll: bool | None, thorough_every: float
) -> AsyncGenerator[ScanRequest]:
    """Requests until `stop` is set: a thorough one at once, and then at least every `thorough_every` seconds."""
    clock = asyncio.get_running_loop().time
    due = clock()
    async with aclosing(_ticks(path, stop, poll=poll)) as ticks:
        async for tick in ticks:
            request = ScanRequest(thorough=True) if clock() >= due else tick
            if request:
                due = clock() + thorough_every if request.thorough else due
                yield request


async def _ticks(path: Path, stop: asyncio.Event, *, poll: bool | None) -> AsyncGenerator[ScanRequest | None]:
    """At least one tick every half second; most of them have no request."""
    yield None  # the first scan does not wait for the watch, which begins with another one
    is_polled = await asyncio.to_thread(_needs_polling, path) if poll is None else poll
    while not stop.is_set():
        try:
            place = None if is_polled else await asyncio.to_thread(_watched_place, path)
            if place:
                async with aclosing(_kernel_ticks(path, place, stop)) as ticks:
                    async for tick in ticks:
                        yield tick
                continue
        except FileNotFoundError:
            pass  # the folder around it is missing too
        except (OSError, RuntimeError, ExceptionGroup) as error:
            is_polled = True
            log.warning("folder_is_polled", path=str(path), because=_cause_text(error), hint=_HINT)
        await _wait_or_stop(stop)
        yield ScanRequest()


async def _kernel_ticks(
    path: Path, place: _WatchedPlace, stop: asyncio.Event
) -> AsyncGenerator[ScanRequest | None]:
    """Ticks from the kernel until the watched folder is replaced."""
    changes = awatch(
        place.folder,
        recursive=place.is_whole,
        stop_event=_LinkedStopEvent(stop),
        watch_filter=None,
        step=_QUIET_MS,
        debounce=_MAX_BURST_MS,
        rust_timeout=int(_INTERVAL * 1_000),
        yield_on_timeout=True,
        force_polling=False,
        ignore_permission_denied=True,
    )
    is_new = True
    async with aclosing(changes) as bursts:
        async for burst in bursts:
            if await asyncio.to_thread(_watched_place, path) != place:
                yield ScanRequest()
                return
            request = _request_for(place.folder, (file for _, file in burst))
            yield ScanRequest(thorough=True) if is_new else request
            is_new = False


def _request_for(folder: Path, changed: Iterable[str]) -> ScanRequest | None:
    """The request for a burst. Hidden files do not count, except `..data`, which swaps config maps."""
    named = frozenset(file for file in changed if not _is_hidden(os.path.relpath(file, folder)))
    if len(named) > MAX_CHANGES:
        log.warning("many_changes", folder=str(folder), changes=len(named), action="the folder is read in full")
        return ScanRequest(thorough=True)
    return ScanRequest(named) if named else None


def _is_hidden(below: str) -> bool:
    return any(part[0] == "." and part[:2] != ".." for part in PurePath(below).parts)


def _watched_place(path: Path) -> _WatchedPlace:
    is_whole = path.is_dir()
    folder = path if is_whole else path.parent
    status = folder.stat()
    return _WatchedPlace(
        folder=folder, is_whole=is_whole, device=status.st_dev, inode=status.st_ino, mode=status.st_mode
    )


def _needs_polling(path: Path) -> bool:
    """Whether the kernel cannot report changes, or the environment tells watchfiles to poll."""
    forced = os.environ.get("WATCHFILES_FORCE_POLLING", "").lower()
    if forced:
        return forced not in ("false", "disable", "disabled")
    kind = _file_system(path)
    return kind in _NETWORK_FILE_SYSTEMS or kind.startswith("fuse.")


def _file_system(path: Path) -> str:
    """The kind of file system of a path, empty if it is unknown."""
    try:
        device = path.stat().st_dev
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    number = f"{os.major(device)}:{os.minor(device)}"
    fields = next((line.split() for line in mounts.splitlines() if line.split()[2] == number), ["-", ""])
    return fields[fields.index("-") + 1]


def _cause_text(error: Exception) -> str:
    return str(error.exceptions[0] if isinstance(error, ExceptionGroup) else error)


async def _wait_or_stop(stop: asyncio.Event) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), _INTERVAL)
