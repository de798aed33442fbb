"""Requests to every route, nearly right: they are answered, or refused with a problem document and no trace."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from time import process_time
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from tickwise.stores.access_records import AccessRole
from tickwise.testing.conformance import snapshot

from ..support.api import NIGHTLY, PROBLEM, Api, api
from .law import MORE, SOON
from .texts import ODD, nearly

FEW = settings(
    max_examples=60 * MORE, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
ENDLESS = "/api/v1/events"
BODIES: dict[str, Any] = {
    "/schedules": {**NIGHTLY, "name": "other", "retry": {"limit": 2, "interval": "5s"}, "catchup_window": "6h"},
    "/schedules/{name}": {"cron": "*/7 * * * *", "timezone": "Asia/Tokyo", "params": {"a": [1, {"b": None}]}},
    "/schedules/{name}:reschedule": {"to": "2026-01-02T00:00:00Z"},
    "/schedules/{name}:backfill": {
        "start": "2025-12-01T00:00:00Z",
        "end": "2025-12-02T00:00:00Z",
        "dry_run": True,
    },
    "/schedules:pause": {"names": ["nightly"], "reason": "fuzz"},
    "/runs": {"job": "nightly", "params": {"table": "x"}, "key": "k", "at": "2026-01-01T10:00:00Z"},
    "/preview": {"schedule": "*/5 * * * *", "timezone": "UTC", "count": 5},
    "/simulate": {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T06:00:00Z"},
    "/queues/{name}": {"concurrency": 2, "starts_per_second": 1.5},
    "/pause": {"reason": "all"},
    "/tokens": {"name": "t", "role": "viewer", "scopes": ["night*"], "expires_in": "30d"},
}
HEADERS = (
    "authorization", "host", "origin", "content-type", "content-length", "idempotency-key", "if-match",
    "if-none-match", "x-forwarded-for", "forwarded", "sec-fetch-site", "accept", "cookie", "last-event-id",
)  # fmt: skip
RIGHT_VALUES = (
    "Bearer tw_abcdef",
    "Basic YTpi",
    "localhost:8484",
    "application/json",
    "12",
    '"1"',
    "nightly",
    "1",
)


class Asked(NamedTuple):
    """A request as the server gets it."""

    method: str
    path: str
    query: bytes = b""
    body: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Answered(NamedTuple):
    """What came back."""

    status: int
    kind: str
    body: bytes


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _changed(value: Any, odd: Any, place: int) -> Any:
    """One of its parts, or all of it, is another value; a field may be named otherwise."""
    if isinstance(value, dict) and value and place % 4:
        key = sorted(value)[place % len(value)]
        if place % 4 == 1:
            return {**value, str(odd): value[key]}
        return {**value, key: _changed(value[key], odd, place // 4)}
    if isinstance(value, list) and value and place % 4:
        return [*value[1:], _changed(value[0], odd, place // 4)]
    return odd


VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(ODD)
    | nearly(("5m", "@daily", "UTC")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "cron", "\0"]), inner, max_size=3)
    ),
    max_leaves=4,
)
NAMES = st.sampled_from(["nightly", "1", "other"]) | nearly(("nightly", "1", "nightly:pause"))


@st.composite
def requests(draw: st.DrawFn, routes: dict[str, Any]) -> Asked:
    """Of one of the routes, with a body that nearly fits it."""
    path = draw(st.sampled_from(sorted(routes)))
    method = draw(st.sampled_from(sorted(routes[path])))
    right = BODIES.get(path.removeprefix("/api/v1"), {})
    body = draw(st.builds(_changed, st.just(right), VALUES, st.integers(0, 4_000)))
    raw = json.dumps(body) if draw(st.integers(0, 3)) else draw(nearly((json.dumps(right),), '{}[]:,"'))
    known = [each["name"] for each in routes[path][method].get("parameters", ()) if each["in"] == "query"]
    asked = draw(st.dictionaries(st.sampled_from([*known, "other"]), VALUES | NAMES, max_size=2))
    query = "&".join(f"{name}={quote(_bytes(str(value)))}" for name, value in asked.items())
    named = draw(st.dictionaries(st.sampled_from(HEADERS), nearly(RIGHT_VALUES), max_size=2))
    filled = path.replace("{name}", draw(NAMES)).replace("{run}", draw(NAMES)).replace("{token}", draw(NAMES))
    headers = tuple((name.encode(), _bytes(value)) for name, value in named.items())
    return Asked(method.upper(), filled, query.encode(), b"" if method == "get" else _bytes(raw), headers)


class Door:
    """An API with a schedule and a run; what is refused must leave no trace."""

    def __init__(self, loop: asyncio.Runner) -> None:
        self.loop = loop
        self._life = AsyncExitStack()
        self.api: Api = loop.run(self._life.enter_async_context(api()))
        loop.run(self.api.post("/schedules", NIGHTLY))
        loop.run(self.api.post("/runs", {"job": "nightly"}))
        self.token = loop.run(self.api.token(AccessRole.OPERATOR, "night*"))

    def close(self) -> None:
        self.loop.run(self._life.aclose())

    @property
    def routes(self) -> dict[str, Any]:
        return {path: methods for path, methods in self.api.app.openapi()["paths"].items() if path != ENDLESS}

    async def send(self, asked: Asked, peer: str = "127.0.0.1") -> Answered:
        """Straight to the application: no client mends what is odd."""
        given = dict(asked.headers)
        defaults = {b"host": b"localhost", b"content-type": b"application/json"}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": asked.method,
            "scheme": "http", "path": asked.path, "raw_path": quote(_bytes(asked.path)).encode(), "root_path": "",
            "query_string": asked.query, "headers": list({**defaults, **given}.items()),
            "client": (peer, 5), "server": ("localhost", 80),
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": asked.body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.api.app(scope, receive, send)
        headers = {name.lower(): value for name, value in sent[0]["headers"]}
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return Answered(sent[0]["status"], headers.get(b"content-type", b"").decode(), body)

    async def check(self, asked: Asked) -> None:
        """Hold the answer to the law."""
        store = await self.api.store()
        before = await snapshot(store), await store.access.tokens()
        began = process_time()
        answer = await self.send(asked)
        took = process_time() - began
        assert answer.status < 500, answer
        if answer.status >= 400:
            assert answer.kind == PROBLEM, answer
            assert json.loads(answer.body)["detail"]
            assert (await snapshot(store), await store.access.tokens()) == before, "a refusal changed something"
            assert took < SOON or min([await self._time(asked) for _ in range(2)]) < SOON, f"{took:.3f} s"

    async def _time(self, asked: Asked) -> float:
        began = process_time()
        await self.send(asked)
        return process_time() - began


@pytest.fixture
def door() -> Iterator[Door]:
    with asyncio.Runner() as loop:
        door = Door(loop)
        yield door
        door.close()


EXAMPLES = (
    Asked("POST", "/api/v1/schedules", body=b'{"name": "a", "schedule": "' + b"1," * 500_000 + b'1 * * * *"}'),
    Asked("POST", "/api/v1/schedules", body=b"[" * 100_000),
    Asked("POST", "/api/v1/runs", body=b'{"job": "nightly", "params": {"a": ' + b"9" * 5_000 + b"}}"),
    Asked("POST", "/api/v1/runs", body='{"job": "nightly"}'.encode("utf-16")),
    Asked("POST", "/api/v1/runs", body=b'{"job": "nightly", "params": {"a": "\\ud800"}}'),
    Asked("GET", "/api/v1/schedules/\ud800"),
    Asked("GET", "/api/v1/runs", b"state=%FF%FE&limit=-1"),
    Asked("GET", "/api/v1/forecast", b"hours=1e308"),
    Asked("GET", "/api/v1/me", headers=((b"authorization", b"Bearer \xff\xfe"),)),
    Asked("GET", "/api/v1/me", headers=((b"host", b"[::1"),)),
    Asked("POST", "/api/v1/runs", body=b'{"job": "nightly"}', headers=((b"idempotency-key", b"\xff"),)),
    Asked("GET", "/api/v1/schedules", headers=((b"content-length", b"9" * 5_000),)),
)  # fmt: skip


def test_every_route(door: Door) -> None:
    """Whatever is asked, the answer is a success or a problem document of the asker's fault, and soon."""
    fuzz: Any = given(requests(door.routes))(lambda asked: door.loop.run(door.check(asked)))
    for each in EXAMPLES:
        fuzz = example(each)(fuzz)
    with capture_logs():
        FEW(fuzz)()


def test_tokens(door: Door) -> None:
    """A token opens the door only as it was given out, from whatever address."""
    addresses = count(1)

    def check(header: str) -> None:
        kind, _, secret = header.partition(" ")
        opens = (kind.lower(), secret.strip()) == ("bearer", door.token)
        asked = Asked("GET", "/api/v1/me", headers=((b"authorization", _bytes(header)),))
        answer = door.loop.run(door.send(asked, f"192.0.2.{next(addresses)}"))
        assert answer.status in ((200,) if opens else (401, 431)), answer

    fuzz: Any = given(nearly((f"Bearer {door.token}",)))(check)
    FEW(example(f"bearer  {door.token} ")(fuzz))()
