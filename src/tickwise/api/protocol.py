"""HTTP on a connection, with limits that hold before anybody has authenticated.

The parser of uvicorn keeps an unfinished header until it is whole, for as long as the client likes. Here a request
has a deadline for its head and one for its body, at most `_MAX_UNPARSED` bytes may arrive without the parser
finishing anything (a header, a trailer, an extension of a chunk), and connections are limited in number: one too
many closes the one that has waited longest for a request.
"""

import asyncio
import resource
import socket
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from ..clock import monotonic
from ..log import get_logger
from .identity import local_identity, scope_identity
from .local_peer import connected_uid

_log = get_logger()
HEAD_TIMEOUT, BODY_TIMEOUT = 10.0, 60.0  # seconds
_PIECE = 16_384  # bytes that the parser gets at once
_MAX_UNPARSED = 65_536  # bytes; the limits of the middleware are below it
_MAX_CONNECTIONS, _MIN_CONNECTIONS = 1_000, 10
_WANTED_FILES = 65_536
_LOG_INTERVAL = 60.0  # seconds


class RareLog:
    """Logs a warning at most once a minute, with how often it was meant since."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[float, int]] = {}  # when, and how often since

    def warning(self, event: str, **fields: Any) -> None:
        at, times = self._said.get(event, (float("-inf"), 0))
        if monotonic() - at < _LOG_INTERVAL:
            self._said[event] = (at, times + 1)
            return
        self._said[event] = (monotonic(), 0)
        _log.warning(event, **fields, **({"times_since": times} if times else {}))


def allowed_connections() -> int:
    """How many connections fit, after the limit of open files was raised as far as it may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, _WANTED_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
    files = _WANTED_FILES if soft == resource.RLIM_INFINITY else soft
    return max(_MIN_CONNECTIONS, min(_MAX_CONNECTIONS, files // 2))


class LimitedProtocol(HttpToolsProtocol):
    """A connection with deadlines and limits; one over the unix socket has the identity of its user."""

    def __init__(self, *given: Any, most: int, log: RareLog, **named: Any) -> None:
        super().__init__(*given, **named)
        self._most = most
        self._rare_log = log
        self._deadline: asyncio.TimerHandle | None = None
        self._unparsed = 0
        self.since = monotonic()
        self._identity: dict[str, Any] = {}

    @property
    def is_answering(self) -> bool:
        """Whether a response is under way."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # (as uvicorn has it)
        super().connection_made(transport)
        self._identity = _identity_of(transport)
        self._set_deadline(HEAD_TIMEOUT)
        if len(self.connections) > self._most:
            self._make_room()

    def _make_room(self) -> None:
        waiting = [one for one in self.connections if isinstance(one, LimitedProtocol) and not one.is_answering]
        oldest = min(waiting, key=lambda one: one.since)
        oldest.transport.abort()
        self.connections.discard(oldest)
        self._rare_log.warning("too many connections: the one that waited longest is closed", limit=self._most)

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_deadline(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and not self.is_answering:
            self._set_deadline(HEAD_TIMEOUT)
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            self._unparsed += len(piece)
            super().data_received(piece)
            if self.transport.is_closing():
                return
            if self._unparsed > _MAX_UNPARSED:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
                return

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope.update(self._identity)  # type: ignore[typeddict-item]  # (ASGI lets a server add keys of its own)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._unparsed = 0
        self._set_deadline(BODY_TIMEOUT)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._unparsed = 0

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._unparsed = 0
        self.since = monotonic()
        self._set_deadline(None)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._expire)

    def _expire(self) -> None:
        self._deadline = None
        self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    def _refuse(self, status: HTTPStatus) -> None:
        """Close the connection, with a response if none is under way."""
        if self.is_answering:
            self.transport.abort()
            return
        head = f"HTTP/1.1 {status} {status.phrase}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        self.transport.write(head.encode("ascii"))
        self.transport.close()


def _identity_of(transport: asyncio.BaseTransport) -> dict[str, Any]:
    """The part of the scope that a connection over the unix socket brings; nothing for others."""
    connection: socket.socket = transport.get_extra_info("socket")
    if connection.family != socket.AF_UNIX:
        return {}
    identity = local_identity(connected_uid(connection))
    return {} if identity is None else scope_identity(identity)
