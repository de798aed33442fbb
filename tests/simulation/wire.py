"""The way from a node to the store, and what can go wrong on it: delays, errors before and after the commit, cuts.

All that is drawn comes from the seed. What the store commits is told to the truth, whatever becomes of the answer.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tickwise.core.handover import Alive, HandOver, HandOverChange
from tickwise.stores.contract import StoreUnavailableError
from tickwise.stores.memory.store import MemoryStore
from tickwise.stores.records import Expired, Finish, Lease, LeaseRequest, Node, Renewed, TickResult

from .truth import Truth

_QUICK, _SLOW = 0.05, 6.0  # seconds that an answer takes at most
_ANSWERS_LATER = 0.3  # of all, not in the moment in which they are committed
_PATIENCE = 5.0  # seconds before somebody who is cut off hears that he is


@dataclass(slots=True)
class Weather:
    """How likely things go wrong, for all nodes alike; changed by the world."""

    before: float = 0.0
    after: float = 0.0
    slow: float = 0.0
    lost_news: float = 0.0


class Wire:
    """A store as one node sees it."""

    def __init__(self, store: MemoryStore, node: str, chance: Random, weather: Weather, truth: Truth) -> None:
        self._store, self._node, self._chance, self._weather, self._truth = store, node, chance, weather, truth
        self.is_cut = False
        self.insights = _Reads(self, store.insights)

    def __getattr__(self, name: str) -> Any:
        move = getattr(self._store, name)
        return lambda *args, **named: self.carry(name, move, args, named)

    async def wait(self, seconds: float) -> bool:
        """News, which may be lost."""
        news = await self._store.wait(seconds)
        return news and not self.is_cut and self._chance.random() >= self._weather.lost_news

    async def end_pause(self) -> bool:
        """Asked every second, and never late: no pause of everything ends by itself here."""
        return await self._store.end_pause()

    async def close(self) -> None:
        """The store goes on for the others."""

    async def carry(self, name: str, move: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> Any:
        await self._pass()
        self._fail(self._weather.before, name, "before")
        answer = await move(*args, **named)
        if told := _TOLD.get(name):
            told(self, answer, *args, **named)
        if self._chance.random() < _ANSWERS_LATER:
            await self._pass()
        self._fail(self._weather.after, name, "after")
        return answer

    async def _pass(self) -> None:
        if self.is_cut:
            await asyncio.sleep(_PATIENCE)
        slow = self._weather.slow and self._chance.random() < self._weather.slow
        await asyncio.sleep(self._chance.random() * (_SLOW if slow else _QUICK))

    def _fail(self, likely: float, name: str, when: str) -> None:
        if self.is_cut or (likely and self._chance.random() < likely):
            self._truth.tell(self._node, f"{name} fails {when} the commit")
            raise StoreUnavailableError(f"the answer to {name} is lost")

    @property
    def _now(self) -> int:
        return self._store._memory.clock()

    # What is told of a commit.

    def _told_leases(self, leases: Sequence[Lease], seconds: int) -> None:
        for lease in leases:
            self._truth.tell(self._node, f"leases run {lease.id} of {lease.job.name}, attempt {lease.attempt}")
            self._truth.leased(lease, self._now, seconds)

    def told_lease(self, leases: Sequence[Lease], wanted: LeaseRequest) -> None:
        self._told_leases(leases, wanted.seconds)

    def told_tick(
        self, ticked: TickResult, *_args: Any, reserve: LeaseRequest | None = None, **_named: Any
    ) -> None:
        if ticked.runs:
            self._truth.tell(self._node, f"decides {ticked.jobs} jobs, {ticked.runs} runs")
        self._told_leases(ticked.leases, reserve.seconds if reserve else 0)

    def told_beat(
        self, renewed: Renewed, _node: Node, held: Mapping[str, str] | None = None, lease: int = 0, **_named: Any
    ) -> None:
        for run in sorted(renewed.held):
            self._truth.renewed(run, (held or {})[run], self._now, lease)

    def told_hand_over(self, record: HandOver | None, run: str, _token: str, change: HandOverChange) -> None:
        if record is not None:
            self._truth.handed_over(run, record)
        if not isinstance(change, Alive):
            said = f"{type(change).__name__.lower()}, {record.state if record else 'refused'}"
            self._truth.tell(self._node, f"hand-over of run {run}: {said}")

    def told_expire(self, _expired: Expired) -> None:
        self._truth.expired(self._now)

    def told_finish(self, settled: Sequence[Any], ended: Sequence[Finish]) -> None:
        for finish, move in zip(ended, settled, strict=True):
            outcome = type(finish.outcome).__name__.lower()
            self._truth.tell(self._node, f"ends run {finish.run}: {outcome}, {move.state if move else 'refused'}")
            if move:
                self._truth.finished(finish)


_TOLD: dict[str, Callable[..., None]] = {
    "lease": Wire.told_lease,
    "adopt": Wire.told_lease,
    "hand_over": Wire.told_hand_over,
    "tick": Wire.told_tick,
    "beat": Wire.told_beat,
    "finish": Wire.told_finish,
    "expire": Wire.told_expire,
}


class _Reads:
    """Reads for people, over the same wire."""

    def __init__(self, wire: Wire, insights: Any) -> None:
        self._wire, self._insights = wire, insights

    def __getattr__(self, name: str) -> Any:
        read = getattr(self._insights, name)
        return lambda *args, **named: self._wire.carry(name, read, args, named)
