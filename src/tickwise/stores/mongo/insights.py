"""Reads for people. A page is asked for by the key of the last row seen: it stays put while rows come and go."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ...core.definition import JobDefinition
from ...core.errors import InputError
from ...core.jobstate import ScheduleState
from ...core.payload import UnreadableText
from ...core.reasons import Reason
from ...core.slots import next_slot
from ...core.states import RunState
from ..records import (
    AttemptRow,
    DecisionFilter,
    DecisionRow,
    JobRow,
    LogPart,
    Page,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
    StepReport,
)
from ..statistics import Recent
from ..validation import page_size
from . import tick
from .base import Document, Mongo
from .fleet import pause_state
from .jobs import load
from .report import numbered, steps_of
from .runs import SHOWN, attempt_of, digests, row_of
from .search import names_part, wanted_names

_LIVE = {"deleted_at": {"$exists": False}}


async def next_due(mongo: Mongo) -> int | None:
    return None if (await pause_state(mongo)).paused else await tick.next_due(mongo)


async def jobs(mongo: Mongo, name: str | None, after: str | None, limit: int) -> Page[JobRow]:
    most = page_size(limit)
    which = {"_id": {"$gt": after or ""} if name is None else name, **_LIVE}
    found = await mongo.jobs.find(which, {"schedules": 0, "plan": 0}).sort("_id").limit(most + 1).to_list()
    await mongo.book.read(job["definition"] for job in found)
    rows = tuple(_job_row(mongo, job) for job in found[:most])
    return Page(rows, found[most - 1]["_id"] if len(found) > most else None)


def _job_row(mongo: Mongo, job: Document) -> JobRow:
    name, problem = job["_id"], ""
    try:
        definition = mongo.book.job(job["definition"], name)
    except UnreadableText as error:
        definition, problem = JobDefinition(name), str(error)
    return JobRow(
        definition, job["version"], job["source"], tuple(job.get("names", ())), job["created_at"],
        job["updated_at"], job.get("history_from"), problem,
    )  # fmt: skip


async def schedules(
    mongo: Mongo, wanted: ScheduleFilter, after: str | None, limit: int, name: str | None = None
) -> Page[ScheduleRow]:
    """A page of those that are wanted; or the one of a name."""
    most = page_size(limit)
    names = await wanted_names(mongo, wanted, {"$gt": after or ""} if name is None else name, most + 1)
    shown = await _shown(mongo, names[:most])
    ids = [entry["last_run"] for _, entry in shown if "last_run" in entry]
    runs = {run["_id"]: run async for run in mongo.runs.find({"_id": {"$in": ids}, **SHOWN}, _OF_LAST_RUN)}
    paused = (await pause_state(mongo)).paused
    rows = tuple(
        _schedule_row(each, entry, runs.get(entry.get("last_run")), paused=paused) for each, entry in shown
    )
    return Page(rows, names[most - 1] if len(names) > most else None)


_LIVE_STATES = [str(RunState.QUEUED), str(RunState.RUNNING)]
_OF_RECENT = {"state": 1, "due_at": 1, "started_at": 1}
_OF_LAST_RUN = {"started_at": 1, "created_at": 1, "state": 1}


async def _shown(mongo: Mongo, names: Sequence[str]) -> list[tuple[ScheduleState, Document]]:
    """Schedules as the next pass will find them, and as they are kept; those that cannot be read are left out."""
    loaded = await load(mongo, await mongo.jobs.find({"names": {"$in": list(names)}}).to_list())
    found = {name: (job.state.schedules[name], job.entries[name]) for job in loaded for name in job.state.live}
    return [found[name] for name in names if name in found]


def _schedule_row(kept: ScheduleState, entry: Document, last: Document | None, *, paused: bool) -> ScheduleRow:
    state = kept.schedule
    slot = state.reopened[0] if state.reopened else next_slot(state, state.cursor)
    run: dict[str, Any] = {}
    if last:
        run = {
            "last_run_id": str(last["_id"]), "last_run_at": last.get("started_at"),
            "last_enqueued_at": last["created_at"], "last_state": RunState(last["state"]),
        }  # fmt: skip
    rests = paused or state.paused is not None
    times = entry["created_at"], entry["updated_at"]
    return ScheduleRow(state, None if rests else slot, kept.wake_at, *times, **run)


async def run(mongo: Mongo, id_: int) -> RunRow | None:
    rows = await run_rows(mongo, await mongo.runs.find({"_id": id_, **SHOWN}).to_list())
    return rows[0] if rows else None


async def runs(
    mongo: Mongo, wanted: RunFilter, after: int | None, limit: int, id_: int | None = None
) -> Page[RunRow]:
    """Newest first; `id_` is the filter's text, if that can be the id of a run."""
    most = page_size(limit)
    which = [_matching(wanted, after), {} if wanted.text is None else _named(wanted.text, id_)]
    found = await mongo.runs.find({"$and": which}).sort("_id", -1).limit(most + 1).to_list()
    rows = await run_rows(mongo, found[:most])
    return Page(tuple(rows), rows[-1].id if len(found) > most else None)


def _matching(wanted: RunFilter, after: int | None) -> Document:
    given: Document = {
        "job": wanted.job, "schedule": wanted.schedule, "queue": wanted.queue, "key": wanted.key,
        "slot": wanted.slot, "_id": None if after is None else {"$lt": after},
    }  # fmt: skip
    which = {field: value for field, value in given.items() if value is not None}
    if created := _between(wanted.since, wanted.until):
        which["created_at"] = created
    if wanted.triggers:
        which["trigger"] = {"$in": sorted(map(str, wanted.triggers))}
    return {**SHOWN, **which, **({"state": {"$in": sorted(map(str, wanted.states))}} if wanted.states else {})}


