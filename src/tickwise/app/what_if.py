"""What would have let a slot run, in words: the search of `core.simulation.counterfactual` over a store."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..core.cron.zone import Zone
from ..core.definition import Policy
from ..core.errors import ConflictError, InputError
from ..core.model import Schedule
from ..core.simulation.counterfactual import (
    Change,
    Counterfactual,
    Lifted,
    SufficientChange,
    WithinChange,
    counterfactual,
)
from ..core.slots import next_slot, previous_slot
from ..core.timeparse import format_duration, iso, to_datetime
from ..stores.contract import Store
from ..stores.records import MICRO, DecisionFilter, RunFilter
from .definition_fields import policy_fields
from .definitions import StoredJob
from .explain_steps import local_time
from .past import check_kept, read_past

_SLOTS_BEFORE, _SLOTS_AFTER, _DAY = 40, 20, 86_400
_LIFTED = {
    "down": "had a pass looked when it was due",
    "no_worker": "had a worker been there for it",
    "paused": "had it not been paused",
    "by_hand": "had nobody decided it by hand",
}


@dataclass(frozen=True, slots=True)
class WhatIfRemedy:
    """A change that would have let the slot run."""

    fields: Mapping[str, Any]  # of the definition, as a job file has them; none: without the field
    circumstances: tuple[str, ...]  # of the time, that would have had to be otherwise
    text: str
    run_at: datetime
    others_gained: int
    others_lost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What would have let a slot run, the smallest change first."""

    schedule: str
    slot: datetime
    status: str  # found, nothing, ran, no_slot, future, pending, not_stored, not_reproduced
    text: str
    remedies: tuple[WhatIfRemedy, ...] = ()
    since: datetime | None = None  # from when on the changed definition is played
    until: datetime | None = None


async def what_if(store: Store, stored: StoredJob, name: str, given: int | None) -> WhatIf:
    """Search what would have let a slot run; without one, the newest that is due."""
    now = await store.now() // MICRO
    schedule = next(row.schedule for row in stored.schedules if row.schedule.name == name)
    slot = previous_slot(schedule, now + 1) if given is None else given
    if slot is None or slot > now:
        return WhatIf(
            schedule=name, slot=to_datetime(now if slot is None else slot), status="future",
            text="it is not due yet" if slot is not None else "no slot has been due yet",
        )  # fmt: skip
    run = (await store.insights.runs(RunFilter(schedule=name, slot=slot), limit=1)).items
    if run:
        return WhatIf(schedule=name, slot=to_datetime(slot), status="ran", text=f"it has a run: {run[0].id}")
    try:
        return await _searched(store, stored, schedule, slot, now)
    except (InputError, ConflictError) as refusal:
        return WhatIf(schedule=name, slot=to_datetime(slot), status="not_stored", text=str(refusal))


async def _searched(store: Store, stored: StoredJob, schedule: Schedule, slot: int, now: int) -> WhatIf:
    name = schedule.name
    told = (await store.insights.decisions(DecisionFilter(schedule=name, slot=slot), limit=10)).items
    final = next((row for row in told if row.is_final), None)
    start, end = _around(schedule, slot, now, final.extended_at // MICRO if final else now)
    check_kept(stored, slot)
    start = max(start, stored.row.history_from or 0)
    if slot <= schedule.first_seen:
        added = iso(schedule.first_seen)
        return WhatIf(
            schedule=name,
            slot=to_datetime(slot),
            status="not_stored",
            text=f"the schedule was added later, {added}",
        )
    past = await read_past(store, stored, start, end)
    found = await asyncio.to_thread(counterfactual, past, (name, slot))
    status, text = _verdict(found, final.reason.code if final else None, schedule, slot)
    own = next(one.policy for one in stored.definition.schedules if one.name == name)
    remedies = (
        tuple(_told(remedy, own, schedule.definition.times.zone) for remedy in found.remedies)
        if status == "found"
        else ()
    )
    return WhatIf(
        schedule=name, slot=to_datetime(slot), status=status, text=text, remedies=remedies,
        since=to_datetime(start), until=to_datetime(end),
    )  # fmt: skip


def _around(schedule: Schedule, slot: int, now: int, decided_at: int) -> tuple[int, int]:
    """A stretch of time in which the slot is decided, with some slots before and after it."""
    start = slot
    for _ in range(_SLOTS_BEFORE):
        before = schedule.definition.times.before(start)
        if before is None or before < slot - _DAY:
            break
        start = before
    end = slot
    for _ in range(_SLOTS_AFTER):
        following = next_slot(schedule, end)
        if following is None or following > slot + _DAY:
            break
        end = following
    return min(start, slot - 1), min(now, max(end, decided_at + 60)) + 1


def _verdict(found: Counterfactual, recorded: str | None, schedule: Schedule, slot: int) -> tuple[str, str]:
    if recorded is None and found.baseline is None:
        return "pending", "no pass has decided it yet, and nothing of its definition is in its way"
    then = recorded or "not decided"
    if found.baseline is None or (recorded is not None and found.baseline != recorded):
        edited = f"; its times were edited at {iso(schedule.edited_at)}" if schedule.edited_at > slot else ""
        again = "a run" if found.baseline is None else found.baseline
        return "not_reproduced", (
            f"what is stored does not say how it came: recorded is {then}, and planned again it gets {again}"
            f"{edited}. The definition was another, or the facts of that time are not complete"
        )
    more = "" if found.complete else ". Not everything could be tried"
    if found.remedies:
        alone = len(found.remedies[0].changes) == 1
        return "found", f"any of these would have let it run{more}" if alone else (
            f"no single change would have let it run; these two together would{more}"
        )
    if found.baseline == "no_slot":
        return "no_slot", f"it is no slot of the schedule, and no rule makes it one{more}"
    return "nothing", f"no change of a rule, and no two of them, would have let it run{more}"


def _told(remedy: SufficientChange, policy: Policy, where: Zone) -> WhatIfRemedy:
    before, after = policy_fields(policy), policy_fields(remedy.policy)
    changed = {name: after.get(name) for name in {**after, **before} if before.get(name) != after.get(name)}
    lifted = tuple(one.circumstance for one in remedy.changes if isinstance(one, Lifted))
    words = [*(_written(name, value) for name, value in changed.items()), *(_LIFTED[one] for one in lifted)]
    least = "" if remedy.least is None else f" ({_least(remedy.changes[-1], remedy.least)} would have been enough)"
    effects = ", ".join(_effects(remedy))
    at = local_time(remedy.run_at, where)
    text = f"{' and '.join(words)}{least}: it would have run at {at}{effects and f', {effects}'}"
    run_at = to_datetime(remedy.run_at)
    return WhatIfRemedy(changed, lifted, text, run_at, remedy.others_gained, remedy.others_lost)


def _written(name: str, value: Any) -> str:
    if value is None:
        return f"without {name}"
    if isinstance(value, list):
        value = ", ".join(f"{one['schedule']} within {one['within']}" for one in value)
    if isinstance(value, Mapping):
        value = ", ".join(f"{key} {inner}" for key, inner in value.items())
    return f"{name}: {value}"


def _least(change: Change, least: int) -> str:
    return f"within {format_duration(least)}" if isinstance(change, WithinChange) else format_duration(least)


def _effects(remedy: SufficientChange) -> Iterator[str]:
    if remedy.others_gained:
        yield f"and {_count_text(remedy.others_gained)} as well"
    if remedy.others_lost:
        yield f"but {_count_text(remedy.others_lost)} would not"


def _count_text(number: int) -> str:
    return "one other slot" if number == 1 else f"{number} other slots"
