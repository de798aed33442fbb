"""A store that nobody else uses, opened anew for each thing that is done to it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Procedure, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store

T = TypeVar("T")


class StoreAddress(NamedTuple):
    """Where it is, and its time if that is a test's own."""

    url: str
    clock: Callable[[], int] | None = None

    def do(self, act: Callable[[SqlStore], Awaitable[T]]) -> T:
        async def with_store() -> T:
            store = open_store(self.url, self.clock)
            assert isinstance(store, SqlStore)
            try:
                return await act(store)
            finally:
                await store.close()

        return asyncio.run(with_store())

    def say(self, text: str, **values: Any) -> list[Any]:
        """Ask the tables directly."""

        def protocol() -> Procedure[list[Any]]:
            return [tuple(row) for row in (yield Statement(text)(**values))]

        return self.do(lambda store: store.driver.run(protocol, Pool.OTHER))

    def upgrade(self) -> tuple[str, ...]:
        return self.do(lambda store: store.schema.upgrade())

    def check(self) -> tuple[str, ...]:
        return self.do(lambda store: store.schema.check())
