"""`/upcoming`, `/forecast`, `/timeline`, `/hours`: what will run and what ran, by time."""

import asyncio
from datetime import datetime, timedelta
from itertools import islice
from typing import Annotated

from fastapi import Query

from ...app.upcoming import ForecastWindow, is_all_paused, load_forecast, runs_between
from ...app.values import RunInfo, UpcomingRun
from ...core.errors import InputError
from ...core.timeparse import ceil_second, to_datetime
from ...stores.records import MICRO, AccessRole
from ...stores.statistics import HourlyStats
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

doors = Router("times")
_LOOKED_AT = 20_000  # runs to come, of which somebody may see some
_LONGEST = timedelta(days=31)
_DAY, _WEEK = 24, 168  # hours that are looked ahead
_MOST_HOURS = 10_000  # of all schedules together


@doors.get("/upcoming", AccessRole.VIEWER, response_model=UpcomingResponse)
async def list_upcoming(visit: Context, asked: Annotated[UpcomingQuery, Query()]) -> UpcomingResponse:
    """What will run, in time order, at the times at which it will really start."""
    if asked.start is None and asked.schedule is None:
        return UpcomingResponse(items=await _coming(visit, asked.hours, asked.limit))
    now = await visit.store.now() // MICRO
    start = now if asked.start is None else max(now, ceil_second(asked.start))
    end = start + round(asked.hours * 3_600)
    if asked.schedule is None:
        ahead = await _ahead(visit, _DAY if end - now <= _DAY * 3_600 else _WEEK)
        found = await asyncio.to_thread(ahead.between, start, end, asked.limit)
    else:
        row = await visit.schedule(asked.schedule)
        schedules = [] if await is_all_paused(visit.store) else [row.schedule]
        found = list(islice(runs_between(schedules, now, start, end), asked.limit))
    return UpcomingResponse(items=[UpcomingRunResponse.model_validate(one) for one in found])


@doors.get("/forecast", AccessRole.VIEWER, response_model=ForecastResponse)
async def forecast(visit: Context, asked: Annotated[ForecastQuery, Query()]) -> ForecastResponse:
    """How many runs start when: by minute up to a day, else by hour; and where many start at once."""
    ahead = await _ahead(visit, asked.hours)
    return ForecastResponse.model_validate(await asyncio.to_thread(load_forecast, ahead))


@doors.get("/timeline", AccessRole.VIEWER, response_model=TimelineResponse)
async def timeline(visit: Context, asked: Annotated[TimelineQuery, Query()]) -> TimelineResponse:
    """Runs that were under way between two instants, and those to come; without any, an hour around now."""
    now = to_datetime(await visit.store.now() // MICRO)
    begin = asked.start or now - timedelta(minutes=30)
    stop = asked.end or begin + timedelta(hours=1)
    if not timedelta() < stop - begin <= _LONGEST:
        raise InputError(f"end: it must come after start, and at most {_LONGEST.days} days after it")
    first, last = (round(one.timestamp() * MICRO) for one in (begin, stop))
    rows = await visit.store.insights.timeline(first, last, asked.limit)
    runs = [run_response(RunInfo.of(row)) for row in rows if visit.who.sees(row.job)]
    coming = await _until(visit, now, stop, asked.limit) if stop > now else []
    return TimelineResponse(
        start=begin, end=stop, runs=runs, upcoming=[one for one in coming if begin <= one.at < stop]
    )


@doors.get("/hours", AccessRole.VIEWER, response_model=HoursResponse)
async def past_hours(visit: Context, asked: Annotated[HoursQuery, Query()]) -> HoursResponse:
    """What the last hours were like, by schedule and hour."""
    rows = await visit.store.insights.hourly_stats(asked.hours, asked.schedule)
    if visit.who.scopes:
        names = {row.schedule for row in rows}
        found = [await visit.store.insights.schedule(name) for name in names]
        seen = {row.schedule.name for row in found if row is not None and visit.who.sees(row.schedule.job)}
        rows = tuple(row for row in rows if row.schedule in seen)
    return HoursResponse(items=[_hour(row) for row in rows[:_MOST_HOURS]], truncated=len(rows) > _MOST_HOURS)


def _hour(row: HourlyStats) -> HourResponse:
    return HourResponse(
        schedule=row.schedule, hour=to_datetime(row.hour), claim_ms=row.claim_ms, late_ms=row.late_ms,
        run_ms=row.run_ms, runs={str(state): number for state, number in row.runs.items()},
        triggers={str(trigger): number for trigger, number in row.triggers.items()},
        decided={reason.code: number for reason, number in row.decided.items()},
    )  # fmt: skip


async def _ahead(visit: RequestContext, hours: int) -> ForecastWindow:
    return await visit.outlooks.ahead(hours, visit.who.sees if visit.who.scopes else None)


async def _until(visit: RequestContext, now: datetime, stop: datetime, limit: int) -> list[UpcomingRunResponse]:
    return await _coming(visit, (stop - now) / timedelta(hours=1), limit)


async def _coming(visit: RequestContext, hours: float, limit: int) -> list[UpcomingRunResponse]:
    looked_at = _LOOKED_AT if visit.who.scopes else limit
    found: list[UpcomingRun] = await visit.tickwise.upcoming(hours, looked_at)
    seen = [one for one in found if visit.who.sees(one.job)][:limit]
    return [UpcomingRunResponse.model_validate(one) for one in seen]
