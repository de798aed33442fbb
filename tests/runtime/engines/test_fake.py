"""The fake engine passes the suite of engines, and breaks as it is told."""

import asyncio
from collections import Counter
from typing import ClassVar

import pytest

from tickwise.core.handover import Sight
from tickwise.core.settle import Succeeded
from tickwise.runtime.engines.contract import Engine, EngineUnavailableError, Order, OrderRefusedError
from tickwise.testing.engines import EngineConformance, FakeCluster, FakeEngine, ForgetfulFakeEngine, Workplace
from tickwise.testing.engines.workplace import FakeWorkplace

ORDER = Order("7.1", "print", "a", {})


class TestFakeEngine(EngineConformance):
    engine: ClassVar[type[Engine]] = FakeEngine
    keeps_output = True

    async def workplace(self) -> Workplace:
        self.cluster = FakeCluster()
        return FakeWorkplace(self.cluster)

    async def open(self) -> Engine:
        return self.engine(self.cluster)  # type: ignore[call-arg]

    async def cut(self) -> None:
        self.cluster.faults.gone = True

    async def mend(self) -> None:
        self.cluster.faults.gone = False


class TestForgetfulFakeEngine(TestFakeEngine):
    engine: ClassVar[type[Engine]] = ForgetfulFakeEngine


class _CountingWorker:
    def __init__(self) -> None:
        self.started: Counter[str] = Counter()

    def start(self, order: Order) -> None:
        self.started[order.reference] += 1

    def cancel(self, reference: str) -> None:
        """Does not listen."""


def test_an_answer_is_lost_after_the_order_has_come_through() -> None:
    """Who hears nothing and asks again is told that the order exists (S52)."""

    async def story() -> None:
        worker = _CountingWorker()
        cluster = FakeCluster(worker)
        engine = FakeEngine(cluster)
        cluster.faults.lost_answers = 1
        with pytest.raises(EngineUnavailableError):
            await engine.submit(ORDER)
        assert (await engine.submit(ORDER)).existed
        assert worker.started == {"7.1": 1}

    asyncio.run(story())


def test_a_call_is_lost_before_it_arrives() -> None:
    """Nothing has happened, and the next call is the first."""

    async def story() -> None:
        worker = _CountingWorker()
        cluster = FakeCluster(worker)
        engine = FakeEngine(cluster)
        cluster.faults.lost_calls = 1
        with pytest.raises(EngineUnavailableError):
            await engine.submit(ORDER)
        assert worker.started == {}
        assert not (await engine.submit(ORDER)).existed

    asyncio.run(story())


def test_an_order_is_delivered_as_often_as_told() -> None:
    """The gate, not the engine, makes an attempt begin once (S53)."""

    async def story() -> None:
        worker = _CountingWorker()
        cluster = FakeCluster(worker)
        cluster.faults.deliveries = 3
        await ForgetfulFakeEngine(cluster).submit(ORDER)
        assert worker.started == {"7.1": 3}

    asyncio.run(story())


def test_a_stale_look_tells_what_was_true_before() -> None:
    """An engine may say `running` of work that is over, and nothing of work that it has just taken (S55)."""

    async def story() -> None:
        cluster = FakeCluster()
        engine = FakeEngine(cluster)
        await engine.submit(ORDER)
        cluster.begin("7.1")
        assert (await engine.look(["7.1"]))["7.1"].sight is Sight.RUNNING
        cluster.end("7.1", Succeeded())
        await engine.submit(ORDER_2)
        cluster.faults.stale_looks = 1
        stale, true = await engine.look(["7.1", "8.1"]), await engine.look(["7.1", "8.1"])
        assert [seen.sight for seen in stale.values()] == [Sight.RUNNING, Sight.UNKNOWN]
        assert [seen.sight for seen in true.values()] == [Sight.ENDED, Sight.WAITING]

    asyncio.run(story())


ORDER_2 = Order("8.1", "print", "a", {})


def test_a_cluster_forgets_work_that_runs() -> None:
    """What the work says afterwards is not heard, and another order may take its reference."""

    async def story() -> None:
        cluster = FakeCluster()
        engine = FakeEngine(cluster)
        await engine.submit(ORDER)
        with pytest.raises(OrderRefusedError, match=r"7\.1"):
            await engine.submit(Order("7.1", "another", "a", {}))
        cluster.begin("7.1")
        cluster.forget("7.1")
        cluster.end("7.1", Succeeded())
        cluster.print("7.1", "late")
        assert (await engine.look(["7.1"]))["7.1"].sight is Sight.UNKNOWN
        assert (await engine.log("7.1")).text == ""

    asyncio.run(story())
