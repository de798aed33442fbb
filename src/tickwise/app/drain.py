"""Drain: do everything that is due now, without a node. For tests and scripts.

A ticker and a worker take turns until nothing is left. Nothing waits: runs that are due later, and retries that
come later, stay for the next drain.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from ..clock import monotonic
from ..core.definition import Ticking
from ..core.requirements import ALL
from ..core.settle import Settled
from ..runtime.child_watch import ChildWatch
from ..runtime.execution import Execution
from ..runtime.executors.middleware import Middleware
from ..runtime.local_ticker import LocalTicker
from ..runtime.step_context import Services
from ..runtime.telemetry import Telemetry
from ..runtime.ticker import Ticker
from ..runtime.worker import Worker, WorkerOptions
from ..sources.files import FileWatch
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import Finish, Lease, Node, Role
from .event_sources import EventSources

_LEASE = 3_600  # seconds; it is not renewed
_CONCURRENCY = 100


async def drain(
    store: Store,
    functions: Mapping[str, Callable[..., Any]],
    services: Services | None = None,
    middleware: Sequence[Middleware] = (),
    telemetry: Telemetry | None = None,
) -> int:
    """Decide all that is due and run all that is queued, of all queues; how many attempts ended."""
    ended = 0

    def on_ended(lease: Lease, _finish: Finish, settled: Settled) -> None:
        nonlocal ended
        ended += 1
        children.ended(lease, settled.state)

    name, queues = f"drain-{uuid4().hex[:12]}", await _queues(store)
    execution = Execution(
        store, functions, commands=lambda: (ALL,), services=services, middleware=middleware, telemetry=telemetry
    )
    worker = Worker(store, name, execution, options=WorkerOptions(_CONCURRENCY, queues, _LEASE), on_ended=on_ended)
    children = ChildWatch(store, worker.held)
    ticker, events = Ticker(store, name, worker=worker), EventSources(store, FileWatch(()))
    await store.beat(Node(name, (Role.TICKER, Role.WORKER), queues=queues, offers=worker.offers, seconds=_LEASE))
    try:
        before = -1
        while ended > before or worker.busy:
            before = ended
            await events.end_turn()
            await ticker.turn()
            await LocalTicker(store, ticker, monotonic, ticking=Ticking.STORE).turn()
            await worker.turn()
            await _finish_runs(worker)
            await children.turn()
    finally:
        await worker.close(0)
        await store.leave(name)
        if telemetry:
            await asyncio.to_thread(telemetry.flush)
    return ended


async def _finish_runs(worker: Worker) -> None:
    while worker.busy:
        await worker.finish_event.wait()
        worker.finish_event.clear()
        await worker.finish_turn()


async def _queues(store: Store) -> tuple[str, ...]:
    jobs = await all_pages(lambda after: store.insights.jobs(after=after, limit=1_000))
    waiting = (await store.insights.counts()).waiting  # runs may have a queue of their own
    return tuple(sorted({*waiting, *(job.definition.queue for job in jobs)}))
