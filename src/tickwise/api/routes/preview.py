"""`/templates`, `/preview`, `/simulate`: what a schedule would do, before it is made."""

import asyncio
from collections.abc import Iterator
from itertools import islice

from fastapi import Request

from ...app.records import MICRO, AccessRole
from ...app.upcoming import CROWD_SIZE, spread_out
from ...core.cron import Recurrence, parse
from ...core.definition import JobDefinition
from ...core.errors import InputError
from ...core.simulation.simulate import Scenario, SlotReport, simulate
from ...core.timeparse import ceil_second, iso, parse_duration, to_datetime
from ...sources.spec import read_spec
from ...sources.templates import BUILT_IN
from ..context import Context, RequestContext
from ..problems import about_field
from ..routing import Router
from ..schemas.common import second
from ..schemas.times import (
    PreviewRequest,
    PreviewResponse,
    SimulatedRunResponse,
    SimulateRequest,
    SimulationResponse,
    SlotResponse,
    TemplateResponse,
    TemplatesResponse,
)
from ..simulation_lock import one_at_a_time

router = Router("planning")
_MAX_SPAN, _MAX_SLOTS = 366 * 86_400, 10_000
_MAX_COST, _SLOT_COST = 1_000_000, 50  # a slot costs so much, and one for each schedule that is looked at for it
_PREVIEWED, _HOURS_AHEAD = 10, 24


@router.get("/templates", AccessRole.VIEWER, response_model=TemplatesResponse)
async def list_templates(context: Context) -> TemplatesResponse:
    """Schedules by name, ours and those of the settings: `{"schedule": {"template": NAME}}`."""
    known = {**BUILT_IN, **context.tickwise.settings.templates}
    rows = [(name, one.expression, one.description) for name, one in known.items()]
    return TemplatesResponse(items=[TemplateResponse(name=n, expression=e, description=d) for n, e, d in rows])


@router.post("/preview", AccessRole.VIEWER, response_model=PreviewResponse)
async def preview(body: PreviewRequest, context: Context) -> PreviewResponse:
    """What an expression means, when it fires next, and what may not have been meant so."""
    return await preview_of(
        parse(body.expression, body.timezone, body.name or ""), body.expression, body.name, context
    )


async def preview_of(
    times: Recurrence, expression: str, name: str | None, context: RequestContext
) -> PreviewResponse:
    """What times mean that were written as an expression, for a schedule of that name."""
    now = await context.view.now() // MICRO
    following = list(islice(_after(times, now), _PREVIEWED))
    others = await _starts_in_minute(context, following[0], name) if following else 0
    warnings = list(times.warnings_after(now))
    suggestion = spread_out(expression) if others >= CROWD_SIZE else ""
    if others >= CROWD_SIZE:
        warnings.append(f"{others} other schedules start in the minute of {iso(following[0])}: spread them with H")
    return PreviewResponse(
        expression=expression, timezone=times.zone.name, means=times.explain(),
        next=[to_datetime(slot) for slot in following], warnings=warnings, suggestion=suggestion or None,
    )  # fmt: skip


@router.post("/simulate", AccessRole.VIEWER, response_model=SimulationResponse)
async def simulate_slots(body: SimulateRequest, request: Request, context: Context) -> SimulationResponse:
    """Play the real planner through a stretch of time: each slot with its verdict and its reason.

    A process plays one simulation at a time; meanwhile others get 429.
    """
    job = await _simulated_job(body, context)
    start, end = ceil_second(body.start), ceil_second(body.end)
    if end - start > _MAX_SPAN:
        raise InputError("end: a simulation covers at most a year: bring start and end closer together")
    slots = sum(one.times.count(start - 1, end - 1) for one in job.schedules) if start < end else 0
    if slots > _MAX_SLOTS:
        raise InputError(f"end: {slots:,} slots are more than {_MAX_SLOTS:,}: bring start and end closer together")
    if slots * (_SLOT_COST + len(job.schedules)) > _MAX_COST:
        raise InputError(
            f"end: {slots:,} slots of {len(job.schedules):,} schedules take too long: "
            "bring start and end closer together"
        )
    with about_field("run_time"):
        run_time = {} if body.run_time is None else {job.name: parse_duration(body.run_time)}
    scenario = Scenario(
        jobs=(job,), start=start, end=end, run_time=run_time,
        down=tuple((ceil_second(one.start), ceil_second(one.end)) for one in body.down),
        fail=frozenset({job.name}) if body.fail else frozenset(),
    )  # fmt: skip
    async with one_at_a_time(request):
        reports = await asyncio.to_thread(simulate, scenario)
    return SimulationResponse(items=[_slot_response(report) for report in reports])


async def _simulated_job(body: SimulateRequest, context: RequestContext) -> JobDefinition:
    if body.schedule is not None:
        return (await context.view.stored_schedule(body.schedule)).job.definition
    fields = {"name": "simulated", **(body.definition or {})}
    return await context.operations.bound_job(read_spec(fields, "", context.tickwise.schedules.defaults()))


async def _starts_in_minute(context: RequestContext, slot: int, own: str | None) -> int:
    """How many others start in the minute of a slot, if it comes soon."""
    ahead = await context.forecasts.ahead(_HOURS_AHEAD)
    minute = slot // 60 * 60
    return len({run.job_id for run in ahead.index.query(minute, minute + 60)} - {own})


def _after(times: Recurrence, now: int) -> Iterator[int]:
    slot = times.after(now)
    while slot is not None:
        yield slot
        slot = times.after(slot)


def _slot_response(report: SlotReport) -> SlotResponse:
    run = report.run and SimulatedRunResponse(
        trigger=str(report.run.trigger), started_at=second(report.run.started_at),
        finished_at=second(report.run.finished_at),
        outcome=None if report.run.outcome is None else str(report.run.outcome),
    )  # fmt: skip
    return SlotResponse(
        schedule=report.schedule, slot=to_datetime(report.slot), verdict=str(report.verdict),
        reason=report.reason.code, detail=report.detail, run=run,
    )  # fmt: skip
