"""The workers of a node: one that executes runs here, and one that watches runs on engines, if it has any."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from ..config import Settings
from ..core.errors import InputError
from ..core.requirements import NOTHING, Offers
from ..core.settle import Settled
from ..runtime.engines.watcher import EndOfAttempt, Watcher
from ..runtime.execution import Execution
from ..runtime.run_executor import RunExecutor
from ..runtime.telemetry import Telemetry
from ..runtime.worker import Worker, WorkerOptions
from ..stores.contract import Store
from ..stores.records import Finish, Lease, Renewed, Role
from .registry import Registry
from .telemetry import make_telemetry
from .worker_services import worker_services

_ANY_INTERFACE = frozenset({"0.0.0.0", "::"})  # noqa: S104  (where an API listens, not where it is reached)


class WorkerCallbacks(NamedTuple):
    """What the node is told by its workers, and what they ask it."""

    commands: Callable[[], Collection[str]]  # digests of definitions whose commands may be executed, or `*`
    on_started: Callable[[Lease], None]
    on_ended: Callable[[Lease, Finish, Settled], None]
    on_reported: Callable[[EndOfAttempt], None]  # the work on an engine has stored its end by itself


class NodeWorkers:
    """All workers of a node, as its heartbeat and the fleet see them."""

    def __init__(
        self, local: Worker | None = None, watcher: Worker | None = None, telemetry: Telemetry | None = None
    ) -> None:
        self.local = local
        self.watcher = watcher
        self._telemetry = telemetry
        self.all = tuple(worker for worker in (local, watcher) if worker)

    @property
    def offers(self) -> Offers:
        offered = NOTHING
        for worker in self.all:
            offered |= worker.offers
        return offered

    @property
    def busy(self) -> int:
        return sum(worker.busy for worker in self.all)

    def held(self) -> Mapping[str, str]:
        """Run ids to tokens. The heartbeat's thread calls this."""
        return {run: token for worker in self.all for run, token in worker.held().items()}

    def on_renewed(self, asked: Mapping[str, str], renewed: Renewed) -> bool:
        """Pass the answer to a renewal on; true if a worker needs another one now."""
        needs = [
            worker.on_renewed(asked, renewed._replace(unknown=tuple(filter(concerns, renewed.unknown))))
            for worker, concerns in ((self.local, _is_local), (self.watcher, _is_handed_over))
            if worker
        ]
        return any(needs)

    def on_leases_lost(self) -> None:
        for worker in self.all:
            worker.on_leases_lost()

    def end_grace(self) -> None:
        for worker in self.all:
            worker.end_grace()

    async def close(self, grace: float) -> None:
        """Let local runs end within the grace. Handed-over ones go on without their watcher (S54)."""
        graces = ((self.local, grace), (self.watcher, 0.0))
        await asyncio.gather(*(worker.close(seconds) for worker, seconds in graces if worker))
        if self._telemetry:
            await asyncio.to_thread(self._telemetry.flush)


def _is_handed_over(lease: Lease) -> bool:
    return lease.job.engine is not None


def _is_local(lease: Lease) -> bool:
    return lease.job.engine is None


def make_workers(
    settings: Settings,
    store: Store,
    node: str,
    registry: Registry,
    roles: Collection[Role],
    callbacks: WorkerCallbacks,
) -> NodeWorkers:
    """The workers that a node with these roles and settings has."""
    if Role.WORKER not in roles:
        return NodeWorkers()
    services, telemetry = worker_services(settings), make_telemetry(settings)

    def make(execution: RunExecutor, concurrency: int) -> Worker:
        return Worker(
            store, node, execution,
            options=WorkerOptions(concurrency, settings.queues, settings.lease),
            poll=settings.poll, on_started=callbacks.on_started, on_ended=callbacks.on_ended,
        )  # fmt: skip

    local = Execution(
        store,
        registry.functions,
        commands=callbacks.commands,
        services=services,
        middleware=registry.middleware,
        telemetry=telemetry,
    )
    if not settings.engines:
        return NodeWorkers(make(local, settings.concurrency), None, telemetry)
    watcher = Watcher(
        store, settings.engines, api_url=_api_url(settings, roles), commands=callbacks.commands,
        redactor=services.redactor, on_reported=callbacks.on_reported,
    )  # fmt: skip
    return NodeWorkers(make(local, settings.concurrency), make(watcher, settings.watch_concurrency), telemetry)


def _api_url(settings: Settings, roles: Collection[Role]) -> str:
    """Where work on an engine reaches the API."""
    if settings.api_url:
        return settings.api_url.rstrip("/")
    if Role.API not in roles or settings.port == 0 or settings.host in _ANY_INTERFACE:
        raise InputError(
            "work on engines reports to the API, and its address is not known here: set api_url, such as "
            'api_url = "https://tickwise.example.com"'
        )
    scheme = "https" if settings.certificate else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{settings.port}{settings.root_path}"
