"""A person's word on one run: end it, or let it run again."""

from collections.abc import Sequence
from functools import partial

from ...core.errors import ConflictError, InputError
from ...core.model import Trigger
from ...core.states import ACTIVE, MOVES, Event, RunState
from .base import Document, Mongo, present
from .finish import ask_to_end, end_queued
from .intents import Effects, LostRaceError, persist
from .jobs import with_lanes
from .runs import SHOWN, ended_attempt, put_back

_ENDED_BY = {RunState.FAILED: Event.FAILURE, RunState.LOST: Event.LOSS, RunState.CANCELLED: Event.CANCEL}
_WITH_LAST_ATTEMPT: Document = {"attempts": {"$slice": -1}, "printed": 0, "params": 0, "result": 0}


async def cancel(mongo: Mongo, run: int) -> RunState:
    """A queued run ends at once, a running one is asked to."""
    state = RunState((await _shown(mongo, run))["state"])
    if state not in ACTIVE:
        return state
    which, now = [{"_id": run}], await mongo.now()
    await end_queued(mongo, which, now)
    await ask_to_end(mongo, which)
    await end_queued(mongo, which, now)  # if it came back to the queue just then
    after = await mongo.runs.find_one({"_id": run, **SHOWN}, {"state": 1})
    return RunState(after["state"]) if after else RunState.SUCCEEDED  # it has, and was to be forgotten then


async def _shown(mongo: Mongo, run: int) -> Document:
    found = await mongo.runs.find_one({"_id": run, **SHOWN}, _WITH_LAST_ATTEMPT)
    if found is None:
        raise InputError(f"there is no run {run}: it was never made, or is not kept any longer")
    return found


async def retry(mongo: Mongo, run: int) -> None:
    """Queue a failed, lost or cancelled run again, on a lane unless code had enqueued it (S41)."""
    await persist(partial(_retry, mongo, run))


async def _retry(mongo: Mongo, id_: int) -> None:
    run, now = await _shown(mongo, id_), await mongo.now()
    state, job = RunState(run["state"]), run["job"]
    if (state, Event.PUT_BACK) not in MOVES:
        raise ConflictError(f"run {id_} is {state}: only a failed, lost or cancelled run can be put back")
    if "key" in run:
        other = await mongo.runs.find_one({"job": job, "held_key": run["key"]}, {"_id": 1})
        if other:
            raise ConflictError(f"run {other['_id']} has the key {run['key']!r} meanwhile")
    back = _as_read(run, state)
    if run["trigger"] != Trigger.ENQUEUE:
        await with_lanes(mongo, job, 1, partial(_on_lane, back), now)
    else:
        await _without_lane(mongo, back, job, now)
    after = await mongo.runs.find_one({"_id": id_}, {"rev": 1})
    if after and after["rev"] == run["rev"]:
        raise LostRaceError  # somebody has taken its key meanwhile
    await mongo.news.tell()


def _as_read(run: Document, state: RunState) -> Document:
    ended = ended_attempt(run, _ENDED_BY[state], run["finished_at"], run.get("error", ""))
    on_record = [each["number"] for each in run.get("attempts", ())]  # if it ended in the queue
    attempt = ended if run["attempt"] and run["attempt"] not in on_record else None
    return present({"run": run["_id"], "rev": run["rev"], "key": run.get("key"), "attempt": attempt})


def _on_lane(back: Document, lanes: Sequence[int]) -> Effects:
    return Effects(backs=[back | {"lane": lanes[0]}])


async def _without_lane(mongo: Mongo, back: Document, job: str, now: int) -> None:
    """Nothing of the job changes; but plans that were made of it before say nothing of the run any longer."""
    owner = await mongo.jobs.find_one({"_id": job}, {"seq": 1})
    await mongo.write(mongo.runs, [put_back(back, owner["seq"] if owner else 0, now)])
