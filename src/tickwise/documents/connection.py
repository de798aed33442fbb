"""What stores with a connection share: they are opened by the first scheduler that starts, closed by the last."""

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


def driver(module: str, extra: str) -> Any:
    """A database's driver, or how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"{module} is not installed: pip install 'tickwise[{extra}]'") from None


def address(url: str) -> SplitResult:
    """The parts of a URL, for errors that must not show its password."""
    try:
        return urlsplit(url)
    except ValueError as error:
        raise InputError(f"the URL cannot be read: {error}") from error


def too_old(name: str, version: Sequence[int], oldest: tuple[int, int]) -> InputError:
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
        self._turn = asyncio.Lock()

    @abstractmethod
    async def _connect(self) -> None:
        """Connect, and check that the collection can be worked off."""

    @abstractmethod
    async def _close(self) -> None:
        """Let go of what there is of a connection."""

    @property
    @abstractmethod
    def _errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""

    @abstractmethod
    def _explained(self, error: Exception) -> InputError:
        """The same in words that help."""

    @asynccontextmanager
    async def _explaining(self) -> AsyncIterator[None]:
        try:
            yield
        except InputError:
            raise
        except self._errors as error:
            raise self._explained(error) from error

    async def _open(self) -> None:
        try:
            async with self._explaining():
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
            self._loop, self._turn, self._is_open = loop, asyncio.Lock(), False
        self._users += 1
        try:
            async with self._turn:
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
        async with self._turn:
            if self._is_open and not self._users:
                self._is_open = False
                await self._close()
