"""Celery passes the suite of engines, with a real worker behind a real broker."""

import asyncio
from collections.abc import Iterator
from typing import ClassVar
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from tickwise.core.handover import Sight, Sighting
from tickwise.runtime.engines.celery import CeleryEngine
from tickwise.runtime.engines.contract import Engine, EngineUnavailableError, Order
from tickwise.testing.engines import EngineConformance

from ...chaos.proxy import Proxy
from ...support.celery_processes import Broker, CeleryQueue, worker
from ...support.servers import rabbitmq, valkey
from ...support.servers.process import free_port

_KEY = "door-key"


@pytest.fixture(scope="module")
def served(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A queue with a worker that has eight threads."""
    broker = Broker(redis_url, f"queue-{uuid4().hex[:8]}")
    with worker(broker, tmp_path_factory.mktemp("worker"), "-P", "threads", "-c", "8"):
        yield broker
    broker.close()


@pytest.fixture(scope="module")
def line(redis_url: str) -> Iterator[Proxy]:
    """What lies between the watcher and its broker."""
    parts = urlsplit(redis_url)
    with Proxy(str(parts.hostname), parts.port or 6379, lambda _: False) as proxy:
        yield proxy


class TestCelery(EngineConformance):
    engine: ClassVar[type[Engine]] = CeleryEngine
    ends_by_force = False  # a thread cannot be killed
    secrets = (_KEY,)
    options = {"priority": 0}  # noqa: RUF012
    wrong_options = (
        ({"tasks": "proj.sync"}, "did you mean task"),
        ({"priority": -1}, "priority must be a whole number"),
        ({"priority": 256}, "priority must be a whole number from 0 to 255"),
        ({"queue": 7}, "queue must be a text"),
    )
    wrong_settings = (
        ({}, "needs broker"),
        ({"brokers": f"redis://:{_KEY}@host"}, "did you mean broker"),
        ({"broker": _KEY}, "broker must be an address such as redis://"),
        ({"broker": "redis://host", "backend": _KEY}, "backend must be an address such as redis://"),
        ({"broker": "redis://host", "transport_options": _KEY}, "transport_options must be a mapping"),
    )

    @pytest.fixture(autouse=True)
    def at(self, served: Broker, line: Proxy) -> None:
        self.line, self.server = line, line._server
        address = f"redis://127.0.0.1:{line.port}/0"
        self.settings = {"broker": address, "backend": address, "queue": served.queue}

    async def cut(self) -> None:
        self.line._server = ("127.0.0.1", free_port())
        self.line.cut()

    async def mend(self) -> None:
        self.line._server = self.server


@pytest.fixture(scope="module")
def rabbitmq_queue(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CeleryQueue]:
    """A queue of a RabbitMQ with a worker; results are kept elsewhere, as its users do."""
    if reason := rabbitmq.why_missing():
        pytest.skip(reason)
    with rabbitmq.server() as server:
        place = CeleryQueue(server.url, "tickwise", redis_url)
        with worker(place, tmp_path_factory.mktemp("worker"), "-P", "threads", "-c", "8"):
            yield place


@pytest.fixture(scope="module")
def amqp(rabbitmq_queue: CeleryQueue) -> Iterator[Proxy]:
    """What lies between the watcher and its RabbitMQ."""
    parts = urlsplit(rabbitmq_queue.url)
    with Proxy(str(parts.hostname), parts.port or 5672, lambda _: False) as proxy:
        yield proxy


class TestCeleryOnRabbitMQ(TestCelery):
    @pytest.fixture(autouse=True)
    def at(self, rabbitmq_queue: CeleryQueue, amqp: Proxy) -> None:
        self.line, self.server = amqp, amqp._server
        address = f"amqp://guest:guest@127.0.0.1:{amqp.port}//"
        self.settings = {"broker": address, "backend": rabbitmq_queue.backend, "queue": rabbitmq_queue.queue}


def _order(reference: str) -> Order:
    environment = {
        "TICKWISE_API": "http://127.0.0.1:9",
        "TICKWISE_ATTEMPT": reference,
        "TICKWISE_TICKET": "t1cket",
    }
    return Order(reference, "print", "nightly", environment)


def test_a_message_shows_no_ticket(broker: Broker) -> None:
    """S53: what logs and monitors of Celery show of it is the reference."""

    async def story() -> None:
        engine = CeleryEngine.from_settings("celery", {"broker": broker.url, "queue": broker.queue})
        await engine.submit(_order("70.1"))
        await engine.close()

    asyncio.run(story())
    message = broker.next()
    assert (message.id, message.task) == ("70.1", "tickwise.run")
    assert message.args[0]["TICKWISE_TICKET"] == "t1cket"
    assert "t1cket" not in str(dict(message.headers))
    assert message.headers["tickwise_job"] == "nightly"


def test_without_a_backend_every_reference_seems_to_wait(redis_url: str) -> None:
    """S55: an engine that cannot know says so, and the watcher is told that it is unsure."""

    async def story() -> None:
        engine = CeleryEngine.from_settings("celery", {"broker": redis_url})
        assert await engine.look(["1.1", "2.1"]) == dict.fromkeys(["1.1", "2.1"], Sighting(Sight.WAITING))
        await engine.close()

    asyncio.run(story())


def test_a_broker_that_was_restarted_is_found_again() -> None:
    """S55: while it is away every order is in doubt, and the error does not show the password."""

    async def story() -> None:
        port = free_port()
        engine = CeleryEngine.from_settings("celery", {"broker": f"redis://:{_KEY}@127.0.0.1:{port}/0"})
        with valkey.server("--requirepass", _KEY, port=port):
            await engine.submit(_order("1.1"))
        with pytest.raises(EngineUnavailableError) as gone:
            await engine.submit(_order("1.1"))
        assert _KEY not in str(gone.value)
        with valkey.server("--requirepass", _KEY, port=port):
            await engine.submit(_order("1.1"))
        await engine.close()

    asyncio.run(story())
