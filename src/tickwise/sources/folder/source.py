"""The folder source: look when there is a reason to, and tell what changed."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path

from ..defaults import NO_DEFAULTS, Defaults
from .reconcile import ActiveDefinitions, FolderChange, difference, reconcile
from .scan import FolderReader
from .watch import looks

_THOROUGH_EVERY = 30.0


class FolderSource:
    """A folder of job files, or a single one.

    `poll` looks twice a second instead of waiting for the file system to tell; if it is not given, network disks
    are polled. `defaults` stand in for what files do not say, and hold the user's own templates; `other_schedules`
    tells the names that `after` may use besides those found here, and is asked at every look.
    """

    def __init__(
        self,
        path: Path,
        *,
        poll: bool | None = None,
        defaults: Defaults = NO_DEFAULTS,
        other_schedules: Callable[[], frozenset[str]] = frozenset,
        thorough_every: float = _THOROUGH_EVERY,
    ) -> None:
        self.path = path
        self.name = f"folder:{path}"  # S50
        self._poll = poll
        self._defaults = defaults
        self._other_schedules = other_schedules
        self._thorough_every = thorough_every

    async def changes(self, stop: asyncio.Event) -> AsyncGenerator[FolderChange]:
        """All that is there, at once; then what changes, one item a burst, until `stop` is set."""
        reader = FolderReader(self.path, self.name, self._defaults)
        standing, seen = ActiveDefinitions(), None
        reasons = looks(self.path, stop, poll=self._poll, thorough_every=self._thorough_every)
        async with aclosing(reasons):
            async for look in reasons:
                content = await asyncio.to_thread(reader.read, look, stop.is_set)
                if stop.is_set():
                    return
                found = content, self._other_schedules()
                if found == seen:
                    continue
                before, seen = standing, found
                standing = await asyncio.to_thread(reconcile, before, *found)
                if change := difference(before, standing):
                    yield change
