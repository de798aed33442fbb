"""Dask passes the suite of engines, on a real cluster."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tickwise.core.handover import Sight
from tickwise.core.settle import Failed
from tickwise.runtime.engines.contract import Engine, EngineUnavailableError, Order
from tickwise.runtime.engines.dask import DaskEngine
from tickwise.testing.engines import EngineConformance, until

from ...support.engines import dask_cluster
from ...support.engines.tcp_proxy import TcpProxy


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a scheduler with two workers."""
    with subprocess.Popen(
        [sys.executable, str(Path(dask_cluster.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        yield process.stdout.readline().strip()
        process.kill()  # a function that no test has ended would hold an orderly end up


@pytest.fixture(scope="module")
def proxy(scheduler: str) -> Iterator[TcpProxy]:
    host, _, port = scheduler.removeprefix("tcp://").rpartition(":")
    proxy = TcpProxy(host, int(port))
    yield proxy
    proxy.close()


class TestDask(EngineConformance):
    engine: ClassVar[type[Engine]] = DaskEngine
    ends_by_force = False
    options: Mapping[str, Any] = {"priority": 3}
    wrong_options = (
        ({"resource": {"GPU": 1}}, "did you mean resources"),
        ({"resources": {"GPU": "1"}}, "resources must be a number"),
        ({"workers": "a"}, "workers must be a list"),
        ({"priority": 1.5}, "priority must be a whole number"),
    )
    wrong_settings = (
        ({}, "needs address"),
        ({"adress": "tcp://a"}, "did you mean address"),
        ({"address": "http://a:8786"}, "address must be an address such as tcp"),
        ({"address": "tcp://a", "timeout": "never"}, "timeout 'never' is not a duration"),
    )

    @pytest.fixture(autouse=True)
    def at(self, proxy: TcpProxy) -> None:
        self.proxy = proxy
        self.settings = {"address": f"tcp://127.0.0.1:{proxy.port}"}

    async def cut(self) -> None:
        self.proxy.cut()

    async def mend(self) -> None:
        self.proxy.mend()


def played(story: Callable[[DaskEngine], Any], address: str) -> None:
    async def play() -> None:
        engine = DaskEngine.from_settings("cluster", {"address": address})
        try:
            async with asyncio.timeout(60):
                await story(engine)
        finally:
            await engine.close()

    asyncio.run(play())


def test_work_that_waits_for_a_worker_can_be_cancelled(scheduler: str) -> None:
    """No worker has what it asks for; cancelled, the scheduler has never heard of it."""

    async def story(engine: DaskEngine) -> None:
        await engine.submit(Order("70.1", "print", "a", {}, {"resources": {"GPU": 1}}))
        assert (await engine.look(["70.1"]))["70.1"].sight is Sight.WAITING
        await engine.cancel("70.1")
        await until(engine, "70.1", Sight.UNKNOWN)
        await engine.forget("70.1")

    played(story, scheduler)


def test_a_task_that_raises_says_why_to_every_watcher(scheduler: str) -> None:
    """Work that cannot even ask the gate, such as one without its variables; it stays until it is forgotten."""

    async def story(engine: DaskEngine) -> None:
        await engine.submit(Order("71.1", "print", "a", {}))
        first = await until(engine, "71.1", Sight.ENDED)
        assert first.outcome == Failed()
        assert first.error.startswith("InputError: the variable TICKWISE_API is not set")
        await engine.close()
        assert await until(engine, "71.1", Sight.ENDED) == first
        await engine.forget("71.1")
        await until(engine, "71.1", Sight.UNKNOWN)

    played(story, scheduler)


def test_nobody_listens_at_the_address() -> None:
    """The error comes at once and says what the system said."""
    unused = TcpProxy("127.0.0.1", 1)
    unused.close()

    async def story(engine: DaskEngine) -> None:
        with pytest.raises(EngineUnavailableError, match=r"cluster does not answer: ConnectionRefusedError"):
            await engine.look(["1.1"])

    played(story, f"tcp://127.0.0.1:{unused.port}")
