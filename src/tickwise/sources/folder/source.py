"""The folder source: scans the folder when it may have changed, and yields the changes of definitions."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

from ...ownership import STRICT, WriterCheck
from ..defaults import NO_DEFAULTS, Defaults
from .reconcile import ActiveDefinitions, FolderChange, difference, reconcile
from .scan import FolderReader
from .watch import scan_requests

_THOROUGH_INTERVAL = 30.0


class FolderSource:
    """A folder of job files, or a single one, known by its name or, if it has none, by its resolved path.

    `poll` scans twice a second instead of waiting for file events; if it is None, only network disks are polled.
    `defaults` are used for what files do not say, and hold the user's own templates. `other_schedules` returns the
    names that `after` may use besides those in the folder; every scan calls it. `writers` says whose files
    are used.
    """

    def __init__(
        self,
        path: Path,
        name: str = "",
        *,
        poll: bool | None = None,
        defaults: Defaults = NO_DEFAULTS,
        writers: WriterCheck = STRICT,
        other_schedules: Callable[[], frozenset[str]] = frozenset,
        thorough_every: float = _THOROUGH_INTERVAL,
    ) -> None:
        self.path = path
        self.name = f"folder:{name or path.resolve()}"  # S50
        self._poll = poll
        self._defaults = defaults
        self._writers = writers
        self._other_schedules = other_schedules
        self._thorough_every = thorough_every

    async def changes(self, stop: asyncio.Event) -> AsyncGenerator[FolderChange]:
        """First everything in the folder, then one item for each burst of changes, until `stop` is set."""
        reader = FolderReader(self.path, self.name, self._defaults, self._writers)
        active, scanned = ActiveDefinitions(), None
        requests = scan_requests(self.path, stop, poll=self._poll, thorough_every=self._thorough_every)
        async with aclosing(requests):
            async for request in requests:
                content = await asyncio.to_thread(reader.read, request, stop.is_set)
                if stop.is_set():
                    return
                scan = content, self._other_schedules()
                if scan == scanned:
                    continue
                before, scanned = active, scan
                active = await asyncio.to_thread(reconcile, before, *scan)
                if change := difference(before, active):
                    yield change
