"""`/schedules:action`: the same word on many schedules, with an answer for each."""

import json
from collections.abc import Awaitable, Callable

from fastapi import Response

from ...core.errors import TickwiseError
from ...stores.records import AccessRole, ScheduleRow
from ..bodies.schedules import BulkAnswer, BulkOne, BulkPause, BulkResume, BulkTrigger
from ..doors import Doors
from ..problems import told
from ..visit import Visit, Visiting
from .actions import paused, resumed, triggered

doors = Doors("schedules")
_OPERATOR = AccessRole.OPERATOR


@doors.post("/schedules:pause", _OPERATOR, response_model=BulkAnswer)
async def pause_many(body: BulkPause, visit: Visiting) -> BulkAnswer:
    """Pause each; those that cannot be paused do not hold up the others."""
    return await _each(visit, body.names, lambda row: _quietly(paused(visit, row, body)))


@doors.post("/schedules:resume", _OPERATOR, response_model=BulkAnswer)
async def resume_many(body: BulkResume, visit: Visiting) -> BulkAnswer:
    """Resume each."""
    return await _each(visit, body.names, lambda row: _quietly(resumed(visit, row, body)))


@doors.post("/schedules:trigger", _OPERATOR, once=True, response_model=BulkAnswer)
async def trigger_many(body: BulkTrigger, visit: Visiting) -> BulkAnswer:
    """Run the job of each now."""

    async def trigger(row: ScheduleRow) -> str | None:
        return (await triggered(visit, row, body)).id

    return await _each(visit, body.names, trigger)


async def _quietly(action: Awaitable[object]) -> None:
    await action


async def _each(visit: Visit, names: list[str], act: Callable[[ScheduleRow], Awaitable[str | None]]) -> BulkAnswer:
    answers = []
    for name in dict.fromkeys(names):
        try:
            run = await act(await visit.schedule(name))
            answers.append(BulkOne(name=name, done=True, run=run))
        except TickwiseError as error:
            answers.append(BulkOne(name=name, done=False, problem=_content(told(error))))
    return BulkAnswer(items=answers)


def _content(response: Response) -> dict[str, object]:
    found: dict[str, object] = json.loads(bytes(response.body))
    return found
