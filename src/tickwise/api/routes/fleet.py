"""`/workers` and `/queues`: live processes, and the limits and load of queues."""

from collections import Counter

from ...app.records import AccessRole, Node, QueueLimit, RunFilter, all_pages
from ...app.worker_advice import is_live
from ...core.states import RunState
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.common import NamePath, to_moment
from ..schemas.fleet import LimitRequest, QueueResponse, QueuesResponse, WorkerResponse, WorkersResponse

router = Router("fleet")
_PAGE_SIZE = 1_000


@router.get("/workers", AccessRole.VIEWER, whole=True, response_model=WorkersResponse)
async def list_workers(context: Context) -> WorkersResponse:
    """Live processes, and those last seen within a day."""
    now = await context.store.now()
    nodes = sorted(await context.store.insights.nodes(), key=lambda node: (not is_live(node, now), node.id))
    return WorkersResponse(items=[_worker(node, now) for node in nodes])


@router.get("/queues", AccessRole.VIEWER, whole=True, response_model=QueuesResponse)
async def list_queues(context: Context) -> QueuesResponse:
    """Their limits, and how much waits and runs."""
    return QueuesResponse(items=await _queues(context))


@router.put("/queues/{name:name}", AccessRole.ADMIN, whole=True, response_model=QueueResponse)
async def limit_queue(name: NamePath, body: LimitRequest, context: Context) -> QueueResponse:
    """Set how much of a queue may run at once, and start in a second, in the whole fleet."""
    before = next((one for one in await context.store.insights.limits() if one.queue == name), QueueLimit(name))
    await context.store.limit(QueueLimit(name, body.concurrency, body.starts_per_second))
    await context.audit("queue.limit", name, before._asdict(), body.model_dump())
    known = {one.name: one for one in await _queues(context)}
    return known.get(name) or QueueResponse(
        name=name, concurrency=None, starts_per_second=None, waiting=0, running=0, workers=0
    )


def _worker(node: Node, now: int) -> WorkerResponse:
    return WorkerResponse.model_validate(
        {
            "id": node.id, "roles": [str(role) for role in node.roles], "host": node.host, "pid": node.pid,
            "version": node.version, "queues": list(node.queues), "capacity": node.capacity, "busy": node.busy,
            "live": is_live(node, now), "problems": list(node.problems),
            "claims_fail": node.claims_fail, "undelivered": list(node.undelivered),
            "sources": list(node.sources),
            "started_at": to_moment(node.started_at), "seen_at": to_moment(node.seen_at),
            "passed_at": to_moment(node.passed_at),
        }
    )  # fmt: skip


async def _queues(context: RequestContext) -> list[QueueResponse]:
    insights, now = context.store.insights, await context.store.now()
    limits = {limit.queue: limit for limit in await insights.limits()}
    waiting = (await insights.counts()).waiting
    filters = RunFilter(states=frozenset({RunState.RUNNING}))
    running = Counter(
        row.queue for row in await all_pages(lambda after: insights.runs(filters, after, _PAGE_SIZE))
    )
    live = [node for node in await insights.nodes() if is_live(node, now)]
    workers = Counter(queue for node in live for queue in node.queues)
    return [
        QueueResponse(
            name=name, concurrency=limits.get(name, QueueLimit(name)).concurrency,
            starts_per_second=limits.get(name, QueueLimit(name)).starts_per_second,
            waiting=waiting.get(name, 0), running=running[name], workers=workers[name],
        )
        for name in sorted({*limits, *waiting, *running, *workers})
    ]  # fmt: skip
