"""Documents in Redis or Valkey: JSON texts in a hash, and a sorted set of the instants at which they are due.

Under the name `mail` these are the keys `{mail}:documents` and `{mail}:due`. The sorted set is only an index: what
a document says counts. An entry that does not agree with its document is corrected when it comes to the front. So
whoever writes a document by other means than this store enters its key with the score 0, which means: look at it.
Idle schedulers listen on the channel `{mail}:news`, on which `add` and `change` publish.

Every operation ends with one script that writes new texts where the old ones are unchanged. The texts are made
here and not in the script, because Lua cannot write back all of JSON (an empty list becomes an object). A
lock begins with a script that puts the first entries aside for a few seconds, so no scheduler competes for them.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

from ..core.errors import ConflictError, InputError
from ..log import get_logger
from .connection import ConnectedStore, load_driver, split_url
from .contract import Ending, Fields, Locked, LockLostError, Renew, Wakeup, clear_at, set_at, value_at
from .decide import Release, Remove, Sleep, instant

_RESERVED_MS = 5_000  # for which a lock that has begun keeps entries from others
_FRONT_SIZE = 100
_RECONNECT_DELAY, _CANCEL_AGAIN = 1.0, 0.05  # seconds
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
_RESERVE = f"""{_NOW}
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
local found = {{now, #due}}
for i = 1, #due, 2 do
  local text = redis.call('HGET', KEYS[1], due[i])
  if text then
    if ARGV[2] ~= '' then redis.call('ZADD', KEYS[2], now + ARGV[2], due[i]) end
    for _, value in ipairs({{due[i], text, due[i + 1]}}) do found[#found + 1] = value end
  else
    redis.call('ZREM', KEYS[2], due[i])
  end
end
return found
"""
_READ = f"""{_NOW}
local found = {{now}}
for i, key in ipairs(ARGV) do found[i + 1] = redis.call('HGET', KEYS[1], key) end
return found
"""
_SWAP = """
local results = {}
for i = 1, #ARGV, 4 do
  local key, old, new, score = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local text = redis.call('HGET', KEYS[1], key)
  if text == old or text == new then
    if new == '' then redis.call('HDEL', KEYS[1], key) else redis.call('HSET', KEYS[1], key, new) end
    if score == '' then redis.call('ZREM', KEYS[2], key) else redis.call('ZADD', KEYS[2], score, key) end
    text = 1
  end
  results[#results + 1] = text
end
return results
"""
_ADD = """
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('PUBLISH', KEYS[3], '')
return 1
"""
_NEXT = f"""{_NOW}
local next = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return next[2] and tostring(next[2] - now)
"""
_FIXES = {
    "AuthenticationError": "see the user and the password in the URL",
    "NoPermissionError": "let the user read and write these keys, run scripts, and use the channel of their news: "
    "ACL SETUSER … +@all ~{keys}* &{keys}*",
    "ReadOnlyError": "connect to the primary; this server is a replica",
}
_NO_SERVER = "is the server running, and is the address right?"
_log = get_logger()

_Change: TypeAlias = Sleep | Release | Renew | Remove


class _Swap(NamedTuple):
    """Replace a document, if it is still the old one."""

    key: str
    old: str
    new: str  # empty: delete it
    score: int | None  # when it becomes available


class RedisJobStore(ConnectedStore):
    """The documents under a name. Times in them are ISO 8601 texts, in UTC unless they say otherwise."""

    def __init__(self, url: str, name: str, *, fields: Fields | None = None) -> None:
        self._driver = load_driver("redis.asyncio", "redis")
        super().__init__()
        self._url = url
        self._address = split_url(url)
        self._fields = fields or Fields()
        self._name = name
        self._keys = [f"{{{name}}}:{part}" for part in ("documents", "due", "news")]
        self._client: Any = None
        self._wakeup = Wakeup()
        self._listener: asyncio.Task[None] | None = None

    async def add(self, document: Mapping[str, Any]) -> str:
        """Add a document, to be called inside `async with store`; returns its `_id`, a new one if it has none."""
        key = str(document.get("_id", uuid4().hex))
        if not await self._run(_ADD, key, _dump({**document, "_id": key})):
            raise InputError(f"there is a document {key!r} already")
        return key

    async def get(self, key: str) -> dict[str, Any] | None:
        text = await self._client.hget(self._keys[0], key)
        return None if text is None else _with_key(key, _parse(key, text))

    async def change(self, key: str, values: Mapping[str, Any]) -> None:
        """Set the fields at these dotted paths."""

        def changed(document: dict[str, Any]) -> dict[str, Any]:
            for path, value in values.items():
                set_at(document, path, value)
            return document

        while (text := await self._client.hget(self._keys[0], key)) is not None:
            if await self._swap([self._replacement(key, text, changed(_parse(key, text)))]) == [1]:
                await self._client.publish(self._keys[2], "")
                return
        raise InputError(f"there is no document {key!r}")

    async def delete(self, key: str) -> None:
        await self._client.hdel(self._keys[0], key)

    async def lock_next(self, lock_until: timedelta) -> Locked | None:
        return next(iter(await self.lock_many(1, lock_until)), None)

    async def lock_many(self, count: int, lock_until: timedelta) -> list[Locked]:
        while True:
            now_ms, looked_at, *found = await self._run(_RESERVE, count, _RESERVED_MS)
            rows = _front(found)
            if not looked_at:
                return []
            if await self._correct(rows):
                continue
            if locked := await self._lock_rows(rows, _time(now_ms), lock_until):
                return locked

    async def _correct(self, rows: list[tuple[str, str, int]]) -> bool:
        """Whether an entry did not agree with its document. Then all get their places: others may come before."""
        swaps = [_Swap(key, text, text, self._available(self._readable(key, text))) for key, text, _ in rows]
        if all(swap.score == score for swap, (_, _, score) in zip(swaps, rows, strict=True)):
            return False
        await self._swap(swaps)
        return True

    async def _correct_front(self) -> bool:
        _, _, *found = await self._run(_RESERVE, _FRONT_SIZE, "")
        return await self._correct(_front(found))

    async def _lock_rows(self, rows: list[tuple[str, str, int]], now: datetime, length: timedelta) -> list[Locked]:
        fields, owner = self._fields, uuid4().hex
        end = _encode(now + length)
        swaps, locked = [], []
        for key, text, _ in rows:
            before, document = _with_key(key, _parse(key, text)), _parse(key, text)
            for path, value in ((fields.sleep_until, end), (fields.lock_until, end), (fields.lock_owner, owner)):
                set_at(document, path, value)
            swaps.append(self._replacement(key, text, document))
            locked.append(Locked.from_document(before, fields, key=key, owner=owner, now=now))
        results = await self._swap(swaps)
        return [each for each, result in zip(locked, results, strict=True) if result == 1]

    async def update(self, locked: Locked, change: Sleep | Release | Renew) -> Locked | None:
        return _raised(*await self._write([(locked, change)]))

    async def remove(self, locked: Locked) -> Locked | None:
        return _raised(*await self._write([(locked, Remove())]))

    async def finish_many(self, endings: Sequence[Ending]) -> "Sequence[Locked | Exception | None]":
        return await self._write(endings)

    async def renew_many(self, held: Sequence[Locked], lock_until: timedelta) -> None:
        await self._write([(locked, Renew(lock_until)) for locked in held])

    async def _write(self, changes: "Sequence[tuple[Locked, _Change]]") -> list[Locked | LockLostError | None]:
        """Write all; those whose document was changed in between are tried again."""
        results: list[Locked | LockLostError | None] = [None] * len(changes)
        left = list(range(len(changes)))
        while left:
            now_ms, *texts = await self._run(_READ, *(changes[place][0].facts.key for place in left))
            swaps: dict[int, _Swap] = {}
            texts += [None] * (len(left) - len(texts))
            for place, text in zip(left, texts, strict=True):
                made = self._prepare(*changes[place], text, _time(now_ms))
                if isinstance(made, _Swap):
                    swaps[place] = made
                else:
                    results[place] = made
            answers = await self._swap(list(swaps.values()))
            left = [place for place, answer in zip(swaps, answers, strict=True) if answer != 1]
        return results

    def _prepare(
        self, locked: Locked, change: _Change, text: str | None, now: datetime
    ) -> "_Swap | Locked | LockLostError | None":
        """The write; or what the change comes to without one."""
        key = locked.facts.key
        document = None if text is None else self._readable(key, text)
        try:
            shown = None if document is None else _with_key(key, document)
            current = locked.refreshed(shown, self._fields, now)
        except LockLostError as error:
            return error
        if text is None or document is None or current is None:
            return None
        if isinstance(change, Sleep | Remove) and current.facts != locked.facts:
            return current
        if isinstance(change, Remove):
            return _Swap(key, text, "", None)
        self._apply(document, change, current, now)
        return self._replacement(key, text, document)

    def _apply(
        self, document: dict[str, Any], change: Sleep | Release | Renew, current: Locked, now: datetime
    ) -> None:
        fields = self._fields
        if isinstance(change, Renew):
            end = _encode(now + change.lock_until)
            set_at(document, fields.lock_until, end)
            if not current.facts.moved:
                set_at(document, fields.sleep_until, end)
            return
        for path in (fields.lock_owner, fields.lock_until, fields.error):
            clear_at(document, path)
        if isinstance(change, Sleep):
            set_at(document, fields.sleep_until, None if change.until is None else _encode(change.until))
        elif change.error is not None:
            set_at(document, fields.error, change.error)

    def _replacement(self, key: str, old: str, document: Mapping[str, Any]) -> _Swap:
        return _Swap(key, old, _dump(document), self._available(document))

    def _available(self, document: Mapping[str, Any] | None) -> int | None:
        """When it can be locked, in ms: when it is due and its lock is over; none: never."""
        if document is None:
            return None
        try:
            due = instant(value_at(document, self._fields.sleep_until), "time")
            lock_until = value_at(document, self._fields.lock_until)
            locked_to = due if lock_until is None else instant(lock_until, "time")
        except InputError:
            return None
        return -((_EPOCH - max(due, locked_to)) // timedelta(milliseconds=1))

    def _readable(self, key: str, text: str) -> dict[str, Any] | None:
        try:
            return _parse(key, text)
        except InputError as error:
            _log.warning("unreadable document", name=self._name, key=key, error=str(error))
            return None

    async def _swap(self, swaps: Sequence[_Swap]) -> list[Any]:
        if not swaps:
            return []
        values = ["" if value is None else value for swap in swaps for value in swap]
        answers: list[Any] = await self._run(_SWAP, *values)
        return answers

    async def _run(self, script: str, *arguments: Any) -> Any:
        run: Callable[..., Awaitable[Any]] = self._client.register_script(script)
        return await run(keys=self._keys, args=arguments)

    async def next_due(self) -> float | None:
        while await self._correct_front():
            pass
        left = await self._run(_NEXT)
        return None if left is None else float(left) / 1000

    async def _connect(self) -> None:
        self._client = self._driver.Redis.from_url(self._url, decode_responses=True)
        await self._run(_READ)
        await self._run(_SWAP)
        await self._client.publish(self._keys[2], "")  # as it needs rights, too
        self._listener = asyncio.create_task(self._listen())

    async def wait(self, at_most: float) -> None:
        """The driver may swallow a cancellation while it reads, so a task of its own reads."""
        await self._wakeup.wait(lambda: asyncio.shield(self.next_due()), at_most)

    async def _listen(self) -> None:
        """The first message confirms the subscription. It wakes, too: what came before may have been missed."""
        while True:
            try:
                async with self._client.pubsub() as news:
                    await news.subscribe(self._keys[2])
                    async for _ in news.listen():
                        self._wakeup.notify()
            except (OSError, self._driver.RedisError) as error:
                _log.warning("notifications lost", name=self._name, error=str(error))
                await asyncio.sleep(_RECONNECT_DELAY)

    async def _close(self) -> None:
        listener, self._listener = self._listener, None
        while listener is not None and not listener.done():  # the driver may swallow a cancellation
            listener.cancel()
            await asyncio.wait((listener,), timeout=_CANCEL_AGAIN)
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @property
    def _errors(self) -> tuple[type[Exception], ...]:
        return ValueError, OSError, self._driver.RedisError

    def _explain(self, error: Exception) -> InputError:
        host = self._address.netloc.rpartition("@")[2]
        fix = _FIXES.get(type(error).__name__, _NO_SERVER).format(keys=f"{{{self._name}}}")
        return InputError(f"Redis at {host}, documents {self._name}: {error}. Fix: {fix}")


def _front(found: Sequence[Any]) -> list[tuple[str, str, int]]:
    """Key, text and score of each entry."""
    return [(found[i], found[i + 1], int(float(found[i + 2]))) for i in range(0, len(found), 3)]


def _raised(result: Locked | ConflictError | None) -> Locked | None:
    if isinstance(result, ConflictError):
        raise result
    return result


def _parse(key: str, text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InputError(f"document {key!r} is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise InputError(f"document {key!r} is no JSON object but {type(document).__name__}")
    return document


def _with_key(key: str, document: Mapping[str, Any]) -> dict[str, Any]:
    return {"_id": key, **document}


def _dump(document: Mapping[str, Any]) -> str:
    return json.dumps(document, default=_encode, ensure_ascii=False)


def _time(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=int(ms))


def _encode(value: Any) -> str:
    if not isinstance(value, datetime):
        raise InputError(f"{value!r} cannot be written as JSON")
    return f"{instant(value, 'time').astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
