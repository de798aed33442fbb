"""The end of attempts: a run goes where `settle` says, and jobs that waited for it are woken.

A run is moved as it was read (`rev`), or looked at again. The write that ends it marks it `unwoken`; then its
job's `seq` is raised, and the job made due if it waits, and so are those that wait for a success; then the mark
goes. `intents` explains why that loses no wake-up.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pymongo import UpdateMany, UpdateOne

from ...core.definition import successes_of_job
from ...core.payload import clip
from ...core.settle import Cancelled, Outcome, Settled
from ...core.states import ACTIVE, Event, RunState
from ..job_document import Document
from ..records import MICRO
from ..run_document import given_up_at, reference, settled
from ..validation import LONGEST_ERROR
from .base import WHOLE_ANSWER, Mongo, Write, changes, move_id
from .runs import FOR_MOVES, FORGOTTEN, ended_attempt, ids_of, on_record

_KEEPS_KEY = ACTIVE | {RunState.SUCCEEDED}  # S48
_BATCH_SIZE = 1_000


class RunEnding(NamedTuple):
    """An attempt that ended, or a run that will not begin; but only if the run still is as `holds` says."""

    run: int
    outcome: Outcome
    holds: Callable[[Document], bool]
    result: str | None = None
    error: str = ""


class _Move(NamedTuple):
    """A run as it was read, and where it goes."""

    run: Document
    settled: Settled
    ending: RunEnding

    @property
    def is_over(self) -> bool:
        return self.settled.state not in ACTIVE


def has_token(token: str) -> Callable[[Document], bool]:
    """Whether it is this attempt that holds the run; an old one has nothing to say (S42)."""
    return lambda run: run["state"] == RunState.RUNNING and run.get("token") == token


def lapsed_as(before: Document, now: int) -> Callable[[Document], bool]:
    """Whether it is given up by now, and its hand-over still is as it was read."""
    record = before.get("hand_over")
    return lambda run: (
        run["state"] == RunState.RUNNING and run.get("hand_over") == record and given_up_at(run) < now
    )


def is_queued(run: Document) -> bool:
    return bool(run["state"] == RunState.QUEUED)


def never_began(run: Document) -> bool:
    return is_queued(run) and not run["attempt"]


async def finish(mongo: Mongo, endings: Sequence[RunEnding]) -> tuple[Settled | None, ...]:
    """In one batch. A run that is named again has another batch for what is said later."""
    settled = dict[int, Settled | None]()
    now, found = await asyncio.gather(mongo.now(), _read(mongo, {ending.run for ending in endings}))
    while len(settled) < len(endings):
        first = {endings[n].run: n for n in reversed(range(len(endings))) if n not in settled}
        by_run = await end(mongo, [endings[n] for n in first.values()], now, () if settled else found)
        settled |= {n: by_run.get(run) for run, n in first.items()}
    return tuple(settled[n] for n in range(len(endings)))


async def _read(mongo: Mongo, runs: Iterable[int]) -> list[Document]:
    return await mongo.runs.find({"_id": {"$in": list(runs)}}, FOR_MOVES, batch_size=WHOLE_ANSWER).to_list()


async def end(
    mongo: Mongo, endings: Iterable[RunEnding], now: int, found: Sequence[Document] = ()
) -> dict[int, Settled]:
    """What became of the runs; those that are not as they should be are left out, and left alone.

    `found` are the runs, if they have been read just now.
    """
    left = {ending.run: ending for ending in endings}
    made: list[_Move] = []
    while left:
        found = found or await _read(mongo, left)
        runs = [run for run in found if left[run["_id"]].holds(run)]
        await mongo.cache.read(run["definition"] for run in runs)
        pairs = [(run, left[run["_id"]]) for run in runs]
        moves = [_Move(run, settled(mongo.cache, run, ending.outcome, now), ending) for run, ending in pairs]
        won = await _write(mongo, moves, now)
        made += [move for move in moves if move.run["_id"] in won]
        left, found = {run["_id"]: left[run["_id"]] for run in runs if run["_id"] not in won}, ()
    await wake(mongo, [move.run | {"state": move.settled.state} for move in made if move.is_over], now)
    if not all(move.is_over for move in made):
        await mongo.news.tell()
    return {move.run["_id"]: move.settled for move in made}


async def _write(mongo: Mongo, moves: Sequence[_Move], now: int) -> set[int]:
    """Make the moves in one batch; the runs that were moved."""
    name, won = move_id(), {move.run["_id"] for move in moves}
    updates = [
        UpdateOne({"_id": move.run["_id"], "rev": move.run["rev"]}, _end_update(move, name, now)) for move in moves
    ]
    matched = await mongo.write(mongo.runs, updates)
    if matched < len(moves):
        won = set(await ids_of(mongo.runs, {"_id": {"$in": list(won)}, "move": name}))
    return won


def _end_update(move: _Move, name: object, now: int) -> Document:
    run, settled, error = move.run, move.settled, clip(move.settled.error or move.ending.error, LONGEST_ERROR)
    fields = {
        "state": str(settled.state), "failures": settled.failures, "losses": settled.losses, "move": name,
        "result": move.ending.result, "error": error or None, "lease_until": None, "seat": None,
    }  # fmt: skip
    if move.is_over:
        return {**changes({**fields, **_over(run, settled.state, now)}), "$inc": {"rev": 1}}
    due = run["due_at"] if settled.not_before is None else settled.not_before * MICRO
    fields |= {"due_at": due, "token": None}
    if settled.event is Event.WAIT:
        return {**changes({**fields, "error": None, "waits_for": error}), "$inc": {"rev": 1}}
    return {**changes(fields), "$inc": {"rev": 1}, **on_record(ended_attempt(run, settled.event, now, error))}


def _over(run: Document, state: RunState, now: int) -> Document:
    """The fields of a run that has ended: its lane is free, and its key too unless it succeeded (S48)."""
    succeeded = state is RunState.SUCCEEDED
    forgotten = succeeded and run.get("auto_remove", False)
    return {
        "state": FORGOTTEN if forgotten else str(state),
        "finished_at": now,
        "lane": None,
        "held_key": run.get("key") if state in _KEEPS_KEY and not forgotten else None,
        "reference": reference(run) if succeeded and not forgotten else None,
        "cancelling": run["cancelling"] and run["state"] == RunState.RUNNING,
        "waits_for": None,
        "unwoken": True,
    }


async def wake(mongo: Mongo, ended: Sequence[Document], now: int) -> None:
    """Let the jobs be looked at whose slots wait for what has ended (S15), or for its success (S35)."""
    if not ended:
        return
    newest: dict[str, int | None] = {run["job"]: None for run in ended}
    for run in ended:
        if run["state"] == RunState.SUCCEEDED or (run["state"] == FORGOTTEN and "started_at" in run):
            newest[run["job"]] = max(reference(run), newest[run["job"]] or 0)
    second = now // MICRO
    wakes = _wakes(newest, second)
    if names := await _names_awaited(mongo, [run for run in ended if newest[run["job"]] is not None]):
        due_now = {"$inc": {"seq": 1}, "$min": {"wake_at": second}}
        wakes.append(UpdateMany({"after": {"$in": names}}, due_now))
    await mongo.write(mongo.jobs, wakes)
    woken = {"_id": {"$in": [run["_id"] for run in ended]}}
    await asyncio.gather(mongo.runs.update_many(woken, {"$unset": {"unwoken": ""}}), mongo.news.tell())


async def _names_awaited(mongo: Mongo, succeeded: Sequence[Document]) -> list[str]:
    """What these successes count for: the job, the schedule and, of a run without one, all of its job (S35)."""
    names = {run["schedule"] for run in succeeded if "schedule" in run}
    names |= {successes_of_job(run["job"]) for run in succeeded}
    if without := sorted({run["job"] for run in succeeded if "schedule" not in run}):
        owners = mongo.jobs.find({"_id": {"$in": without}}, {"names": 1})
        names |= {name async for owner in owners for name in owner.get("names", ())}
    return sorted(names)


def _wakes(newest: Mapping[str, int | None], second: int) -> list[Write]:
    """One operation for all jobs whose newest success counts for the same second."""
    jobs: dict[int | None, list[str]] = defaultdict(list)
    for job, success in newest.items():
        jobs[success].append(job)
    return [
        UpdateOne({"_id": names[0]}, [_woken(success, second)]) if len(names) == 1
        else UpdateMany({"_id": {"$in": names}}, [_woken(success, second)])
        for success, names in jobs.items()
    ]  # fmt: skip


def _woken(success: int | None, second: int) -> Document:
    due = {"$cond": ["$waiting", {"$min": ["$wake_at", second]}, "$wake_at"]}
    noted = {} if success is None else {"last_success": {"$max": ["$last_success", success]}}
    return {"$set": {"seq": {"$add": ["$seq", 1]}, "wake_at": due, **noted}}


async def ask_overdue_to_end(mongo: Mongo, which: Sequence[tuple[Document, str]]) -> None:
    """Of running runs, each with why it has failed when it has ended (S65)."""
    running = {"state": str(RunState.RUNNING), "cancelling": False}
    await mongo.write(mongo.runs, [
        UpdateMany({**each, **running}, {"$set": {"cancelling": True, "error": error}, "$inc": {"rev": 1}})
        for each, error in which
    ])  # fmt: skip


async def ask_to_end(mongo: Mongo, which: Sequence[Document]) -> None:
    """Asked first, no run slips away between the queue and a worker; then `end_queued` ends those in the queue."""
    active = {"state": {"$in": [str(state) for state in ACTIVE]}, "cancelling": False}
    asked = {"$set": {"cancelling": True}, "$inc": {"rev": 1}}
    await mongo.write(mongo.runs, [UpdateMany({**each, **active}, asked) for each in which])
    if which:
        await mongo.news.tell()


async def end_queued(mongo: Mongo, which: Sequence[Document], now: int) -> None:
    """End queued runs, many at a time."""
    if which:
        queued = {"state": RunState.QUEUED, "$or": which}
        while runs := await ids_of(mongo.runs, queued, _BATCH_SIZE):
            await end(mongo, [RunEnding(run, Cancelled(), is_queued) for run in runs], now)
