"""Enqueue inside a transaction of the caller's own: the runs exist exactly if the caller commits.

The session may be of pymongo's asynchronous or its synchronous client. No other node may wait for the caller's
transaction, so a run by hand, which takes a lane, cannot be enqueued here.
"""

from collections.abc import Sequence
from typing import Any

from pymongo.asynchronous.client_session import AsyncClientSession
from pymongo.errors import DuplicateKeyError, OperationFailure
from pymongo.synchronous.client_session import ClientSession

from ...core.errors import ConflictError, InputError
from ..records import Enqueue, Enqueued
from .base import PREFIX, Mongo
from .enqueue import FREE_KEY, HOLDER, answers, fresh, gives_up_key, keys_of, known_jobs, new_runs
from .moves import translated_errors

_NO_TRANSACTIONS = {20, 263}  # codes: a standalone server has none


def _checked_session(connection: Any, asked: Sequence[Enqueue]) -> AsyncClientSession | ClientSession:
    if not isinstance(connection, AsyncClientSession | ClientSession):
        raise InputError(
            f"a {type(connection).__module__}.{type(connection).__name__} does not belong to this store: pass a "
            "session of pymongo (client.start_session())"
        )
    if not connection.in_transaction:
        raise InputError("the session has no transaction: begin one with session.start_transaction()")
    if any(one.trigger.takes_lane and not one.allow_overlap for one in asked):
        raise InputError(
            "a run by hand takes a lane, which cannot wait for your transaction: trigger it without a connection, "
            "or ask to run beside"
        )
    return connection


async def enqueue_within(mongo: Mongo, asked: Sequence[Enqueue], connection: Any) -> tuple[Enqueued, ...]:
    """Errors that make the driver repeat a transaction are raised unchanged, so that `with_transaction` does."""
    session = _checked_session(connection, asked)
    with translated_errors():
        await mongo.ready()
        jobs, now = await known_jobs(mongo, asked), await mongo.now()
    runs: Any = session.client[mongo.name][PREFIX + "runs"]
    try:
        held = await _result(runs.find({"$or": keys_of(asked)}, HOLDER, session=session).to_list())
        for run in (one for one in held if gives_up_key(one, now)):
            await _result(runs.update_one({"_id": run["_id"]}, FREE_KEY, session=session))
        taken = {(run["job"], run["held_key"]): run["_id"] for run in held if not gives_up_key(run, now)}
        new = fresh(asked, taken)
        with translated_errors():  # ids are reserved outside the transaction
            made = new_runs(asked, dict(zip(new, await mongo.numbers(len(new)), strict=True)), jobs, now)
        if made:
            await _result(runs.insert_many(list(made.values()), session=session))
    except DuplicateKeyError as error:
        raise ConflictError("another run has taken the key meanwhile: begin the transaction again") from error
    except OperationFailure as error:
        if error.code in _NO_TRANSACTIONS:
            raise InputError("this MongoDB server has no transactions: make it a replica set") from None
        raise
    return answers(asked, taken, made)


async def _result(returned: Any) -> Any:
    """What a call of either client returns; the asynchronous one is awaited."""
    return await returned if hasattr(returned, "__await__") else returned
