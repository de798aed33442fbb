"""A collection of MongoDB as the store calls it: over a URL, or over a collection object of the user's own.

Calls of a synchronous collection run in threads, those of the others on the event loop. A client that the user has
made is never closed.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any, Self, TypeVar

from ..core.errors import InputError
from .connection import load_driver, split_url

T = TypeVar("T")
_HOW_TO_NAME = "give MongoJobStore a URL and the name of a collection, or a collection object of pymongo"


class CollectionAccess(ABC):
    """One collection: acknowledged by a majority, read from the primary, with aware dates."""

    def __init__(self, name: str, user: str | None, database: str, query: str = "") -> None:
        self.driver = load_driver("pymongo", "mongodb")
        self.name = name
        self.user = user
        self.database = database
        self.query = query  # of the URL
        self._collection: Any = None

    @classmethod
    def from_object(cls, given: Any) -> Self:
        """Over the user's own object."""
        made = cls(given.name, None, given.database.name)
        made._collection = made._prepare(given)
        return made

    async def open(self) -> None:  # noqa: B027  (an object of the user's own is ready)
        """Make it ready for calls on the running event loop."""

    async def close(self) -> None:  # noqa: B027  (and is the user's to close)
        """Release what `open` has made."""

    @abstractmethod
    async def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the collection."""

    @abstractmethod
    async def find(self, where: Mapping[str, Any], shown: Mapping[str, Any], **options: Any) -> list[Any]:
        """The documents that match."""

    @abstractmethod
    async def command(self, name: str) -> Any:
        """Run a command of the admin database."""

    @abstractmethod
    def changes(self, pipeline: Sequence[Mapping[str, Any]]) -> AsyncGenerator[Any, None]:
        """The changes, as they come."""

    def _prepare(self, collection: Any) -> Any:
        return collection.with_options(
            codec_options=collection.codec_options.with_options(tz_aware=True, tzinfo=UTC, document_class=dict),
            read_preference=self.driver.ReadPreference.PRIMARY,
            write_concern=self.driver.WriteConcern("majority"),
        )


class _AsyncCollection(CollectionAccess):
    """The user's own `AsyncCollection`."""

    async def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        return await getattr(self._collection, method)(*arguments, **options)

    async def find(self, where: Mapping[str, Any], shown: Mapping[str, Any], **options: Any) -> list[Any]:
        found: list[Any] = await self._collection.find(where, shown, **options).to_list()
        return found

    async def command(self, name: str) -> Any:
        return await self._collection.database.client.admin.command(name)

    async def changes(self, pipeline: Sequence[Mapping[str, Any]]) -> AsyncGenerator[Any, None]:
        async with await self._collection.watch(pipeline) as stream:
            async for change in stream:
                yield change


class _UrlCollection(_AsyncCollection):
    """A collection on a connection of the store's own."""

    def __init__(self, url: str, name: str) -> None:
        address = split_url(url)
        super().__init__(name, address.username, address.path.strip("/"), address.query)
        self._url = url
        self._client: Any = None

    async def open(self) -> None:
        self._client = self.driver.AsyncMongoClient(self._url)
        self._collection = self._prepare(self._client.get_default_database()[self.name])

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()


class _SyncCollection(CollectionAccess):
    """The user's own `Collection`, which blocks: each call has a thread."""

    async def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        return await asyncio.to_thread(getattr(self._collection, method), *arguments, **options)

    async def find(self, where: Mapping[str, Any], shown: Mapping[str, Any], **options: Any) -> list[Any]:
        return await asyncio.to_thread(lambda: self._collection.find(where, shown, **options).to_list())

    async def command(self, name: str) -> Any:
        return await asyncio.to_thread(self._collection.database.client.admin.command, name)

    async def changes(self, pipeline: Sequence[Mapping[str, Any]]) -> AsyncGenerator[Any, None]:
        async with _closed_in_thread(await self.call("watch", pipeline)) as stream:
            while True:
                change = await asyncio.to_thread(stream.try_next)  # waits a second at most
                if change is not None:
                    yield change


@asynccontextmanager
async def _closed_in_thread(stream: T) -> AsyncIterator[T]:
    try:
        yield stream
    finally:
        close: Callable[[], None] = stream.close  # type: ignore[attr-defined]
        await asyncio.to_thread(close)


def mongo_collection(source: Any, name: str | None) -> CollectionAccess:
    """The collection that `source` and `name` mean: a URL and a name, or a collection object."""
    driver = load_driver("pymongo", "mongodb")
    if isinstance(source, str) and isinstance(name, str):
        return _UrlCollection(source, name)
    if name is None and isinstance(source, driver.asynchronous.collection.AsyncCollection):
        return _AsyncCollection.from_object(source)
    if name is None and isinstance(source, driver.collection.Collection):
        return _SyncCollection.from_object(source)
    given = type(source).__name__ + ("" if name is None else f" and {name!r}")
    raise InputError(f"{given} does not say which collection is meant: {_HOW_TO_NAME}")
