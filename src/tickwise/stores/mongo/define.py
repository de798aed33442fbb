"""Changes of what is defined, and a person's word on a schedule: `apply_change` on the job's document.

All of an operation is worked out before its one write, so a refusal leaves nothing behind.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from bson import encode
from pymongo.errors import DuplicateKeyError

from ...core.change import (
    Added,
    BackfillAsked,
    Change,
    Deleted,
    Paused,
    Resumed,
    Updated,
    apply_change,
)
from ...core.definition import Catchup, JobDefinition, ScheduleDefinition
from ...core.errors import ConflictError, InputError, no_such
from ...core.model import Schedule
from ...core.policy import catchup_mode
from ...core.reasons import Reason
from ..records import MICRO
from ..validation import check_needs, check_version
from .base import Document, Mongo
from .definitions import digest_of
from .fleet import pause_state
from .intents import Effects, Intent, LostRaceError, apply_all, commit, create, persist
from .jobs import JobDocument, ScheduleDocument, load, recorded

DISABLED = "enabled: false"
_MOST_NAMES = 1_000  # that are looked through for the nearest
_MOST_BYTES = 2_000_000  # of a job's document: it grows with its plans, and ends at 16 MB


async def define(mongo: Mongo, job: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    """Write a job as its source has it. What is written already is left alone (S28)."""
    await mongo.book.keep([job, *job.schedules])
    return await persist(partial(_define, mongo, job, source, over))


async def _define(mongo: Mongo, job: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    now = await mongo.now()
    document = await _read(mongo, job.name, now)
    known = document is not None and "deleted_at" not in document
    if document and known and document["source"] != source:
        raise ConflictError(
            f"{job.name} was defined by {document['source'] or 'another source'}: change or delete it there; from "
            "here it can be paused, triggered, rescheduled and backfilled"
        )
    check_version(job.name, document["version"] if document and known else 0, over)
    await _check_names(mongo, job)
    await _check_needs(mongo, job)
    fresh = {"_id": job.name, "seq": 0, "pause_seen": (await pause_state(mongo)).ended, "schedules": []}
    (held,) = await load(mongo, [document or fresh])
    same = known and held.document["definition"] == digest_of(job)
    changed = await _changed(mongo, held, job, now, anew=not same)
    if same and not changed:
        return ()
    gone = [name for name in changed if not held.schedules[name].live]
    dropped = {"schedules": gone, "until": await _newest_run(mongo)} if gone else None
    await _write(mongo, held, _fields(held.document, job, source, now), now, dropped)
    return tuple(held.schedules[name].state for name in changed)


async def _read(mongo: Mongo, name: str, now: int) -> Document | None:
    """A job's document without anything left to be done."""
    document = await mongo.jobs.find_one({"_id": name})
    if document and await apply_all(mongo, [document], now):
        raise LostRaceError
    return document


async def _check_names(mongo: Mongo, job: JobDefinition) -> None:
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
    wanted = {after.schedule for schedule in job.schedules for after in schedule.policy.after} - own
    while wanted:
        others = {"names": {"$in": sorted(wanted)}, "_id": {"$ne": job.name}}
        owners = await load(mongo, await mongo.jobs.find(others).to_list())
        states = {state.name: state for owner in owners for state in owner.states if state.name in wanted}
        for name, state in states.items():
            known[name] = [after.schedule for after in state.definition.policy.after]
        if wanted - states.keys():
            known |= {name: () for name in await schedule_names(mongo) if name not in known}
        wanted = {need for name in states for need in known[name]} - known.keys() - own
    check_needs(job, known)


async def schedule_names(mongo: Mongo) -> list[str]:
    """Some of all, to find the nearest to a wrong one."""
    found = mongo.jobs.find({"names": {"$exists": True}}, {"names": 1}).sort("_id").limit(_MOST_NAMES)
    return [name async for job in found for name in job["names"]]


