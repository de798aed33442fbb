"""Server-sent events: how they are written, and asked for."""

from collections.abc import AsyncIterator

from fastapi import Request
from starlette.responses import StreamingResponse

from ..clock import monotonic
from .problems import Refusal

EVENT_STREAM = "text/event-stream"
HEARTBEAT = 15.0  # seconds without an event before a comment keeps the line open
BEAT = b": still here\n\n"


def wants_stream(request: Request) -> bool:
    return EVENT_STREAM in request.headers.get("accept", "")


class StreamLimit:
    """Whether who listens may still do so: a token can end while a stream goes on."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._asked_at = monotonic()

    async def is_over(self) -> bool:
        """Asks again now and then."""
        if monotonic() - self._asked_at < HEARTBEAT:
            return False
        self._asked_at = monotonic()
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
    """The answer that goes on; proxies are asked not to hold it back."""
    return StreamingResponse(events, media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"})
