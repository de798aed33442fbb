"""The schema: a mark that says which version wrote the keys, and whether the server is fit to keep them.

There is nothing to create. Each version leaves its mark; `compatible_from` is the oldest version whose programs
can work beside it.
"""

import json
from functools import cache

from ...core.errors import InputError, TickwiseError
from ...log import get_logger
from .base import SCHEMA_NAME, SCHEMA_VERSION, RedisServer, unfit
from .durability import server_settings

MARKS = ({"version": SCHEMA_VERSION, "name": SCHEMA_NAME, "compatible_from": 1},)
_log = get_logger()


async def make_ready(server: RedisServer) -> None:
    """Check once that this version can work with the store, and say what the server may lose."""
    if server.is_ready:
        return
    await _check_server(server)
    if problem := unfit(await server.marks()):
        raise TickwiseError(f"the store {server.name} on Redis cannot be used: {problem}")
    server.is_ready = True


async def _check_server(server: RedisServer) -> None:
    found = await server_settings(server)
    if found.problems:
        raise InputError(found.problems[0])
    _log_durability(server.name, *found.durability)


@cache
def _log_durability(store: str, settings: str, loss: str) -> None:
    """Say once in the life of a process what may be lost."""
    _log.info("the store is on Redis", store=store, settings=settings, loss=loss or "a crash loses nothing")


async def upgrade(server: RedisServer) -> tuple[str, ...]:
    """Leave the marks of this version; of several callers one does."""
    await _check_server(server)
    made = []
    for mark in MARKS:
        text = json.dumps({**mark, "applied_at": await server.now()})
        if await server.command("HSETNX", server.key("schema"), str(mark["version"]), text):
            made.append(str(mark["name"]))
    return tuple(made)


async def check(server: RedisServer) -> tuple[str, ...]:
    """What keeps this version from working with what is there."""
    problems = (await server_settings(server)).problems
    unfitness = unfit(await server.marks())
    return (*problems, unfitness) if unfitness else problems
