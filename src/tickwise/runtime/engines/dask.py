"""Dask: an attempt is a task of a `distributed` cluster, whose key is the reference.

    [engines.cluster]
    kind = "dask"
    address = "tcp://dask-scheduler:8786"

The task calls `tickwise.engines.remote.execute_attempt`, so `tickwise` must be installed on scheduler and workers.

A scheduler drops a task that nobody wants any more, and runs its key again when that is submitted later. So the
task is published under its reference, which keeps it until it is forgotten, whoever goes. That it begins only once
is due to the gate alone (S53). A task that runs cannot be ended from outside: the gate tells the work that it was
cancelled. `kill` makes the scheduler drop the task, and a thread that does not listen goes on.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import Any, ClassVar
from urllib.parse import urlsplit

from distributed import Client, Future, Security

from ...core.handover import Sight, Sighting
from ...core.settle import Failed
from .contract import Engine, EngineUnavailableError, LogChunk, Order, OrderRefusedError, Submitted
from .fields import REQUIRED, EngineField, address, amounts, duration, read_fields, text, texts, whole

_DEFAULT_TIMEOUT = 10  # seconds
_PAUSE = 0.01  # seconds
_MAX_ERROR = 2_000
_SETTINGS = {
    "address": EngineField(address(("tcp", "tls")), REQUIRED),
    "tls_ca": EngineField(text, ""),
    "tls_cert": EngineField(text, ""),
    "tls_key": EngineField(text, ""),
    "timeout": EngineField(duration, _DEFAULT_TIMEOUT),  # for one answer of the scheduler
}
_OPTIONS = {
    "resources": EngineField(amounts),
    "workers": EngineField(texts),
    "priority": EngineField(whole),
}
_SIGHTS = {
    "released": Sight.WAITING,
    "waiting": Sight.WAITING,
    "no-worker": Sight.WAITING,
    "queued": Sight.WAITING,
    "processing": Sight.RUNNING,
    "memory": Sight.ENDED,
    "erred": Sight.ENDED,
}


class DaskEngine(Engine):
    """A scheduler of `distributed`."""

    kind: ClassVar[str] = "dask"
    creates_once: ClassVar[bool] = False
    tells_unknown: ClassVar[bool] = True

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._settings = settings
        self._client: Client | None = None
        self._lock = asyncio.Lock()

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> "DaskEngine":
        return cls(name, read_fields(settings, _SETTINGS, f"[engines.{name}]"))

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        read_fields(options, _OPTIONS, "engine")

    async def submit(self, order: Order) -> Submitted:
        """A task of this key that the scheduler has is left as it is."""
        key, options = order.reference, dict(order.options)
        async with self._asked() as client:
            existed = await self._state(client, key) is not None
            future = client.submit(_work, dict(order.environment), key=key, pure=False, retries=0, **options)
            while await self._state(client, key) is None:
                if future.status == "error":
                    raise OrderRefusedError(f"{self.name} refuses {key}: {await _failure_of(future)}")
                await asyncio.sleep(_PAUSE)
            await client.publish_dataset(future, name=key, override=True)
            return Submitted(client.dashboard_link or "", existed=existed)

    async def look(self, references: Sequence[str]) -> Mapping[str, Sighting]:
        if not references:
            return {}
        async with self._asked() as client:
            states = await client.scheduler.get_task_status(keys=list(references))
            known = {key: state for key, state in states.items() if state in _SIGHTS}
            return {key: await self._sighting(client, key, state) for key, state in known.items()}

    async def _sighting(self, client: Client, key: str, state: str) -> Sighting:
        """What a state of the scheduler means. How work ended that did not raise, it has reported itself."""
        shown = client.dashboard_link or ""
        if state != "erred":
            return Sighting(_SIGHTS[state], address=shown)
        future = await client.get_dataset(key, default=None)
        problem = "it raised" if future is None else await _failure_of(future)
        return Sighting(Sight.ENDED, Failed(), problem, shown)

    async def cancel(self, reference: str) -> None:
        """Drop a task that has not begun; one that runs hears of it at its gate."""
        async with self._asked() as client:
            if _SIGHTS.get(await self._state(client, reference) or "") is Sight.WAITING:
                await client.cancel([Future(reference, client)], force=True)

    async def kill(self, reference: str) -> None:
        async with self._asked() as client:
            if _SIGHTS.get(await self._state(client, reference) or "") in {Sight.WAITING, Sight.RUNNING}:
                await client.cancel([Future(reference, client)], force=True)

    async def log(self, reference: str, cursor: str = "") -> LogChunk:
        """Dask keeps no output of a task; the work sends its own."""
        async with self._asked() as client:
            await self._state(client, reference)
        return LogChunk("", cursor)

    async def forget(self, reference: str) -> None:
        async with self._asked() as client:
            await client.unpublish_dataset(reference)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with suppress(OSError, TimeoutError):
                await client.close()

    async def _state(self, client: Client, key: str) -> str | None:
        state: str | None = (await client.scheduler.get_task_status(keys=[key]))[key]
        return state

    @asynccontextmanager
    async def _asked(self) -> AsyncIterator[Client]:
        """A client that is connected, for questions that are answered in time."""
        try:
            async with asyncio.timeout(self._settings["timeout"]):
                async with self._lock:
                    client = await self._connected()
                yield client
        except (OSError, TimeoutError) as error:
            await self.close()
            raise EngineUnavailableError(f"{self.name} does not answer: {error!r}") from error

    async def _connected(self) -> Client:
        if self._client is not None and self._client.status != "running":
            await self.close()
        if self._client is None:
            await self._probe()
            settings = self._settings
            self._client = Client(
                settings["address"],
                asynchronous=True,
                set_as_default=False,
                timeout=settings["timeout"],
                security=_security(settings),
            )
            await self._client
        return self._client

    async def _probe(self) -> None:
        """Have a connection refused at once, which `distributed` tries again and again for its whole time."""
        parts = urlsplit(self._settings["address"])
        _, writer = await asyncio.open_connection(parts.hostname, parts.port or 8786)
        writer.close()


def _work(environment: Mapping[str, str]) -> bool:
    """What a worker calls. The other side of a hand-over lies above the runtime, so it is named, not imported."""
    return bool(import_module("tickwise.engines.remote").execute_attempt(environment))


async def _failure_of(future: Any) -> str:
    """Why a task has failed, in one line."""
    error = await future.exception()
    return f"{type(error).__name__}: {error}"[:_MAX_ERROR].strip()


def _security(settings: Mapping[str, Any]) -> Security | None:
    if not settings["address"].startswith("tls"):
        return None
    files = {"ca": "tls_ca_file", "cert": "tls_client_cert", "key": "tls_client_key"}
    given = {option: settings[f"tls_{name}"] or None for name, option in files.items()}
    return Security(require_encryption=True, **given)
