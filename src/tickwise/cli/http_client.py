"""The API over HTTP: requests, event streams, and errors as sentences.

A client sends the token that it was given. Without one it can use only a server of this machine: over the unix
socket, which needs no token, or with the token of the state folder, if whoever listens could read that anyway.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from ..api.local_peer import is_trusted, listener_uids, peer_uid, socket_path
from ..api.loopback import is_loopback
from ..api.token_file import FILE, read_secret, state_folder
from ..config import load
from ..core.errors import InputError, TickwiseError
from ..ownership import WriterCheck
from ..trace_context import trace_headers
from .sender import ApiRefusal, ApiTarget

_PREFIX = "/api/v1"
_TIMEOUT = 60.0  # seconds
_PORTS = {"http": 80, "https": 443}
_PART = {"GET": "params", "DELETE": "params"}  # of a request, which has what is given; else its body


class HttpSender:
    """Sends requests by HTTP, to a server or to the API in this process."""

    def __init__(self, http: httpx2.AsyncClient, where: str) -> None:
        self._http = http
        self._where = where

    async def request(self, method: str, path: str, given: Mapping[str, Any]) -> Any:
        sent: dict[str, Any] = {_PART.get(method, "json"): given}
        with _explain_unreachable():
            response = await self._http.request(method, _PREFIX + path, **sent)
        if not response.is_success:
            raise self._error_from(response)
        try:
            return response.json() if response.content else None
        except ValueError:
            raise TickwiseError(f"{response.url} is not the Tickwise API: its response is not JSON") from None

    async def events(self, path: str) -> AsyncGenerator[tuple[str, Any], None]:
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

    def _error_from(self, response: httpx2.Response) -> TickwiseError:
        if response.headers.get("content-type", "").startswith("application/problem+json"):
            return ApiRefusal(response.status_code, response.json(), self._where)
        return TickwiseError(f"{response.url} is not the Tickwise API: it answered {response.status_code}")


@contextmanager
def _explain_unreachable() -> Iterator[None]:
    """Turn a transport error into a sentence."""
    try:
        yield
    except httpx2.TransportError as error:
        url, why = error.request.url, str(error) or type(error).__name__
        where = f"{url.scheme}://{url.netloc.decode()}"
        raise TickwiseError(f"{where} cannot be reached ({why}): is a server running there?") from None


@asynccontextmanager
async def over_http(server: str, target: ApiTarget, where: str) -> AsyncIterator[HttpSender]:
    """The API of a server, open while a block runs."""
    host, port = _parse_host(server)
    local = is_loopback(host) and not target.token
    path = _own_socket(target, port) if local else None
    token = _own_token(target, port) if local and path is None else target.token
    async with httpx2.AsyncClient(
        base_url=server if path is None else httpx2.URL(server).copy_with(scheme="http"),
        headers={**({"Authorization": f"Bearer {token}"} if token else {}), **trace_headers()},
        transport=None if path is None else httpx2.AsyncHTTPTransport(uds=str(path)),
        timeout=_TIMEOUT, trust_env=not is_loopback(host),
    ) as http:  # fmt: skip
        yield HttpSender(http, where)


def _parse_host(server: str) -> tuple[str, int]:
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme)
        fits = not parts.query and not parts.fragment
        httpx2.URL(server)
    except (ValueError, httpx2.InvalidURL):
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
