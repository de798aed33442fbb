"""Ray itself passes the suite of engines, with `tickwise exec` as its work."""

from collections.abc import Iterator
from typing import ClassVar

import pytest

from tickwise.runtime.engines.contract import Engine
from tickwise.runtime.engines.ray import RayEngine
from tickwise.testing.engines import EngineConformance, Gate, Workplace
from tickwise.testing.engines.gate import TICKET

from ..support.engines.tcp_proxy import TcpProxy
from ..support.servers import ray


@pytest.fixture(scope="module")
def proxy() -> Iterator[TcpProxy]:
    """Where the dashboard answers, unless it is cut off."""
    with ray.server() as server:
        proxy = TcpProxy("127.0.0.1", int(server.url.rpartition(":")[2]))
        yield proxy
        proxy.close()


class TestRealRay(EngineConformance):
    engine: ClassVar[type[Engine]] = RayEngine
    keeps_output = True
    secrets = (ray.TOKEN,)

    @pytest.fixture(autouse=True)
    def at(self, proxy: TcpProxy) -> None:
        self.proxy = proxy
        self.settings = {"address": f"http://127.0.0.1:{proxy.port}", "token": ray.TOKEN}

    async def workplace(self) -> Workplace:
        return Gate(ticket=TICKET.replace("$", "-"))  # which Ray would expand

    async def cut(self) -> None:
        self.proxy.cut()

    async def mend(self) -> None:
        self.proxy.mend()