async def _changed(mongo: Mongo, job: JobDocument, wanted: JobDefinition, now: int, *, anew: bool) -> list[str]:
    """Added, updated, deleted, switched on or off: the names of the schedules that changed."""
    definitions = {schedule.name: schedule for schedule in wanted.schedules}
    await _remember(mongo, job, definitions)
    before = {name: held.state for name, held in job.schedules.items()}
    for held in job.live:
        if held.state.name not in definitions:
            _apply(job, held.state.name, Deleted(held.state.definition.source), now)
    for name, definition in definitions.items():
        old = job.schedules.get(name)
        if old and old.live:
            _apply(job, name, Updated(definition, await _missed(mongo, old.state, definition, now // MICRO)), now)
        else:
            _apply(job, name, Added(definition), now)
        if anew or job.schedules[name].state != before.get(name):
            _switch(job, name, definition.source, now, enabled=wanted.enabled)
    return [name for name, held in job.schedules.items() if held.state != before.get(name)]


async def _remember(mongo: Mongo, job: JobDocument, wanted: Iterable[str]) -> None:
    """Take up deleted schedules of these names, whosever they were: they may be meant to go on (S23)."""
    names = [name for name in wanted if name not in job.schedules or not job.schedules[name].live]
    others = await mongo.jobs.find({"gone": {"$in": names}, "_id": {"$ne": job.name}}).to_list() if names else []
    for other in await load(mongo, others):
        for name, held in other.schedules.items():
            known = job.schedules.get(name)
            if name in names and not held.live and (known is None or _deleted_at(held) > _deleted_at(known)):
                job.schedules[name] = held
                job.least_seq = max(job.least_seq, other.document["seq"] + 1)
    job.unreadable.clear()  # they are defined anew, or go
    job.problems.clear()


def _deleted_at(held: ScheduleDocument) -> int:
    return held.state.deleted_at or 0


def _apply(job: JobDocument, name: str, change: Change, now: int) -> None:
    """Apply a change to a schedule in hand; it is looked at in the next pass."""
    held, second = job.schedules.get(name), now // MICRO
    changed = apply_change(held.state if held else None, change, second)
    (state,) = changed.schedules
    if held is None:
        held = job.schedules[name] = ScheduleDocument(state, digest_of(state.definition), now, now, wake_at=second)
    elif state != held.state:
        held.digest = digest_of(state.definition)
        held.state, held.updated_at, held.wake_at = state, now, second
    job.decisions += changed.decisions


def _switch(job: JobDocument, name: str, source: str, now: int, *, enabled: bool) -> None:
    """A job that is not enabled has its schedules paused."""
    paused = job.schedules[name].state.paused
    if not enabled and paused is None:
        _apply(job, name, Paused(source, DISABLED), now)
    elif enabled and paused is not None and paused.reason == DISABLED:
        _apply(job, name, Resumed(), now)


async def _missed(mongo: Mongo, state: Schedule, wanted: ScheduleDefinition, second: int) -> tuple[int, ...]:
    """Slots recorded as missed that turning catch-up on opens again (S25)."""
    if wanted.policy.catchup is not Catchup.ALL or catchup_mode(state) is not Catchup.SKIP:
        return ()
    since, times, found = second - wanted.policy.catchup_window, state.definition.times, set[int]()
    which = {"schedule": state.name, "reason": Reason.MISSED.code, "last": {"$gte": since}}
    async for row in mongo.decisions.find(which, {"first": 1, "last": 1}):
        slot = times.after(max(row["first"], since) - 1)
        while slot is not None and slot <= row["last"]:
            found.add(slot)
            slot = times.after(slot)
    return tuple(sorted(found))


def _fields(before: Document, job: JobDefinition, source: str, now: int) -> Document:
    keeps_all = job.keep.days is None and job.keep.runs is None
    return {
        "source": source, "definition": digest_of(job), "version": before.get("version", 0) + 1,
        "queue": job.queue, "priority": job.priority, "function": None if job.steps else job.name,
        "keep_days": job.keep.days, "keep_runs": job.keep.runs, "prune_at": None if keeps_all else now,
        "created_at": before.get("created_at", now), "updated_at": now, "deleted_at": None,
    }  # fmt: skip


async def _write(
    mongo: Mongo, job: JobDocument, fields: Document, now: int, dropped: Document | None = None
) -> None:
    """Make it true. A job is never looked at later than it would have been."""
    second = now // MICRO
    wakes = [wake for wake in (job.wake_at(second), job.document.get("wake_at")) if wake is not None]
    wake_at = min(wakes, default=None) if job.live or job.unreadable else None
    new = {**fields, **job.fields(second)}
    if len(encode(new)) > _MOST_BYTES:
        raise InputError(f"job {job.name} with all its schedules is too large: divide it into several jobs")
    effects = Effects(dropped=dropped, decisions=recorded(job, ()))
    intent = Intent(job.document, wake_at, new, effects, least_seq=max(now, job.least_seq))
    if job.document["seq"]:
        if not await commit(mongo, [intent], now):
            raise LostRaceError
    else:
        try:
            await create(mongo, intent, now)
        except DuplicateKeyError:
            raise LostRaceError from None
    await mongo.news.tell()


async def remove(mongo: Mongo, name: str, source: str, over: int | None = None) -> None:
    """Delete a job with its schedules; one that is gone already is no error."""
    await persist(partial(_remove, mongo, name, source, over))


async def _remove(mongo: Mongo, name: str, source: str, over: int | None) -> None:
    now = await mongo.now()
    document = await _read(mongo, name, now)
    if document is None or "deleted_at" in document:
        return
    if document["source"] != source:
        raise ConflictError(f"{name} was defined by {document['source'] or 'another source'}: delete it there")
    check_version(name, document["version"], over)
    (job,) = await load(mongo, [document])
    for held in job.live:
        _apply(job, held.state.name, Deleted(held.state.definition.source), now)
    job.unreadable.clear()
    await _write(mongo, job, {"deleted_at": now}, now, {"job": name, "until": await _newest_run(mongo)})


async def _newest_run(mongo: Mongo) -> int:
    """The id that no run of now is beyond."""
    counter = await mongo.counters.find_one({"_id": "runs"})
    return counter["last"] if counter else 0


async def change(mongo: Mongo, name: str, wanted: Change) -> Schedule:
    """A person's word on one schedule."""
    return await persist(partial(_change, mongo, name, wanted))


async def _change(mongo: Mongo, name: str, wanted: Change) -> Schedule:
    now = await mongo.now()
    owner = await mongo.jobs.find_one({"names": name})
    if owner is None:
        raise no_such("schedule", name, await schedule_names(mongo))
    if await apply_all(mongo, [owner], now):
        raise LostRaceError
    (job,) = await load(mongo, [owner])
    if name in job.problems:
        raise ConflictError(f"{name} cannot be read: {job.problems[name]}")
    if isinstance(wanted, BackfillAsked) and wanted.history_from is None:
        wanted = replace(wanted, history_from=owner.get("history_from"))
    _apply(job, name, wanted, now)
    held = job.schedules[name]
    held.updated_at, held.wake_at = now, now // MICRO
    await _write(mongo, job, {}, now)
    return held.state
