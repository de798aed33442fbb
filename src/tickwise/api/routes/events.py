"""`/events`: a stream of what happens."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from starlette.responses import StreamingResponse

from ...app.records import AccessRole
from .. import event_stream
from ..context import Context, RequestContext
from ..event_stream import EVENT_STREAM, HEARTBEAT_COMMENT, StreamLimit, as_stream, encode_event
from ..events import MAX_REPLAY, StreamEvent
from ..problems import Refusal
from ..routing import Router

router = Router("events")
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {EVENT_STREAM: {"schema": {"type": "string"}}},
        "description": "Events `run`, `schedule`, `schedule_deleted` and `decision`; their ids are microseconds.",
    }
}


@router.get("/events", AccessRole.VIEWER, response_class=StreamingResponse, responses=_STREAM)
async def events(request: Request, context: Context) -> StreamingResponse:
    """All events from now on or, with `Last-Event-ID`, since then; `reset`: that was too long ago."""
    since = request.headers.get("last-event-id")
    if since is not None and not (since.isascii() and since.isdigit() and len(since) <= 18):
        raise Refusal(422, "Last-Event-ID is the id of an event", field="Last-Event-ID")
    return as_stream(_stream(context, StreamLimit(request), None if since is None else int(since)))


async def _stream(context: RequestContext, limit: StreamLimit, since: int | None) -> AsyncIterator[bytes]:
    async with context.events.subscribe() as subscriber:
        yield HEARTBEAT_COMMENT
        known: set[tuple[int, str, str]] = set()
        if since is not None and since < await context.view.now() - MAX_REPLAY:
            yield encode_event("reset", "{}")
        elif since is not None:
            async for event in context.events.since(since):
                known.add(event.key)
                if _is_visible(context, event):
                    yield encode_event(event.kind, event.data, str(event.at))
        while not await limit.is_over():
            try:
                async with asyncio.timeout(event_stream.HEARTBEAT):
                    pushed = await subscriber.queue.get()
            except TimeoutError:
                yield HEARTBEAT_COMMENT
                continue
            if pushed is None:
                return
            if pushed.key not in known and _is_visible(context, pushed):
                yield encode_event(pushed.kind, pushed.data, str(pushed.at))


def _is_visible(context: RequestContext, event: StreamEvent) -> bool:
    """Events of a deleted schedule have no job: only an identity without scopes sees them."""
    return context.identity.sees(event.job) if event.job else not context.identity.scopes
