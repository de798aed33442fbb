"""Celery: an attempt is a message of the task `tickwise.run`, which the user's workers have (`engines.celery`).

    [engines.celery]
    kind = "celery"
    broker = "redis://broker:6379/0"

The reference is the `task_id`. Celery runs a message as often as it is delivered: sent twice, or redelivered after
the visibility timeout of Redis, it comes twice, and the gate turns the second away (S53). The message holds the
address of the API, the reference and the ticket; the work fetches all else by itself.

Without a result backend Celery says nothing about a message, so a look says `waiting`, and the work reports its
life and its end itself. With `backend`, a look also tells what workers have stored. A `PENDING` there may be a
reference that Celery has never heard of: `tells_unknown` is false.

Kombu blocks, so each call has a thread, and a time after which its broker counts as silent.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from celery import Celery, states

from ...core.errors import InputError
from ...core.handover import Sight, Sighting
from ...core.payload import clip
from ...core.settle import Cancelled
from .contract import Engine, EngineUnavailableError, LogChunk, Order, Submitted
from .fields import REQUIRED, EngineField, mapping, read_fields, text, whole

T = TypeVar("T")
TASK = "tickwise.run"
_TIMEOUT = 20.0  # seconds for one call, its retry included
_SOCKET_TIMEOUT = 5  # seconds
_THREADS = 4
_MAX_PRIORITY = 255
_MAX_ERROR_LENGTH = 500
_SETTINGS = {
    "broker": EngineField(text, REQUIRED),
    "backend": EngineField(text, ""),
    "queue": EngineField(text, "celery"),
    "transport_options": EngineField(mapping, {}),  # of kombu, for the broker
}
_REDIS_OPTIONS = {"socket_timeout": _SOCKET_TIMEOUT, "socket_connect_timeout": _SOCKET_TIMEOUT}
_AMQP_OPTIONS = {"confirm_publish": True, "read_timeout": _SOCKET_TIMEOUT, "write_timeout": _SOCKET_TIMEOUT}
_TRANSPORT_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("redis", "rediss"), _REDIS_OPTIONS),
    **dict.fromkeys(("amqp", "amqps", "pyamqp"), _AMQP_OPTIONS),
}
_SIGHTS: Mapping[str, Sighting] = {
    states.STARTED: Sighting(Sight.RUNNING),
    states.SUCCESS: Sighting(Sight.ENDED),
    states.FAILURE: Sighting(Sight.ENDED),
    states.REVOKED: Sighting(Sight.ENDED, Cancelled()),
}


def _priority(value: Any) -> int:
    if whole(value) > _MAX_PRIORITY:
        raise InputError(f"must be a whole number from 0 to {_MAX_PRIORITY}")
    return int(value)


_OPTIONS = {
    "queue": EngineField(text),
    "priority": EngineField(_priority),
    "task": EngineField(text),  # of the user's app, called with the params; read where the work is
}


class CeleryEngine(Engine):
    """The workers behind a broker."""

    kind: ClassVar[str] = "celery"
    creates_once: ClassVar[bool] = False
    tells_unknown: ClassVar[bool] = False

    def __init__(
        self, name: str, *, broker: str, backend: str, queue: str, transport_options: Mapping[str, Any]
    ) -> None:
        self.name = name
        self._queue = queue
        self._app = Celery(set_as_current=False, broker=broker, backend=backend or None)
        self._app.conf.update(
            broker_transport_options={**_TRANSPORT_OPTIONS.get(urlsplit(broker).scheme, {}), **transport_options},
            broker_connection_timeout=_SOCKET_TIMEOUT,
            redis_socket_timeout=_SOCKET_TIMEOUT,
            redis_socket_connect_timeout=_SOCKET_TIMEOUT,
            result_backend_always_retry=False,
            task_publish_retry_policy={"max_retries": 1, "interval_start": 0},
        )
        self._has_backend = bool(backend)
        self._secrets = [secret for url in (broker, backend) if (secret := urlsplit(url).password)]
        self._threads = ThreadPoolExecutor(_THREADS, f"tickwise-{name}")

    @classmethod
    def from_settings(cls, name: str, settings: Mapping[str, Any]) -> "CeleryEngine":
        given = read_fields(settings, _SETTINGS, f"[engines.{name}]")
        for field in ("broker", "backend"):
            if given[field] and not urlsplit(given[field]).scheme:
                raise InputError(f"[engines.{name}]: {field} must be an address such as redis://host:6379/0")
        return cls(name, **given)

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        read_fields(options, _OPTIONS, "engine")

    async def submit(self, order: Order) -> Submitted:
        options = read_fields(order.options, _OPTIONS, "engine")

        def send() -> None:
            self._app.send_task(
                TASK,
                args=[dict(order.environment)],
                argsrepr=f"({order.reference!r},)",  # what logs and monitors show: not the ticket
                task_id=order.reference,
                queue=options["queue"] or self._queue,
                priority=options["priority"],
                headers={"tickwise_job": order.job},
            )

        await self._call(send)
        return Submitted()

    async def look(self, references: Sequence[str]) -> Mapping[str, Sighting]:
        if not references:
            return {}
        await self._call(self._ask_broker)
        if not self._has_backend:
            return dict.fromkeys(references, Sighting(Sight.WAITING))
        return await self._call(lambda: {reference: self._sighting(reference) for reference in references})

    def _sighting(self, reference: str) -> Sighting:
        stored = self._app.backend.get_task_meta(reference, cache=False)
        return _SIGHTS.get(stored["status"], Sighting(Sight.WAITING))

    async def cancel(self, reference: str) -> None:
        """Workers drop the message. Work that has begun hears from the API that it is to end."""
        await self._call(lambda: self._app.control.revoke(reference))

    async def kill(self, reference: str) -> None:
        """End the process that executes it; pools without processes cannot."""
        await self._call(lambda: self._app.control.revoke(reference, terminate=True, signal="SIGKILL"))

    async def log(self, reference: str, cursor: str = "") -> LogChunk:  # noqa: ARG002  (Celery keeps no output)
        await self._call(self._ask_broker)
        return LogChunk("", cursor)

    async def forget(self, reference: str) -> None:
        """Remove the stored result; the message is gone when it was delivered."""
        await self._call(self._ask_broker)
        if self._has_backend:
            await self._call(lambda: self._app.backend.forget(reference))

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._close)

    def _close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._app.close()

    def _ask_broker(self) -> None:
        """Connect, which a broker answers only if it is there. A connection of the pool may be broken."""
        with self._app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0)

    async def _call(self, call: Callable[[], T]) -> T:
        """The result of a call that blocks."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_TIMEOUT):
                return await loop.run_in_executor(self._threads, call)
        except TimeoutError:
            raise EngineUnavailableError(f"{self.name} did not answer in {_TIMEOUT:g} s") from None
        except Exception as error:  # noqa: BLE001  (each transport and backend raises errors of its own library)
            raise EngineUnavailableError(f"{self.name} did not answer: {self._shown(error)}") from None

    def _shown(self, error: Exception) -> str:
        """An error of a library, which may repeat an address with its password."""
        shown = clip(f"{type(error).__name__}: {error}", _MAX_ERROR_LENGTH)
        for secret in self._secrets:
            shown = shown.replace(secret, "…")
        return shown
