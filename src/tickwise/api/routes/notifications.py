"""`/notifications:test`: whether notices arrive."""

from ...app.records import AccessRole
from ..context import Context
from ..routing import Router
from ..schemas.fleet import ChannelTestRequest, ChannelTestResponse, ChannelTestsResponse

router = Router("notifications")


@router.post("/notifications:test", AccessRole.ADMIN, whole=True, response_model=ChannelTestsResponse)
async def test_notifications(body: ChannelTestRequest, context: Context) -> ChannelTestsResponse:
    """Send a test notice from this server over each channel of its settings, or over one, once."""
    tested = await context.operations.try_channels(context.tickwise.settings, body.channel)
    await context.audit("notifications.test", body.channel or "all")
    return ChannelTestsResponse(items=[ChannelTestResponse.model_validate(one) for one in tested])
