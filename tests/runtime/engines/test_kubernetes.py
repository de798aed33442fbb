"""Kubernetes passes the suite of engines, on a strict fake of its API, or where TICKWISE_TEST_KUBERNETES points.

To try a real cluster: TICKWISE_TEST_KUBERNETES is a kubeconfig, TICKWISE_TEST_KUBERNETES_IMAGE an image with
`tickwise` inside, and TICKWISE_TEST_HOST the address of this machine that pods can reach.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tickwise.core.errors import InputError
from tickwise.core.handover import Sight
from tickwise.core.settle import Cancelled, Failed, Succeeded
from tickwise.runtime.engines.catalog import read_engines
from tickwise.runtime.engines.contract import Engine, EngineUnavailableError, Order, OrderRefusedError
from tickwise.runtime.engines.kubernetes import KubernetesEngine
from tickwise.runtime.engines.kubernetes_job import job_name, reference_of_name
from tickwise.testing.engines import EngineConformance, Gate, Workplace, until

from ...support.engines.kubernetes_server import KubernetesServer
from ...support.engines.program import install_stub

TOKEN = "kubernetes-token-1234"  # noqa: S105  (of a fake)
SETTINGS = {"namespace": "batch", "image": "registry.example/reports:5"}
REAL = os.environ.get("TICKWISE_TEST_KUBERNETES")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesServer]:
    server = KubernetesServer(install_stub(tmp_path_factory.mktemp("bin")), TOKEN)
    yield server
    server.close()


@pytest.fixture
def settings(cluster: KubernetesServer, tmp_path: Path) -> dict[str, Any]:
    """As `kubectl` has them; JSON is YAML."""
    config = {
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": cluster.server.address}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))
    return {**SETTINGS, "kubeconfig": str(path)}


class TestKubernetes(EngineConformance):
    engine: ClassVar[type[Engine]] = KubernetesEngine
    keeps_output = True
    secrets = (TOKEN,)
    options: Mapping[str, Any] = {
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
    }
    wrong_options = (
        ({"imag": "a"}, "did you mean image"),
        ({"image": 5}, "image must be a text"),
        ({"command": "sleep 5"}, "command must be a list"),
        ({"command": ["a\0b"]}, "command must be a text"),
        ({"resources": {"request": {}}}, "write requests and limits"),
        ({"resources": []}, "resources must be a mapping"),
    )
    wrong_settings = (
        ({"namespaces": "a"}, "did you mean namespace"),
        ({"image": ""}, "image must be a text"),
        ({"keep": "soon"}, "keep 'soon' is not a duration"),
        ({"pod": {"containers": []}}, "pod has containers, which is set by Tickwise"),
        ({"pod": {"restartPolicy": "Always"}}, "pod has restartPolicy"),
    )

    @pytest.fixture(autouse=True)
    def at(self, request: pytest.FixtureRequest) -> None:
        if REAL:
            self.settings = {"kubeconfig": REAL, "image": os.environ["TICKWISE_TEST_KUBERNETES_IMAGE"]}
        else:
            self.settings = request.getfixturevalue("settings")
            self.cluster = request.getfixturevalue("cluster")

    async def workplace(self) -> Workplace:
        return Gate(os.environ["TICKWISE_TEST_HOST"] if REAL else "127.0.0.1")

    async def cut(self) -> None:
        if REAL:
            pytest.skip("a real cluster is not cut off")
        self.cluster.server.is_cut = True

    async def mend(self) -> None:
        self.cluster.server.is_cut = False


def order(reference: str, **options: Any) -> Order:
    environment = {"TICKWISE_API": "http://127.0.0.1:9", "TICKWISE_ATTEMPT": reference, "TICKWISE_TICKET": "t"}
    return Order(reference, "print", "reports", environment, options, timeout=90)


def played(story: Callable[[KubernetesEngine], Any], settings: Mapping[str, Any]) -> None:
    async def play() -> None:
        engine = KubernetesEngine.from_settings("cluster", settings)
        try:
            async with asyncio.timeout(60):
                await story(engine)
        finally:
            await engine.close()

    asyncio.run(play())


def test_a_job_runs_once_and_holds_no_ticket(cluster: KubernetesServer, settings: dict[str, Any]) -> None:
    """Kubernetes never starts it again; what the work needs is in a Secret that goes with the Job (S53)."""
    pod = {"nodeSelector": {"pool": "gpu"}}
    given = {**settings, "pod": pod, "service_account": "runner", "dashboard": "https://d/{namespace}/{name}"}

    async def story(engine: KubernetesEngine) -> None:
        submitted = await engine.submit(order("50.1", image="broken"))
        assert submitted.address == "https://d/batch/tickwise-50-1"
        job, secret = (cluster.objects[kind]["tickwise-50-1"] for kind in ("jobs", "secrets"))
        spec = job["spec"]["template"]["spec"]
        assert (job["spec"]["backoffLimit"], spec["restartPolicy"]) == (0, "Never")
        assert (spec["nodeSelector"], spec["serviceAccountName"]) == ({"pool": "gpu"}, "runner")
        assert "ttlSecondsAfterFinished" not in job["spec"]
        assert "activeDeadlineSeconds" not in job["spec"]
        assert spec["containers"][0]["command"] == ["tickwise", "exec"]
        assert "TICKET" not in json.dumps(job)
        assert set(secret["data"]) == {"TICKWISE_API", "TICKWISE_ATTEMPT", "TICKWISE_TICKET"}
        assert secret["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
        await engine.forget("50.1")
        assert not {"tickwise-50-1"} & {*cluster.objects["jobs"], *cluster.objects["secrets"]}

    played(story, given)


def test_a_watcher_that_died_between_secret_and_job_is_replaced(
    cluster: KubernetesServer, settings: dict[str, Any]
) -> None:
    """The next order finds the Secret, brings it up to date, and makes the Job; the one after adopts it (S52)."""

    async def story(engine: KubernetesEngine) -> None:
        cluster.fail_next("create jobs", 500)
        with pytest.raises(EngineUnavailableError, match="cluster answers 500: try again"):
            await engine.submit(order("51.1", image="broken"))
        assert "tickwise-51-1" in cluster.objects["secrets"]
        later = replace(order("51.1", image="broken"), environment={"A": "b"})
        assert not (await engine.submit(later)).existed
        assert cluster.objects["secrets"]["tickwise-51-1"]["data"]["A"] == "Yg=="
        assert (await engine.submit(replace(later, environment={"A": "c"}))).existed
        assert cluster.objects["secrets"]["tickwise-51-1"]["data"]["A"] == "Yg=="
        await engine.forget("51.1")

    played(story, settings)


def test_a_plain_image_is_judged_by_how_it_ends(cluster: KubernetesServer, settings: dict[str, Any]) -> None:
    """It has its own command and no secret of ours, its timeout is Kubernetes', and its log is fetched."""

    async def story(engine: KubernetesEngine) -> None:
        said = "hello $(HOME) $$ $TICKWISE_ATTEMPT"
        await engine.submit(order("52.1", command=["sh", "-c", 'echo "$0" "$TICKWISE_ATTEMPT"', said]))
        await engine.submit(order("53.1", command=["sh", "-c", "exit 7"]))
        await engine.submit(order("54.1", command=[]))
        assert (await until(engine, "52.1", Sight.ENDED)).outcome == Succeeded()
        failed = await until(engine, "53.1", Sight.ENDED)
        assert (failed.outcome, failed.error) == (
            Failed(),
            "Error: exit code 7; BackoffLimitExceeded: Job has reached the specified backoff limit",
        )
        assert (await until(engine, "54.1", Sight.ENDED)).outcome == Succeeded()
        assert (await engine.log("52.1")).text == f"{said} 52.1\n"
        assert cluster.objects["jobs"]["tickwise-52-1"]["spec"]["activeDeadlineSeconds"] == 90
        assert not {"tickwise-52-1", "tickwise-53-1"} & {*cluster.objects["secrets"]}
        for reference in ("52.1", "53.1", "54.1"):
            await engine.forget(reference)

    played(story, settings)