def _named(text: str, id_: int | None) -> Document:
    own = [{"_id": id_}] if id_ is not None else []
    return {"$or": [*own, {"$expr": names_part(text, "$job", "$schedule")}]}


def _between(since: int | None, until: int | None) -> Document:
    bounds = {"$gte": since, "$lt": until}
    return {bound: value for bound, value in bounds.items() if value is not None}


async def timeline(mongo: Mongo, start: int, end: int, limit: int) -> tuple[RunRow, ...]:
    found: list[Document] = []
    for which, last in (
        ({"state": {"$in": _LIVE_STATES}}, "started_at"),
        ({"finished_at": {"$gte": start}}, "finished_at"),
    ):
        if len(found) < page_size(limit):
            rows = mongo.runs.find({**SHOWN, "started_at": {"$lt": end}, **which})
            found += await rows.sort([(last, -1), ("_id", -1)]).limit(limit - len(found)).to_list()
    in_order = sorted(found, key=lambda run: (run["started_at"], run["_id"]))
    return tuple(await run_rows(mongo, in_order))


async def recent(mongo: Mongo, names: Sequence[str], limit: int) -> dict[str, tuple[Recent, ...]]:
    own = {"$match": {"$expr": {"$eq": ["$schedule", "$$name"]}, "slot": {"$exists": True}, **SHOWN}}
    newest = [own, {"$sort": {"slot": -1}}, {"$limit": page_size(limit)}, {"$project": _OF_RECENT}]
    stages: list[Document] = [
        {"$match": {"names": {"$in": list(names)}}}, {"$project": {"names": 1}}, {"$unwind": "$names"},
        {"$match": {"names": {"$in": list(names)}}},
        {"$lookup": {"from": mongo.runs.name, "let": {"name": "$names"}, "pipeline": newest, "as": "runs"}},
    ]  # fmt: skip
    return {
        each["names"]: tuple(
            Recent(RunState(run["state"]), run["due_at"], run.get("started_at")) for run in reversed(each["runs"])
        )
        async for each in await mongo.jobs.aggregate(stages) if each["runs"]
    }  # fmt: skip


async def run_rows(mongo: Mongo, found: Sequence[Document]) -> list[RunRow]:
    await mongo.book.read(digest for each in found for digest in digests(each))
    return [row_of(mongo.book, each) for each in found]


async def attempts(mongo: Mongo, id_: int) -> tuple[AttemptRow, ...]:
    found = await mongo.runs.find_one({"_id": id_, **SHOWN}, {"attempts": 1})
    return tuple(attempt_of(each) for each in found.get("attempts", ())) if found else ()


async def steps(mongo: Mongo, id_: int) -> tuple[StepReport, ...]:
    if not await _is_shown(mongo, id_):
        return ()
    found = mongo.steps.find({"_id": steps_of(id_)}).sort("place")
    return tuple([StepReport(**each["report"]) async for each in found])


async def _is_shown(mongo: Mongo, id_: int) -> bool:
    return await mongo.runs.find_one({"_id": id_, **SHOWN}, {"_id": 1}) is not None


async def log(mongo: Mongo, id_: int, after: int | None, limit: int) -> Page[LogPart]:
    most = page_size(limit)
    if not await _is_shown(mongo, id_):
        return Page(())
    which = numbered(id_) if after is None else numbered(id_, after)
    found = await mongo.logs.find({"_id": which}).sort("_id").limit(most + 1).to_list()
    parts = tuple(LogPart(part["step"], part["stream"], part["text"], part["at"]) for part in found[:most])
    return Page(parts, str(found[most - 1]["_id"]["number"]) if len(found) > most else None)


async def decisions(mongo: Mongo, wanted: DecisionFilter, after: str | None, limit: int) -> Page[DecisionRow]:
    most = page_size(limit)
    found = mongo.decisions.find({"$and": [*_about(wanted), _behind(after)]})
    rows = await found.sort([("first", -1), ("schedule", 1), ("reason", 1)]).limit(most + 1).to_list()
    shown = tuple(map(decision_row, rows[:most]))
    key = [rows[most - 1][field] for field in ("first", "schedule", "reason")] if len(rows) > most else None
    return Page(shown, None if key is None else json.dumps(key))


def decision_row(row: Document) -> DecisionRow:
    return DecisionRow(
        row["schedule"], Reason.of(row["reason"]), row["first"], row["last"], row["count"], row["detail"],
        row["made_at"], row["extended_at"],
    )  # fmt: skip


def _about(wanted: DecisionFilter) -> Iterable[Document]:
    if wanted.schedule is not None:
        yield {"schedule": wanted.schedule}
    if wanted.reasons:
        yield {"reason": {"$in": sorted(reason.code for reason in wanted.reasons)}}
    if wanted.slot is not None:
        yield {"first": {"$lte": wanted.slot}, "last": {"$gte": wanted.slot}}
    if wanted.since is not None:
        yield {"last": {"$gte": wanted.since}}
    if wanted.until is not None:
        yield {"first": {"$lt": wanted.until}}


def _behind(after: str | None) -> Document:
    """What follows a page, newest slots first."""
    if after is None:
        return {}
    try:
        first, schedule, reason = json.loads(after)
        first, schedule, reason = int(first), str(schedule), str(reason)
    except (ValueError, TypeError):
        raise InputError(f"{after[:60]!r} is not the key of a page: pass on what the page before gave") from None
    same = {"first": first, "schedule": schedule}
    return {
        "$or": [
            {"first": {"$lt": first}},
            {"first": first, "schedule": {"$gt": schedule}},
            {**same, "reason": {"$gt": reason}},
        ]
    }
