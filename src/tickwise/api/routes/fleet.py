"""`/workers` and `/queues`: who does the work, and how much of it at once."""

from collections import Counter

from ...app.overview import is_live
from ...core.states import RunState
from ...stores.paging import every
from ...stores.records import AccessRole, Node, QueueLimit, RunFilter
from ..bodies.base import NamePath, moment
from ..bodies.fleet import LimitAsked, QueueBody, QueuesBody, WorkerBody, WorkersBody
from ..doors import Doors
from ..visit import Visit, Visiting

doors = Doors("fleet")
_PAGE = 1_000


@doors.get("/workers", AccessRole.VIEWER, response_model=WorkersBody)
async def list_workers(visit: Visiting) -> WorkersBody:
    """Live processes, and those last seen within a day."""
    now = await visit.store.now()
    nodes = sorted(await visit.store.insights.nodes(), key=lambda node: (not is_live(node, now), node.id))
    return WorkersBody(items=[_worker(visit, node, now) for node in nodes])


@doors.get("/queues", AccessRole.VIEWER, response_model=QueuesBody)
async def list_queues(visit: Visiting) -> QueuesBody:
    """Their limits, and how much waits and runs."""
    return QueuesBody(items=await _queues(visit))


@doors.put("/queues/{name:name}", AccessRole.ADMIN, whole=True, response_model=QueueBody)
async def limit_queue(name: NamePath, body: LimitAsked, visit: Visiting) -> QueueBody:
    """Set how much of a queue may run at once, and start in a second, in the whole fleet."""
    before = next((one for one in await visit.store.insights.limits() if one.queue == name), QueueLimit(name))
    await visit.store.limit(QueueLimit(name, body.concurrency, body.starts_per_second))
    await visit.audit("queue.limit", name, before._asdict(), body.model_dump())
    known = {one.name: one for one in await _queues(visit)}
    return known.get(name) or QueueBody(
        name=name, concurrency=None, starts_per_second=None, waiting=0, running=0, workers=0
    )


def _worker(visit: Visit, node: Node, now: int) -> WorkerBody:
    return WorkerBody.model_validate(
        {
            "id": node.id, "roles": [str(role) for role in node.roles], "host": node.host, "pid": node.pid,
            "version": node.version, "queues": list(node.queues), "capacity": node.capacity, "busy": node.busy,
            "live": is_live(node, now), "problems": [] if visit.who.scopes else list(node.problems),
            "started_at": moment(node.started_at), "seen_at": moment(node.seen_at),
            "passed_at": moment(node.passed_at),
        }
    )  # fmt: skip


async def _queues(visit: Visit) -> list[QueueBody]:
    insights, now = visit.store.insights, await visit.store.now()
    limits = {limit.queue: limit for limit in await insights.limits()}
    waiting = (await insights.counts()).waiting
    wanted = RunFilter(states=frozenset({RunState.RUNNING}))
    running = Counter(row.queue for row in await every(lambda after: insights.runs(wanted, after, _PAGE)))
    live = [node for node in await insights.nodes() if is_live(node, now)]
    workers = Counter(queue for node in live for queue in node.queues)
    return [
        QueueBody(
            name=name, concurrency=limits.get(name, QueueLimit(name)).concurrency,
            starts_per_second=limits.get(name, QueueLimit(name)).starts_per_second,
            waiting=waiting.get(name, 0), running=running[name], workers=workers[name],
        )
        for name in sorted({*limits, *waiting, *running, *workers})
    ]  # fmt: skip
