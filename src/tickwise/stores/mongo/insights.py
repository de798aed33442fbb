"""Reads for people: jobs, schedules, runs and decisions.

A page is asked for by the key of the last row seen, which stays valid while rows come and go.
"""

from collections.abc import Iterable, Sequence

from ...core.definition import JobDefinition
from ...core.reasons import Reason
from ...core.states import RunState
from ..document_rows import job_row, schedule_row
from ..filter_texts import run_number_in
from ..job_document import Document
from ..pages import decision_page
from ..records import (
    ALL_SCHEDULES,
    AttemptRow,
    DecisionFilter,
    DecisionKey,
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
from ..run_document import attempt_of, definition_of_run, digests, row_of
from ..validation import is_number
from . import tick
from .base import Mongo
from .fleet import pause_state
from .jobs import load
from .lease import numbered, steps_of
from .runs import SHOWN
from .search import contains_pattern, contains_text, matching_names

_LIVE = {"deleted_at": {"$exists": False}}
_OF_JOB = {"schedules": 0}
_LIVE_STATES = [str(RunState.QUEUED), str(RunState.RUNNING)]
_OF_LAST_RUN = {"started_at": 1, "created_at": 1, "state": 1}


async def next_due(mongo: Mongo) -> int | None:
    return None if (await pause_state(mongo)).paused else await tick.next_due(mongo)


async def job(mongo: Mongo, name: str) -> JobRow | None:
    rows = await _job_rows(mongo, await mongo.jobs.find({"_id": name, **_LIVE}, _OF_JOB).to_list())
    return rows[0] if rows else None


async def jobs(mongo: Mongo, after: str, limit: int) -> Page[JobRow]:
    found = await mongo.jobs.find({"_id": {"$gt": after}, **_LIVE}, _OF_JOB).sort("_id").limit(limit + 1).to_list()
    rows = await _job_rows(mongo, found[:limit])
    return Page(tuple(rows), found[limit - 1]["_id"] if len(found) > limit else None)


async def jobs_named(mongo: Mongo, names: Sequence[str]) -> list[JobRow]:
    return await _job_rows(mongo, await mongo.jobs.find({"_id": {"$in": list(names)}, **_LIVE}, _OF_JOB).to_list())


async def _job_rows(mongo: Mongo, found: Sequence[Document]) -> list[JobRow]:
    await mongo.cache.read(job["definition"] for job in found)
    return [job_row(mongo.cache, job["_id"], job) for job in found]


async def schedule(mongo: Mongo, name: str) -> ScheduleRow | None:
    rows = await _schedule_rows(mongo, await matching_names(mongo, ALL_SCHEDULES, name, 1))
    return rows[0] if rows else None


async def schedules(mongo: Mongo, wanted: ScheduleFilter, after: str, limit: int) -> Page[ScheduleRow]:
    names = await matching_names(mongo, wanted, {"$gt": after}, limit + 1)
    rows = await _schedule_rows(mongo, names[:limit])
    return Page(tuple(rows), names[limit - 1] if len(names) > limit else None)


async def _schedule_rows(mongo: Mongo, names: Sequence[str]) -> list[ScheduleRow]:
    loaded = await load(mongo, await mongo.jobs.find({"names": {"$in": list(names)}}).to_list())
    jobs = {name: job for job in loaded for name in job.document["names"]}
    entries = {name: jobs[name].entries[name] for name in names if name in jobs}
    ids = [entry["last_run"] for entry in entries.values() if "last_run" in entry]
    runs = {run["_id"]: run async for run in mongo.runs.find({"_id": {"$in": ids}, **SHOWN}, _OF_LAST_RUN)}
    paused = (await pause_state(mongo)).paused
    return [
        schedule_row(name, jobs[name], runs.get(entry.get("last_run")), paused=paused)
        for name, entry in entries.items()
    ]


async def run(mongo: Mongo, id_: int) -> RunRow | None:
    rows = await run_rows(mongo, await mongo.runs.find({"_id": id_, **SHOWN}).to_list())
    return rows[0] if rows else None


async def runs(mongo: Mongo, wanted: RunFilter, after: int | None, limit: int) -> Page[RunRow]:
    """Newest first. The text of a filter may be the id of a run."""
    which = [_matching(wanted, after)]
    if wanted.text is not None:
        which.append(_named(wanted.text, run_number_in(wanted)))
    if wanted.jobs is not None:
        which.append({"job": {"$in": sorted(wanted.jobs)}})
    if wanted.schedules is not None:
        which.append({"schedule": {"$in": sorted(wanted.schedules)}})
    if wanted.error is not None:
        which.append({"error": contains_pattern(wanted.error)})
    for word in wanted.words:
        own = [{"_id": int(word)}] if is_number(word) else []
        which.append({"$or": [*own, *({name: contains_pattern(word)} for name in ("job", "schedule", "error"))]})
    found = await mongo.runs.find({"$and": which}).sort("_id", -1).limit(limit + 1).to_list()
    rows = await run_rows(mongo, found[:limit])
    return Page(tuple(rows), rows[-1].id if len(found) > limit else None)


def _matching(wanted: RunFilter, after: int | None) -> Document:
    given: Document = {
        "job": wanted.job, "schedule": wanted.schedule, "queue": wanted.queue, "key": wanted.key,
        "slot": wanted.slot, "_id": None if after is None else {"$lt": after},
    }  # fmt: skip
    which = {field: value for field, value in given.items() if value is not None}
    if wanted.waits:
        which |= {"waits_for": {"$exists": True}}
    if created := _between(wanted.since, wanted.until):
        which["created_at"] = created
    if wanted.triggers:
        which["trigger"] = {"$in": sorted(map(str, wanted.triggers))}
    return {**SHOWN, **which, **({"state": {"$in": sorted(map(str, wanted.states))}} if wanted.states else {})}


def _named(text: str, id_: int | None) -> Document:
    own = [{"_id": id_}] if id_ is not None else []
    return {"$or": [*own, {"$expr": contains_text(text, "$job", "$schedule")}]}


def _between(since: int | None, until: int | None) -> Document:
    bounds = {"$gte": since, "$lt": until}
    return {bound: value for bound, value in bounds.items() if value is not None}


async def timeline(mongo: Mongo, start: int, end: int, limit: int) -> tuple[RunRow, ...]:
    found: list[Document] = []
    for which, last in (
        ({"state": {"$in": _LIVE_STATES}}, "started_at"),
        ({"finished_at": {"$gte": start}}, "finished_at"),
    ):
        if len(found) < limit:
            rows = mongo.runs.find({**SHOWN, "started_at": {"$lt": end}, **which})
            found += await rows.sort([(last, -1), ("_id", -1)]).limit(limit - len(found)).to_list()
    in_order = sorted(found, key=lambda run: (run["started_at"], run["_id"]))
    return tuple(await run_rows(mongo, in_order))


async def ended(mongo: Mongo, jobs: Sequence[str], since: int, limit: int) -> tuple[RunRow, ...]:
    found = mongo.runs.find({**SHOWN, "job": {"$in": [*jobs]}, "finished_at": {"$gte": since}})
    return tuple(await run_rows(mongo, await found.sort([("finished_at", 1), ("_id", 1)]).limit(limit).to_list()))


async def run_rows(mongo: Mongo, found: Sequence[Document]) -> list[RunRow]:
    await mongo.cache.read(digest for each in found for digest in digests(each))
    return [row_of(mongo.cache, each) for each in found]


async def definition_of(mongo: Mongo, id_: int) -> JobDefinition | None:
    return await definition_of_run(mongo.cache, await mongo.runs.find({"_id": id_, **SHOWN}).to_list())


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
    if not await _is_shown(mongo, id_):
        return Page(())
    which = numbered(id_) if after is None else numbered(id_, after)
    found = await mongo.logs.find({"_id": which}).sort("_id").limit(limit + 1).to_list()
    parts = tuple(LogPart(part["step"], part["stream"], part["text"], part["at"]) for part in found[:limit])
    return Page(parts, str(found[limit - 1]["_id"]["number"]) if len(found) > limit else None)


async def decisions(
    mongo: Mongo, wanted: DecisionFilter, after: DecisionKey | None, limit: int
) -> Page[DecisionRow]:
    found = mongo.decisions.find({"$and": [*_about(wanted), _behind(after)]})
    rows = await found.sort([("first", -1), ("schedule", 1), ("reason", 1)]).limit(limit + 1).to_list()
    shown = tuple(map(decision_row, rows[:limit]))
    if len(rows) <= limit:
        return Page(shown)
    row = rows[limit - 1]
    return Page(shown, decision_page(DecisionKey(row["first"], row["schedule"], row["reason"])))


def decision_row(row: Document) -> DecisionRow:
    return DecisionRow(
        schedule=row["schedule"], reason=Reason.of(row["reason"]), first=row["first"], last=row["last"],
        count=row["count"], detail=row["detail"], made_at=row["made_at"], extended_at=row["extended_at"],
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


def _behind(after: DecisionKey | None) -> Document:
    """What follows a page, newest slots first."""
    if after is None:
        return {}
    first, schedule, reason = after
    return {
        "$or": [
            {"first": {"$lt": first}},
            {"first": first, "schedule": {"$gt": schedule}},
            {"first": first, "schedule": schedule, "reason": {"$gt": reason}},
        ]
    }