def test_plain_work_is_not_done_at_most_once(settings: dict[str, Any]) -> None:
    """Nobody asks a gate there, and Kubernetes may start a pod twice (S53)."""
    engine = read_engines({"cluster": {"kind": "kubernetes", **settings}})["cluster"]
    engine.check({"image": "a"}, at_most_once=True)
    engine.check({"command": ["a"]}, at_most_once=False)
    with pytest.raises(InputError, match="at_most_once needs work that asks"):
        engine.check({"command": ["a"]}, at_most_once=True)


def test_an_evicted_pod_says_so(cluster: KubernetesServer, settings: dict[str, Any]) -> None:
    """Kubernetes does not start it again, and the run's error is the node's."""

    async def story(engine: KubernetesEngine) -> None:
        await engine.submit(order("55.1", command=["sleep", "60"]))
        await until(engine, "55.1", Sight.RUNNING)
        cluster.evict("tickwise-55-1")
        seen = await until(engine, "55.1", Sight.ENDED)
        assert seen.outcome == Failed()
        assert "Evicted: The node was low on resource: memory." in seen.error
        await engine.forget("55.1")

    played(story, settings)


def test_work_that_cannot_start_says_why_it_waits(cluster: KubernetesServer, settings: dict[str, Any]) -> None:
    """An image that cannot be pulled; cancelled, it is over without having begun."""
    assert cluster.pods == {}

    async def story(engine: KubernetesEngine) -> None:
        await engine.submit(order("56.1", image="broken"))
        seen = await until(engine, "56.1", Sight.WAITING)
        assert seen.error == 'ImagePullBackOff: Back-off pulling image "broken"'
        assert (await engine.log("56.1")).text == ""
        await engine.cancel("56.1")
        seen = await until(engine, "56.1", Sight.ENDED)
        assert seen.outcome == Cancelled()
        await engine.forget("56.1")

    played(story, settings)


