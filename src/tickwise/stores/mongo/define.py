"""Definitions, and what people ask of one schedule: each is one write of the job's document."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from bson import encode

from ...core import job_sources
from ...core.change import Change
from ...core.definition import JobDefinition
from ...core.errors import ConflictError, InputError, no_such, other_source
from ...core.job_sources import check_extension, restore, scheduled
from ...core.jobstate import JobState
from ...core.model import Schedule
from ...core.reasons import Reason
from ...core.requirements import requirements_of
from ..compare_and_set import LostRaceError, persist
from ..digest_cache import digest_of
from ..job_document import Document, JobDocument, fields, recorded
from ..records import MICRO
from ..validation import check_needs, check_version, needed_schedules
from .base import Mongo
from .fleet import pause_state
from .intents import Effects, Intent, commit, settle
from .jobs import load

_MAX_NAMES = 1_000  # that are searched for the nearest
_MAX_BYTES = 2_000_000  # of a job's document: its intents come on top, and it ends at 16 MB


async def define(mongo: Mongo, job: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    """Write a job as its source has it. What is written already is left alone (S28)."""
    await mongo.cache.keep([job, *job.schedules])
    return await persist(partial(_define, mongo, job, source, over))


async def _define(mongo: Mongo, job: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    now = await mongo.now()
    document = await _settled_document(mongo, job.name, now)
    known = document is not None and "deleted_at" not in document
    if document and known and document["source"] != source:
        raise other_source(job.name, document["source"], source)
    check_version(job.name, document["version"] if document and known else 0, over)
    await _check_unique(mongo, job)
    fresh = {"_id": job.name, "seq": 0, "pause_seen": (await pause_state(mongo)).ended, "schedules": []}
    (loaded,) = await load(mongo, [document or fresh])
    loaded = await _inherit(mongo, loaded, job)
    before, second = loaded.state, now // MICRO
    if document and "deleted_at" in document:
        removed_at, owner = document["deleted_at"] // MICRO, document["source"]
        before = restore(await _without_taken(mongo, before), removed_at, owner, second)
    missed = await _missed(mongo, before.reopened_by(job, second))
    state = before.redefine(job, source, second, missed)
    await _check_needs(mongo, scheduled(state))
    if known and loaded.document["definition"] == digest_of(job) and not (state.changed or state.cancel_queued):
        return ()
    job_fields = _job_fields(loaded.document, job, source, now)
    await _commit_job(mongo, replace(loaded, state=state), job_fields, now, await _dropped(mongo, state))
    return tuple(state.schedules[name].schedule for name in state.changed)


async def _dropped(mongo: Mongo, job: JobState) -> Document | None:
    """Which queued runs end."""
    gone = sorted(job.cancel_queued)
    return {"schedules": gone, "until": await _newest_run(mongo)} if gone else None


async def _without_taken(mongo: Mongo, job: JobState) -> JobState:
    """Without deleted schedules whose names other jobs have by now."""
    others = await mongo.jobs.find({"names": {"$in": list(job.schedules)}, "_id": {"$ne": job.name}}).to_list()
    taken = {name for other in others for name in other["names"]}
    return job._replace(schedules={name: each for name, each in job.schedules.items() if name not in taken})


async def extend(mongo: Mongo, extra: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    """Write the schedules that a source has added to a job of another."""
    await mongo.cache.keep(extra.schedules)
    return await persist(partial(_extend, mongo, extra, source, over))


async def _extend(mongo: Mongo, extra: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    now = await mongo.now()
    document = await _settled_document(mongo, extra.name, now)
    if document is None or "deleted_at" in document:
        live = mongo.jobs.find({"deleted_at": {"$exists": False}}, {"_id": 1}).sort("_id").limit(_MAX_NAMES)
        raise no_such("job", extra.name, [each["_id"] async for each in live])
    check_extension(extra.name, document["source"], source)
    check_version(extra.name, document["version"], over)
    await _check_unique(mongo, extra)
    (loaded,) = await load(mongo, [document])
    loaded = await _inherit(mongo, loaded, extra)
    missed = await _missed(mongo, loaded.state.reopened_by(extra, now // MICRO))
    await mongo.cache.read([document["definition"]])
    enabled = replace(extra, enabled=mongo.cache.job(document["definition"], extra.name).enabled)
    state = job_sources.extend(loaded.state, enabled, source, now // MICRO, missed)
    await _check_needs(mongo, scheduled(state))
    if state.changed or state.cancel_queued:
        job_fields = {"version": document["version"] + 1, "updated_at": now}
        await _commit_job(mongo, replace(loaded, state=state), job_fields, now, await _dropped(mongo, state))
    return tuple(state.schedules[name].schedule for name in state.changed)


async def reassign(mongo: Mongo, name: str, source: str, to: str) -> bool:
    """Give another source what a source has written of a job."""
    return await persist(partial(_reassign, mongo, name, source, to))


async def _reassign(mongo: Mongo, name: str, source: str, to: str) -> bool:
    now = await mongo.now()
    document = await _settled_document(mongo, name, now)
    if document is None or "deleted_at" in document:
        return False
    (loaded,) = await load(mongo, [document])
    state = job_sources.reassign(loaded.state, source, to)
    if document["source"] != source and not state.changed:
        return False
    await mongo.cache.keep([state.schedules[each].schedule.definition for each in sorted(state.changed)])
    owner = to if document["source"] == source else document["source"]
    job_fields = {"source": owner, "version": document["version"] + 1, "updated_at": now}
    await _commit_job(mongo, replace(loaded, state=state), job_fields, now)
    return True


async def _settled_document(mongo: Mongo, name: str, now: int) -> Document | None:
    """A job's document, with nothing of an earlier intent left to apply."""
    document = await mongo.jobs.find_one({"_id": name})
    if document and await settle(mongo, [document], now):
        raise LostRaceError
    return document


