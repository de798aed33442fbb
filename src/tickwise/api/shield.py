"""The outermost wrapper: bounds on what comes in, headers on what goes out, and an answer whatever happens."""

from fastapi import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import problem, unexpected

MAX_BODY = 1 << 20
_MAX_PATH, _MAX_QUERY, _MAX_HEADERS = 2_000, 8_000, 16_384
_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"content-security-policy": (
        b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
    ),
}
_API_ONLY = {b"cache-control": b"no-store"}


class _TooLarge(Exception):  # noqa: N818  (never leaves this file)
    pass


class Shield:
    """Wraps an ASGI application, which a proxy may serve under a path of its own."""

    def __init__(self, app: ASGIApp, root_path: str = "") -> None:
        self._app = app
        self._root_path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["root_path"] = self._root_path or scope.get("root_path", "")
        answer = _Answer(send)
        if refusal := _refused(scope):
            await refusal(scope, receive, answer)
            return
        try:
            await self._app(scope, _bounded(receive), answer)
        except _TooLarge:
            await _say(_too_large(), scope, receive, answer)
        except Exception as error:  # noqa: BLE001  (the last one to hear of it)
            await _say(unexpected(error), scope, receive, answer)


class _Answer:
    """Sends on what the application sends, with our headers; knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            ours = {**_HEADERS, **_API_ONLY}
            message = {**message, "headers": given + [pair for pair in ours.items() if pair[0] not in names]}
        await self._send(message)


async def _say(response: Response, scope: Scope, receive: Receive, answer: _Answer) -> None:
    if not answer.begun:
        await response(scope, receive, answer)


def _refused(scope: Scope) -> Response | None:
    """The answer to what is too long to be meant well."""
    if len(scope.get("raw_path") or scope["path"]) > _MAX_PATH or len(scope["query_string"]) > _MAX_QUERY:
        return problem(414, "the address is too long")
    if sum(len(name) + len(value) for name, value in scope["headers"]) > _MAX_HEADERS:
        return problem(431, "the headers are too long")
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if length.isdigit() and int(length[:20]) > MAX_BODY:
        return _too_large()
    return None


def _too_large() -> Response:
    return problem(413, "a body has at most 1 MiB: keep large data elsewhere and pass where it is")


def _bounded(receive: Receive) -> Receive:
    """Counts what comes in, whatever the headers said."""
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY:
            raise _TooLarge
        return message

    return counted
