"""The client of the API: over HTTP with `--server`, else in this process over the store.

Both ways have the same paths, responses and errors. In this process no other user can connect, so whoever may open
the store is its admin. Over HTTP the client sends the token that it was given. Without one it can use only a
server of this machine: over the unix socket, which needs no token, or with the token of the state folder, if
whoever listens could read that anyway.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from ..api.local_peer import is_trusted, listener_uids, peer_uid, socket_path
from ..api.loopback import is_loopback
from ..api.server_address import server_address
from ..api.token_file import FILE, read_secret, state_folder
from ..config import load
from ..core.errors import InputError, TickwiseError
from ..ownership import WriterCheck
from ..stores.url import hidden

_PREFIX = "/api/v1"
_TIMEOUT = 60.0  # seconds
_PAGE_SIZE = 1_000
_PORTS = {"http": 80, "https": 443}
_EXIT_CODES = {409: 1, 412: 1}  # conflicts with the present state; every other 4xx is bad input
_HINTS = {401: ": set TICKWISE_TOKEN, or pass --token @FILE"}


class ApiTarget(NamedTuple):
    """Where the API is: at an address, or over a store."""

    server: str | None = None
    token: str | None = None
    store: str | None = None
    config: Path | None = None


class ApiRefusal(TickwiseError):  # noqa: N818  (the API works, and refuses)
    """An error response of the API, with the text of its problem document."""

    def __init__(self, status: int, problem: Mapping[str, Any], where: str) -> None:
        others = [f"\n{one['field']}: {one['problem']}" for one in problem.get("errors", ())[1:]]
        self.detail = "".join((str(problem.get("detail", f"the API answered {status}")), *others))
        self.http_status = status
        self.exit_code = _EXIT_CODES.get(status, 2) if status < 500 else 1
        self._where = where
        hint = f"; looked in {where}" if status == HTTPStatus.NOT_FOUND else _HINTS.get(status, "")
        super().__init__(self.detail + hint, field=problem.get("field"))

    def at(self, position: str) -> "ApiRefusal":
        """The same, at a position in a file."""
        problem = {"detail": f"{position}: {self.detail}", "field": self.field}
        return ApiRefusal(self.http_status, problem, self._where)


class ApiClient:
    """Sends requests, and raises `ApiRefusal` for error responses."""

    def __init__(self, http: httpx.AsyncClient, target: ApiTarget, where: str, *, as_json: bool = False) -> None:
        self._http = http
        self._target = target
        self.where = where  # the store or the server that answers, for people
        self.as_json = as_json

    @property
    def dashboard(self) -> str:
        """The address of the dashboard: that of the server, else where the settings say that it listens."""
        if self._target.server is not None:
            return self._target.server
        settings = load(file=self._target.config)
        return server_address(settings, settings.port)

    async def get(self, path: str, /, **query: Any) -> Any:
        return await self._request("GET", path, params=_without_none(query))

    async def post(self, path: str, /, **body: Any) -> Any:
        """Send a body; fields that are None are left out."""
        return await self._request("POST", path, json=_without_none(body))

    async def put(self, path: str, /, **body: Any) -> Any:
        return await self._request("PUT", path, json=body)

    async def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return await self._request("PATCH", path, json=body)

    async def delete(self, path: str) -> Any:
        return await self._request("DELETE", path)

    async def pages(self, path: str, limit: int, /, **query: Any) -> dict[str, Any]:
        """Up to `limit` items from as many pages as that takes, in the shape of one page."""
        items: list[Any] = []
        after: str | None = None
        while len(items) < limit:
            page = await self.get(path, after=after, limit=min(_PAGE_SIZE, limit - len(items)), **query)
            items += page["items"]
            after = page["next"]
            if after is None:
                break
        return {"items": items, "next": after}

    async def events(self, path: str) -> AsyncIterator[tuple[str, Any]]:
        """The kind and the data of each event of a stream, until it ends."""
        headers = {"Accept": "text/event-stream"}
        with _explain_unreachable():
            async with self._http.stream("GET", _PREFIX + path, headers=headers, timeout=None) as response:
                if response.is_error:
                    await response.aread()
                    raise self._error_from(response)
                kind = ""
                async for line in response.aiter_lines():
                    name, _, value = line.partition(": ")
                    if name == "event":
                        kind = value
                    elif name == "data":
                        yield kind, json.loads(value)

    async def _request(self, method: str, path: str, **given: Any) -> Any:
        with _explain_unreachable():
            response = await self._http.request(method, _PREFIX + path, **given)
        if not response.is_success:
            raise self._error_from(response)
        try:
            return response.json() if response.content else None
        except ValueError:
            raise TickwiseError(f"{response.url} is not the Tickwise API: its response is not JSON") from None

    def _error_from(self, response: httpx.Response) -> TickwiseError:
        if response.headers.get("content-type", "").startswith("application/problem+json"):
            return ApiRefusal(response.status_code, response.json(), self.where)
        return TickwiseError(f"{response.url} is not the Tickwise API: it answered {response.status_code}")


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


@contextmanager
def _explain_unreachable() -> Iterator[None]:
    """Turn a transport error into a sentence."""
    try:
        yield
    except httpx.TransportError as error:
        url, why = error.request.url, str(error) or type(error).__name__
        where = f"{url.scheme}://{url.netloc.decode()}"
        raise TickwiseError(f"{where} cannot be reached ({why}): is a server running there?") from None


@asynccontextmanager
async def connect(target: ApiTarget, *, as_json: bool = False) -> AsyncIterator[ApiClient]:
    """A client of the API, open while a block runs."""
    if target.server is not None and target.store is not None:
        raise InputError("give --server or --store, not both")
    if target.server is None:
        from .in_process import api_in_process  # noqa: PLC0415  (it imports FastAPI, which --server does not need)

        where = hidden(load({"store": target.store}, file=target.config).store)
        opened = api_in_process(target.store, target.config)
    else:
        where, opened = hidden(target.server), _over_http(target.server, target)
    async with opened as http:
        yield ApiClient(http, target, where, as_json=as_json)


@asynccontextmanager
async def _over_http(server: str, target: ApiTarget) -> AsyncIterator[httpx.AsyncClient]:
    host, port = _parse_host(server)
    local = is_loopback(host) and not target.token
    path = _own_socket(target, port) if local else None
    token = _own_token(target, port) if local and path is None else target.token
    async with httpx.AsyncClient(
        base_url=server if path is None else httpx.URL(server).copy_with(scheme="http"),
        headers={"Authorization": f"Bearer {token}"} if token else {},
        transport=None if path is None else httpx.AsyncHTTPTransport(uds=str(path)),
        timeout=_TIMEOUT, trust_env=not is_loopback(host),
    ) as http:  # fmt: skip
        yield http


def _parse_host(server: str) -> tuple[str, int]:
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
        fits = not parts.query and not parts.fragment
        httpx.URL(server)
    except (ValueError, httpx.InvalidURL):
        host, port, fits = None, None, False
    if not host or port is None or not fits:
        raise InputError(f"{server[:100]!r} is not a server address: write it like http://127.0.0.1:8484")
    return host, port


def _own_socket(target: ApiTarget, port: int) -> Path | None:
    """The unix socket of this machine's server on a port, if one of a trusted user listens there."""
    settings = load(file=target.config)
    path = socket_path(settings, port)
    if path is None or not path.is_socket():
        return None
    uid = peer_uid(path)
    return path if uid is not None and is_trusted({uid}, path.parent) else None


def _own_token(target: ApiTarget, port: int) -> str | None:
    """The admin token of this machine, for a server of a user who could read it; none if it cannot be read."""
    settings = load(file=target.config)
    folder, writers = state_folder(settings.store), WriterCheck(settings.trusted_folders)
    with suppress(OSError):
        secret, uids = read_secret(folder / FILE, writers), listener_uids(port)
        if secret and uids and not is_trusted(uids, folder):
            raise InputError(
                f"the server on port {port} belongs to another user: it is not sent the token in {folder / FILE}. "
                "If you trust it, give it a token of its own (TICKWISE_TOKEN)"
            )
        return secret if uids else None
    return None
