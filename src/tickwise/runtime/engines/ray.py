"""Ray, through the REST API of its Jobs. Nothing of Ray needs to be installed where the watcher runs.

    [engines.gpu]
    kind = "ray"
    address = "http://ray-head:8265"

The reference is the `submission_id`, which Ray takes once. The answer to a second order is an error that other
causes have too, so its text is not read: whatever the error was, the engine asks Ray what it has under the
reference. The fingerprint is in the metadata of the job.

The ticket is among the variables of the job, which people with access to the dashboard's API can read. Whoever has
that access can execute anything on the cluster already, and the ticket is of no use once the work has begun (S53).
"""

import asyncio
from collections.abc import Mapping, Sequence
from shlex import join
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

import httpx2

from ...core.errors import InputError
from ...core.handover import Sight, Sighting
from ...core.settle import Cancelled, Failed, Outcome
from .contract import Engine, EngineUnavailableError, LogChunk, Order, OrderRefusedError, Submitted
from .fields import (
    REQUIRED,
    EngineField,
    address,
    amount,
    amounts,
    mapping,
    read_fields,
    text,
    text_mapping,
    whole,
)

_TIMEOUT = 30.0  # seconds; a head that starts an agent takes its time to answer
_STOP_WAIT = 10  # seconds between the signals that ask the work to end and that end it
_FORGET_TRIES, _FORGET_PAUSE = 10, 0.5  # seconds
_MAX_ERROR = 2_000  # characters; Ray puts the end of the log into its message
_FINGERPRINT = "tickwise_fingerprint"
_SETTINGS = {
    "address": EngineField(address(("http", "https")), REQUIRED),
    "token": EngineField(text, ""),  # of Ray's own authentication (RAY_AUTH_MODE=token)
    "runtime_env": EngineField(mapping, {}),  # for all jobs; what a job says goes before it
}
_OPTIONS = {
    "entrypoint_num_cpus": EngineField(amount),
    "entrypoint_num_gpus": EngineField(amount),
    "entrypoint_memory": EngineField(whole),  # bytes
    "entrypoint_resources": EngineField(amounts),
    "entrypoint_label_selector": EngineField(text_mapping),
    "runtime_env": EngineField(mapping, {}),
}
_ENDS: Mapping[str, tuple[Outcome | None, bool]] = {
    "SUCCEEDED": (None, False),  # of `tickwise exec`: how the work ended, it has reported itself
    "FAILED": (Failed(), True),
    "STOPPED": (Cancelled(), True),
}  # the outcome, and whether Ray's message says why


