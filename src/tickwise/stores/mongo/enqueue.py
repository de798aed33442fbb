"""Runs that people and code ask for; and what people ask of one run: to end it, or to run it again.

One run is one insert; if it takes a lane, one compare-and-set of its job. Several are *drafts* at first, which
nobody sees; then a document of their batch says that all of them are wanted, and from then on whoever finds it
makes them queued. So all of them exist or none, whenever the process dies. Drafts of which nobody said so are
forgotten after a minute.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from bson import ObjectId
from pymongo import InsertOne

from ...core.errors import ConflictError, InputError, TickwiseError, no_such
from ...core.model import Trigger
from ...core.payload import UnreadableText, encode
from ...core.states import ACTIVE, MOVES, Event, RunState
from ..compare_and_set import LostRaceError, persist
from ..job_document import Document, present
from ..records import MICRO, Enqueue, Enqueued
from .base import Mongo, changes
from .finish import ask_to_end, end_queued, wake
from .intents import Effects
from .jobs import with_lanes
from .runs import DRAFT, FORGOTTEN, SHOWN, ended_attempt, forget_steps, ids_of, new_run, put_back

_ABANDONED = 60 * MICRO  # age of drafts that nobody will want any more: twice as long as a move may take
_MAX_NAMES = 1_000
_SOME_LANE = -1  # until it is known which


async def enqueue(mongo: Mongo, asked: Sequence[Enqueue]) -> tuple[Enqueued, ...]:
    """All of them or none; a key that is taken gives the run that has it (S48)."""
    jobs = await known_jobs(mongo, asked)
    return await persist(partial(_enqueue, mongo, asked, jobs))


async def known_jobs(mongo: Mongo, asked: Sequence[Enqueue]) -> dict[str, Document]:
    """The jobs that are asked for; refused if one is not there, or does not take its params."""
    names = sorted({one.job for one in asked})
    live = {"deleted_at": {"$exists": False}}
    found = await mongo.jobs.find({"_id": {"$in": names}, **live}, {"schedules": 0}).to_list()
    jobs = {job["_id"]: job for job in found}
    for name in names:
        if name not in jobs:
            known = [job["_id"] async for job in mongo.jobs.find(live, {"_id": 1}).sort("_id").limit(_MAX_NAMES)]
            raise no_such("job", name, known, ": define it first")
    await mongo.cache.read(job["definition"] for job in found)
    for one in asked:
        with suppress(UnreadableText):  # then nobody knows what it takes
            mongo.cache.job(jobs[one.job]["definition"], one.job).check_params(one.params or {})
    return jobs


async def _enqueue(mongo: Mongo, asked: Sequence[Enqueue], jobs: Mapping[str, Document]) -> tuple[Enqueued, ...]:
    if all(one.key is None for one in asked):
        now, numbers = await asyncio.gather(mongo.now(), mongo.numbers(len(asked)))
        taken: dict[tuple[str, str | None], int] = {}
    else:
        now = await mongo.now()
        taken = await _keys_taken(mongo, asked, now)
        numbers = await mongo.numbers(len(fresh(asked, taken)))
    runs = new_runs(asked, dict(zip(fresh(asked, taken), numbers, strict=True)), jobs, now)
    if runs:
        await _add(mongo, list(runs.values()), now)
    return answers(asked, taken, runs)


async def _keys_taken(mongo: Mongo, asked: Sequence[Enqueue], now: int) -> dict[tuple[str, str | None], int]:
    """The keys that are asked for and that runs hold; those that are over give theirs up (S48)."""
    taken: dict[tuple[str, str | None], int] = {}
    async for run in mongo.runs.find({"$or": keys_of(asked)}, HOLDER):
        if run["state"] == DRAFT:
            raise LostRaceError
        if gives_up_key(run, now):
            await mongo.runs.update_one({"_id": run["_id"]}, FREE_KEY)
        else:
            taken[run["job"], run["held_key"]] = run["_id"]
    return taken


def keys_of(asked: Sequence[Enqueue]) -> list[Document]:
    """Which runs hold the keys that are asked for."""
    keys: dict[str, set[str]] = defaultdict(set)
    for one in asked:
        if one.key is not None:
            keys[one.job].add(one.key)
    return [{"job": job, "held_key": {"$in": sorted(each)}} for job, each in keys.items()] or [{"_id": None}]


HOLDER: Document = {"job": 1, "held_key": 1, "state": 1, "key_ttl": 1, "finished_at": 1}
FREE_KEY: Document = {"$unset": {"held_key": ""}, "$inc": {"rev": 1}}


def gives_up_key(run: Document, now: int) -> bool:
    """Whether it has succeeded, and the time for which its key stays taken is over (S48)."""
    succeeded = run["state"] == RunState.SUCCEEDED
    return succeeded and "key_ttl" in run and bool(run["finished_at"] + run["key_ttl"] * MICRO <= now)


Keys: TypeAlias = Mapping[tuple[str, str | None], int]  # runs by job and key


def fresh(asked: Sequence[Enqueue], taken: Keys) -> list[int]:
    """The places of those that get a run of their own: in one call a key counts as in two."""
    keys, places = set(taken), []
    for place, one in enumerate(asked):
        if one.key is None or (one.job, one.key) not in keys:
            keys.add((one.job, one.key))
            places.append(place)
    return places


def new_runs(
    asked: Sequence[Enqueue], ids: Mapping[int, int], jobs: Mapping[str, Document], now: int
) -> dict[int, Document]:
    """Their documents, by place as `ids` are."""
    return {place: _new_run(id_, asked[place], jobs[asked[place].job], now) for place, id_ in ids.items()}


def answers(asked: Sequence[Enqueue], taken: Keys, runs: Mapping[int, Document]) -> tuple[Enqueued, ...]:
    """What each gets: a new run, or the one that has its key, which may be new itself."""
    holders = {**taken, **{(asked[place].job, asked[place].key): run["_id"] for place, run in runs.items()}}
    return tuple(
        _new(runs[place]) if place in runs else Enqueued(str(holders[one.job, one.key]), new=False)
        for place, one in enumerate(asked)
    )


def _new(run: Document) -> Enqueued:
    return Enqueued(
        str(run["_id"]), new=True, created_at=run["created_at"], queue=run["queue"], priority=run["priority"]
    )


def _new_run(id_: int, one: Enqueue, job: Document, now: int) -> Document:
    by_hand = one.trigger.takes_lane and not one.allow_overlap
    return new_run(
        _id=id_, job=one.job, trigger=str(one.trigger), definition=job["definition"],
        queue=one.queue or job["queue"], priority=job["priority"] if one.priority is None else one.priority,
        requires=job["requires"], key=one.key, held_key=one.key, key_ttl=one.key_ttl,
        params=None if one.params is None else encode(dict(one.params), "params"), created_at=now,
        due_at=now if one.at is None else max(now, one.at * MICRO), by=one.by or None,
        auto_remove=one.auto_remove or None, lane=_SOME_LANE if by_hand else None,
        traceparent=one.traceparent or None,
    )  # fmt: skip


async def _add(mongo: Mongo, runs: Sequence[Document], now: int) -> None:
    """Write runs, several as drafts that are then announced together."""
    batch = ObjectId() if len(runs) > 1 else None
    if batch:
        runs = [run | {"state": DRAFT, "batch": batch} for run in runs]
    try:
        await _insert(mongo, runs, now)
    except (TickwiseError, LostRaceError):
        if batch:
            await _abandon(mongo, {"batch": batch}, now)
        raise
    if batch:
        await mongo.batches.insert_one({"_id": batch})
        await _announce(mongo, batch)
    await mongo.news.tell()


async def _insert(mongo: Mongo, runs: Sequence[Document], now: int) -> None:
    by_hand: dict[str, list[Document]] = defaultdict(list)
    for run in runs:
        if "lane" in run:
            by_hand[run["job"]].append(run)
    for job, wanted in by_hand.items():
        await with_lanes(mongo, job, len(wanted), partial(_insert_on, wanted), now)
    await mongo.write(mongo.runs, [InsertOne(run) for run in runs if "lane" not in run])
    keyed = [run["_id"] for run in runs if "held_key" in run]
    if keyed and await mongo.runs.count_documents({"_id": {"$in": keyed}}) < len(keyed):
        raise LostRaceError  # somebody has taken a key meanwhile


def _insert_on(runs: Sequence[Document], lanes: Sequence[int]) -> Effects:
    return Effects(runs=[run | {"lane": lane} for run, lane in zip(runs, lanes, strict=True)])


async def _announce(mongo: Mongo, batch: ObjectId) -> None:
    """Make the drafts of a batch true."""
    queued = {"$set": {"state": str(RunState.QUEUED)}, "$unset": {"batch": ""}, "$inc": {"rev": 1}}
    await mongo.runs.update_many({"batch": batch, "state": DRAFT}, queued)
    await mongo.batches.delete_one({"_id": batch})


async def _abandon(mongo: Mongo, which: Document, now: int) -> None:
    """Forget drafts; lanes that they held are free, and jobs that waited for one are woken."""
    drafts = await mongo.runs.find({**which, "state": DRAFT}, {"job": 1, "state": 1}).to_list()
    gone = {"lane": None, "held_key": None, "batch": None}
    forgotten = changes({**gone, "state": FORGOTTEN, "finished_at": now, "unwoken": True})
    await mongo.runs.update_many({**which, "state": DRAFT}, {**forgotten, "$inc": {"rev": 1}})
    await wake(mongo, drafts, now)


async def tidy_up(mongo: Mongo, now: int) -> None:
    """Finish interrupted enqueues: runs of announced batches are queued, drafts of the others are forgotten."""
    too_old = {"state": DRAFT, "created_at": {"$lt": now - _ABANDONED}}
    batches, abandoned = await asyncio.gather(ids_of(mongo.batches, {}), ids_of(mongo.runs, too_old))
    for batch in batches:
        await _announce(mongo, batch)
    if abandoned:
        await _abandon(mongo, {"_id": {"$in": abandoned}}, now)


_ENDED_BY = {RunState.FAILED: Event.FAILURE, RunState.LOST: Event.LOSS, RunState.CANCELLED: Event.CANCEL}
_WITH_LAST_ATTEMPT: Document = {"attempts": {"$slice": -1}, "printed": 0, "params": 0, "result": 0}


async def cancel(mongo: Mongo, run: int) -> RunState:
    """A queued run ends at once, a running one is asked to."""
    state = RunState((await _find_run(mongo, run))["state"])
    if state not in ACTIVE:
        return state
    which, now = [{"_id": run}], await mongo.now()
    await end_queued(mongo, which, now)
    await ask_to_end(mongo, which)
    await end_queued(mongo, which, now)  # if it came back to the queue just then
    after = await mongo.runs.find_one({"_id": run, **SHOWN}, {"state": 1})
    return RunState(after["state"]) if after else RunState.SUCCEEDED  # it has, and was to be forgotten then


async def wake_run(mongo: Mongo, run: int) -> None:
    waits = {"_id": run, "state": str(RunState.QUEUED), "waits_for": {"$exists": True}}
    made_due = {"$min": {"due_at": await mongo.now()}, "$inc": {"rev": 1}}
    if (await mongo.runs.update_one(waits, made_due)).matched_count:
        await mongo.news.tell()


async def _find_run(mongo: Mongo, run: int) -> Document:
    found = await mongo.runs.find_one({"_id": run, **SHOWN}, _WITH_LAST_ATTEMPT)
    if found is None:
        raise InputError(f"there is no run {run}: it was never made, or is not kept any longer")
    return found


async def retry(mongo: Mongo, run: int, again: Sequence[str]) -> None:
    """Queue a failed, lost or cancelled run again, on a lane unless code had enqueued it (S41)."""
    await persist(partial(_retry, mongo, run, again))


async def _retry(mongo: Mongo, id_: int, again: Sequence[str]) -> None:
    run, now = await _find_run(mongo, id_), await mongo.now()
    state, job = RunState(run["state"]), run["job"]
    if (state, Event.PUT_BACK) not in MOVES:
        raise ConflictError(f"run {id_} is {state}: only a failed, lost or cancelled run can be put back")
    if "key" in run:
        other = await mongo.runs.find_one({"job": job, "held_key": run["key"]}, HOLDER)
        if other and gives_up_key(other, now):
            await mongo.runs.update_one({"_id": other["_id"]}, FREE_KEY)
        elif other:
            raise ConflictError(f"run {other['_id']} has the key {run['key']!r} meanwhile")
    back = _put_back_request(run, state) | ({"again": list(again)} if again else {})
    if run["trigger"] != Trigger.ENQUEUE:
        await with_lanes(mongo, job, 1, partial(_put_back_on, back), now)
    else:
        await _put_back_without_lane(mongo, back, job, now)
    after = await mongo.runs.find_one({"_id": id_}, {"rev": 1})
    if after and after["rev"] == run["rev"]:
        raise LostRaceError  # somebody has taken its key meanwhile
    await mongo.news.tell()


def _put_back_request(run: Document, state: RunState) -> Document:
    ended = ended_attempt(run, _ENDED_BY[state], run["finished_at"], run.get("error", ""))
    on_record = [each["number"] for each in run.get("attempts", ())]  # if it ended in the queue
    attempt = ended if run["attempt"] and run["attempt"] not in on_record else None
    return present({"run": run["_id"], "rev": run["rev"], "key": run.get("key"), "attempt": attempt})


def _put_back_on(back: Document, lanes: Sequence[int]) -> Effects:
    return Effects(backs=[back | {"lane": lanes[0]}])


async def _put_back_without_lane(mongo: Mongo, back: Document, job: str, now: int) -> None:
    """Nothing of the job changes; but plans that were made of it before say nothing of the run any longer."""
    owner = await mongo.jobs.find_one({"_id": job}, {"seq": 1})
    await forget_steps(mongo, [back])
    await mongo.write(mongo.runs, [put_back(back, owner["seq"] if owner else 0, now)])
