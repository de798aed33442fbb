"""What the tests of nodes and apps share: patience, a moved clock, a listener, and a store that can fail."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec

from tickwise.app.hooks import Hooks, RunEvent
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import Node, Role
from tickwise.testing import FakeClock
from tickwise.testing.conformance.world import World

P = ParamSpec("P")
PATIENCE = 120  # seconds before a test that hangs is given up
START = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def patiently(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run an async test in a loop of its own, and not for ever."""

    @wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        async def in_time() -> None:
            async with asyncio.timeout(PATIENCE):
                await test(*arguments, **named)

        asyncio.run(in_time())

    return run


class Clock(FakeClock):
    """The clock of a store: calling it tells the microseconds."""

    def __init__(self, start: datetime = START) -> None:
        super().__init__(start)

    def __call__(self) -> int:
        return (self.now() - _EPOCH) // timedelta(microseconds=1)


def at(time: str) -> datetime:
    """`03:00` or `03:00:30` of the first day."""
    return datetime.fromisoformat(f"2026-01-01T{time}+00:00")


async def new_world(store: Store | None = None) -> World:
    """A memory store on a moved clock, where a worker of the queues `default` and `other` lives for good."""
    clock = Clock()
    world = World(store or MemoryStore(clock), clock)
    await world.begin()
    return world


async def leap(store: Store, clock: Clock, time: str) -> None:
    """Set the clock under a node that lives: by the new time it has not been seen for long, but this one has."""
    await store.beat(Node("anybody", (Role.WORKER,), queues=("default",), seconds=10**9))
    clock.set(at(time))


class Heard:
    """Keeps what a node's hooks tell, and lets tests wait for it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.events: list[RunEvent] = []
        self.errors: list[tuple[str, Exception]] = []
        self._news = asyncio.Event()
        self.hooks = Hooks(
            on_start=lambda: self._hear("start"),
            on_stop=lambda: self._hear("stop"),
            on_idle=lambda: self._hear("idle"),
            on_error=self._error,
            on_run=self._run,
        )

    def _hear(self, what: str) -> None:
        self.told.append(what)
        self._news.set()

    def _error(self, role: str, error: Exception) -> None:
        self.errors.append((role, error))
        self._hear(f"error {role}")

    def _run(self, event: RunEvent) -> None:
        self.events.append(event)
        self._hear(f"{event.what} {event.job}")

    async def until(self, *told: str) -> None:
        """Wait until each of these has been told, as often as it stands here."""
        wanted = Counter(told)
        while wanted - Counter(self.told):
            self._news.clear()
            await self._news.wait()


class Shaky:
    """A store of which single operations can be told to fail, to hang, or to tell before and after."""

    def __init__(self, store: Store) -> None:
        self.inner = store
        self.calls: Counter[str] = Counter()
        self.faults: dict[str, Callable[[], Awaitable[object]]] = {}
        self.after: dict[str, Callable[..., None]] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name in ("access", "insights", "schema"):
            return found

        async def operation(*arguments: Any, **named: Any) -> Any:
            self.calls[name] += 1
            if name in self.faults:
                await self.faults[name]()
            answer = await found(*arguments, **named)
            if name in self.after:
                self.after[name](answer)
            return answer

        return operation

    def fail(self, *names: str) -> None:
        async def fail() -> None:
            raise StoreUnavailableError("the cable is out")

        self.faults |= dict.fromkeys(names, fail)

    def hang(self, *names: str) -> None:
        async def hang() -> None:
            await asyncio.Event().wait()

        self.faults |= dict.fromkeys(names, hang)

    def mend(self) -> None:
        self.faults.clear()
