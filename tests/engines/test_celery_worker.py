"""Workers of Celery execute attempts: each begins once, whatever the broker delivers and whoever is killed."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tickwise.core.handover import Sight
from tickwise.runtime.engines.celery import CeleryEngine
from tickwise.testing.engines import Work, until
from tickwise.testing.engines.gate import Gate

from ..support.celery_processes import Broker, kill, worker


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


def test_a_message_that_was_delivered_twice_begins_once(broker: Broker, tmp_path: Path) -> None:
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

    with worker(broker, tmp_path, "-c", "2"):
        _tell(broker, story)


def test_work_that_does_not_listen_is_killed_with_its_process(broker: Broker, tmp_path: Path) -> None:
    """S56: `kill` ends the process of the pool, and the message that comes back begins nothing."""

    async def story(engine: CeleryEngine, gate: Gate) -> None:
        order = gate.order("7002.1", Work.STUBBORN, fingerprint="print", options={})
        await engine.submit(order)
        await gate.until_begun(order.reference)
        await engine.kill(order.reference)
        await until(engine, order.reference, Sight.ENDED)
        assert gate.begins(order.reference) == 1

    with worker(broker, tmp_path, "-c", "2"):
        _tell(broker, story)


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


def test_an_order_survives_a_worker_that_is_killed_before_it_takes_it(broker: Broker, tmp_path: Path) -> None:
    """S52: what waits in the queue is begun by the next worker."""

    async def story(engine: CeleryEngine, gate: Gate) -> None:
        with worker(broker, tmp_path, "-P", "solo") as first:
            kill(first)
            order = gate.order("7004.1", Work.FINISHES, fingerprint="print", options={})
            await engine.submit(order)
        with worker(broker, tmp_path, "-P", "solo"):
            await until(engine, order.reference, Sight.ENDED)
        assert gate.begins(order.reference) == 1

    _tell(broker, story)
