"""How a move of a job becomes true, all of it or nothing, with one document at a time.

    1. decide    read the job's document (its `seq` is n) and what else matters; decide what is to be done
    2. commit    one compare-and-set: if `seq` still is n, the document gets its new state, `seq` n + 1, and the
                 *plan*: all that is still to be done in other documents, ids included
    3. apply     do it: insert runs, end runs, record decisions. Each of these can be done twice
    4. settle    take the plan out of the document

The second step is the move. A process that reads a document with a plan in it applies the plan first, whichever
process wrote it: one may die anywhere. Until the plan is settled the job is due, at the latest `SOON`. Claims pass
over it while its plan is young, and find it afterwards; `expire` looks for plans, too.

Why nothing is lost or done twice:

- *Lanes and slots* are taken only by a compare-and-set of the job's document: by passes, triggers, and runs put
  back. They are read after the document, so if the compare-and-set succeeds nobody has taken one since,
  and an insert of step 3 can only meet its own run.
- *Wake-ups.* After the end of a run is written, `seq` is raised. A pass that has not seen the end loses its
  compare-and-set and looks again; one that was faster and wrote that a slot waits is seen by the end of the run,
  and the job is made due. The write that ends a run marks it `unwoken` until that is done; `expire` looks for
  the mark.
- *A late process*, which applies a plan that others have settled: its runs are there already under their ids (no
  run is deleted within an hour, and nobody is later than `MOVE_SECONDS`); what a later plan recorded is not
  recorded over (`seq`); a run that was put back since (`back`) is not ended; and only a plan that is still there
  is settled.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pymongo import InsertOne, UpdateMany, UpdateOne

from ...core.states import RunState
from ..job_document import Document, present
from ..records import MICRO
from .base import Mongo, Write, changes, move_id
from .finish import ask_overdue_to_end, ask_to_end, end_queued
from .runs import forget_steps, ids_of, put_back

SOON = 2  # seconds of the store's time after which a claim finds the job of a plan that is not settled
_BATCH_SIZE = 100  # simple moves in one operation, in which each document looks for its place among all


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


async def commit(mongo: Mongo, intents: Sequence[Intent], now: int, simple: Sequence[Intent] = ()) -> set[str]:
    """Make moves of several jobs, each by itself, and apply their plans; the jobs that were moved.

    Those of `simple` ones set the same fields, to values that fit into one operation together.
    """
    move, second = move_id(), now // MICRO
    new = [(intent, _new_fields(intent, move, second, now)) for intent in intents]
    alike = [(intent, _new_fields(intent, move, second, now)) for intent in simple]
    writes: list[Write] = [_compare_and_set(*each) for each in new]
    for first in range(0, len(alike), _BATCH_SIZE):
        some = alike[first : first + _BATCH_SIZE]
        writes.append(_compare_and_set_all(some) if len(some) > 1 else _compare_and_set(*some[0]))
    won = {intent.name for intent, _ in (*new, *alike)}
    if await mongo.write(mongo.jobs, writes) < len(won):
        won = set(await ids_of(mongo.jobs, {"_id": {"$in": list(won)}, "move": move}))
    plans = {i.name: fields["plan"] for i, fields in (*new, *alike) if i.name in won and fields["plan"]}
    await apply(mongo, plans, now)
    return won


def _compare_and_set(intent: Intent, fields: Document) -> UpdateOne:
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
    return UpdateMany(
        {"_id": {"$in": names}, "$expr": {"$eq": ["$seq", {"$arrayElemAt": [seqs, place]}]}},
        [
            {"$unset": [name for name, value in moves[0][1].items() if value is None]},
            {"$replaceWith": {"$mergeObjects": ["$$ROOT", {"$arrayElemAt": [new, place]}]}},
        ],
    )


async def create(mongo: Mongo, intent: Intent, now: int) -> None:
    """As `commit`, of a job that has no document yet; raises DuplicateKeyError."""
    fields = _new_fields(intent, move_id(), now // MICRO, now)
    await mongo.jobs.insert_one(present({"_id": intent.name, **fields}))
    if fields["plan"]:
        await apply(mongo, {intent.name: fields["plan"]}, now)


def _new_fields(intent: Intent, move: Any, second: int, now: int) -> Document:
    effects, wake_at = intent.effects.document(), intent.wake_at
    plan = None
    if effects:
        plan = {**present({"wake_at": wake_at}), "id": move, "seq": intent.seq, "at": now, **effects}
        due = (intent.document.get("wake_at"), wake_at, second + SOON)
        wake_at = min(each for each in due if each is not None)
    return {
        **intent.fields, "seq": intent.seq, "move": move, "wake_at": wake_at, "idle": intent.wake_at is None,
        "woken": None, "plan": plan,
    }  # fmt: skip


def free_of_plans(now: int) -> Document:
    """Jobs in which nobody has left a plan a moment ago."""
    return {"plan.at": {"$not": {"$gte": _youngest_late(now)}}}


def left_plans(now: int) -> Document:
    """Jobs whose plans ought to be settled. All of them are due, so the index of due jobs finds them."""
    return {
        "local": {"$in": [False, True]}, "wake_at": {"$lte": now // MICRO}, "plan.at": {"$lt": _youngest_late(now)}
    }  # fmt: skip


def _youngest_late(now: int) -> int:
    """Plans that were made before it are late: `SOON` counts whole seconds, as what is due does."""
    return (now // MICRO - SOON + 1) * MICRO


async def apply_all(mongo: Mongo, documents: Iterable[Document], now: int) -> bool:
    """Apply plans that another process has left; true if there were any: then read the documents again."""
    plans = {document["_id"]: document["plan"] for document in documents if "plan" in document}
    await apply(mongo, plans, now)
    return bool(plans)


async def apply(mongo: Mongo, plans: Mapping[str, Document], now: int) -> None:
    """Steps 3 and 4, for the plans of several jobs at once."""
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
    settling = mongo.write(mongo.jobs, _settlements(plans))
    queued = any(run["state"] == RunState.QUEUED for plan in every for run in plan.get("runs", ()))
    await asyncio.gather(settling, *([mongo.news.tell()] if queued else ()))


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


_DUE_AS_PLANNED = {"$ifNull": ["$plan.wake_at", "$$REMOVE"]}
_SETTLED: list[Document] = [
    {"$set": {"wake_at": {"$cond": ["$woken", {"$min": ["$wake_at", "$plan.wake_at"]}, _DUE_AS_PLANNED]}}},
    {"$unset": "plan"},
]


def _settlements(plans: Mapping[str, Document]) -> list[Write]:
    """Each job is due when its plan says, or now if it was woken since. Plans of one move are settled together."""
    moves: dict[Any, list[str]] = defaultdict(list)
    for name, plan in plans.items():
        moves[plan["id"]].append(name)
    return [
        UpdateMany({"_id": {"$in": names}, "plan.id": move}, _SETTLED) if len(names) > 1
        else UpdateOne({"_id": names[0], "plan.id": move}, _SETTLED)  # which the driver repeats if need be
        for move, names in moves.items()
    ]  # fmt: skip
