"""Events: in every fifth world, other worlds than those of `rules`, with trouble and a law of their own.

A sender repeats what was not confirmed, under the same key, until it is. The judge asks `broken_events` whether
each accepted event has ended once (S71).
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING

from tickwise.core.audit import AuditFinding, Fault
from tickwise.core.definition import JobDefinition
from tickwise.core.event_inbox import EventsReceived
from tickwise.core.event_sources import NewEvent
from tickwise.core.events import Coalesce, OnEvent, events_of_params
from tickwise.core.model import Schedule
from tickwise.core.timeparse import iso
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.records import DecisionRow, RunRow, ScheduleRow
from tickwise.testing.conformance.world import job

from .wire import Wire

if TYPE_CHECKING:
    from .world import World

SEEDS, OWN = 5, 4  # every so many worlds have them, those with this remainder
EVERY = 8.0  # seconds between two events, on average
_WINDOW = 86_400  # longer than any clock leaps
_RETRY = 2.0
Editions = tuple[JobDefinition, JobDefinition]


def _groups(quiet: int, at_most: int) -> OnEvent:
    return OnEvent(coalesce=Coalesce(quiet, at_most), window=_WINDOW)


_EACH = OnEvent(window=_WINDOW)
_JOBS: dict[str, Editions] = {
    each.name: (each, other)
    for each, other in (
        (
            job("each", _EACH, catchup="all"),
            job("each", _EACH, catchup="all", overlap="allow", max_active_runs=2),
        ),
        (job("groups", _groups(10, 30), catchup="all"), job("groups", _groups(4, 60), catchup="all")),
        (job("newest", _EACH, catchup="once", overlap="latest"), job("newest", _groups(5, 5), catchup="all")),
    )
}
EVENT_JOBS = frozenset(_JOBS)


def drawn_for_events(seed: int) -> dict[str, Editions]:
    """Two of them, in every fifth world."""
    if seed % SEEDS != OWN:
        return {}
    chance = Random(f"{seed} events")
    names = chance.sample(sorted(_JOBS), 2)
    return {name: _JOBS[name] if chance.random() < 0.6 else _JOBS[name][::-1] for name in names}


class Sender:
    """Sends events over a wire that loses calls and answers."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._wire = Wire(
            world.store, "sender", Random(f"{world.seed} sender"), world.weather, world.truth
        )  # fmt: skip
        self._numbers = Counter[str]()

    def new_keys(self, name: str, number: int) -> list[str]:
        first = self._numbers[name]
        self._numbers[name] += number
        return [f"{name} {n}" for n in range(first, first + number)]

    async def send(self, name: str, keys: list[str]) -> None:
        """Until it is confirmed."""
        events = EventsReceived(tuple(NewEvent(key, "sent") for key in keys))
        while True:
            try:
                await self._wire.change(name, events)
            except StoreUnavailableError:
                await asyncio.sleep(_RETRY)
            else:
                break
        self._world.truth.accepted[name].update(keys)
        self._world.truth.tell("sender", f"has sent {', '.join(keys)}")


async def make_event_trouble(world: "World", seconds: float) -> None:
    """Events come at any time: alone, many at once, twice, while no node lives, and just before an edit."""
    names = sorted(drawn_for_events(world.seed))
    if not names:
        return
    chance, sender, doing = Random(f"{world.seed} event trouble"), Sender(world), list[asyncio.Task[None]]()
    end = world.loop.time() + seconds
    while world.loop.time() < end:
        await asyncio.sleep(chance.expovariate(1 / EVERY))
        name, number = chance.choice(names), chance.choice((1, 1, 1, 6))
        kind = chance.choices((_send, _send_twice, _send_to_nobody, _drop), (20, 8, 1, 1))[0]
        doing.append(asyncio.create_task(kind(world, chance, sender, name, number)))
    await asyncio.gather(*doing)


async def _send(_world: "World", _chance: Random, sender: Sender, name: str, number: int) -> None:
    await sender.send(name, sender.new_keys(name, number))


async def _send_twice(_world: "World", chance: Random, sender: Sender, name: str, number: int) -> None:
    """The second time beside the first, or when it has had its run."""
    keys = sender.new_keys(name, number)

    async def again() -> None:
        await asyncio.sleep(chance.choice((0.0, 5.0, 90.0)))
        await sender.send(name, keys)

    await asyncio.gather(sender.send(name, keys), again())


async def _send_to_nobody(world: "World", chance: Random, sender: Sender, name: str, number: int) -> None:
    killed = sorted(world.nodes)
    for node in killed:
        world.crash(node)
    await sender.send(name, sender.new_keys(name, number))
    await asyncio.sleep(chance.choice((1.0, 40.0, 100.0)))
    for node in killed:
        world.start(node)


async def _drop(world: "World", chance: Random, sender: Sender, name: str, number: int) -> None:
    """A reset drops what has come; another definition may follow before any pass."""
    await sender.send(name, sender.new_keys(name, number))
    await world.reset(name)
    if chance.random() < 0.5:
        first, second = world.editions[name]
        world.truth.tell("ann", f"edits {name}")
        await world.define(second if world.jobs[name] == first else first)


# What must have been so.


def broken_events(
    world: "World", schedules: Iterable[ScheduleRow], rows: Iterable[RunRow], told: Iterable[DecisionRow]
) -> Iterator[AuditFinding]:
    """Each accepted event is part of one run or of one decision; what waits is judged as a slot."""
    by_schedule = defaultdict[str, list[RunRow]](list)
    for run in rows:
        by_schedule[run.schedule or ""].append(run)
    final = [one for one in told if one.reason.verdict.is_final]
    for row in schedules:
        if (name := row.schedule.name) in EVENT_JOBS:
            own = [one for one in final if one.schedule == name]
            yield from _Ends(row.schedule, world.truth.accepted[name], by_schedule[name], own).findings()


class _Ends:
    """What became of the events of a schedule."""

    def __init__(
        self, schedule: Schedule, accepted: set[str], runs: list[RunRow], told: list[DecisionRow]
    ) -> None:
        self.name, self.accepted, self.told = schedule.name, accepted, told
        self.runs = Counter(str(one["key"]) for run in runs for one in events_of_params(run.params or {}))
        self.waiting = {event.key for event in schedule.inbox.pending}
        self.slots: Mapping[str, int] = {event.key: event.slot for event in schedule.inbox.decided}

    def findings(self) -> Iterator[AuditFinding]:
        for key in sorted(self.accepted | self.runs.keys()):
            for kind, text in self._of(key):
                yield AuditFinding(kind, self.name, self.slots.get(key), f"event {key} {text}", "")
        dropped = {slot for key, slot in self.slots.items() if not self.runs[key]}
        recorded = sum(one.count for one in self.told)
        if recorded > len(dropped):
            text = f"{recorded} slots of events are recorded as decided without a run, and {len(dropped)} are"
            yield AuditFinding(Fault.EXTRA, self.name, None, text, "")

    def _of(self, key: str) -> Iterator[tuple[Fault, str]]:
        slot, runs = self.slots.get(key), self.runs[key]
        if key not in self.accepted:
            yield Fault.EXTRA, "was never sent"
        if runs > 1:
            yield Fault.DOUBLED, f"is part of {runs} runs"
        if runs and any(slot in (one.first, one.last) for one in self.told):
            yield Fault.DOUBLED, f"has a run and also a reason why there is none: {slot and iso(slot)}"
        is_told = slot is not None and any(one.first <= slot <= one.last for one in self.told)
        if not runs and not is_told and key not in self.waiting:
            yield Fault.MISSED, "was accepted, and has neither a run nor a reason"
