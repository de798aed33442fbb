"""A server that is no replica set will do: what needs care without transactions is tried on one, too."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from tickwise.stores.contract import Store
from tickwise.stores.mongo.base import DEFAULT_DATABASE
from tickwise.stores.url import open_store
from tickwise.testing.conformance.definitions import DefinitionStories
from tickwise.testing.conformance.enqueue import EnqueueStories, RetryStories, TriggerStories
from tickwise.testing.conformance.finish import FinishStories
from tickwise.testing.conformance.limits import LimitStories
from tickwise.testing.conformance.overlap_and_lanes import OverlapStories


class TestStandalone(
    DefinitionStories, EnqueueStories, TriggerStories, RetryStories, OverlapStories, FinishStories, LimitStories
):
    @pytest.fixture(autouse=True)
    def at(self, standalone_url: str) -> Iterator[None]:
        """One database is emptied after each test: to make all its indexes anew takes longer."""
        self.url = standalone_url
        yield
        with MongoClient[Any](standalone_url) as client:
            database = client[DEFAULT_DATABASE]
            for name in set(database.list_collection_names()) - {"tickwise_schema"}:
                database[name].delete_many({})

    async def open(self, clock: Callable[[], int]) -> Store:
        store = open_store(self.url, clock)
        await store.schema.upgrade()
        return store
