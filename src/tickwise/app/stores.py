"""The stores of an app: one for each event loop that uses it, opened when it is first needed.

Connections belong to the loop that made them, and an app may be used from several: its own thread's, a web
server's. A memory store is one for all loops, since its data is nowhere else.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from ..config import Settings
from ..core.definition import JobDefinition
from ..core.errors import InputError
from ..ownership import WriterCheck
from ..stores.access_contract import Access
from ..stores.contract import Store, StoreUnavailableError
from ..stores.url import check_exists, hidden, open_store
from .deadline_forecasts import DeadlineForecasts
from .definition_sync import DefinitionSync
from .enqueue import enqueue_group
from .events import EventGate
from .group_commit import GroupCommit

__all__ = ["Access", "LoopStores", "Store", "StoreOfLoop", "StoreUnavailableError"]


class StoreOfLoop:
    """A store in use, the definitions that go into it, and the runs that concurrent callers enqueue."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.enqueues = GroupCommit(partial(enqueue_group, store))
        self.events = EventGate(store)
        self.forecasts = DeadlineForecasts(store)
        self.definitions = DefinitionSync(store)
        self.defined: dict[str, JobDefinition] = {}  # jobs of the app's own code, as they were written
        self.lock = asyncio.Lock()


class LoopStores:
    """Opens and closes the stores of an app."""

    def __init__(self, settings: Callable[[], Settings], clock: Callable[[], int] | None, *, create: bool) -> None:
        self._settings = settings
        self._clock = clock
        self._create = create  # a store that is not there; else it is refused
        self._memory: Store | None = None
        self._opened: dict[asyncio.AbstractEventLoop, StoreOfLoop] = {}
        self._locks: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    @property
    def is_open(self) -> bool:
        return bool(self._opened)

    def make(self) -> Store:
        """A new store; a memory store is always the same."""
        url, writers = self._settings().store, WriterCheck(self._settings().trusted_folders)
        if urlsplit(url).scheme != "memory":
            return open_store(url, self._clock, writers)
        if self._memory is None:
            self._memory = open_store(url, self._clock)
        return self._memory

    async def here(self) -> StoreOfLoop:
        """The store of the running event loop, up to date."""
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            async with self._locks.setdefault(loop, asyncio.Lock()):
                if loop not in self._opened:
                    self._forget_dead_loops()
                    self._opened[loop] = StoreOfLoop(await self._open())
        return self._opened[loop]

    async def _open(self) -> Store:
        if not self._create:
            check_exists(self._settings().store)
        store = self.make()
        try:
            await (store.schema.upgrade() if self._create else self._check_schema(store))
        except BaseException:
            await store.close()
            raise
        return store

    async def _check_schema(self, store: Store) -> None:
        if problems := await store.schema.check(thorough=False):
            raise InputError(f"{hidden(self._settings().store)}: {problems[0]}")

    def _forget_dead_loops(self) -> None:
        for loop in [loop for loop in self._locks if loop.is_closed()]:
            self._opened.pop(loop, None)
            del self._locks[loop]

    async def close(self) -> None:
        """Close the store of the running event loop; a memory store is forgotten when no loop has it open."""
        opened = self._opened.pop(asyncio.get_running_loop(), None)
        if opened:
            await opened.store.close()
        if not self._opened:
            self._memory = None
