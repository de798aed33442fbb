"""Stores with a connection: opened by the first scheduler that starts, closed by the last one that stops."""

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from ..core.errors import ConflictError, InputError
from .contract import JobStore


def load_driver(module: str, extra: str) -> Any:
    """The driver of a database; InputError with the fix if it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"{module} is not installed: pip install 'tickwise[{extra}]'") from None


def split_url(url: str) -> SplitResult:
    """The parts of a URL, for errors that must not show its password."""
    try:
        return urlsplit(url)
    except ValueError as error:
        raise InputError(f"the URL cannot be read: {error}") from error


def version_error(name: str, version: Sequence[int], oldest: tuple[int, int]) -> InputError:
    first, second = oldest
    return InputError(
        f"this is {name} {version[0]}.{version[1]}, which lacks what the lock needs: "
        f"upgrade the server to {first}.{second} or later"
    )


class ConnectedStore(JobStore):
    """A store that is used on one event loop at a time."""

    def __init__(self) -> None:
        self._users = 0
        self._is_open = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open_lock = asyncio.Lock()

    @abstractmethod
    async def _connect(self) -> None:
        """Connect, and check that the collection can be processed."""

    @abstractmethod
    async def _close(self) -> None:
        """Close the connection, even one that is not fully open."""

    @property
    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """The exceptions of the driver."""

    @abstractmethod
    def _explain(self, error: Exception) -> InputError:
        """The error with a fix."""

    @asynccontextmanager
    async def _explained_errors(self) -> AsyncIterator[None]:
        try:
            yield
        except InputError:
            raise
        except self._errors as error:
            raise self._explain(error) from error

    async def _open(self) -> None:
        try:
            async with self._explained_errors():
                await self._connect()
        except BaseException:
            await self._close()
            raise

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._users:
                raise ConflictError(
                    "this store is in use on another event loop: give each loop a store of its own"
                )
            self._loop, self._open_lock, self._is_open = loop, asyncio.Lock(), False
        self._users += 1
        try:
            async with self._open_lock:
                if not self._is_open:
                    await self._open()
                    self._is_open = True
        except BaseException:
            self._users -= 1
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._users -= 1
        async with self._open_lock:
            if self._is_open and not self._users:
                self._is_open = False
                await self._close()
