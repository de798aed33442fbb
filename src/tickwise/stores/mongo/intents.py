"""How a move of a job becomes true, all of it or nothing, with one document at a time.

    1. decide    read the job's document (its `seq` is n) and what else matters; decide what is to be done
    2. log       write the *plan*: all that is to be done in other documents, ids included. Plans of many jobs
                 share a document, whose `_id` is the *move*
    3. commit    one compare-and-set: if `seq` still is n, the job's document gets its new state, `seq` n + 1, and
                 the move
    4. apply     do what the plan says: insert runs, end runs, record decisions. Each of these can be done twice
    5. settle    take the move out of the log

The third step is the move: a plan counts for those jobs whose documents name its move. A process that is about to
move a job whose last move is still in the log applies that plan first, whichever process wrote it: one may die
anywhere. Then it takes the name of the move out of the job's document, so nobody does that again. `expire` looks
for moves that have been in the log for `SOON`, and removes them when nobody can still be making them.

Why nothing is lost or done twice:

- *Lanes and slots* are taken only by a compare-and-set of the job's document: by passes, triggers, and runs put
  back. They are read after the document and the log, so if the compare-and-set succeeds nobody has taken one
  since, and an insert of step 4 can only meet its own run.
- *Wake-ups.* After the end of a run is written, `seq` is raised. A pass that has not seen the end loses its
  compare-and-set and looks again; one that was faster and wrote that a slot waits is seen by the end of the run,
  and the job is made due. The write that ends a run marks it `unwoken` until that is done; `expire` looks for
  the mark.
- *A late process*, which applies a plan that others have settled: its runs are there already under their ids (no
  run is deleted within an hour, and nobody is later than `MOVE_SECONDS`); what a later plan recorded is not
  recorded over (`seq`); and a run that was put back since (`back`) is not ended.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bson import ObjectId, encode
from bson.raw_bson import RawBSONDocument
from pymongo import InsertOne, UpdateMany, UpdateOne

from ...core.states import RunState
from ..contract import StatementError
from ..job_document import Document, present
from ..records import MICRO
from .base import LIGHT, MOVE_SECONDS, Mongo, Write, changes, move_id
from .finish import ask_overdue_to_end, ask_to_end, end_queued
from .runs import forget_steps, ids_of, put_back

SOON = 2  # seconds of the store's time after which `expire` applies plans that are still in the log
_ABANDONED = 2 * MOVE_SECONDS  # seconds after which nobody can be making a move that is still in the log
_BATCH_SIZE = 100  # simple moves in one operation, in which each document looks for its place among all
_MAX_BYTES = 4_000_000  # of plans in one document of the log, unless it has only one
_MAX_PLAN_BYTES = 15_000_000  # a document ends at 16 MB


@dataclass(frozen=True, slots=True)
class Effects:
    """What a move does outside of the job's document."""

    runs: Sequence[Document] = ()  # to insert
    cancels: Sequence[int] = ()  # runs that are to end: queued ones at once, running ones are asked
    overdue: Sequence[Document] = ()  # of these, runs that have failed then, and why
    dropped: Document | None = None  # queued runs to end: `job` or `schedules`, and up to which id (`until`)
    backs: Sequence[Document] = ()  # runs to put back: as they were read, and their lanes
    decisions: Sequence[Document] = ()

    def document(self) -> Document:
        parts = (
            ("runs", self.runs), ("cancels", self.cancels), ("overdue", self.overdue), ("dropped", self.dropped),
            ("backs", self.backs), ("decisions", self.decisions),
        )  # fmt: skip
        return {name: part for name, part in parts if part}


_NOTHING = Effects()


@dataclass(frozen=True, slots=True)
class Intent:
    """What a move wants: the document as it was read, when the job is due then, its new fields, what follows."""

    document: Document
    wake_at: int | None
    fields: Document = field(default_factory=dict)
    effects: Effects = _NOTHING
    least_seq: int = 0

    @property
    def name(self) -> str:
        return str(self.document["_id"])

    @property
    def seq(self) -> int:
        """The document's, if the move succeeds."""
        return max(int(self.document["seq"]) + 1, self.least_seq)

    def plan(self, now: int) -> Document | None:
        """What is to be done in other documents, if anything is."""
        effects = self.effects.document()
        return {"seq": self.seq, "at": now, **effects} if effects else None

    def new_fields(self, move: ObjectId) -> Document:
        return {
            **self.fields, "seq": self.seq, "move": move, "wake_at": self.wake_at, "idle": self.wake_at is None
        }  # fmt: skip