async def _check_unique(mongo: Mongo, job: JobDefinition) -> None:
    """A schedule belongs to one job (S26)."""
    wanted = [schedule.name for schedule in job.schedules]
    other = await mongo.jobs.find_one({"names": {"$in": wanted}, "_id": {"$ne": job.name}}, {"names": 1})
    if other:
        name = next(name for name in wanted if name in other["names"])
        raise ConflictError(
            f"{name} is a schedule of the job {other['_id']}: give the one of {job.name} another name"
        )


async def _check_needs(mongo: Mongo, job: JobDefinition) -> None:
    """What `after` names must exist, and must not lead back (S35): followed as far as it goes."""
    known: dict[str, Sequence[str]] = {}
    own = {schedule.name for schedule in job.schedules}
    wanted = {need for schedule in job.schedules for need in needed_schedules(schedule)} - own
    while wanted:
        others = {"names": {"$in": sorted(wanted)}, "_id": {"$ne": job.name}}
        owners = await load(mongo, await mongo.jobs.find(others).to_list())
        found = {name: each for owner in owners for name, each in owner.state.live.items() if name in wanted}
        for name, schedule in found.items():
            known[name] = needed_schedules(schedule.definition)
        if wanted - found.keys():
            known |= {name: () for name in await schedule_names(mongo) if name not in known}
        wanted = {need for name in found for need in known[name]} - known.keys() - own
    check_needs(job, known)


async def schedule_names(mongo: Mongo) -> list[str]:
    """Names of schedules, to find the nearest to a wrong one."""
    found = mongo.jobs.find({"names": {"$exists": True}}, {"names": 1}).sort("_id").limit(_MAX_NAMES)
    return [name async for job in found for name in job["names"]]


async def _inherit(mongo: Mongo, job: JobDocument, definition: JobDefinition) -> JobDocument:
    """Take over schedules that other jobs have deleted and this one defines again: they may go on (S23)."""
    live = job.state.live
    names = [schedule.name for schedule in definition.schedules if schedule.name not in live]
    others = await mongo.jobs.find({"gone": {"$in": names}, "_id": {"$ne": job.name}}).to_list() if names else []
    for other in await load(mongo, others):
        newer = [name for name in names if _deleted_at(other.state, name) > _deleted_at(job.state, name)]
        if newer:
            job = JobDocument(
                job.document,
                job.state.inherit(other.state.schedules[name] for name in newer),
                {**job.entries, **{name: other.entries[name] for name in newer}},
                max(job.least_seq, other.document["seq"] + 1),
            )
    return job


