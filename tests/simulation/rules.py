"""Calendars, blackouts, skips, deadlines and budgets: in every fifth world, with trouble and laws of their own.

All is drawn for itself, so the other worlds live as they would without. The judge asks `broken_rules` what is
wrong besides what the audit of the rows finds.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from tickwise.app.blackouts import Blackouts
from tickwise.core.audit import AuditFinding, Fault
from tickwise.core.change import SkipAsked, SkipTakenBack
from tickwise.core.cron import parse
from tickwise.core.cron.calendar_days import OnCalendar
from tickwise.core.cron.day_set import DaySet
from tickwise.core.deadlines import LATE
from tickwise.core.definition import BlackoutMode, JobDefinition, StartBudget
from tickwise.core.errors import ConflictError, InputError
from tickwise.core.model import Trigger
from tickwise.core.slots import next_slot
from tickwise.core.states import RunState
from tickwise.core.time_limit import Deadline, TimeLimit
from tickwise.core.timeparse import iso
from tickwise.stores.contract import Store
from tickwise.stores.records import MICRO, DecisionRow, RunRow
from tickwise.testing.conformance.world import job

if TYPE_CHECKING:
    from .world import World

SEEDS = 5  # every so many worlds have them
EVERY = 25.0  # seconds between two troubles, on average
THURSDAY = 20_454  # the day of all worlds
LIMIT, BUDGET = TimeLimit(30), StartBudget(3, 120)
_JUDGED = 150  # seconds after which a deadline has been judged
_BY_SLOTS = frozenset({Trigger.SCHEDULE, Trigger.CATCHUP})
Editions = tuple[JobDefinition, JobDefinition]


def _days(text: str, *days: int) -> OnCalendar:
    return OnCalendar(parse(text), "office", version="1", days=DaySet.of(days, THURSDAY - 5, 10))


_JOBS: dict[str, Editions] = {
    each.name: (each, other)
    for each, other in (
        (
            job("due", "@every 40s", overlap="allow", max_active_runs=4, deadline=Deadline(finish=LIMIT)),
            job("due", "@every 40s", catchup="all", deadline=Deadline(finish=LIMIT, cancel=True)),
        ),
        (
            job("quota", "@every 20s", max_starts=BUDGET),
            job("quota", "@every 20s", catchup="all", max_starts=BUDGET),
        ),
        (
            job("office", _days("* * * * *", THURSDAY), catchup="all"),
            job("office", _days("* * * * *", THURSDAY - 1, THURSDAY, THURSDAY + 1)),
        ),
        (
            job("rests", "@every 30s", catchup="all"),
            job("rests", "@every 30s", blackout=BlackoutMode.SKIP),
        ),
    )
}


RULE_JOBS = frozenset(_JOBS)


def drawn_for_rules(seed: int) -> dict[str, Editions]:
    """Two or three of them, in every fifth world."""
    if seed % SEEDS:
        return {}
    chance = Random(f"{seed} rules")
    names = chance.sample(sorted(_JOBS), chance.choice((2, 3)))
    return {name: _JOBS[name] if chance.random() < 0.6 else _JOBS[name][::-1] for name in names}


@dataclass(slots=True)
class Skips:
    """Slots that are not to run, by schedule; a person may have taken some back."""

    asked: set[tuple[str, int]] = field(default_factory=set)


async def make_rule_trouble(world: "World", seconds: float) -> None:
    """Blackouts, and slots that are to be skipped, until it is over."""
    if not drawn_for_rules(world.seed):
        return
    chance, doing = Random(f"{world.seed} rule trouble"), list[asyncio.Task[None]]()
    end = world.loop.time() + seconds
    while world.loop.time() < end:
        await asyncio.sleep(chance.expovariate(1 / EVERY))
        kind = chance.choice((_black_out, _skip, _skip))
        doing.append(asyncio.create_task(_do(world, chance, kind)))
    await asyncio.gather(*doing)


async def _do(world: "World", chance: Random, kind: Callable[["World", Random], object]) -> None:
    try:
        await kind(world, chance)  # type: ignore[misc]
    except (ConflictError, InputError) as no:
        world.truth.tell("ben", f"is refused: {no}")


async def _black_out(world: "World", chance: Random) -> None:
    """Some jobs rest for a while; a person ends that."""
    name, pattern = f"b{len(world.truth.timeline)}", chance.choice(("*", "rests", "due", "quota"))

    async def opened() -> Store:
        return world.store

    blackouts = Blackouts(opened)
    await blackouts.add(name, jobs=[pattern], length="2h")
    world.truth.tell("ben", f"begins the blackout {name} of {pattern}")
    resting = [world.begin_rest(each) for each in await world.schedules() if pattern in ("*", each)]
    await asyncio.sleep(chance.choice((20.0, 90.0)))
    for each in resting:
        world.end_rest(each)
    await blackouts.remove(name)
    world.truth.tell("ben", f"ends the blackout {name}")


async def _skip(world: "World", chance: Random) -> None:
    """A slot to come is not to run; now and then a person takes that back."""
    name = chance.choice(sorted({"due", "quota", "rests"} & set(world.jobs)) or ["rests"])
    row = await world.store.insights.schedule(name)
    slot = next_slot(row.schedule, world.second + chance.choice((1, 40))) if row else None
    if slot is None:
        return
    await world.store.change(name, SkipAsked(slot, "ben"))
    world.truth.tell("ben", f"lets {name} skip {iso(slot)}")
    world.skips.asked.add((name, slot))
    if chance.random() < 0.3:
        world.skips.asked.discard((name, slot))
        await world.store.change(name, SkipTakenBack(slot))


# What must have been so.


def broken_rules(world: "World", rows: Iterable[RunRow], told: Iterable[DecisionRow]) -> Iterator[AuditFinding]:
    """Of the worlds that have these rules. A clock that was set makes instants lie."""
    if world.seed % SEEDS:
        return
    made = [row for row in rows if row.schedule and row.slot is not None and row.trigger in _BY_SLOTS]
    yield from _skipped_slots(world, made)
    if not world.clock_set:
        yield from _overrun_budget(world, made)
        yield from _deadlines(world, made, list(told))


def _skipped_slots(world: "World", made: Iterable[RunRow]) -> Iterator[AuditFinding]:
    """A marked slot is not run, unless a pause or a blackout has decided it first."""
    paused = {pausing.schedule for pausing in world.pauses}
    for row in made:
        if (row.schedule, row.slot) in world.skips.asked and not {None, row.schedule} & paused:
            yield AuditFinding(
                Fault.EXTRA, row.schedule or "", row.slot, f"run {row.id} is for a slot that was to be skipped", ""
            )


def _overrun_budget(world: "World", made: Iterable[RunRow]) -> Iterator[AuditFinding]:
    """No more runs of slots in any time of its length than the budget has (S77)."""
    for name in {"quota"} & set(world.jobs):
        starts = sorted(row.created_at // MICRO for row in made if row.schedule == name)
        for first, last in zip(starts, starts[BUDGET.count :], strict=False):
            if last < first + BUDGET.per:
                text = f"{BUDGET.count + 1} runs from {iso(first)} to {iso(last)} are more than the budget"
                yield AuditFinding(Fault.EXTRA, name, None, text, "")


def _deadlines(
    world: "World", made: Iterable[RunRow], told: Iterable[DecisionRow]
) -> Iterator[AuditFinding]:  # fmt: skip
    """What was done in time is not recorded as late, and what was done later is (S65)."""
    late = [one for one in told if one.schedule == "due" and one.reason in LATE]
    for row in made:
        if row.schedule != "due" or row.state is not RunState.SUCCEEDED or world.truth.retry[row.id]:
            continue
        slot, done = row.slot or 0, -(-(row.finished_at or 0) // MICRO)
        is_told = any(one.first <= slot <= one.last for one in late)
        in_time = done <= LIMIT.instant(slot)
        if is_told and in_time:
            yield AuditFinding(
                Fault.EXTRA, "due", slot, f"{iso(slot)} was done in time, and is said to be late", ""
            )
        if not is_told and not in_time and slot < world.second - _JUDGED:
            yield AuditFinding(Fault.MISSED, "due", slot, f"{iso(slot)} was late, and nothing says so", "")
