"""`/workers` and `/queues`: live processes, and the limits and load of queues."""

from ...app.operations import QueueLoad
from ...app.records import AccessRole, Node, QueueLimit
from ...app.worker_advice import is_live
from ..context import Context
from ..routing import Router
from ..schemas.common import NamePath, to_moment
from ..schemas.fleet import LimitRequest, QueueResponse, QueuesResponse, WorkerResponse, WorkersResponse

router = Router("fleet")


@router.get("/workers", AccessRole.VIEWER, whole=True, response_model=WorkersResponse)
async def list_workers(context: Context) -> WorkersResponse:
    """Live processes, and those last seen within a day."""
    now = await context.view.now()
    return WorkersResponse(items=[_worker(node, now) for node in await context.view.nodes()])


@router.get("/queues", AccessRole.VIEWER, whole=True, response_model=QueuesResponse)
async def list_queues(context: Context) -> QueuesResponse:
    """Their limits, and how much waits and runs."""
    return QueuesResponse(items=[QueueResponse.model_validate(one) for one in await context.operations.queues()])


@router.put("/queues/{name:name}", AccessRole.ADMIN, whole=True, response_model=QueueResponse)
async def limit_queue(name: NamePath, body: LimitRequest, context: Context) -> QueueResponse:
    """Set how much of a queue may run at once, and start in a second, in the whole fleet."""
    limit = QueueLimit(name, body.concurrency, body.starts_per_second)
    before = await context.operations.limit_queue(limit)
    await context.audit("queue.limit", name, before._asdict(), body.model_dump())
    known = {one.name: one for one in await context.operations.queues()}
    return QueueResponse.model_validate(known.get(name) or QueueLoad(name))


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
