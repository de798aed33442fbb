"""What can be proposed: for each act its arguments, what it would do, and the route that does it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from ..app.records import MICRO, RunFilter
from ..app.values import as_second
from ..core.change import Change, Paused, Rescheduled, Resumed, SkipAsked, SkipTakenBack
from ..core.errors import InputError
from ..core.proposal import ProposedAct
from ..core.states import ACTIVE
from ..core.timeparse import ceil_second, iso
from ..core.upcoming_change import upcoming_change
from .context import RequestContext
from .routes.actions import pause_schedule, reschedule, resume_schedule, skip_slot, trigger_schedule
from .routes.backfill import backfill
from .routes.runs import cancel_run, retry_run
from .schemas.common import RequestModel
from .schemas.runs import RetryRequest
from .schemas.schedules import (
    BackfillRequest,
    PauseRequest,
    RescheduleRequest,
    ResumeRequest,
    SkipRequest,
    TriggerRequest,
)

_LOOK_AHEAD, _MAX_LISTED = 86_400, 100
_INSTANTS = ("until", "to", "slot", "start", "end")  # arguments that may be a duration from now


@dataclass(frozen=True, slots=True)
class Effect:
    """What an act would do."""

    text: str
    job: str
    appear: tuple[int, ...] = ()
    vanish: tuple[int, ...] = ()
    facts: tuple[str, ...] = ()  # what else it depends on
    until: int | None = None

    def as_json(self) -> dict[str, Any]:
        appear, vanish = ([iso(one) for one in starts[:_MAX_LISTED]] for starts in (self.appear, self.vanish))
        until = None if self.until is None else iso(self.until)
        return {"text": self.text, "appear": appear, "vanish": vanish, "facts": [*self.facts], "until": until}


class _NoArguments(RequestModel):
    """Of an act that takes none."""


class Act(NamedTuple):
    """How an act is read, foreseen and done."""

    arguments: type[BaseModel]
    foresee: Callable[[RequestContext, str, Any, int], Awaitable[Effect]]
    perform: Callable[[RequestContext, str, Any], Awaitable[object]]


async def foreseen(context: RequestContext, act: ProposedAct, target: str, arguments: Mapping[str, Any]) -> Effect:
    """What an act would do now; refused as the act itself would be."""
    body = _checked_body(act, arguments)
    return await ACTS[act].foresee(context, target, body, await context.view.now() // MICRO)


def settled_arguments(act: ProposedAct, arguments: Mapping[str, Any], now: int) -> dict[str, Any]:
    """The arguments with instants for durations: `2h` counts from when it was proposed."""
    given: dict[str, Any] = _checked_body(act, arguments).model_dump(exclude_unset=True)
    for name in _INSTANTS:
        if isinstance(given.get(name), str):
            given[name] = iso(as_second(given[name], now))
    return given


async def perform(context: RequestContext, act: ProposedAct, target: str, arguments: Mapping[str, Any]) -> None:
    """Do it, in the name of the request's own identity."""
    await ACTS[act].perform(context, target, _checked_body(act, arguments))


def _checked_body(act: ProposedAct, arguments: Mapping[str, Any]) -> Any:
    try:
        return ACTS[act].arguments.model_validate(dict(arguments))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, ("arguments", *first["loc"])))
        raise InputError(f"{place}: {first['msg']}", field=place) from None


def same_future(then: Mapping[str, Any], now: Effect, second: int) -> bool:
    """Whether an effect is still what was told, but for starts that have passed."""
    new = now.as_json()
    sides = (_same_starts(then[side], new[side], second, then["until"]) for side in ("appear", "vanish"))
    return all(sides) and list(then["facts"]) == new["facts"]


def _same_starts(then: list[str], now: list[str], second: int, until: str | None) -> bool:
    """Of starts that were too many to list, as many as were listed."""
    old, new = ([one for one in starts if second < _epoch_second(one)] for starts in (then, now))
    new = [one for one in new if until is None or one <= until]
    return old == (new[: len(old)] if len(then) == _MAX_LISTED else new)


def _epoch_second(text: str) -> int:
    return ceil_second(datetime.fromisoformat(text))


