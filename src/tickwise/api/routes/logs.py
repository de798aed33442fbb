"""`/runs/{run}/logs`: what a run printed, in pages or as a stream."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Query, Request, Response
from starlette.responses import StreamingResponse

from ...app.records import AccessRole, LogPart
from ...core.states import ACTIVE
from ..context import Context, RequestContext
from ..event_stream import EVENT_STREAM, HEARTBEAT_COMMENT, StreamLimit, as_stream, encode_event, wants_stream
from ..routing import Router
from ..schemas.common import PageResponse, RunPath, page_of, to_moment
from ..schemas.queries import LogsQuery
from ..schemas.runs import LogResponse

router = Router("runs")
_PAGE_SIZE = 1_000
_POLL = 0.5  # seconds: as often as workers report
_STREAM = {200: {"content": {EVENT_STREAM: {}}, "description": "A page, or events `log` and at last `end`."}}


@router.get(
    "/runs/{run:name}/logs", AccessRole.VIEWER, response_model=PageResponse[LogResponse], responses=_STREAM
)
async def logs_of_run(
    run: RunPath, request: Request, response: Response, context: Context, query: Annotated[LogsQuery, Query()]
) -> PageResponse[LogResponse] | StreamingResponse:
    """In order. With `Accept: text/event-stream` it goes on until the run has ended."""
    await context.view.run(run)
    if wants_stream(request):
        return as_stream(
            _stream(context, StreamLimit(request), run, request.headers.get("last-event-id") or query.after)
        )
    page = await context.view.log(run, query.after, query.limit)
    return page_of(request, response, [_log_response(part) for part in page.items], page.after)


async def _stream(
    context: RequestContext, limit: StreamLimit, run: str, after: str | None
) -> AsyncIterator[bytes]:
    """Parts as they are printed; a client that resumes with the id of one may get a few of them again."""
    last: LogPart | None = None  # the newest that was sent, which the next page begins with
    yield HEARTBEAT_COMMENT
    while not await limit.is_over():
        row = await context.view.run_again(run)
        page = await context.view.log(run, after, _PAGE_SIZE)
        for part in page.items[page.items[:1] == (last,) :]:
            yield encode_event("log", _log_response(part).model_dump_json(), after)
        if page.after is not None:
            after, last = page.after, None
            continue
        if row is None or row.state not in ACTIVE:
            yield encode_event("end", json.dumps({"state": None if row is None else str(row.state)}))
            return
        if len(page.items) > 1:
            after = (await context.view.log(run, after, len(page.items) - 1)).after or after
        last = page.items[-1] if page.items else last
        await asyncio.sleep(_POLL)
        yield HEARTBEAT_COMMENT


def _log_response(part: LogPart) -> LogResponse:
    return LogResponse.model_validate({**part._asdict(), "at": to_moment(part.at)})
