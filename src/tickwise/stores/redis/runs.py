"""Runs as scripts return them, and as the contract has them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.payload import UnreadableText
from ..job_document import Document
from ..records import Lease, RunRow
from ..run_document import digests, lease_of, row_of
from .base import RedisServer

_NUMBERS = frozenset(
    "slot priority attempt created_at due_at started_at finished_at lane failures losses lease_until expires_at "
    "patience key_ttl".split()
)


def run_of(found: Mapping[str, str]) -> Document:
    """The document of a run: everything is text in a hash."""
    run: Document = {name: int(value) if name in _NUMBERS else value for name, value in found.items()}
    run["_id"], run["cancelling"] = int(found["id"]), "cancelling" in found
    return {"attempt": 0, "failures": 0, "losses": 0, **run}


async def read_runs(server: RedisServer, ids: Iterable[Any]) -> list[Document]:
    """In the given order; those that are not there are left out."""
    wanted = [str(each) for each in ids]
    return [run_of(found) for found in await server.call("rows", ids=wanted)] if wanted else []


async def run_rows(server: RedisServer, runs: Sequence[Document]) -> list[RunRow]:
    await server.cache.read(digest for run in runs for digest in digests(run))
    return [row_of(server.cache, run) for run in runs]


async def leases_of(
    server: RedisServer, runs: Sequence[Document]
) -> tuple[tuple[Lease, ...], list[tuple[Document, str]]]:
    """Leased runs with their definitions; and those whose definition cannot be read, and why."""
    await server.cache.read(digest for run in runs for digest in digests(run))
    leases, unreadable = [], []
    for run in runs:
        try:
            leases.append(lease_of(server.cache, run))
        except UnreadableText as error:
            unreadable.append((run, str(error)))
    return tuple(leases), unreadable