def _on_schedule(change: Callable[[Any, int], Change], what: str) -> Callable[..., Awaitable[Effect]]:
    """The effect of a request on the starts to come of its schedule."""

    async def foresee(context: RequestContext, target: str, body: Any, now: int) -> Effect:
        schedule = (await context.view.schedule(target)).schedule
        found = upcoming_change(schedule, change(body, now), now, now + _LOOK_AHEAD)
        text = (
            f"{what} {target}: up to {iso(found.until)}, {_starts(found.appear)} would be added and "
            f"{_starts(found.vanish)} would not come"
        )
        return Effect(text, schedule.job, found.appear, found.vanish, until=found.until)

    return foresee


def _starts(starts: tuple[int, ...]) -> str:
    return "1 start" if len(starts) == 1 else f"{len(starts):,} starts"


async def _foresee_trigger(context: RequestContext, target: str, body: TriggerRequest, _now: int) -> Effect:
    job = (await context.view.schedule(target)).schedule.job
    row = await context.view.job(job)
    active = (await context.view.runs(RunFilter(job=job, states=ACTIVE), None, 20)).items
    under_way = f"{len(active)} of its runs are under way" if active else "none of its runs is under way"
    beside = " and would be beside them" if active and body.allow_overlap else ""
    return Effect(
        f"trigger {target}: one run of {job} would start now; {under_way}{beside}", job,
        facts=(f"version {row.version} of {job}", *(f"run {run.id} is under way" for run in active)),
    )  # fmt: skip


async def _foresee_backfill(context: RequestContext, target: str, body: BackfillRequest, _now: int) -> Effect:
    job = (await context.view.schedule(target)).schedule.job
    slots = await context.tickwise.schedules.backfill(target, **{**body.model_dump(), "dry_run": True})
    row = await context.view.job(job)
    span = f" from {iso(ceil_second(slots[0]))} to {iso(ceil_second(slots[-1]))}" if slots else ""
    said = f"{len(slots):,} slots{span}"
    return Effect(
        f"backfill {target}: {said} would run", job, facts=(f"version {row.version} of {job}", said)
    )  # fmt: skip


def _on_run(what: str) -> Callable[..., Awaitable[Effect]]:
    async def foresee(context: RequestContext, target: str, _body: Any, _now: int) -> Effect:
        run = await context.view.run(target)
        said = f"run {run.id} of {run.job} is {run.state}"
        return Effect(f"{what} {target}: {said}", run.job, facts=(said,))

    return foresee


def _instant(text: str | None, now: int) -> int | None:
    return None if text is None else as_second(text, now)


def _skip(body: SkipRequest, now: int) -> Change:
    slot = as_second(body.slot, now)
    return SkipTakenBack(slot) if body.undo else SkipAsked(slot, reason=body.reason)


ACTS: Mapping[ProposedAct, Act] = {
    ProposedAct.PAUSE: Act(
        PauseRequest,
        _on_schedule(lambda body, now: Paused(reason=body.reason, until=_instant(body.until, now)), "pause"),
        lambda context, target, body: pause_schedule(target, context, body),
    ),
    ProposedAct.RESUME: Act(
        ResumeRequest,
        _on_schedule(lambda body, _now: Resumed(body.run_missed), "resume"),
        lambda context, target, body: resume_schedule(target, context, body),
    ),
    ProposedAct.TRIGGER: Act(
        TriggerRequest, _foresee_trigger, lambda context, target, body: trigger_schedule(target, context, body)
    ),
    ProposedAct.RESCHEDULE: Act(
        RescheduleRequest,
        _on_schedule(lambda body, now: Rescheduled(as_second(body.to, now)), "reschedule"),
        lambda context, target, body: reschedule(target, body, context),
    ),
    ProposedAct.SKIP: Act(
        SkipRequest, _on_schedule(_skip, "skip"), lambda context, target, body: skip_slot(target, body, context)
    ),
    ProposedAct.BACKFILL: Act(
        BackfillRequest, _foresee_backfill, lambda context, target, body: backfill(target, body, context)
    ),
    ProposedAct.CANCEL: Act(
        _NoArguments, _on_run("cancel"), lambda context, target, _body: cancel_run(target, context)
    ),
    ProposedAct.RETRY: Act(
        RetryRequest, _on_run("retry"), lambda context, target, body: retry_run(target, context, body)
    ),
}
