"""`/workers` and `/queues`: live processes, and the limits and load of queues."""

from dataclasses import asdict

from ...app.operations import QueueLoad
from ...app.records import AccessRole, Node, QueueLimit
from ...app.values import pause_fields
from ...app.worker_advice import is_live
from ..context import Context, RequestContext
from ..routing import Router
from ..schemas.common import NamePath, to_moment
from ..schemas.fleet import LimitRequest, QueueResponse, QueuesResponse, WorkerResponse, WorkersResponse
from ..schemas.schedules import PauseRequest

router = Router("fleet")
_PAUSE = PauseRequest()


@router.get("/workers", AccessRole.VIEWER, whole=True, response_model=WorkersResponse)
async def list_workers(context: Context) -> WorkersResponse:
    """Live processes, and those last seen within a day."""
    now = await context.view.now()
    return WorkersResponse(items=[_worker(node, now) for node in await context.view.nodes()])


@router.get("/queues", AccessRole.VIEWER, whole=True, response_model=QueuesResponse)
async def list_queues(context: Context) -> QueuesResponse:
    """Their limits, and how much waits and runs."""
    return QueuesResponse(items=[_queue(one) for one in await context.operations.queues()])


@router.put("/queues/{name:name}", AccessRole.ADMIN, whole=True, response_model=QueueResponse)
async def limit_queue(name: NamePath, body: LimitRequest, context: Context) -> QueueResponse:
    """Set how much of a queue may run at once, and start in a second, in the whole fleet."""
    limit = QueueLimit(name, body.concurrency, body.starts_per_second)
    before = await context.operations.limit_queue(limit)
    await context.audit("queue.limit", name, before._asdict(), body.model_dump())
    return await _queue_response(context, name)


@router.post("/queues/{name:name}:pause", AccessRole.OPERATOR, whole=True, response_model=QueueResponse)
async def pause_queue(name: NamePath, context: Context, body: PauseRequest = _PAUSE) -> QueueResponse:
    """Start nothing of a queue until it is resumed (S66). What runs goes on."""
    await context.operations.pause_queue(name, body.until, body.reason, context.identity.name)
    await context.audit("queue.pause", name, None, {"reason": body.reason, "until": body.until})
    return await _queue_response(context, name)


@router.post("/queues/{name:name}:resume", AccessRole.OPERATOR, whole=True, response_model=QueueResponse)
async def resume_queue(name: NamePath, context: Context) -> QueueResponse:
    """Start what is queued again."""
    await context.operations.resume_queue(name)
    await context.audit("queue.resume", name)
    return await _queue_response(context, name)


async def _queue_response(context: RequestContext, name: str) -> QueueResponse:
    return _queue(await context.operations.queue(name))


def _queue(one: QueueLoad) -> QueueResponse:
    return QueueResponse.model_validate({**asdict(one), "paused": one.paused and pause_fields(one.paused)})


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
