"""Workers of Celery execute attempts: each begins once, whatever the broker delivers and whoever is killed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tickwise.core.handover import Sight
from tickwise.runtime.engines.celery import CeleryEngine
from tickwise.testing.engines import Work, until
from tickwise.testing.engines.gate import Gate

from ..support.celery_processes import Broker, worker


@pytest.fixture(scope="module")
def served(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A queue with a worker that has two processes."""
    broker = Broker(redis_url, f"queue-{uuid4().hex[:8]}")
    with worker(broker, tmp_path_factory.mktemp("worker"), "-c", "2"):
        yield broker
    broker.close()


def _tell(broker: Broker, story: Callable[[CeleryEngine, Gate], Awaitable[None]]) -> None:
    async def told() -> None:
        settings = {"broker": broker.url, "backend": broker.url, "queue": broker.queue}
        engine, gate = CeleryEngine.from_settings("celery", settings), Gate()
        try:
            await story(engine, gate)
        finally:
            await gate.close()
            await engine.close()

    asyncio.run(told())


def test_a_message_that_was_delivered_twice_begins_once(served: Broker) -> None:
    """S53: in processes of a pool; the second delivery changes neither the work nor what a look says."""

    async def story(engine: CeleryEngine, gate: Gate) -> None:
        order = gate.order("7001.1", Work.WAITS, fingerprint="print", options={})
        last = gate.order("7001.2", Work.FINISHES, fingerprint="print", options={})
        await engine.submit(order)
        await gate.until_begun(order.reference)
        await until(engine, order.reference, Sight.RUNNING)
        for one in (order, order, last):  # the process that is free takes them one after the other
            await engine.submit(one)
        await until(engine, last.reference, Sight.ENDED)
        assert (await engine.look([order.reference]))[order.reference].sight is Sight.RUNNING
        gate.release(order.reference)
        await until(engine, order.reference, Sight.ENDED)
        assert gate.begins(order.reference) == 1

    _tell(served, story)


def test_work_that_does_not_listen_is_killed_with_its_process(served: Broker) -> None:
    """S56: `kill` ends the process of the pool, and the message that comes back begins nothing."""

    async def story(engine: CeleryEngine, gate: Gate) -> None:
        order = gate.order("7002.1", Work.STUBBORN, fingerprint="print", options={})
        await engine.submit(order)
        await gate.until_begun(order.reference)
        await engine.kill(order.reference)
        await until(engine, order.reference, Sight.ENDED)
        assert gate.begins(order.reference) == 1

    _tell(served, story)


def test_work_beyond_its_soft_time_limit_is_ended_in_order(broker: Broker, tmp_path: Path) -> None:
    """S56: Celery's limit is told to the work, which reports its end before the task fails."""

    async def story(engine: CeleryEngine, gate: Gate) -> None:
        order = gate.order("7003.1", Work.WAITS, fingerprint="print", options={})
        await engine.submit(order)
        await gate.until_begun(order.reference)
        await until(engine, order.reference, Sight.ENDED)
        assert gate.begins(order.reference) == 1

    with worker(broker, tmp_path, "-c", "1", "--soft-time-limit", "1"):
        _tell(broker, story)