class RayEngine(Engine):
    """A Ray cluster."""

    kind: ClassVar[str] = "ray"
    creates_once: ClassVar[bool] = True
    tells_unknown: ClassVar[bool] = True

    def __init__(self, name: str, *, address: str, token: str, runtime_env: Mapping[str, Any]) -> None:
        self.name = name
        self._runtime_env = runtime_env
        parts = urlsplit(address)
        self._shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()  # without a password
        self._client = httpx2.AsyncClient(
            base_url=address,
            timeout=_TIMEOUT,
            headers={"Authorization": f"Bearer {token}"} if token else {},
        )

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> "RayEngine":
        given = read_fields(settings, _SETTINGS, f"[engines.{name}]")
        _check_runtime_env(given["runtime_env"], f"[engines.{name}]")
        if given["token"] and "@" in urlsplit(given["address"]).netloc:
            raise InputError(f"[engines.{name}] has a password in its address and a token: only one can be sent")
        return cls(name, **given)

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        _check_runtime_env(read_fields(options, _OPTIONS, "engine")["runtime_env"], "engine")

    async def submit(self, order: Order) -> Submitted:
        reference = order.reference
        if any("$" in value for value in order.environment.values()):
            raise OrderRefusedError(f"{self.name} cannot pass on a $ in a variable of {reference}: Ray expands it")
        response = await self._request("POST", "/api/jobs/", json=self._job(order))
        if response.is_success:
            return Submitted(self._address(reference))
        known = self._checked(await self._request("GET", _path(reference)), 404)
        if not known.is_success:
            raise self._refusal(reference, response)
        if (known.json().get("metadata") or {}).get(_FINGERPRINT) != order.fingerprint:
            raise OrderRefusedError(f"{self.name} has another job under {reference}: {self._address(reference)}")
        return Submitted(self._address(reference), existed=True)

    def _job(self, order: Order) -> dict[str, Any]:
        options = {name: value for name, value in order.options.items() if name != "runtime_env"}
        runtime_env = {**self._runtime_env, **order.options.get("runtime_env", {})}
        variables = {
            "RAY_JOB_STOP_WAIT_TIME_S": str(_STOP_WAIT),
            **self._runtime_env.get("env_vars", {}),
            **runtime_env.get("env_vars", {}),
            **order.environment,
        }
        return {
            "entrypoint": join(order.command),
            "submission_id": order.reference,
            "metadata": {"tickwise_job": order.job, _FINGERPRINT: order.fingerprint},
            "runtime_env": {**runtime_env, "env_vars": variables},
            **options,
        }

    def _refusal(self, reference: str, response: httpx2.Response) -> Exception:
        """Why Ray did not take an order. The head passes on what its agent answered, as an error of its own."""
        is_wrong = response.status_code in {400, 403} or "failed with status code 400" in response.text
        if is_wrong:
            return OrderRefusedError(f"{self.name} refuses {reference}: {_last_line(response)}")
        return self._unavailable(response)

    async def look(self, references: Sequence[str]) -> Mapping[str, Sighting]:
        """One request for all, because Ray lists all its jobs or shows one."""
        if not references:
            return {}
        jobs = self._checked(await self._request("GET", "/api/jobs/")).json()
        found = {job["submission_id"]: job for job in jobs if job.get("submission_id")}
        return {reference: self._sighting(found[reference]) for reference in references if reference in found}

    def _sighting(self, job: Mapping[str, Any]) -> Sighting:
        shown = self._address(job["submission_id"])
        match job["status"]:
            case "PENDING":
                return Sighting(Sight.WAITING, address=shown)
            case "RUNNING":
                return Sighting(Sight.RUNNING, address=shown)
            case ended:
                outcome, has_reason = _ENDS[ended]
                error = (job.get("message") or "")[:_MAX_ERROR] if has_reason else ""
                return Sighting(Sight.ENDED, outcome, error, shown)

    async def cancel(self, reference: str) -> None:
        """Ray signals the work to end, and ends it itself after a while."""
        self._checked(await self._request("POST", f"{_path(reference)}/stop"), 404)

    async def kill(self, reference: str) -> None:
        await self.cancel(reference)

    async def log(self, reference: str, cursor: str = "") -> LogChunk:
        """Ray gives the whole log each time; the cursor counts its characters."""
        response = self._checked(await self._request("GET", f"{_path(reference)}/logs"), 404)
        output = response.json().get("logs") or "" if response.is_success else ""
        start = int(cursor or "0")
        return LogChunk(output[start:], str(max(start, len(output))))

    async def forget(self, reference: str) -> None:
        """Ray deletes no job that it has not seen end, and sees the end of a program a moment after its report."""
        for _ in range(_FORGET_TRIES):
            response = await self._request("DELETE", _path(reference))
            if response.status_code != 500:
                break
            await asyncio.sleep(_FORGET_PAUSE)
        self._checked(response, 404)

    async def close(self) -> None:
        await self._client.aclose()

    def _address(self, reference: str) -> str:
        return f"{self._shown}/#/jobs/{quote(reference)}"

    async def _request(self, method: str, path: str, **given: Any) -> httpx2.Response:
        try:
            return await self._client.request(method, path, **given)
        except httpx2.HTTPError as error:
            raise EngineUnavailableError(f"{self.name} does not answer: {error!r}") from error

    def _checked(self, response: httpx2.Response, *allowed: int) -> httpx2.Response:
        if response.is_success or response.status_code in allowed:
            return response
        raise self._unavailable(response)

    def _unavailable(self, response: httpx2.Response) -> EngineUnavailableError:
        return EngineUnavailableError(f"{self.name} answers {response.status_code}: {_last_line(response)}")


def _last_line(response: httpx2.Response) -> str:
    """What a traceback comes to, without the full stop that Ray's head puts behind it."""
    return response.text.rstrip(". \n").rpartition("\n")[2][:_MAX_ERROR]


def _path(reference: str) -> str:
    return f"/api/jobs/{quote(reference, safe='')}"


def _check_runtime_env(given: Mapping[str, Any], where: str) -> None:
    try:
        text_mapping(given.get("env_vars", {}))
    except InputError as error:
        raise error.reworded(f"{where}: runtime_env.env_vars {error}", field="runtime_env") from None
