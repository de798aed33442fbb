"""An HTTP server in a thread: a table of routes, JSON in and out, and it can be cut off from its clients."""

import json
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit


class Request(NamedTuple):
    """What a route is given."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: Any

    @property
    def secret(self) -> str:
        """What it shows as `Authorization: Bearer`."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")


class Answer(NamedTuple):
    """What a route gives: a value as JSON, or a text."""

    body: Any
    status: int = 200
    kind: str = "application/json"


Route = Callable[..., Answer]


class HttpServer:
    """Serves `routes`: a method and a pattern of paths, whose groups are arguments after the request."""

    def __init__(self, routes: Mapping[tuple[str, str], Route], host: str = "127.0.0.1") -> None:
        self._routes = [(method, re.compile(pattern), route) for (method, pattern), route in routes.items()]
        self.is_cut = False  # it takes requests, and hangs up on them
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer((host, 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def address(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def answer(self, method: str, path: str, request: Request) -> Answer:
        for wanted, pattern, route in self._routes:
            found = pattern.fullmatch(path)
            if wanted == method and found is not None:
                return route(request, *(unquote(group) for group in found.groups()))
        return Answer(f"no route for {method} {path}", 404)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    owner: HttpServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer is one packet, so that nobody waits 40 ms for its acknowledgement

    def _serve(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.owner.is_cut:
            self.close_connection = True
            return
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(headers, query, json.loads(raw) if raw else None)
        with suppress(ConnectionError):
            self._send(self.owner.answer(self.command, parts.path, request))

    def _send(self, answer: Answer) -> None:
        is_text = isinstance(answer.body, str)
        content = answer.body if is_text else "" if answer.status == 204 else json.dumps(answer.body)
        encoded = content.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "text/plain; charset=utf-8" if is_text else answer.kind)
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    do_GET = do_POST = do_DELETE = do_PATCH = _serve  # noqa: N815  (the names are the library's)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
