"""Stories of stores that keep tables, in which the test may look at these and change them."""

from collections.abc import Callable
from typing import Any

import pytest

from tickwise.stores.contract import Store
from tickwise.stores.sql.driver import Pool
from tickwise.stores.sql.statement import Procedure, Rows, Statement
from tickwise.stores.sql.store import SqlStore
from tickwise.stores.url import open_store
from tickwise.testing.conformance.stories import Stories

from ..stores.test_conformance import URLS


class TableStories(Stories):
    @pytest.fixture(autouse=True, params=["sqlite", "postgres", "mysql"])
    def at(self, request: pytest.FixtureRequest) -> None:
        """Where the store is; each test gets an empty one."""
        self.url = URLS[request.param](request)

    async def open(self, clock: Callable[[], int]) -> Store:
        store = open_store(self.url, clock)
        assert isinstance(store, SqlStore)
        await store.schema.upgrade()
        self.driver = store.driver
        return store

    async def say(self, text: str, **values: Any) -> Rows:
        """A statement of the test's own."""

        def protocol() -> Procedure[Rows]:
            return (yield Statement(text)(**values))

        return await self.driver.run(protocol, Pool.OTHER)


class PostgresStories(TableStories):
    @pytest.fixture(autouse=True)
    def at(self, request: pytest.FixtureRequest) -> None:
        self.url = URLS["postgres"](request)


class MysqlStories(TableStories):
    @pytest.fixture(autouse=True)
    def at(self, request: pytest.FixtureRequest) -> None:
        self.url = URLS["mysql"](request)
