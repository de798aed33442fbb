"""Enqueue inside a MULTI/EXEC of the caller's own: the runs exist exactly if the caller executes it.

The pipeline may be of redis-py's asynchronous or its synchronous client. The script is one more command of it.
Ids are given out before. The answer says which keys are taken now; the script decides that again when the server
executes the pipeline. A lane that is not free then would have to refuse the caller's own commands, which Redis
cannot do: so none can be asked for here.
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
    return connection


async def enqueue_within(server: RedisServer, asked: Sequence[Enqueue], connection: Any) -> tuple[Enqueued, ...]:
    """Add the script to the pipeline; nothing is sent to the server but the reads before."""
    pipeline = _checked_pipeline(connection, asked)
    with translated_errors():
        await make_ready(server)
        runs = await new_runs(server, asked)
        holders = await _key_holders(server, asked)
        last = await server.command("INCRBY", server.key("number"), len(runs))
    answers = []
    for id_, (one, run) in enumerate(zip(asked, runs, strict=True), last - len(runs) + 1):
        run["id"] = str(id_)
        holder = run["id"] if one.key is None else holders.setdefault((one.job, one.key), run["id"])
        answers.append(Enqueued(holder, new=holder == run["id"]))
    pipeline.execute_command("EVAL", *server.order("enqueue", runs=runs))
    return tuple(answers)


async def _key_holders(server: RedisServer, asked: Sequence[Enqueue]) -> dict[tuple[str, str], str]:
    """The runs that have keys which are asked for, as it is now."""
    pairs = [(one.job, one.key) for one in asked if one.key is not None]
    found = await server.call("key_holders", pairs=pairs) if pairs else []
    return {pair: run for pair, run in zip(pairs, found, strict=True) if run}
