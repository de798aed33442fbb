"""Ray passes the suite of engines, on a strict fake of its Jobs API; `tests/e2e/test_ray.py` takes a real one."""

import asyncio
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tickwise.core.errors import InputError
from tickwise.core.handover import Sight
from tickwise.core.settle import Cancelled
from tickwise.runtime.engines.contract import Engine, EngineUnavailableError, Order, OrderRefusedError
from tickwise.runtime.engines.ray import RayEngine
from tickwise.testing.engines import EngineConformance, until

from ...support.engines.program import install_stub
from ...support.engines.ray_server import RayServer

TOKEN = "ray-token-1234"  # noqa: S105  (of a fake)
WAITS_FOR_A_NODE = {"entrypoint_num_cpus": 1_000}


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayServer]:
    server = RayServer(install_stub(tmp_path_factory.mktemp("bin")), TOKEN)
    yield server
    server.close()


class TestRay(EngineConformance):
    engine: ClassVar[type[Engine]] = RayEngine
    keeps_output = True
    secrets = (TOKEN, "door-key")
    options: Mapping[str, Any] = {
        "entrypoint_num_cpus": 0.5,
        "entrypoint_memory": 1_000_000,
        "entrypoint_resources": {"disk": 1},
        "entrypoint_label_selector": {"zone": "a"},
        "runtime_env": {"env_vars": {"LEVEL": "3"}},
    }
    wrong_options = (
        ({"entrypoint_num_gpu": 1}, "did you mean entrypoint_num_gpus"),
        ({"entrypoint_num_cpus": "2"}, "entrypoint_num_cpus must be a number"),
        ({"entrypoint_num_cpus": -1}, "entrypoint_num_cpus must be a number"),
        ({"entrypoint_memory": 1.5}, "entrypoint_memory must be a whole number"),
        ({"entrypoint_resources": {"disk": True}}, "entrypoint_resources must be a number"),
        ({"runtime_env": "pip"}, "runtime_env must be a mapping"),
        ({"runtime_env": {"env_vars": {"A": 1}}}, "env_vars must be a text"),
    )
    wrong_settings = (
        ({}, "needs address"),
        ({"adress": "http://a"}, "did you mean address"),
        ({"address": "ray://:door-key@head:10001"}, "address must be an address such as http"),
        ({"address": "http://head:99999999"}, "address must be an address such as http"),
        ({"address": "http://head", "token": ["door-key"]}, "token must be a text"),
        ({"address": "http://a:door-key@head", "token": TOKEN}, "only one can be sent"),
        ({"address": "http://head", "runtime_env": []}, "runtime_env must be a mapping"),
    )

    @pytest.fixture(autouse=True)
    def at(self, ray: RayServer) -> None:
        self.ray = ray
        self.settings = {"address": f"{ray.server.address}/", "token": TOKEN}

    async def cut(self) -> None:
        self.ray.server.is_cut = True

    async def mend(self) -> None:
        self.ray.server.is_cut = False


def _engine(ray: RayServer, **settings: Any) -> RayEngine:
    return RayEngine.from_settings("gpu", {"address": ray.server.address, "token": TOKEN, **settings})


def _order(reference: str, **options: Any) -> Order:
    environment = {"TICKWISE_API": "http://127.0.0.1:9", "TICKWISE_ATTEMPT": reference, "TICKWISE_TICKET": "t"}
    return Order(reference, "print", "a", environment, options)


def test_a_job_has_what_its_work_needs(ray: RayServer) -> None:
    """The settings' runtime_env, the job's before it, and the variables of the order before both."""

    async def story() -> None:
        engine = _engine(
            ray, runtime_env={"working_dir": "s3://b/a.zip", "env_vars": {"A": "1", "TICKWISE_API": "x"}}
        )
        options = {**WAITS_FOR_A_NODE, "runtime_env": {"env_vars": {"B": "2"}}}
        submitted = await engine.submit(_order("70.1", **options))
        assert submitted.address == f"{ray.server.address}/#/jobs/70.1"
        given = ray.jobs["70.1"].given
        assert given["entrypoint"] == "tickwise exec"
        assert given["metadata"] == {"tickwise_job": "a", "tickwise_fingerprint": "print"}
        assert given["runtime_env"] == {
            "working_dir": "s3://b/a.zip",
            "env_vars": {
                "A": "1", "B": "2", "RAY_JOB_STOP_WAIT_TIME_S": "10",
                "TICKWISE_API": "http://127.0.0.1:9", "TICKWISE_ATTEMPT": "70.1", "TICKWISE_TICKET": "t",
            },
        }  # fmt: skip
        await engine.close()

    asyncio.run(story())


