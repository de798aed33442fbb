"""Every store passes the same suite."""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tickwise.stores.contract import Store
from tickwise.stores.redis import jobs
from tickwise.stores.sql import claimed_rows
from tickwise.stores.url import open_store
from tickwise.testing.conformance import StoreConformance

URLS: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "memory": lambda _: "memory://",
    "sqlite": lambda request: f"sqlite:///{request.getfixturevalue('tmp_path')}/tickwise.db",
    "postgres": lambda request: request.getfixturevalue("emptied_postgres"),
    "mysql": lambda request: request.getfixturevalue("emptied_mysql"),
    "mongodb": lambda request: request.getfixturevalue("emptied_mongodb"),
    "redis": lambda request: request.getfixturevalue("emptied_redis"),
}


class Variant(NamedTuple):
    """A store, and whether simple jobs go the long way like all others."""

    store: str
    long_way: bool = False


VARIANTS = {
    **{name: Variant(name) for name in URLS},
    "sqlite, the long way": Variant("sqlite", long_way=True),
    "redis, the long way": Variant("redis", long_way=True),
}


class TestEveryStore(StoreConformance):
    @pytest.fixture(autouse=True, params=VARIANTS)
    def at(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the store is; each test gets an empty one."""
        store, long_way = VARIANTS[request.param]
        if long_way:
            monkeypatch.setattr(claimed_rows, "cached_job", lambda *_: None)
            monkeypatch.setattr(jobs, "plain_job", lambda *_: None)
        self.url = URLS[store](request)

    async def open(self, clock: Callable[[], int]) -> Store:
        store = open_store(self.url, clock)
        await store.schema.upgrade()
        return store


def test_no_story_hides_another() -> None:
    """The suite is one class made of many, so two stories of one name would be one."""
    names = Counter(name for part in StoreConformance.__bases__ for name in vars(part) if name.startswith("test_"))
    assert [name for name, number in names.items() if number > 1] == []
    assert len(names) > 100
