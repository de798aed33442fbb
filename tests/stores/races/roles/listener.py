"""A process that only waits for notifications."""

import asyncio
from typing import Any
from unittest.mock import patch

import asyncpg

from ....support.races.channel import Line, Stop
from ....support.races.race import opened


async def say_news(line: Line, url: str, clock: str, node: str) -> None:
    """Say each time that there are news, without ever looking oneself."""
    del node
    store, stop = opened(url, clock), Stop(line)
    await store.wait(60)
    line.say("listening")
    while not stop:
        if await stop.or_done(store.wait(3_600)):
            line.say("news")
    await store.close()


async def listen_again(line: Line, url: str, clock: str, node: str) -> None:
    """Give up while the connection is just learning to listen; then wait for news."""
    del node
    store, may_go_on = opened(url, clock), asyncio.Event()
    at_once = asyncpg.Connection.add_listener

    async def slowly(self: Any, *arguments: Any) -> None:
        line.say("beginning")
        await may_go_on.wait()
        await at_once(self, *arguments)

    with patch.object(asyncpg.Connection, "add_listener", slowly):
        waiting = asyncio.ensure_future(store.wait(60))
        await line.listen()
        waiting.cancel()
        await asyncio.wait((waiting,))
        may_go_on.set()
        await store.wait(60)
    line.say("listening")
    line.say(await store.wait(60))
    await store.close()
