"""Enqueue inside a MULTI/EXEC of the caller's own: the runs exist exactly if the caller executes it.

The pipeline may be of redis-py's asynchronous or its synchronous client. The script is one more command of it.
Ids are given out before. What is decided only when the server executes the pipeline cannot be answered now: so
neither a key nor a lane can be asked for here.
"""

from collections.abc import Sequence
from typing import Any

from redis.asyncio.client import Pipeline as AsyncPipeline
from redis.client import Pipeline

from ...core.errors import InputError
from ..records import Enqueue, Enqueued
from .base import RedisServer
from .enqueue import new_runs
from .moves import translated_errors
from .schema import make_ready


def _checked_pipeline(connection: Any, asked: Sequence[Enqueue]) -> Any:
    if not isinstance(connection, AsyncPipeline | Pipeline):
        raise InputError(
            f"a {type(connection).__module__}.{type(connection).__name__} does not belong to this store: pass a "
            "pipeline of redis-py (client.pipeline())"
        )
    is_transaction = getattr(connection, "is_transaction", getattr(connection, "transaction", False))
    if is_transaction is False:
        raise InputError("the pipeline is no transaction: make it with client.pipeline(transaction=True)")
    if connection.watching and not connection.explicit_transaction:
        raise InputError("the pipeline executes each command at once: begin its transaction with pipeline.multi()")
    if any(one.trigger.takes_lane and not one.allow_overlap for one in asked):
        raise InputError(
            "a run by hand takes a lane, which cannot wait for your transaction: trigger it without a connection, "
            "or ask to run beside"
        )
    if any(one.key is not None for one in asked):
        raise InputError(
            "whether a key is taken is known only when your pipeline is executed: enqueue with a key without a "
            "connection, or without a key here"
        )
    return connection


async def enqueue_within(server: RedisServer, asked: Sequence[Enqueue], connection: Any) -> tuple[Enqueued, ...]:
    """Add the script to the pipeline; nothing is sent to the server but the reads before."""
    pipeline = _checked_pipeline(connection, asked)
    with translated_errors():
        await make_ready(server)
        runs = await new_runs(server, asked)
        last = await server.command("INCRBY", server.key("number"), len(runs))
    ids = [str(last - len(runs) + place) for place in range(1, len(runs) + 1)]
    for id_, run in zip(ids, runs, strict=True):
        run["id"] = id_
    pipeline.execute_command("EVAL", *server.order("enqueue", runs=runs))
    return tuple(Enqueued(id_, new=True) for id_ in ids)
