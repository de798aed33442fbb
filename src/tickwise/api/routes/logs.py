"""`/runs/{run}/logs`: what a run printed, in pages or as it comes."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Query, Request, Response
from starlette.responses import StreamingResponse

from ...core.states import ACTIVE
from ...stores.records import AccessRole, LogPart
from ..bodies.base import Page, RunPath, moment
from ..bodies.queries import LogsWanted
from ..bodies.runs import LogBody
from ..doors import Doors
from ..links import page_of
from ..streams import BEAT, EVENT_STREAM, Stay, as_stream, event, wants_stream
from ..visit import Visit, Visiting

doors = Doors("runs")
_PAGE = 1_000
_POLL = 0.5  # seconds: as often as workers report
_STREAM = {200: {"content": {EVENT_STREAM: {}}, "description": "A page, or events `log` and at last `end`."}}


@doors.get("/runs/{run:name}/logs", AccessRole.VIEWER, response_model=Page[LogBody], responses=_STREAM)
async def logs_of_run(
    run: RunPath, request: Request, response: Response, visit: Visiting, asked: Annotated[LogsWanted, Query()]
) -> Page[LogBody] | StreamingResponse:
    """In order. With `Accept: text/event-stream` it goes on until the run is over."""
    await visit.run(run)
    if wants_stream(request):
        return as_stream(_follow(visit, Stay(request), run, request.headers.get("last-event-id") or asked.after))
    page = await visit.store.insights.log(run, asked.after, asked.limit)
    return page_of(request, response, [_body(part) for part in page.items], page.after)


async def _follow(visit: Visit, stay: Stay, run: str, after: str | None) -> AsyncIterator[bytes]:
    """Parts as they come; who comes back with the id of one may get a few of them again."""
    last: LogPart | None = None  # the newest that was told, which the next page begins with
    yield BEAT
    while not await stay.is_over():
        row = await visit.store.insights.run(run)
        page = await visit.store.insights.log(run, after, _PAGE)
        for part in page.items[page.items[:1] == (last,) :]:
            yield event("log", _body(part).model_dump_json(), after)
        if page.after is not None:
            after, last = page.after, None
            continue
        if row is None or row.state not in ACTIVE:
            yield event("end", json.dumps({"state": None if row is None else str(row.state)}))
            return
        if len(page.items) > 1:
            after = (await visit.store.insights.log(run, after, len(page.items) - 1)).after or after
        last = page.items[-1] if page.items else last
        await asyncio.sleep(_POLL)
        yield BEAT


def _body(part: LogPart) -> LogBody:
    return LogBody.model_validate({**part._asdict(), "at": moment(part.at)})