def test_a_job_can_be_kept_for_people(cluster: KubernetesServer, settings: dict[str, Any]) -> None:
    """Only after its end was stored Kubernetes may remove it, and a look does not see it any more (S56)."""

    async def story(engine: KubernetesEngine) -> None:
        await engine.submit(order("57.1", command=[]))
        await until(engine, "57.1", Sight.ENDED)
        assert cluster.expire() == []
        await engine.forget("57.1")
        await engine.forget("57.1")
        assert cluster.objects["jobs"]["tickwise-57-1"]["spec"]["ttlSecondsAfterFinished"] == 3_600
        assert await engine.look(["57.1"]) == {}
        assert cluster.expire() == ["tickwise-57-1"]

    played(story, {**settings, "keep": "1h"})


def test_many_are_seen_in_pages(cluster: KubernetesServer, settings: dict[str, Any]) -> None:
    """A list that became too old for its next page is read again; after any other error, look later."""
    references = [f"{number}.1" for number in range(60, 70)]

    async def story(engine: KubernetesEngine) -> None:
        for reference in references:
            await engine.submit(order(reference, image="broken"))
        cluster.fail_next("list jobs 3", 410, "The provided continue parameter is too old")
        seen = await engine.look([*references, "99.1"])
        assert [*seen] == references
        for code in (410, 429, 500, 503):
            cluster.fail_next("list jobs", code)
            if code == 410:
                cluster.fail_next("list jobs", 410)
            with pytest.raises(EngineUnavailableError, match=f"cluster answers {code}"):
                await engine.look(references)
        before = len(cluster.requests)
        await engine.look(references)
        assert len(cluster.requests) - before == 2 * 4  # pages of Jobs and of pods, however many are asked for
        for reference in references:
            await engine.forget(reference)

    played(story, settings)


@pytest.mark.parametrize(
    ("code", "message", "error"),
    [
        (403, "jobs.batch is forbidden: User cannot create resource", OrderRefusedError),
        (403, "jobs.batch is forbidden: exceeded quota: small", EngineUnavailableError),
        (404, 'namespaces "batch" not found', OrderRefusedError),
        (401, "Unauthorized", EngineUnavailableError),
        (429, "too many requests", EngineUnavailableError),
        (500, "etcdserver: leader changed", EngineUnavailableError),
    ],
)
def test_an_order_is_refused_for_good_or_for_now(
    cluster: KubernetesServer, settings: dict[str, Any], code: int, message: str, error: type[Exception]
) -> None:
    """A quota is free again later, and a right that is missing is not."""

    async def story(engine: KubernetesEngine) -> None:
        cluster.fail_next("create jobs", code, message)
        with pytest.raises(error, match=message[:20]):
            await engine.submit(order("80.1", command=["true"]))

    played(story, settings)


def test_an_order_that_kubernetes_calls_wrong_is_refused(settings: dict[str, Any]) -> None:
    """So is one without an image, and one whose reference is no name."""

    async def story(engine: KubernetesEngine) -> None:
        with pytest.raises(OrderRefusedError, match=r"cluster refuses 81\.1: .*image: Invalid value"):
            await engine.submit(order("81.1", image="a b", command=[]))
        with pytest.raises(OrderRefusedError, match="cannot be the name of a Job"):
            await engine.submit(order("8" * 60 + ".1"))

    played(story, settings)

    async def without_image(engine: KubernetesEngine) -> None:
        with pytest.raises(OrderRefusedError, match="reports has no image"):
            await engine.submit(order("82.1"))

    played(without_image, {name: value for name, value in settings.items() if name != "image"})


@pytest.mark.parametrize("reference", ["1.1", "9223372036854775807.12", "65f0c0ffee.3", "A_z.1", "ä/b.2"])
def test_a_name_can_be_read_back(reference: str) -> None:
    """Whatever a store takes for an id."""
    assert reference_of_name(job_name(reference)) == reference


@pytest.mark.parametrize("name", ["reports-1", "tickwise-", "tickwise-A", "tickwise-zz1", "tickwise"])
def test_other_names_are_not_ours(name: str) -> None:
    """A Job that somebody made by hand is left alone."""
    assert reference_of_name(name) is None


def test_a_configuration_that_is_missing_is_told(tmp_path: Path) -> None:
    """It may come back, so the run waits; the error names the file."""

    async def story(engine: KubernetesEngine) -> None:
        with pytest.raises(EngineUnavailableError, match=r"cluster has no usable configuration: .*nowhere"):
            await engine.look(["1.1"])

    played(story, {"kubeconfig": str(tmp_path / "nowhere")})
