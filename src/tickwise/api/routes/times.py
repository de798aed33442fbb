"""`/upcoming`, `/forecast`, `/timeline`, `/hours`: what will run and what ran, by time."""

import asyncio
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated

from fastapi import Query

from ...app.records import MICRO, AccessRole, HourlyStats
from ...app.upcoming import ForecastWindow, runs_between
from ...app.values import UpcomingRun
from ...core.errors import InputError
from ...core.timeparse import ceil_second, to_datetime
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.queries import ForecastQuery, HoursQuery, TimelineQuery, UpcomingQuery
from ..schemas.runs import run_response
from ..schemas.times import (
    ForecastResponse,
    HourResponse,
    HoursResponse,
    TimelineResponse,
    UpcomingResponse,
    UpcomingRunResponse,
)

router = Router("times")
_MAX_READ = 20_000  # upcoming runs, of which a caller with scopes sees some
_MAX_SPAN = timedelta(days=31)
_DAY, _WEEK = 24, 168  # hours that are looked ahead
_MAX_HOURS = 10_000  # of all schedules together


@router.get("/upcoming", AccessRole.VIEWER, response_model=UpcomingResponse)
async def list_upcoming(context: Context, query: Annotated[UpcomingQuery, Query()]) -> UpcomingResponse:
    """What will run, in time order, at the times at which it will really start."""
    if query.start is None and query.schedule is None:
        return _first(await _upcoming(context, query.hours, query.limit + 1), query.limit)
    now = await context.view.now() // MICRO
    start = now if query.start is None else max(now, ceil_second(query.start))
    end = start + round(query.hours * 3_600)
    if query.schedule is None:
        ahead = await _forecast(context, _DAY if end - now <= _DAY * 3_600 else _WEEK)
        found = await asyncio.to_thread(ahead.between, start, end, query.limit + 1)
    else:
        row = await context.view.schedule(query.schedule)
        is_paused = any(pause.until is None for pause in await context.view.pauses())
        schedules = [] if is_paused else [row.schedule]
        found = list(islice(runs_between(schedules, now, start, end), query.limit + 1))
    return _first([UpcomingRunResponse.model_validate(one) for one in found], query.limit)


def _first(runs: list[UpcomingRunResponse], limit: int) -> UpcomingResponse:
    return UpcomingResponse(items=runs[:limit], more=len(runs) > limit)


@router.get("/forecast", AccessRole.VIEWER, response_model=ForecastResponse)
async def forecast(context: Context, query: Annotated[ForecastQuery, Query()]) -> ForecastResponse:
    """How many runs start and are under way when: by minute up to a day, else by hour; and crowded minutes."""
    sees = context.identity.sees if context.identity.scopes else None
    return ForecastResponse.model_validate(await context.forecasts.load(query.hours, sees))


@router.get("/timeline", AccessRole.VIEWER, response_model=TimelineResponse)
async def timeline(context: Context, query: Annotated[TimelineQuery, Query()]) -> TimelineResponse:
    """Runs that were under way between two instants, and those to come; without any, an hour around now."""
    now = to_datetime(await context.view.now() // MICRO)
    begin = query.start or now - timedelta(minutes=30)
    stop = query.end or begin + timedelta(hours=1)
    if not timedelta() < stop - begin <= _MAX_SPAN:
        raise InputError(f"end: it must come after start, and at most {_MAX_SPAN.days} days after it")
    first, last = (round(one.timestamp() * MICRO) for one in (begin, stop))
    runs = [run_response(run) for run in await context.view.timeline(first, last, query.limit)]
    upcoming = await _upcoming_until(context, now, stop, query.limit) if stop > now else []
    return TimelineResponse(
        start=begin, end=stop, runs=runs, upcoming=[one for one in upcoming if begin <= one.at < stop]
    )


@router.get("/hours", AccessRole.VIEWER, response_model=HoursResponse)
async def past_hours(context: Context, query: Annotated[HoursQuery, Query()]) -> HoursResponse:
    """What the last hours were like, by schedule and hour."""
    rows = await context.view.hourly_stats(query.hours, query.schedule)
    return HoursResponse(
        items=[_hour_response(row) for row in rows[:_MAX_HOURS]], truncated=len(rows) > _MAX_HOURS
    )


def _hour_response(row: HourlyStats) -> HourResponse:
    return HourResponse(
        schedule=row.schedule, hour=to_datetime(row.hour), claim_ms=row.claim_ms, late_ms=row.late_ms,
        run_ms=row.run_ms, runs={str(state): number for state, number in row.runs.items()},
        triggers={str(trigger): number for trigger, number in row.triggers.items()},
        decided={reason.code: number for reason, number in row.decided.items()},
    )  # fmt: skip


async def _forecast(context: RequestContext, hours: int) -> ForecastWindow:
    return await context.forecasts.ahead(hours, context.identity.sees if context.identity.scopes else None)


async def _upcoming_until(
    context: RequestContext, now: datetime, stop: datetime, limit: int
) -> list[UpcomingRunResponse]:
    return await _upcoming(context, (stop - now) / timedelta(hours=1), limit)


async def _upcoming(context: RequestContext, hours: float, limit: int) -> list[UpcomingRunResponse]:
    looked_at = _MAX_READ if context.identity.scopes else limit
    found: list[UpcomingRun] = await context.tickwise.upcoming(hours, looked_at)
    seen = [one for one in found if context.identity.sees(one.job)][:limit]
    return [UpcomingRunResponse.model_validate(one) for one in seen]
