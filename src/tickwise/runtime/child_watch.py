"""What a node does for the children that it executes (S74): their ends wake their parents, and they end with them.

A parent looks at its child at least once a minute, and a child whose parent is over does not begin. So a node that
dies between an end and its wake-up delays the parent, and loses nothing.
"""

import asyncio
from collections.abc import Callable, Mapping

from ..core.model import Trigger
from ..core.states import FINAL, RunState
from ..log import get_logger
from ..stores.contract import Store
from ..stores.records import Lease
from .child_runs import parent_of

_log = get_logger()


class ChildWatch:
    """Follows the children among the runs of a node."""

    def __init__(self, store: Store, held: Callable[[], Mapping[str, str]], *, every: float = 1.0) -> None:
        self._store = store
        self._held = held
        self._every = every
        self._parents: dict[str, str | None] = {}  # of the children that run here, once they are known
        self._ended: set[str] = set()  # children whose parents are to be woken
        self.wake_event = asyncio.Event()

    def started(self, lease: Lease) -> None:
        if lease.trigger is Trigger.STEP:
            self._parents[lease.id] = None

    def ended(self, lease: Lease, state: RunState) -> None:
        if lease.trigger is Trigger.STEP and state in FINAL:
            self._ended.add(lease.id)
            self.wake_event.set()

    async def turn(self) -> float:
        for child in list(self._ended):
            if parent := await self._parent(child):
                await self._store.wake(parent)
            self._ended.discard(child)
        held = self._held()
        self._parents = {child: parent for child, parent in self._parents.items() if child in held}
        await self._end_orphans()
        return self._every

    async def _end_orphans(self) -> None:
        """Cancel children whose parents are over: by a cancel, a timeout, or because they were removed."""
        by_parent: dict[str, list[str]] = {}
        for child in list(self._parents):
            if parent := await self._parent(child):
                by_parent.setdefault(parent, []).append(child)
        for parent, children in by_parent.items():
            row = await self._store.insights.run(parent)
            if row is None or row.state in FINAL:
                for child in children:
                    _log.info("child cancelled", run=child, parent=parent)
                    await self._store.cancel(child)

    async def _parent(self, child: str) -> str | None:
        known = self._parents.get(child)
        if known is None:
            known = parent_of(await self._store.insights.run(child))
            self._parents.update({child: known} if child in self._parents else {})
        return known