def test_work_that_waits_for_a_node_can_be_cancelled(ray: RayServer) -> None:
    """It never begins, and is over as soon as Ray says so."""

    async def story() -> None:
        engine = _engine(ray)
        await engine.submit(_order("71.1", **WAITS_FOR_A_NODE))
        assert (await engine.look(["71.1"]))["71.1"].sight is Sight.WAITING
        await engine.cancel("71.1")
        seen = await until(engine, "71.1", Sight.ENDED)
        assert (seen.sight, seen.outcome) == (Sight.ENDED, Cancelled())
        await engine.close()

    asyncio.run(story())


def test_a_job_is_forgotten_when_ray_has_seen_its_end(ray: RayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that has just reported its end still runs for Ray, which is asked again; but not for ever."""
    monkeypatch.setattr("tickwise.runtime.engines.ray._FORGET_PAUSE", 0.001)

    async def story() -> None:
        engine = _engine(ray)
        await engine.submit(_order("75.1", **WAITS_FOR_A_NODE))
        with pytest.raises(EngineUnavailableError, match="non-terminal"):
            await engine.forget("75.1")
        refused: list[str] = []
        monkeypatch.setattr(asyncio, "sleep", partial(_stop_instead, ray, "75.1", refused))
        await engine.forget("75.1")
        assert refused == ["75.1"]
        assert "75.1" not in ray.jobs
        await engine.close()

    asyncio.run(story())


async def _stop_instead(ray: RayServer, name: str, refused: list[str], _: float) -> None:
    refused.append(name)
    ray.jobs[name].stopped = True


def test_an_order_that_ray_refuses_is_refused_for_good(ray: RayServer) -> None:
    """What Ray calls a bad request will be one tomorrow."""

    async def story() -> None:
        engine = _engine(ray)
        with pytest.raises(OrderRefusedError, match=r"gpu refuses 72\.1: TypeError"):
            await engine.submit(_order("72.1", entrypoint_num_cpus="many"))
        await engine.close()

    asyncio.run(story())


def test_a_wrong_token_is_told_by_every_operation(ray: RayServer) -> None:
    """It is a slip in the settings, which somebody may correct while the run waits; the token is not shown."""

    async def story() -> None:
        engine = _engine(ray, token="wrong-token")  # noqa: S106  (it is wrong)
        for operation in (engine.submit(_order("73.1")), engine.look(["73.1"]), engine.log("73.1")):
            with pytest.raises(EngineUnavailableError, match="401") as told:
                await operation
            assert "wrong-token" not in str(told.value)
        await engine.close()

    asyncio.run(story())


def test_nobody_listens_at_the_address(tmp_path: Path) -> None:
    """The error says what the system said."""
    server = RayServer(tmp_path)
    server.close()

    async def story() -> None:
        engine = _engine(server)
        with pytest.raises(EngineUnavailableError, match=r"gpu does not answer: .+"):
            await engine.look(["1.1"])
        await engine.close()

    asyncio.run(story())


def test_a_password_in_the_address_is_sent_and_not_shown(tmp_path: Path) -> None:
    """It is for a proxy before the dashboard; people follow the address without it."""
    server = RayServer(tmp_path)

    async def story() -> None:
        address = server.server.address.replace("//", "//someone:door-key@")
        engine = RayEngine.from_settings("gpu", {"address": address})
        submitted = await engine.submit(_order("74.1", **WAITS_FOR_A_NODE))
        assert submitted.address == f"{server.server.address}/#/jobs/74.1"
        assert "door-key" not in repr(await engine.look(["74.1"]))
        await engine.close()

    asyncio.run(story())
    assert server.seen_authorization == {"Basic c29tZW9uZTpkb29yLWtleQ=="}
    server.close()


def test_settings_name_their_engine() -> None:
    """A slip in one of five engines is found by its name."""
    with pytest.raises(InputError, match=r"\[engines\.gpu\] has no field 'tokn' \(did you mean token\?\)"):
        RayEngine.from_settings("gpu", {"address": "http://a", "tokn": "b"})
