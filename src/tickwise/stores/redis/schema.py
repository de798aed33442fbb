"""The schema: a mark that says which version wrote the keys, and whether the server is fit to keep them.

There is nothing to create. Each version leaves its mark; `compatible_from` is the oldest version whose programs
can work beside it.
"""

import json

from ...core.errors import InputError, TickwiseError
from ...log import get_logger
from .base import SCHEMA_NAME, SCHEMA_VERSION, RedisServer, unfit
from .durability import ServerSettings, server_settings

MARKS = ({"version": SCHEMA_VERSION, "name": SCHEMA_NAME, "compatible_from": 1},)
_log = get_logger()


async def make_ready(server: RedisServer) -> None:
    """Check once that this version can work with the store."""
    if server.is_ready:
        return
    await _check_server(server)
    if problem := unfit(await server.marks()):
        raise TickwiseError(f"the store {server.name} on Redis cannot be used: {problem}")
    server.is_ready = True


async def _check_server(server: RedisServer) -> ServerSettings:
    found = await server_settings(server)
    if found.problems:
        raise InputError(found.problems[0])
    return found


async def upgrade(server: RedisServer) -> tuple[str, ...]:
    """Leave the marks of this version; of several callers one does. Say what the server may lose."""
    settings, loss = (await _check_server(server)).durability
    _log.info("the store is on Redis", store=server.name, settings=settings, loss=loss or "a crash loses nothing")
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
