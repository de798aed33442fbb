"""Databases on the server, each for one contender and for as long as it is measured."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4


@asynccontextmanager
async def connection(url: str) -> AsyncIterator[Any]:
    connected = await import_module("asyncpg").connect(url)
    try:
        yield connected
    finally:
        await connected.close()


@asynccontextmanager
async def database(server: str) -> AsyncIterator[str]:
    """The URL of an empty database."""
    name = f"tickwise_bench_{uuid4().hex[:12]}"
    async with connection(server) as asked:
        await asked.execute(f"CREATE DATABASE {name}")
        try:
            yield urlsplit(server)._replace(path=f"/{name}").geturl()
        finally:
            await asked.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def tidy(url: str) -> None:
    """Do what autovacuum would do in its own time, so that it does not come in the middle of a turn."""
    if url.startswith("postgresql"):
        async with connection(url) as asked:
            await asked.execute("VACUUM ANALYZE")