async def commit(mongo: Mongo, intents: Sequence[Intent], now: int, simple: Sequence[Intent] = ()) -> set[str]:
    """Make moves of several jobs, each by itself, and apply their plans; the jobs that were moved.

    Those of `simple` ones set the same fields, to values that fit into one operation together.
    """
    plans = {intent.name: plan for intent in (*intents, *simple) if (plan := intent.plan(now))}
    log, moves = _log_documents(plans, now)
    await mongo.write(mongo.intents, [InsertOne(each) for each in log])
    won = await _move_jobs(mongo, intents, simple, moves)
    applied = {name: plan for name, plan in plans.items() if name in won}
    await apply(mongo, applied, now)
    await asyncio.gather(
        _delete_log_documents(mongo, [each["_id"] for each in log]), _announce_runs(mongo, applied)
    )
    return won


def _log_documents(plans: Mapping[str, Document], now: int) -> tuple[list[Document], dict[str, ObjectId]]:
    """Documents of the log, as few as have room for the plans; and in which the plan of each job is."""
    log, moves, room = list[Document](), dict[str, ObjectId](), 0
    for name, plan in plans.items():
        encoded = RawBSONDocument(encode({"job": name, **plan}))
        if (size := len(encoded.raw)) > _MAX_PLAN_BYTES:
            raise StatementError(f"what is to be done for {name} at once has {size:,} bytes: MongoDB takes fewer")
        if size > room:
            log.append({"_id": move_id(), "at": now, "plans": []})
            room = _MAX_BYTES
        log[-1]["plans"].append(encoded)
        moves[name] = log[-1]["_id"]
        room -= size
    return log, moves


async def _move_jobs(
    mongo: Mongo, intents: Sequence[Intent], simple: Sequence[Intent], moves: Mapping[str, ObjectId]
) -> set[str]:
    """Step 3, for all jobs in one command; the jobs that were moved."""
    unlogged = move_id()
    new, alike = (
        [(intent, intent.new_fields(moves.get(intent.name, unlogged))) for intent in some]
        for some in (intents, simple)
    )
    writes = [_compare_and_set(*each) for each in new]
    for first in range(0, len(alike), _BATCH_SIZE):
        some = alike[first : first + _BATCH_SIZE]
        writes.append(_compare_and_set_all(some) if len(some) > 1 else _compare_and_set(*some[0]))
    names = [intent.name for intent in (*intents, *simple)]
    if await mongo.write(mongo.jobs, writes) == len(names):
        return set(names)
    ours = {"$in": [unlogged, *set(moves.values())]}
    return set(await ids_of(mongo.jobs, {"_id": {"$in": names}, "move": ours}))


def _compare_and_set(intent: Intent, fields: Document) -> Write:
    """A job that has no document yet gets one, unless somebody was faster."""
    if not intent.document["seq"]:
        return InsertOne(present({"_id": intent.name, **fields}))
    return UpdateOne({"_id": intent.name, "seq": intent.document["seq"]}, changes(fields))


def _compare_and_set_all(moves: Sequence[tuple[Intent, Document]]) -> UpdateMany:
    """One operation that does for each of several documents what `_compare_and_set` does for one.

    A document finds its place in a list of names; the `seq` that it must have and its new fields stand at that
    place of two other lists. To the server an operation costs twice as much as what it does to a document.
    """
    names = [intent.name for intent, _ in moves]
    place = {"$indexOfArray": [{"$literal": names}, "$_id"]}
    seqs = {"$literal": [intent.document["seq"] for intent, _ in moves]}
    new = {"$literal": [present(fields) for _, fields in moves]}
    gone = [name for name, value in moves[0][1].items() if value is None]
    return UpdateMany(
        {"_id": {"$in": names}, "$expr": {"$eq": ["$seq", {"$arrayElemAt": [seqs, place]}]}},
        [
            *([{"$unset": gone}] if gone else ()),
            {"$replaceWith": {"$mergeObjects": ["$$ROOT", {"$arrayElemAt": [new, place]}]}},
        ],
    )


