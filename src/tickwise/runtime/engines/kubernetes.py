"""Kubernetes: one Job for each attempt, through its API.

    [engines.cluster]
    kind = "kubernetes"
    namespace = "batch"
    image = "registry.example.org/reports:5"       # with `tickwise` inside

An image without `tickwise` is plain work: the job says `command`, Kubernetes says how it ended, and nobody asks a
gate, so `at_most_once` is refused there (S53). `kubernetes_job` says what the objects look like.

Cancelling suspends the Job: Kubernetes ends its pod and keeps the Job, so that a look still finds it. Deleting it
would end the pod too, but a reference that is unknown may also be one that was never ordered (S55).
"""

from collections import defaultdict
from collections.abc import Awaitable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, ClassVar

import httpx2
from lightkube import ApiError, AsyncClient, KubeConfig
from lightkube.core.exceptions import ConfigError
from lightkube.operators import not_exists
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import Pod, Secret
from lightkube.types import CascadeType, PatchType

from ...clock import now
from ...core.handover import Sighting
from .contract import Engine, EngineUnavailableError, LogChunk, Order, OrderRefusedError, Submitted
from .fields import EngineField, duration, read_fields, text, texts
from .kubernetes_job import (
    FINGERPRINT,
    JOB_NAME,
    LABELS,
    OVER,
    Manifest,
    PodTemplate,
    asks_gate,
    is_active,
    job_manifest,
    job_name,
    needs_pods,
    over_patch,
    owner_patch,
    read_pod,
    read_resources,
    reference_of_name,
    secret_manifest,
    sighting,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMEOUT = 30.0  # seconds
_BATCH_SIZE = 500  # Jobs and pods of one page
_CLOCKS_DIFFER = 300  # seconds by which the clock of a node may be away from this one's
_FOR_GOOD = frozenset({400, 403, 404, 422})  # answers that an order would get tomorrow, too
_SETTINGS = {
    "namespace": EngineField(text, ""),
    "image": EngineField(text, ""),
    "service_account": EngineField(text, ""),
    "resources": EngineField(read_resources, {}),
    "pod": EngineField(read_pod, {}),
    "kubeconfig": EngineField(text, ""),
    "context": EngineField(text, ""),
    "keep": EngineField(duration, 0),  # how long a Job stays for people after its end was stored
    "dashboard": EngineField(text, ""),  # an address with {namespace} and {name}
}
_OPTIONS = {
    "image": EngineField(text),
    "command": EngineField(texts),
    "resources": EngineField(read_resources),
}


class KubernetesEngine(Engine):
    """A namespace of a cluster."""

    kind: ClassVar[str] = "kubernetes"
    creates_once: ClassVar[bool] = True
    tells_unknown: ClassVar[bool] = True

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._settings = settings
        self._template = PodTemplate(*(settings[field] for field in PodTemplate._fields))
        self._opened: AsyncClient | None = None

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> "KubernetesEngine":
        return cls(name, read_fields(settings, _SETTINGS, f"[engines.{name}]"))

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        read_fields(options, _OPTIONS, "engine")

    @classmethod
    def asks_gate(cls, options: Mapping[str, Any]) -> bool:
        return asks_gate(options)

    # Orders.

    async def submit(self, order: Order) -> Submitted:
        name, job = job_name(order.reference), job_manifest(order, self._template)
        gated = asks_gate(order.options)
        try:
            existing = await self._prepare_secret(order) if gated else None
            created = existing or await self._create_job(job)
            known = created or await self._ask(self._client.get(Job, name))
        except ApiError as error:
            raise self._refusal(order.reference, error) from error
        if known.metadata.annotations.get(FINGERPRINT) != order.fingerprint:
            raise OrderRefusedError(f"{self.name} has another Job under {name}, the name of {order.reference}")
        if gated:
            await self._ask(self._patch(Secret, name, owner_patch(known.to_dict())), 404)
        return Submitted(self._address(name), existed=known is not created or created is existing)

    async def _prepare_secret(self, order: Order) -> Any:
        """Make the Secret before the Job that reads it. A Job that is there is given: its Secret stays."""
        secret, name = secret_manifest(order), job_name(order.reference)
        if await self._ask(self._client.create(Secret.from_dict(secret)), 409) is not None:
            return None
        job = await self._ask(self._client.get(Job, name), 404)
        if job is None:  # an earlier order came no further than the Secret
            await self._ask(self._patch(Secret, name, {"stringData": secret["stringData"]}))
        return job

    async def _create_job(self, job: Manifest) -> Any:
        """The Job; none if there is one of this name."""
        return await self._ask(self._client.create(Job.from_dict(dict(job))), 409)

    def _refusal(self, reference: str, error: ApiError) -> Exception:
        is_quota = error.status.code == 403 and "exceeded quota" in (error.status.message or "")
        if error.status.code in _FOR_GOOD and not is_quota:
            return OrderRefusedError(f"{self.name} refuses {reference}: {error.status.message}")
        return self._unavailable(error)

    # Looks.

    async def look(self, references: Sequence[str]) -> Mapping[str, Sighting]:
        if not references:
            return {}
        wanted = frozenset(references)
        jobs = {}
        for job in await self._list(Job, {**LABELS, OVER: not_exists()}):
            reference = reference_of_name(job["metadata"]["name"])
            if reference in wanted:
                jobs[reference] = job
        pods = await self._pods_by_job() if any(map(needs_pods, jobs.values())) else {}
        return {
            reference: sighting(job, pods.get(name, ()), self._address(name))
            for reference, job in jobs.items()
            for name in (job["metadata"]["name"],)
        }

    async def _pods_by_job(self) -> Mapping[str, list[Manifest]]:
        pods = defaultdict(list)
        for pod in await self._list(Pod, LABELS):
            pods[pod["metadata"]["labels"].get(JOB_NAME, "")].append(pod)
        return pods

    async def _list(self, kind: Any, labels: Mapping[str, Any]) -> list[Manifest]:
        """All that have these labels. A list that took too long for its pages is read once more (410)."""
        try:
            found: list[Manifest] = await self._ask(self._read_pages(kind, labels))
        except ApiError as error:
            if error.status.code != 410:
                raise self._unavailable(error) from error
            found = await self._do(self._read_pages(kind, labels))
        return found

    async def _read_pages(self, kind: Any, labels: Mapping[str, Any]) -> list[Manifest]:
        pages = self._client.list(kind, labels=dict(labels), chunk_size=_BATCH_SIZE)
        return [one.to_dict() async for one in pages]

    # The rest.

    async def cancel(self, reference: str) -> None:
        await self._do(self._patch(Job, job_name(reference), {"spec": {"suspend": True}}), 404)

    async def kill(self, reference: str) -> None:
        await self.cancel(reference)
        for pod in filter(is_active, await self._list(Pod, {JOB_NAME: job_name(reference)})):
            await self._do(self._client.delete(Pod, pod["metadata"]["name"], grace_period=0), 404)

    async def log(self, reference: str, cursor: str = "") -> LogChunk:
        """Lines by the time that the node gave them; the cursor is the last time and how many lines had it."""
        pods = await self._list(Pod, {JOB_NAME: job_name(reference)})
        if not pods:
            return LogChunk("", cursor)
        newest = max(pods, key=lambda pod: pod["metadata"].get("creationTimestamp") or "")
        lines = await self._do(self._read_log(newest["metadata"]["name"], cursor), 400, 404)  # 400: not started
        return _after_cursor(lines or [], cursor)

    async def _read_log(self, pod: str, cursor: str) -> list[str]:
        since = None
        if cursor:
            passed = now() - _EPOCH - timedelta(microseconds=int(cursor.partition(" ")[0]))
            since = max(1, ceil(passed.total_seconds()) + _CLOCKS_DIFFER)
        return [line async for line in self._client.log(pod, since=since, timestamps=True)]

    async def forget(self, reference: str) -> None:
        name, keep = job_name(reference), self._settings["keep"]
        if keep:
            await self._do(self._patch(Job, name, over_patch(keep)), 404)
        else:
            await self._do(self._client.delete(Job, name, cascade=CascadeType.BACKGROUND), 404)
        await self._do(self._client.delete(Secret, name), 404)

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    def _address(self, name: str) -> str:
        dashboard: str = self._settings["dashboard"]
        if not dashboard:
            return ""
        return dashboard.replace("{namespace}", self._client.namespace).replace("{name}", name)

    # The connection.

    @property
    def _client(self) -> AsyncClient:
        if self._opened is None:
            path, context = self._settings["kubeconfig"], self._settings["context"]
            try:
                found = KubeConfig.from_file(path) if path else KubeConfig.from_env()
                config = found.get(context or None)
            except (ConfigError, OSError) as error:
                raise EngineUnavailableError(f"{self.name} has no usable configuration: {error}") from error
            self._opened = AsyncClient(
                config, namespace=self._settings["namespace"] or None, timeout=httpx2.Timeout(_TIMEOUT)
            )
        return self._opened

    async def _patch(self, kind: Any, name: str, change: Manifest) -> Any:
        return await self._client.patch(kind, name, dict(change), patch_type=PatchType.MERGE)

    async def _ask(self, call: Awaitable[Any], *expected: int) -> Any:
        """What the API answers; none if it is one of these errors, and ApiError if it is another."""
        try:
            return await call
        except ApiError as error:
            if error.status.code in expected:
                return None
            raise
        except (httpx2.HTTPError, KeyError) as error:  # KeyError: an error page of a proxy, without a type
            raise EngineUnavailableError(f"{self.name} does not answer: {error!r}") from error

    async def _do(self, call: Awaitable[Any], *expected: int) -> Any:
        """As `_ask`, but any other error is an engine that is not there."""
        try:
            return await self._ask(call, *expected)
        except ApiError as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: ApiError) -> EngineUnavailableError:
        return EngineUnavailableError(f"{self.name} answers {error.status.code}: {error.status.message}")


def _after_cursor(lines: Sequence[str], cursor: str) -> LogChunk:
    """What comes after the lines that are known: those with the time of the cursor are the first."""
    last, _, count = cursor.partition(" ")
    stamped = [(_microseconds(time), content) for time, _, content in (line.partition(" ") for line in lines)]
    kept = [line for line in stamped if line[0] >= int(last or "0")]
    fresh = kept[int(count or "0") :]
    if not fresh:
        return LogChunk("", cursor)
    newest = fresh[-1][0]
    return LogChunk("".join(content for _, content in fresh), f"{newest} {sum(t == newest for t, _ in kept)}")


def _microseconds(time: str) -> int:
    """Of a time as a node writes it, in whatever zone and with as many digits as it likes."""
    return (datetime.fromisoformat(time) - _EPOCH) // timedelta(microseconds=1)
