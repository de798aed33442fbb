"""Server-sent events: their encoding, and the responses that stream them."""

from collections.abc import AsyncIterator

from fastapi import Request
from starlette.responses import StreamingResponse

from ..clock import monotonic
from .problems import Refusal

EVENT_STREAM = "text/event-stream"
HEARTBEAT = 15.0  # seconds without an event, after which a comment keeps the connection open
HEARTBEAT_COMMENT = b": still here\n\n"


def wants_stream(request: Request) -> bool:
    return EVENT_STREAM in request.headers.get("accept", "")


class StreamLimit:
    """Ends a stream when its token has expired or was revoked."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._checked_at = monotonic()

    async def is_over(self) -> bool:
        """Authenticates the request again, at most every `HEARTBEAT` seconds."""
        if monotonic() - self._checked_at < HEARTBEAT:
            return False
        self._checked_at = monotonic()
        state = self._request.app.state
        try:
            await state.authenticator.identify(self._request, await state.tickwise.store())
        except Refusal:
            return True
        return False


def encode_event(kind: str, data: str, number: str | None = None) -> bytes:
    """One event; data is one line of JSON."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {kind}\ndata: {data}\n\n".encode()


def as_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    """A streaming response; a header asks proxies not to buffer it."""
    return StreamingResponse(events, media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})
