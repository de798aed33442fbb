"""`/calendars`: named sets of days, for the `days` of schedules (S60)."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Query

from ...app.calendar_manager import CalendarInfo
from ...app.records import AccessRole
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.calendars import (
    CalendarDetailResponse,
    CalendarPreviewRequest,
    CalendarRequest,
    CalendarResponse,
    CalendarsResponse,
    CalendarYearResponse,
)
from ..schemas.common import NamePath

router = Router("calendars")
_Year = Annotated[int | None, Query(ge=1, le=9_999, description="Without one, this year.")]


@router.get("/calendars", AccessRole.VIEWER, whole=True, response_model=CalendarsResponse)
async def list_calendars(context: Context) -> CalendarsResponse:
    """In order of their names."""
    found = await context.tickwise.calendars.list()
    return CalendarsResponse(items=[CalendarResponse.model_validate(one) for one in found])


@router.get("/calendars/{name:name}", AccessRole.VIEWER, whole=True, response_model=CalendarDetailResponse)
async def show_calendar(name: NamePath, context: Context) -> CalendarDetailResponse:
    """A calendar, and who uses it."""
    return await _detail(context, await context.tickwise.calendars.get(name))


@router.get("/calendars/{name:name}/days", AccessRole.VIEWER, whole=True, response_model=CalendarYearResponse)
async def show_calendar_year(name: NamePath, context: Context, year: _Year = None) -> CalendarYearResponse:
    """Its days in a year."""
    return CalendarYearResponse.model_validate(await context.tickwise.calendars.year(name, year))


@router.post("/calendars:preview", AccessRole.VIEWER, whole=True, response_model=CalendarYearResponse)
async def preview_calendar(body: CalendarPreviewRequest, context: Context) -> CalendarYearResponse:
    """The days that a calendar would have in a year; nothing is written."""
    return CalendarYearResponse.model_validate(
        await context.tickwise.calendars.preview(body.definition, body.year)
    )


@router.put("/calendars/{name:name}", AccessRole.ADMIN, whole=True, response_model=CalendarDetailResponse)
async def put_calendar(name: NamePath, body: CalendarRequest, context: Context) -> CalendarDetailResponse:
    """Define a calendar, and give its days to all that use it."""
    before = next((one for one in await context.tickwise.calendars.list() if one.name == name), None)
    found = await context.tickwise.calendars.put(name, **(body.model_extra or {}))
    await context.audit("calendar.put", name, before and before.definition, found.definition)
    return await _detail(context, found)


@router.post("/calendars/{name:name}:expand", AccessRole.ADMIN, whole=True, response_model=CalendarDetailResponse)
async def expand_calendar(name: NamePath, context: Context) -> CalendarDetailResponse:
    """Find its days anew, as the packages of this server know them."""
    found = await context.tickwise.calendars.expand(name)
    await context.audit("calendar.expand", name, None, {"version": found.version})
    return await _detail(context, found)


@router.delete("/calendars/{name:name}", AccessRole.ADMIN, whole=True, status_code=204)
async def remove_calendar(name: NamePath, context: Context) -> None:
    """Delete a calendar that nothing uses."""
    before = await context.tickwise.calendars.get(name)
    await context.tickwise.calendars.remove(name)
    await context.audit("calendar.remove", name, before.definition, None)


async def _detail(context: RequestContext, one: CalendarInfo) -> CalendarDetailResponse:
    used_by = list(await context.tickwise.calendars.users(one.name))
    return CalendarDetailResponse.model_validate({**asdict(one), "used_by": used_by})
