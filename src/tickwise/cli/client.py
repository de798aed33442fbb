"""The API as commands ask it: over HTTP with `--server`, else in this process over the store.

Both ways have the same addresses, answers and refusals. In this process nobody else listens, so the person who may
open the store is its admin. Over HTTP a token says who asks: given, or that of this machine's own server.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import httpx

from ..api.loopback import is_loopback
from ..api.token_file import FILE, state_folder
from ..config import load
from ..core.errors import InputError, TickwiseError

_PREFIX = "/api/v1"
_PATIENCE = 60.0  # seconds for an answer
_PAGE = 1_000
_EXIT_CODES = {409: 1, 412: 1}  # the state says no; every other 4xx is bad input
_HINTS = {401: "pass --token, or set TICKWISE_TOKEN"}


class ApiTarget(NamedTuple):
    """Where the API is: at an address, or over a store."""

    server: str | None = None
    token: str | None = None
    store: str | None = None
    config: Path | None = None


class ApiRefusal(TickwiseError):  # noqa: N818  (a no, not a fault)
    """A no of the API, as its problem document says it."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        others = [f"\n{one['field']}: {one['problem']}" for one in problem.get("errors", ())[1:]]
        self.detail = "".join((str(problem.get("detail", f"the answer was {status}")), *others))
        self.http_status = status
        self.exit_code = _EXIT_CODES.get(status, 2) if status < 500 else 1
        hint = f": {_HINTS[status]}" if status in _HINTS else ""
        super().__init__(self.detail + hint, field=problem.get("field"))

    def at(self, place: str) -> "ApiRefusal":
        """The same about a place in a file."""
        return ApiRefusal(self.http_status, {"detail": f"{place}: {self.detail}", "field": self.field})


class ApiClient:
    """Asks, and knows a no when it hears one."""

    def __init__(self, http: httpx.AsyncClient, *, as_json: bool = False) -> None:
        self._http = http
        self.as_json = as_json

    async def get(self, path: str, /, **query: Any) -> Any:
        return await self._ask("GET", path, params=_given(query))

    async def post(self, path: str, /, **body: Any) -> Any:
        """What is none is left out."""
        return await self._ask("POST", path, json=_given(body))

    async def put(self, path: str, /, **body: Any) -> Any:
        return await self._ask("PUT", path, json=body)

    async def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self._ask("PATCH", path, json=body)

    async def delete(self, path: str) -> Any:
        return await self._ask("DELETE", path)

    async def pages(self, path: str, limit: int, /, **query: Any) -> dict[str, Any]:
        """As many items as are wanted, from as many pages as they take, in the shape of one page."""
        items: list[Any] = []
        after: str | None = None
        while len(items) < limit:
            page = await self.get(path, after=after, limit=min(_PAGE, limit - len(items)), **query)
            items += page["items"]
            after = page["next"]
            if after is None:
                break
        return {"items": items, "next": after}

    async def events(self, path: str) -> AsyncIterator[tuple[str, Any]]:
        """The kind and the data of each event of a stream, until it ends."""
        headers = {"Accept": "text/event-stream"}
        with _told_if_unreachable():
            async with self._http.stream("GET", _PREFIX + path, headers=headers, timeout=None) as answer:
                if answer.is_error:
                    await answer.aread()
                    raise _refusal(answer)
                kind = ""
                async for line in answer.aiter_lines():
                    name, _, value = line.partition(": ")
                    if name == "event":
                        kind = value
                    elif name == "data":
                        yield kind, json.loads(value)

    async def _ask(self, method: str, path: str, **given: Any) -> Any:
        with _told_if_unreachable():
            answer = await self._http.request(method, _PREFIX + path, **given)
        if not answer.is_success:
            raise _refusal(answer)
        try:
            return answer.json() if answer.content else None
        except ValueError:
            raise TickwiseError(f"{answer.url} is not the API of Tickwise: its answer is no JSON") from None


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _refusal(answer: httpx.Response) -> TickwiseError:
    if answer.headers.get("content-type", "").startswith("application/problem+json"):
        return ApiRefusal(answer.status_code, answer.json())
    return TickwiseError(f"{answer.url} is not the API of Tickwise: it answered {answer.status_code}")


@contextmanager
def _told_if_unreachable() -> Iterator[None]:
    """A broken line in a sentence."""
    try:
        yield
    except httpx.TransportError as error:
        url, why = error.request.url, str(error) or type(error).__name__
        where = f"{url.scheme}://{url.netloc.decode()}"
        raise TickwiseError(f"{where} cannot be reached ({why}): does a server run there?") from None


@asynccontextmanager
async def reached(place: ApiTarget, *, as_json: bool = False) -> AsyncIterator[ApiClient]:
    """The API at a place, for as long as a block runs."""
    if place.server is not None and place.store is not None:
        raise InputError("--server and --store name two places: give one of them")
    if place.server is None:
        from .in_process import api_in_process  # noqa: PLC0415  (it brings FastAPI, which --server does not need)

        opened = api_in_process(place.store, place.config)
    else:
        opened = _over_http(place.server, place)
    async with opened as http:
        yield ApiClient(http, as_json=as_json)


@asynccontextmanager
async def _over_http(server: str, place: ApiTarget) -> AsyncIterator[httpx.AsyncClient]:
    host = _host(server)
    token = place.token or (_own_token(place) if is_loopback(host) else None)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(
        base_url=server, headers=headers, timeout=_PATIENCE, trust_env=not is_loopback(host)
    ) as http:
        yield http


def _host(server: str) -> str:
    try:
        parts = urlsplit(server)
        found, fits = parts.hostname, parts.scheme in ("http", "https") and not parts.query and not parts.fragment
        httpx.URL(server)
    except (ValueError, httpx.InvalidURL):
        found, fits = None, False
    if not found or not fits:
        raise InputError(f"{server[:100]!r} is no address of a server: write it like http://127.0.0.1:8484")
    return found


def _own_token(place: ApiTarget) -> str | None:
    """What this machine's server has written for its admin, if we may read it."""
    with suppress(OSError, UnicodeDecodeError):
        return (state_folder(load(file=place.config).store) / FILE).read_text("ascii").strip() or None
    return None


def store_exists(url: str) -> bool:
    """Whether a SQLite store has its file: opening it would create one. Other stores are on a server."""
    parts = urlsplit(url)
    return parts.scheme != "sqlite" or Path(unquote(parts.path).removeprefix("/")).exists()
