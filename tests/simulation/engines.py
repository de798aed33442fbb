"""Engines on made-up time: the fake clusters of `tickwise.testing`, each node's way to them, and the work there.

The watchers are the real ones, and so is what the API does when the work asks the gate, says that it is alive and
reports its end. The work itself is a model of what executes an attempt elsewhere: it retries what got no answer,
leaves when it is told to, and ends itself before others may take it for dead (S42).
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

from tickwise.app.attempts import AttemptSecret, HandedAttempt, open_attempt
from tickwise.core.audit import AuditFinding, Fault
from tickwise.core.errors import ConflictError, NotFoundError
from tickwise.core.handover import WORK_ENDS_ITSELF, WORK_LEASE
from tickwise.core.model import Trigger
from tickwise.core.settle import Cancelled, Failed, Outcome, Succeeded
from tickwise.core.states import RunState
from tickwise.runtime.engines.contract import EngineUnavailableError, Order
from tickwise.stores.contract import Store, StoreUnavailableError
from tickwise.testing.engines.fake import FakeCluster, FakeEngine, ForgetfulFakeEngine

from .loop import OWNER
from .truth import Execution
from .wire import Wire

if TYPE_CHECKING:
    from .world import World

T = TypeVar("T")
_CALLS = frozenset({"submit", "look", "cancel", "kill", "log", "forget"})
_ALIVE_EVERY, _STOPS_AFTER = WORK_LEASE / 6, WORK_LEASE * 2 / 3  # seconds
_RETRY = 1.0


class BatchEngine(FakeEngine):
    """Its work asks no gate: the engine itself has each reference once, and says how the work ends."""

    kind: ClassVar[str] = "batch"

    @classmethod
    def asks_gate(cls, options: Mapping[str, Any]) -> bool:  # noqa: ARG003
        return False


KINDS: dict[str, type[FakeEngine]] = {"gpu": FakeEngine, "broker": ForgetfulFakeEngine, "batch": BatchEngine}


@dataclass
class EnginePlace:
    """An engine: what it knows, the work that it executes, and how likely a call or its answer is lost."""

    world: "World"
    name: str
    lost: float = 0.0
    redelivered: float = 0.0  # of all orders, once more and later
    works: list["Work"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cluster = FakeCluster(self)
        self.chance = Random(f"{self.world.seed} {self.name}")

    @property
    def is_gated(self) -> bool:
        return KINDS[self.name].asks_gate({})

    @property
    def living(self) -> list["Work"]:
        return [work for work in self.works if work.is_living]

    # What its cluster asks of it.

    def start(self, order: Order) -> None:
        known = [work for work in self.works if work.order.reference == order.reference]
        if known and not self.is_gated:
            return
        self._deliver(order, self.chance.choice((0.0, 1.0, 12.0)))
        if self.is_gated and self.chance.random() < self.redelivered:
            self._deliver(order, self.chance.choice((2.0, 20.0, 90.0)))

    def _deliver(self, order: Order, seconds: float) -> None:
        self.works.append(Work(self, order, f"{self.name}-{len(self.works)}", seconds))

    def cancel(self, reference: str) -> None:
        for work in self._of(reference):
            work.asked.set()

    def kill(self, reference: str) -> None:
        for work in self._of(reference):
            work.die("is killed by its watcher")

    def _of(self, reference: str) -> list["Work"]:
        return [work for work in self.living if work.order.reference == reference]

    def check_forget(self, reference: str) -> None:
        """A reference is forgotten only when its end was taken (S56)."""
        run, _, attempt = reference.rpartition(".")
        found = self.world.store._memory.active.get(run)
        if found and found.state is RunState.RUNNING and found.attempt == int(attempt):
            text = f"{reference} was forgotten on {self.name} before its end was stored (S56)"
            self.world.truth.findings.append(AuditFinding(Fault.FENCING, "", None, text, ""))

    def connection(self, node: str) -> "Connection":
        return Connection(self, node)


class Connection(NamedTuple):
    """An engine as the settings of a node name it."""

    place: EnginePlace
    node: str

    def open(self) -> "EngineWire":
        return EngineWire(self.place, KINDS[self.place.name](self.place.cluster, self.place.name), self.node)


class EngineWire:
    """The way from a node to an engine: calls take time, and calls and answers are lost."""

    def __init__(self, place: EnginePlace, engine: FakeEngine, node: str) -> None:
        self._place, self._engine, self._node = place, engine, node
        self._chance = Random(f"{place.world.seed} {place.name} {node}")

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        return (lambda *given: self._carry(name, found, given)) if name in _CALLS else found

    async def _carry(self, name: str, call: Callable[..., Awaitable[T]], given: Sequence[Any]) -> T:
        await asyncio.sleep(self._chance.random() * 0.1)
        self._fail(name, "before it arrives")
        if name == "kill" and not self._place.cluster.faults.gone:
            self._place.kill(*given)
        if name == "forget":
            self._place.check_forget(*given)
        answer = await call(*given)
        if name in ("submit", "cancel", "kill", "forget"):
            said = given[0].reference if name == "submit" else given[0]
            self._place.world.truth.tell(self._node, f"{name}s {said} on {self._place.name}")
        self._fail(name, "after it has arrived")
        return answer

    def _fail(self, name: str, when: str) -> None:
        if self._place.lost and self._chance.random() < self._place.lost:
            self._place.world.truth.tell(self._node, f"{name} on {self._place.name} is lost {when}")
            raise EngineUnavailableError(f"{self._place.name} does not answer")


class Work:
    """One copy of an order in a process of the engine."""

    def __init__(self, place: EnginePlace, order: Order, owner: str, delay: float) -> None:
        world = place.world
        self.place, self.order, self.owner, self._world = place, order, owner, world
        self.asked = asyncio.Event()  # to end
        self.execution: Execution | None = None
        self.wire = Wire(world.store, owner, Random(f"{world.seed} {owner}"), world.weather, world.truth)
        self._chance = Random(f"{world.seed} work {owner}")
        self._last_alive = 0.0
        context = copy_context()
        context.run(OWNER.set, owner)
        self._is_dead = False
        self._task = world.loop.create_task(self._live(delay), context=context)

    @property
    def is_living(self) -> bool:
        return not self._is_dead and not self._task.done()

    def die(self, how: str) -> None:
        """At once, and nobody hears of it from the work."""
        self._is_dead = True
        self._world.loop.kill(self.owner)
        self._world.truth.killed(self.owner)
        self._world.truth.tell(self.owner, how)

    def freeze(self, seconds: float) -> None:
        self._world.loop.freeze(self.owner, seconds)
        self._world.truth.stands_still(self.owner, seconds)
        self._world.truth.tell(self.owner, f"freezes for {seconds:.0f} s")

    @property
    def _reference(self) -> str:
        return self.order.reference

    async def _live(self, delay: float) -> None:
        await asyncio.sleep(delay)
        self.place.cluster.begin(self._reference)
        try:
            outcome = await (self._execute_gated() if self.place.is_gated else self._execute_plain())
            self.place.cluster.end(self._reference, outcome)
        finally:
            self._end()

    def _begin(self, run: str, attempt: int, trigger: str) -> None:
        laned = trigger != Trigger.ENQUEUE
        self.execution = self._world.truth.began(run, self.order.job, self.owner, laned=laned, attempt=attempt)
        self._world.truth.tell(self.owner, f"begins {self._reference} of {self.order.job}")

    def _end(self) -> None:
        if self.execution and self.execution.ended is None:
            self.execution.ended = self._world.loop.time()

    def _drawn(self) -> tuple[float, Outcome]:
        """How long it takes, and how it ends."""
        if self._world.calm:
            return self._chance.choice((0.0, 1.0, 3.0)), Succeeded()
        failed = self._chance.random() < 0.15
        return self._chance.choice((0.0, 2.0, 15.0, 35.0)), Failed() if failed else Succeeded()

    # Work without a gate.

    async def _execute_plain(self) -> Outcome:
        if self.asked.is_set():
            return Cancelled()
        run, _, attempt = self.order.environment["TICKWISE_ATTEMPT"].rpartition(".")
        self._begin(run, int(attempt), self._world.store._memory.runs[run].trigger)
        seconds, outcome = self._drawn()
        if self._chance.random() < 0.3:  # it does not listen
            await asyncio.sleep(seconds)
        elif await self._was_asked_within(seconds):
            await asyncio.sleep(1.0)
            return Cancelled()
        return outcome

    async def _was_asked_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self.asked.wait()
        except TimeoutError:
            return False
        return True

    # Work that asks the gate.

    async def _execute_gated(self) -> None:
        ticket, claim = self.order.environment["TICKWISE_TICKET"], f"claim of {self.owner}"
        begun = await self._ask(AttemptSecret.TICKET, ticket, lambda attempt: attempt.begin(claim), 60.0)
        if begun is None:
            self._world.truth.tell(self.owner, f"leaves {self._reference}")
            return
        self._begin(begun.run.id, begun.run.attempt, begun.run.trigger)
        outcome = await self._execute_until_told(claim)
        self._end()
        if outcome is not None:
            seconds = self._last_alive + _STOPS_AFTER - self._world.loop.time()
            await self._ask(
                AttemptSecret.CLAIM, claim, lambda attempt: attempt.finish(outcome, None, "by chance"), seconds
            )

    async def _execute_until_told(self, claim: str) -> Outcome | None:
        """How it ended; none if it was told to leave, or could not say that it is alive."""
        seconds, outcome = self._drawn()
        until = self._world.loop.time() + seconds
        while (left := until - self._world.loop.time()) > 0:
            if await self._was_asked_within(min(left, _ALIVE_EVERY)):
                return Cancelled()
            patience = self._last_alive + _STOPS_AFTER - self._world.loop.time()
            asked = await self._ask(AttemptSecret.CLAIM, claim, lambda attempt: attempt.alive(), patience)
            if asked is None:
                self._world.truth.tell(self.owner, f"gives {self._reference} up")
                await asyncio.sleep(self._chance.choice((0.0, WORK_ENDS_ITSELF - _STOPS_AFTER - 0.1)))
                return None
            if asked:
                return Cancelled()
        return outcome

    async def _ask(
        self,
        kind: AttemptSecret,
        secret: str,
        act: Callable[[HandedAttempt], Awaitable[T]],
        seconds: float,
    ) -> T | None:
        """Ask the API until it answers; none if it refuses, or does not answer in time."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    sent = self._world.loop.time()
                    try:
                        store = cast("Store", self.wire)
                        answer = await act(await open_attempt(store, self._reference, kind, secret))
                    except StoreUnavailableError:
                        await asyncio.sleep(_RETRY)
                    else:
                        self._last_alive = sent
                        return answer
        except (TimeoutError, ConflictError, NotFoundError):
            return None
