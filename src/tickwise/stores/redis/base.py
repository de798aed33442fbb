"""One store on a Redis server: its connection, its keys and its time; `call` runs a script.

All keys begin with `{NAME}:`. What stands in braces is their hash tag, so a cluster keeps all of them on one
node, and a script may use any of them. The client repeats nothing by itself: a script whose answer was lost may
have run.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from ...core.definition import check_name
from ...core.errors import InputError
from ...core.jobstate import EndedPause
from ...core.requirements import LiveWorkers, Offers
from ..digest_cache import DigestCache
from .notification import Notifications
from .plain_jobs import PlainJobs
from .scripts import script

MOVE_SECONDS = 30  # for the answer to one script
DEFAULT_NAME = "tickwise"
SCHEMA_VERSION, SCHEMA_NAME = 1, "0001_begin"
EXAMPLE = "redis://USER:PASSWORD@HOST:6379/0"
_CONNECTIONS, _CONNECT_SECONDS = 32, 5
_OWN_OPTIONS = frozenset({"name", "cluster"})
_ON = frozenset({"1", "true", "yes"})


class RedisServer:
    """The store's keys on a server. It is connected by the first move; `clock` gives tests their own time."""

    def __init__(self, url: str, clock: Callable[[], int] | None = None) -> None:
        parts = urlsplit(url)
        options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        plain = parts._replace(
            query=urlencode({k: v for k, v in options.items() if k not in _OWN_OPTIONS})
        ).geturl()
        self.name = check_name(options.get("name", DEFAULT_NAME), "the name of a store on Redis")
        self.prefix = f"{{{self.name}}}"
        try:
            self.client = _open_client(plain, cluster=options.get("cluster", "") in _ON)
            self.direct: Any = _open_client(plain, socket_timeout=None)  # to the very server of the URL
        except (ValueError, TypeError, RedisError) as error:
            raise InputError(f"the store's URL cannot be used: {error}; write {EXAMPLE}") from None
        self.news = Notifications(self.direct, self.key("news"))
        self.cache = RedisDefinitions(self)
        self.offers: dict[str, Offers] = {}  # of live workers, by their digests
        self.workers: tuple[list[str], LiveWorkers] = ([], LiveWorkers(()))  # as they were read last
        self.pauses: list[EndedPause] = []  # as far as they were read; they never change
        self.plain_jobs = PlainJobs()
        self.claimed: set[str] = set()  # jobs that passes of this process are about to move
        self.claiming = asyncio.Lock()
        self.is_ready = False
        self._clock = clock

    def key(self, *parts: str) -> str:
        return ":".join((self.prefix, *parts))

    def order(self, name: str, /, **given: Any) -> tuple[str, int, str, str]:
        """The text of a script and what it is given, as EVAL takes them."""
        return script(name).text, 1, self.prefix, self._text_of(given)

    def _text_of(self, given: dict[str, Any]) -> str:
        if self._clock:
            given["now"] = self._clock()
        return json.dumps(given, ensure_ascii=False, separators=(",", ":"))

    async def call(self, name: str, /, **given: Any) -> Any:
        """Run a script. A server that does not know it yet gets its text."""
        text = self._text_of(given)
        try:
            answer = await self.command("EVALSHA", script(name).sha, 1, self.prefix, text)
        except NoScriptError:
            answer = await self.command("EVAL", script(name).text, 1, self.prefix, text)
        return json.loads(answer)

    async def command(self, *words: Any) -> Any:
        """Send one command; its first key says which node of a cluster gets it."""
        return await self.client.execute_command(*words)

    async def now(self) -> int:
        """The server's time, in microseconds."""
        if self._clock:
            return self._clock()
        seconds, microseconds = await self.client.time()
        return int(seconds) * 1_000_000 + int(microseconds)

    async def marks(self) -> list[dict[str, Any]]:
        """What the versions that upgraded the store have left."""
        found: dict[str, str] = await self.command("HGETALL", self.key("schema"))
        return [json.loads(mark) for _, mark in sorted(found.items())]

    async def close(self) -> None:
        await self.news.close()
        for client in (self.direct, self.client):
            await client.aclose()


def _open_client(url: str, *, cluster: bool = False, **given: Any) -> Redis | RedisCluster:
    options: dict[str, Any] = {
        "decode_responses": True, "socket_timeout": MOVE_SECONDS, "socket_connect_timeout": _CONNECT_SECONDS,
        "retry": Retry(NoBackoff(), 0), **given,
    }  # fmt: skip
    if cluster:
        return RedisCluster.from_url(url, **options)
    pool = BlockingConnectionPool.from_url(url, max_connections=_CONNECTIONS, timeout=MOVE_SECONDS, **options)
    return Redis.from_pool(pool)


def unfit(marks: Sequence[Mapping[str, Any]]) -> str:
    """Why this version cannot work with a store that has these marks; empty if it can."""
    if not any(mark["version"] == SCHEMA_VERSION for mark in marks):
        return f"{SCHEMA_NAME} is not applied yet: run `tickwise store upgrade`"
    if max(mark["compatible_from"] for mark in marks) > SCHEMA_VERSION:
        return "a newer version upgraded it, which this one cannot work beside: update this one"
    return ""


class RedisDefinitions(DigestCache):
    """A hash of texts by their digests."""

    def __init__(self, server: RedisServer) -> None:
        super().__init__()
        self._server = server

    async def _fetch(self, digests: Sequence[str]) -> Mapping[str, str]:
        found = await self._server.command("HMGET", self._server.key("definitions"), *digests)
        return {digest: body for digest, body in zip(digests, found, strict=True) if body is not None}

    async def _write(self, bodies: Mapping[str, str]) -> None:
        words = [word for pair in bodies.items() for word in pair]
        await self._server.command("HSET", self._server.key("definitions"), *words)