def _deleted_at(job: JobState, name: str) -> int:
    """When a schedule was deleted; the beginning of time if it was not, or never existed."""
    known = job.schedules.get(name)
    return -1 if known is None or known.schedule.deleted_at is None else known.schedule.deleted_at


async def _missed(mongo: Mongo, needed: Mapping[str, int]) -> dict[str, list[tuple[int, int]]]:
    """Slots recorded as missed, by schedule, since a second."""
    found: dict[str, list[tuple[int, int]]] = {}
    for name, since in needed.items():
        which = {"schedule": name, "reason": Reason.MISSED.code, "last": {"$gte": since}}
        rows = mongo.decisions.find(which, {"first": 1, "last": 1})
        found[name] = [(row["first"], row["last"]) async for row in rows]
    return found


def _job_fields(before: Document, job: JobDefinition, source: str, now: int) -> Document:
    return {
        "source": source, "definition": digest_of(job), "version": before.get("version", 0) + 1,
        "queue": job.queue, "priority": job.priority, "requires": requirements_of(job),
        "keep_days": job.keep.days, "keep_runs": job.keep.runs, "prune_at": now,
        "created_at": before.get("created_at", now), "updated_at": now, "deleted_at": None,
    }  # fmt: skip


async def _commit_job(
    mongo: Mongo, job: JobDocument, job_fields: Document, now: int, dropped: Document | None = None
) -> None:
    """Commit a changed job."""
    new = {**job_fields, **fields(job, now)}
    if len(encode(new)) > _MAX_BYTES:
        raise InputError(f"job {job.name} with all its schedules is too large: divide it into several jobs")
    effects = Effects(dropped=dropped, decisions=recorded(job.state))
    wake_at = job.state.wake_at(now // MICRO)
    intent = Intent(job.document, wake_at, new, effects, least_seq=max(now, job.least_seq))
    if not await commit(mongo, [intent], now):
        raise LostRaceError
    await mongo.news.tell()


async def remove(mongo: Mongo, name: str, source: str, over: int | None = None) -> None:
    """Delete a job with its schedules; one that is gone already is no error."""
    await persist(partial(_remove, mongo, name, source, over))


async def _remove(mongo: Mongo, name: str, source: str, over: int | None) -> None:
    now = await mongo.now()
    document = await _settled_document(mongo, name, now)
    if document is None or "deleted_at" in document:
        return
    if document["source"] != source:
        raise other_source(name, document["source"], source)
    check_version(name, document["version"], over)
    (job,) = await load(mongo, [document])
    removed = replace(job, state=job.state.remove(now // MICRO))
    await _commit_job(mongo, removed, {"deleted_at": now}, now, {"job": name, "until": await _newest_run(mongo)})


async def _newest_run(mongo: Mongo) -> int:
    """The highest id that a run has so far."""
    counter = await mongo.counters.find_one({"_id": "runs"})
    return counter["last"] if counter else 0


async def change(mongo: Mongo, name: str, wanted: Change) -> Schedule:
    """Do what a person asks of one schedule."""
    return await persist(partial(_change, mongo, name, wanted))


async def _change(mongo: Mongo, name: str, wanted: Change) -> Schedule:
    now = await mongo.now()
    owner = await mongo.jobs.find_one({"names": name})
    if owner is None:
        raise no_such("schedule", name, await schedule_names(mongo))
    if await settle(mongo, [owner], now):
        raise LostRaceError
    (job,) = await load(mongo, [owner])
    if name in job.state.unreadable:
        raise ConflictError(f"{name} cannot be read: {job.state.unreadable[name].problem}")
    state = job.state.change(name, wanted, now // MICRO)
    await _commit_job(mongo, replace(job, state=state), {}, now)
    return state.schedules[name].schedule
