"""Runs that callers of an app enqueue: those of concurrent callers by one move, each as its caller sees it."""

from collections.abc import Sequence
from typing import NamedTuple

from ..core.errors import TickwiseError
from ..core.payload import decode, encode
from ..core.states import RunState
from ..stores.access_records import AuditEntry
from ..stores.contract import Store
from ..stores.records import MICRO, Enqueue, Enqueued, RunRow
from .group_commit import REFUSALS
from .values import RunInfo


class EnqueueCall(NamedTuple):
    """What one caller asks for."""

    request: Enqueue
    audit: AuditEntry | None = None  # is recorded if the run is new, which is then its subject


async def enqueue_group(store: Store, calls: Sequence[EnqueueCall]) -> tuple[Enqueued, ...]:
    """All of them or none."""
    made = await store.enqueue([call.request for call in calls])
    new = [(call.audit, one.id) for call, one in zip(calls, made, strict=True) if one.new]
    try:
        await store.access.record([entry._replace(subject=run) for entry, run in new if entry])
    except REFUSALS as error:  # it says nothing about the runs, which are there
        raise TickwiseError(f"the run was enqueued, but is not in the audit log: {error}") from error
    return made


async def enqueued(store: Store, request: Enqueue, made: Enqueued) -> RunInfo:
    """The run that an enqueue gave: a new one as it was made; else that of the key, which may be gone by now."""
    row = None if made.new else await store.insights.run(made.id)
    if row is not None:
        return RunInfo.of(row)
    now = made.created_at if made.new else await store.now()
    state, attempt = (RunState.QUEUED, 0) if made.new else (RunState.SUCCEEDED, 1)
    row = RunRow(
        id=made.id, job=request.job, schedule=None, slot=None, trigger=request.trigger, label="", state=state,
        queue=made.queue, priority=made.priority, attempt=attempt, created_at=now,
        due_at=max(now, (request.at or 0) * MICRO), key=request.key, by=request.by,
        params=decode(encode(dict(request.params or {}), "params")), traceparent=request.traceparent,
    )  # fmt: skip
    return RunInfo.of(row)
