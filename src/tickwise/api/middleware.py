"""ASGI middleware: limits on requests, headers on responses, and a response whatever happens.

HEAD is answered wherever GET is: the application sees a GET whose client leaves when the headers are sent.
"""

import asyncio
import json

from fastapi import Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..core.payload import Unfit, weigh
from .problems import Refusal, problem, unexpected

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
_NOT_CACHED = {b"cache-control": b"no-store"}
_TLS_ONLY = {b"strict-transport-security": b"max-age=31536000"}


class _TooLarge(Exception):  # noqa: N818  (never leaves this file)
    pass


class LimitsMiddleware:
    """Wraps an ASGI application, which a proxy may serve under a path of its own."""

    def __init__(self, app: ASGIApp, root_path: str = "") -> None:
        self._app = app
        self._root_path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["root_path"] = self._root_path or scope.get("root_path", "")
        sender = _ResponseSender(send, scope)
        if scope["method"] == "HEAD":
            scope, receive = {**scope, "method": "GET"}, sender.until_headers(receive)
        if refusal := _limit_refusal(scope):
            await refusal(scope, receive, sender)
            return
        try:
            await self._app(scope, _bounded(receive), sender)
        except ClientDisconnect:
            return
        except _TooLarge:
            await _send_unless_begun(_too_large(), scope, receive, sender)
        except Exception as error:  # noqa: BLE001  (nothing outside would answer)
            await _send_unless_begun(unexpected(error), scope, receive, sender)


class _ResponseSender:
    """Adds headers to the application's response, and knows whether it has begun. HEAD gets no body."""

    def __init__(self, send: Send, scope: Scope) -> None:
        self._send = send
        self._headers = {**_HEADERS, **_NOT_CACHED, **(_TLS_ONLY if scope["scheme"] == "https" else {})}
        self._headers_only = scope["method"] == "HEAD"
        self._sent_headers = asyncio.Event()

    @property
    def begun(self) -> bool:
        return self._sent_headers.is_set()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._sent_headers.set()
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            added = [pair for pair in self._headers.items() if pair[0] not in names]
            await self._send({**message, "headers": given + added})
            if self._headers_only:
                await self._send({"type": "http.response.body", "body": b""})
        elif not self._headers_only:
            await self._send(message)

    def until_headers(self, receive: Receive) -> Receive:
        """The request's messages; its client leaves when the headers are sent, which ends a stream."""
        body_read = False

        async def messages() -> Message:
            nonlocal body_read
            if body_read:
                await self._sent_headers.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            body_read = not message.get("more_body", False)
            return message

        return messages


async def _send_unless_begun(response: Response, scope: Scope, receive: Receive, sender: _ResponseSender) -> None:
    if not sender.begun:
        await response(scope, receive, sender)


def _limit_refusal(scope: Scope) -> Response | None:
    """The refusal of a request that is too long."""
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
    """Limits the body by counting it, whatever its headers say."""
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MAX_BODY:
            raise _TooLarge
        return message

    return counted


async def checked_body(request: Request) -> None:
    """Refuse a body that is not JSON of bounded depth, in characters that every store can keep."""
    body = await request.body()
    if not body:
        return
    if "json" not in request.headers.get("content-type", "").partition(";")[0].lower():
        raise Refusal(415, "the body must be JSON: send Content-Type: application/json")
    try:
        weigh(json.loads(body.decode("utf-8")))
    except Unfit as unfit:
        path = unfit.path.lstrip(".")[:200]
        raise Refusal(422, f"{path or 'the body'} {unfit.problem}", field=path or None) from None
    except RecursionError:
        raise Refusal(422, "the body is nested too deeply: flatten it") from None
    except UnicodeDecodeError:
        raise Refusal(422, "the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Refusal(422, f"the body is not JSON: {error.msg} at {where}", position=error.pos) from None
    except ValueError:
        raise Refusal(422, "the body holds a number that is too long") from None
