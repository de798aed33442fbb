"""Where the work of the stories happens: it describes orders, and knows how often each began."""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ...core.settle import Cancelled, Failed, Succeeded
from ...runtime.engines.contract import Order
from .fake import FakeCluster
from .work import LINES


class Work(StrEnum):
    """What the work of a story does once it has begun."""

    FINISHES = "finishes"
    FAILS = "fails"
    WAITS = "waits"  # until it is released or cancelled
    STUBBORN = "stubborn"  # as `waits`, but it does not listen when it is asked to end
    PRINTS = "prints"  # LINES, and then finishes


class Workplace(ABC):
    """Subclass it if the work of your engine cannot reach this machine over HTTP (see `gate.Gate`)."""

    @abstractmethod
    def order(self, reference: str, work: Work, *, fingerprint: str, options: Mapping[str, Any]) -> Order:
        """An order whose work behaves so. The same reference gives the same work."""

    @abstractmethod
    def begins(self, reference: str) -> int:
        """How often the work has begun, which the gate should keep at one."""

    @abstractmethod
    async def until_begun(self, reference: str) -> None:
        """Return when it has begun."""

    @abstractmethod
    def release(self, reference: str) -> None:
        """Let work that waits finish."""

    @abstractmethod
    def cancel(self, reference: str) -> None:
        """Say, whenever the work asks, that its run was cancelled."""

    @abstractmethod
    async def close(self) -> None:
        """What is to be done after a story."""


class FakeWorkplace(Workplace):
    """The workers of a fake cluster."""

    def __init__(self, cluster: FakeCluster) -> None:
        self._cluster = cluster
        self._work: dict[str, Work] = {}
        self._begins: Counter[str] = Counter()
        self._begun: dict[str, asyncio.Event] = {}
        cluster.worker = self

    def order(self, reference: str, work: Work, *, fingerprint: str, options: Mapping[str, Any]) -> Order:
        self._work[reference] = work
        return Order(reference, fingerprint, "a", {"TICKWISE_ATTEMPT": reference}, options)

    def begins(self, reference: str) -> int:
        return self._begins[reference]

    async def until_begun(self, reference: str) -> None:
        await self._event(reference).wait()

    def release(self, reference: str) -> None:
        self._cluster.end(reference, Succeeded())

    def cancel(self, reference: str) -> None:
        """The engine passes it on (`FakeWorker`), and so may the gate: the work ends once."""
        if self._begins[reference] and self._work[reference] is not Work.STUBBORN:
            self._cluster.end(reference, Cancelled())

    async def close(self) -> None:
        """There is nothing to give back."""

    def start(self, order: Order) -> None:
        """An order has arrived: only the first passes the gate (S53)."""
        reference = order.reference
        if self._begins[reference]:
            return
        self._begins[reference] += 1
        self._event(reference).set()
        self._cluster.begin(reference)
        match self._work[reference]:
            case Work.FINISHES:
                self._cluster.end(reference, Succeeded())
            case Work.FAILS:
                self._cluster.end(reference, Failed(), "exit code 3")
            case Work.PRINTS:
                self._cluster.print(reference, LINES)
                self._cluster.end(reference, Succeeded())
            case Work.WAITS | Work.STUBBORN:
                pass

    def _event(self, reference: str) -> asyncio.Event:
        return self._begun.setdefault(reference, asyncio.Event())
