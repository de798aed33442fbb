"""An engine in memory, which breaks on demand, for simulations and for tests of your own.

A `FakeCluster` is the place outside: it keeps the orders, and hands each to `worker`, which says when the work
begins, prints and ends. Nothing happens by itself and no time passes, so a history can be told again exactly.
A `FakeEngine` is a connection to it; several may be open at once, and the work goes on without any.

    cluster = FakeCluster(worker)
    engine = FakeEngine(cluster)
    cluster.faults.lost_answers = 1        # the next order arrives, but nobody hears about it
    await engine.submit(order)             # EngineUnavailableError
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from ...core.handover import Sight, Sighting
from ...core.settle import Cancelled, Outcome
from ...runtime.engines.contract import (
    Engine,
    EngineUnavailableError,
    LogChunk,
    Order,
    OrderRefusedError,
    Submitted,
)
from ...runtime.engines.fields import EngineField, read_fields


class FakeWorker(Protocol):
    """What the cluster calls. Both may call the cluster back, at once or much later."""

    def start(self, order: Order) -> None:
        """An order has arrived, perhaps not for the first time: ask the gate, then begin."""

    def cancel(self, reference: str) -> None:
        """The work is asked to end."""


class IdleWorker:
    """Leaves everything to the test, which calls the cluster itself."""

    def start(self, order: Order) -> None:
        """Nothing begins by itself."""

    def cancel(self, reference: str) -> None:
        """Nothing ends by itself."""


@dataclass(slots=True)
class Faults:
    """What goes wrong from now on. Counts go down by themselves; set them back to have peace."""

    gone: bool = False  # no call arrives
    lost_calls: int = 0  # so many calls do not arrive
    lost_answers: int = 0  # so many calls arrive, but their answers do not
    deliveries: int = 1  # how often each order reaches a worker
    stale_looks: int = 0  # so many looks tell what an earlier one would have told


@dataclass(slots=True)
class _Job:
    order: Order
    seen: Sighting = field(default_factory=lambda: Sighting(Sight.WAITING))
    output: str = ""


class FakeCluster:
    """The place where the work is, whoever looks."""

    def __init__(self, worker: FakeWorker | None = None) -> None:
        self.faults = Faults()
        self.worker: FakeWorker = worker or IdleWorker()
        self._jobs: dict[str, _Job] = {}
        self._told: dict[str, Sighting] = {}  # by the last look that was not stale

    # what the work does

    def begin(self, reference: str) -> None:
        self._set(reference, Sighting(Sight.RUNNING))

    def print(self, reference: str, text: str) -> None:
        if (job := self._jobs.get(reference)) is not None:
            job.output += text

    def end(self, reference: str, outcome: Outcome | None = None, error: str = "") -> None:
        """It is over. An end stays: whatever is said later of this reference is not heard."""
        self._set(reference, Sighting(Sight.ENDED, outcome, error))

    def _set(self, reference: str, seen: Sighting) -> None:
        job = self._jobs.get(reference)
        if job is not None and job.seen.sight is not Sight.ENDED:
            job.seen = seen

    # what the engine does

    def has(self, reference: str) -> bool:
        return reference in self._jobs

    def order_of(self, reference: str) -> Order:
        return self._jobs[reference].order

    def keep(self, order: Order) -> None:
        self._jobs.setdefault(order.reference, _Job(order))

    def deliver(self, order: Order) -> None:
        for _ in range(self.faults.deliveries):
            self.worker.start(order)

    def forget(self, reference: str) -> None:
        """Drop what is known of a reference. As a fault: while its work still runs."""
        self._jobs.pop(reference, None)

    def sightings(self) -> Mapping[str, Sighting]:
        """All that is known now; a stale look gets what was known then."""
        if self.faults.stale_looks:
            self.faults.stale_looks -= 1
        else:
            self._told = {reference: job.seen for reference, job in self._jobs.items()}
        return self._told

    def output_of(self, reference: str) -> str:
        job = self._jobs.get(reference)
        return "" if job is None else job.output


_SETTINGS: Mapping[str, EngineField] = {}
_OPTIONS: Mapping[str, EngineField] = {}


class FakeEngine(Engine):
    """A connection to a fake cluster. Like Ray or Kubernetes it has each reference once, and knows what it has."""

    kind: ClassVar[str] = "fake"
    creates_once: ClassVar[bool] = True
    tells_unknown: ClassVar[bool] = True

    def __init__(self, cluster: FakeCluster, name: str = "fake") -> None:
        self.cluster = cluster
        self.name = name

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> "FakeEngine":
        read_fields(settings, _SETTINGS, f"[engines.{name}]")
        return cls(FakeCluster(), name)

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        read_fields(options, _OPTIONS, "engine")

    async def submit(self, order: Order) -> Submitted:
        self._call()
        cluster, existed = self.cluster, self.cluster.has(order.reference)
        if self.creates_once and existed and cluster.order_of(order.reference).fingerprint != order.fingerprint:
            raise OrderRefusedError(f"{self.name} has another order under {order.reference}")
        cluster.keep(order)
        if not (self.creates_once and existed):
            cluster.deliver(order)
        self._answer()
        return Submitted(f"fake://{self.name}/{order.reference}", existed=self.creates_once and existed)

    async def look(self, references: Sequence[str]) -> Mapping[str, Sighting]:
        self._call()
        known = self.cluster.sightings()
        self._answer()
        missing = Sighting(Sight.UNKNOWN if self.tells_unknown else Sight.WAITING)
        return {reference: known.get(reference, missing) for reference in references}

    async def cancel(self, reference: str) -> None:
        self._call()
        if self.cluster.has(reference):
            self.cluster.worker.cancel(reference)
        self._answer()

    async def kill(self, reference: str) -> None:
        self._call()
        self.cluster.end(reference, Cancelled(), "killed")
        self._answer()

    async def log(self, reference: str, cursor: str = "") -> LogChunk:
        self._call()
        text = self.cluster.output_of(reference)
        self._answer()
        start = int(cursor or "0")
        return LogChunk(text[start:], str(max(start, len(text))))

    async def forget(self, reference: str) -> None:
        self._call()
        self.cluster.forget(reference)
        self._answer()

    async def close(self) -> None:
        """There is nothing to give back."""

    def _call(self) -> None:
        faults = self.cluster.faults
        if faults.gone or faults.lost_calls:
            faults.lost_calls = max(0, faults.lost_calls - 1)
            raise EngineUnavailableError(f"{self.name} does not answer")

    def _answer(self) -> None:
        if self.cluster.faults.lost_answers:
            self.cluster.faults.lost_answers -= 1
            raise EngineUnavailableError(f"the answer of {self.name} was lost")


class ForgetfulFakeEngine(FakeEngine):
    """Like Celery: a second order of a reference runs again, and an unknown reference looks as if it waited."""

    creates_once: ClassVar[bool] = False
    tells_unknown: ClassVar[bool] = False
