"""Events: calls of `/hooks/NAME`, the events of a schedule and what became of each, and sending one (S70)."""

from typing import Annotated, Any

from fastapi import Query, Request

from ...app.records import AccessRole
from ...app.webhooks import HookSecret, WrongSignatureError
from ..context import Context
from ..problems import Refusal
from ..routing import Router
from ..schemas.common import NamePath
from ..schemas.received_events import (
    AcceptedEventResponse,
    EventListResponse,
    SendEventRequest,
    accepted_response,
    event_response,
)

router = Router("received events")
hooks = Router("received events")
_EMPTY = SendEventRequest()
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many at the most.")]


@hooks.post("/hooks/{name:name}", HookSecret.SIGNATURE, status_code=202, response_model=AcceptedEventResponse)
async def call_hook(name: NamePath, request: Request) -> AcceptedEventResponse:
    """Store a signed call as an event of the schedule. A repeat with the same key gets the same answer."""
    state = request.app.state
    opened = await state.tickwise.opened()
    body = await request.body()

    async def received() -> Any:
        try:
            return await state.webhooks.receive(opened, name, request.headers, body)
        except WrongSignatureError as error:
            raise Refusal(error.http_status, str(error)) from None

    return accepted_response(await state.authenticator.count_failure(request, received()))


@router.get("/schedules/{name:name}/events", AccessRole.VIEWER, response_model=EventListResponse)
async def list_received_events(name: NamePath, context: Context, limit: Limit = 100) -> EventListResponse:
    """The newest events of a schedule, and what became of each."""
    return EventListResponse(items=[event_response(one) for one in await context.view.events(name, limit)])


@router.post(
    "/schedules/{name:name}/events", AccessRole.OPERATOR, status_code=202, response_model=AcceptedEventResponse
)
async def send_event(name: NamePath, context: Context, body: SendEventRequest = _EMPTY) -> AcceptedEventResponse:
    """Send an event to a schedule. The same key within its window is the same event."""
    await context.view.schedule(name)
    sent = await context.tickwise.events.send(name, body.data, key=body.key)
    await context.audit("event.send", name, None, {"key": sent.key})
    return accepted_response(sent)
