"""`/events`: what happens, as it happens."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fastapi import Request
from starlette.responses import StreamingResponse

from ...app.records import AccessRole
from .. import event_stream
from ..context import Context, RequestContext
from ..event_stream import BEAT, EVENT_STREAM, StreamLimit, as_stream, encode_event
from ..events import LONGEST, StreamEvent
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
    """All that happens from now on or, with `Last-Event-ID`, since then; `reset`: that was too long ago."""
    since = request.headers.get("last-event-id")
    if since is not None and not (since.isascii() and since.isdigit() and len(since) <= 18):
        raise Refusal(422, "Last-Event-ID is the id of an event", field="Last-Event-ID")
    return as_stream(_told(context, StreamLimit(request), None if since is None else int(since)))


async def _told(context: RequestContext, stay: StreamLimit, since: int | None) -> AsyncIterator[bytes]:
    async with context.events.listen() as listener:
        yield BEAT
        known: set[tuple[int, str, str]] = set()
        if since is not None and since < await context.store.now() - LONGEST:
            yield encode_event("reset", "{}")
        elif since is not None:
            async for one in context.events.since(since):
                known.add(one.key)
                if _seen(context, one):
                    yield encode_event(one.kind, one.data, str(one.at))
        while not await stay.is_over():
            try:
                async with asyncio.timeout(event_stream.HEARTBEAT):
                    heard = await listener.queue.get()
            except TimeoutError:
                yield BEAT
                continue
            if heard is None:
                return
            if heard.key not in known and _seen(context, heard):
                yield encode_event(heard.kind, heard.data, str(heard.at))


def _seen(context: RequestContext, one: StreamEvent) -> bool:
    """What has no job any longer is for those who see all."""
    return context.identity.sees(one.job) if one.job else not context.identity.scopes