async def settle(mongo: Mongo, jobs: Sequence[Document], now: int) -> bool:
    """Apply plans of these jobs that are in the log; true if there were any: then read the jobs again."""
    moves = list({job["move"] for job in jobs if "move" in job})
    log = await mongo.intents.find({"_id": {"$in": moves}}).to_list() if moves else []
    return await _settle_moves(mongo, log, jobs, now)


async def settle_late(mongo: Mongo, now: int) -> None:
    """Apply what is left in the log, and remove what nobody can be adding to."""
    async for late in mongo.intents.find({"at": {"$lt": (now // MICRO - SOON + 1) * MICRO}}):
        which = {"_id": {"$in": [plan["job"] for plan in late["plans"]]}, "move": late["_id"]}
        await _settle_moves(mongo, [late], await mongo.jobs.find(which, {"move": 1}).to_list(), now)
        if late["at"] < now - _ABANDONED * MICRO:
            await _delete_log_documents(mongo, [late["_id"]])


async def _settle_moves(mongo: Mongo, log: Sequence[Document], jobs: Sequence[Document], now: int) -> bool:
    """Apply the plans that count for these jobs. Then nobody needs to do so any more."""
    moves = {job["_id"]: job["move"] for job in jobs if "move" in job}
    plans = {plan["job"]: plan for each in log for plan in each["plans"] if moves.get(plan["job"]) == each["_id"]}
    if not plans:
        return False
    await apply(mongo, plans, now)
    done: dict[ObjectId, list[str]] = defaultdict(list)
    for name in plans:
        done[moves[name]].append(name)
    gone = {"$unset": {"move": ""}}
    settled = [UpdateMany({"_id": {"$in": names}, "move": move}, gone) for move, names in done.items()]
    await asyncio.gather(mongo.write(mongo.jobs, settled), _announce_runs(mongo, plans))
    return True


async def _delete_log_documents(mongo: Mongo, moves: Sequence[ObjectId]) -> None:
    """If that is lost, the plans are applied once more: so it need not wait for a majority."""
    if moves:
        await mongo.intents.with_options(write_concern=LIGHT).delete_many({"_id": {"$in": moves}})


async def _announce_runs(mongo: Mongo, plans: Mapping[str, Document]) -> None:
    if any(run["state"] == RunState.QUEUED for plan in plans.values() for run in plan.get("runs", ())):
        await mongo.news.tell()


async def apply(mongo: Mongo, plans: Mapping[str, Document], now: int) -> None:
    """Step 4, for the plans of several jobs at once."""
    if not plans:
        return
    every = plans.values()
    await mongo.write(mongo.runs, [InsertOne(run) for plan in every for run in plan.get("runs", ())])
    await forget_steps(mongo, [back for plan in every for back in plan.get("backs", ())])
    backs = [put_back(back, plan["seq"], plan["at"]) for plan in every for back in plan.get("backs", ())]
    await mongo.write(mongo.runs, backs)
    cancels = [{"_id": {"$in": plan["cancels"]}, **_not_back(plan)} for plan in every if "cancels" in plan]
    dropped = [{**_dropped(**plan["dropped"]), **_not_back(plan)} for plan in every if "dropped" in plan]
    overdue = [
        ({"_id": each["run"], **_not_back(plan)}, each["error"])
        for plan in every for each in plan.get("overdue", ())
    ]  # fmt: skip
    await ask_overdue_to_end(mongo, overdue)
    await ask_to_end(mongo, cancels)
    await end_queued(mongo, [*cancels, *dropped], now)
    await mongo.write(mongo.decisions, [_record(d, plan) for plan in every for d in plan.get("decisions", ())])


def _dropped(until: int, job: str | None = None, schedules: Sequence[str] = ()) -> Document:
    return {"_id": {"$lte": until}, **({"job": job} if job else {"schedule": {"$in": list(schedules)}})}


def _not_back(plan: Document) -> Document:
    """Of runs that were put back after the plan was made, it says nothing."""
    return {"back": {"$not": {"$gte": plan["seq"]}}}


def _record(decision: Document, plan: Document) -> UpdateOne:
    """One record of each identity, which a later verdict extends (S7)."""
    identity = {"schedule": decision["schedule"], "first": decision["first"], "reason": decision["reason"]}
    return UpdateOne(
        {"_id": identity, "seq": {"$lt": plan["seq"]}},
        {
            "$set": {**decision, "extended_at": plan["at"], "seq": plan["seq"]},
            "$setOnInsert": {"made_at": plan["at"]},
        },
        upsert=True,
    )
