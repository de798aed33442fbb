"""The document of a run, as others see it.

Fields that have no value are left out: the unique keys (`lane` and `held_key` of a job, `slot` of a schedule,
`seat` of a queue) count only documents that have them. Every write that matters raises `rev`, so a run is
moved as it was read or not at all. Two states are never shown: a *draft* is enqueued together with others
and waits for them; a *forgotten* run has succeeded and was to be removed then, which is not done at once (see
`intents`).
"""

from collections.abc import Sequence
from typing import Any

from pymongo import UpdateOne

from ...core.states import Event, RunState
from ..job_document import Document
from ..records import MICRO, LeaseRequest
from .base import WHOLE_ANSWER, Collection, Mongo, changes

DRAFT, FORGOTTEN = "draft", "forgotten"
SHOWN: Document = {"state": {"$in": [str(state) for state in RunState]}}
FOR_LEASES: Document = {"attempts": 0, "printed": 0, "result": 0, "error": 0}  # what a worker need not know
FOR_MOVES: Document = {"attempts": 0, "printed": 0, "result": 0, "params": 0}
KEPT_ATTEMPTS = 200  # of one run, the newest; with their errors they fit into its document


async def ids_of(collection: Collection, which: Document, limit: int = 0) -> list[Any]:
    found = collection.find(which, {"_id": 1}, limit=limit, batch_size=WHOLE_ANSWER)
    return [each["_id"] async for each in found]


def new_run(**fields: Any) -> Document:
    """A queued run; what is given has its place in the document."""
    return {
        "state": RunState.QUEUED, "attempt": 0, "failures": 0, "losses": 0, "cancelling": False, "rev": 0,
        **{name: value for name, value in fields.items() if value is not None},
    }  # fmt: skip


def waiting(queues: Sequence[str], now: int) -> Document:
    """Which runs could be started now."""
    in_time = [{"expires_at": {"$exists": False}}, {"expires_at": {"$gt": now}}, {"attempt": {"$gt": 0}}]
    return {"state": str(RunState.QUEUED), "queue": {"$in": list(queues)}, "due_at": {"$lte": now}, "$or": in_time}


def held_by(worker: LeaseRequest, now: int, attempts: int = 0) -> Document:
    """The fields of a run that is handed to a worker, after so many attempts."""
    return {
        "state": str(RunState.RUNNING), "attempt": attempts + 1, "started_at": now,
        "token": f"{worker.node}/{attempts + 1}", **watched_by(worker, now),
    }  # fmt: skip


def taken_by(worker: LeaseRequest, now: int, run: Document) -> Document:
    """The fields of a queued run that is handed to a worker: a wait is no attempt of its own (S74)."""
    if "waits_for" not in run:
        return held_by(worker, now, run["attempt"])
    begun = {"started_at": run["started_at"], "due_at": run["started_at"]}
    return held_by(worker, now, run["attempt"] - 1) | begun


def watched_by(worker: LeaseRequest, now: int) -> Document:
    """The fields of a running run that are its holder's own; another watcher takes it over by them alone (S54)."""
    return {"node": worker.node, "lease_until": now + worker.seconds * MICRO}


def ended_attempt(run: Document, event: Event, finished_at: int, error: str) -> Document:
    """The run's last attempt, to be put on record."""
    return {
        "number": run["attempt"], "event": str(event), "started_at": run.get("started_at"),
        "finished_at": finished_at, "node": run.get("node"), "error": error,
    }  # fmt: skip


def on_record(attempt: Document) -> Document:
    return {"$push": {"attempts": {"$each": [attempt], "$slice": -KEPT_ATTEMPTS}}}


async def forget_steps(mongo: Mongo, backs: Sequence[Document]) -> None:
    """Those that are to be repeated, of runs that still are as they were read."""
    for back in backs:
        if "again" in back and await mongo.runs.find_one({"_id": back["run"], "rev": back["rev"]}, {"_id": 1}):
            steps = [{"run": back["run"], "name": name} for name in back["again"]]
            await mongo.steps.delete_many({"_id": {"$in": steps}})


def put_back(back: Document, seq: int, now: int) -> UpdateOne:
    """Queue a run again that was over, if it still is as it was read (S41); its attempts go on being counted."""
    fields = {
        "state": str(RunState.QUEUED), "lane": back.get("lane"), "held_key": back.get("key"), "due_at": now,
        "failures": 0, "losses": 0, "cancelling": False, "finished_at": None, "token": None, "expires_at": None,
        "error": None, "waits_for": None, "back": seq,
    }  # fmt: skip
    kept = on_record(back["attempt"]) if "attempt" in back else {}
    return UpdateOne({"_id": back["run"], "rev": back["rev"]}, {**changes(fields), "$inc": {"rev": 1}, **kept})
