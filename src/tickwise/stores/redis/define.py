"""Definitions, and what people ask of one schedule: each is one move of the job."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ...core import job_sources
from ...core.change import Change
from ...core.definition import JobDefinition
from ...core.errors import ConflictError, no_such, other_source
from ...core.job_sources import check_extension, restore, scheduled
from ...core.jobstate import JobState
from ...core.model import Schedule
from ...core.reasons import Reason
from ...core.requirements import requirements_of
from ..compare_and_set import persist
from ..digest_cache import digest_of
from ..job_document import Document, JobDocument
from ..records import MICRO
from ..validation import check_needs, check_version, needed_schedules
from .base import RedisServer
from .decisions import decisions_of
from .enqueue import no_such_job
from .jobs import JobSnapshot, JobSnapshots, commit_job, load, read_jobs

_MAX_NAMES = 1_000  # that are searched for the nearest


async def define(server: RedisServer, job: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    """Write a job as its source has it. What is written already is left alone (S28)."""
    await server.cache.keep([job, *job.schedules])
    return await persist(partial(_define, server, job, source, over))


async def _define(server: RedisServer, job: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    found = await _read_with_owners(server, job)
    stored, now, second = found.job(job.name), found.now, found.now // MICRO
    document = stored.document or {"schedules": [], "pause_seen": found.pauses}
    if stored.live and document["source"] != source:
        raise other_source(job.name, document["source"], source)
    check_version(job.name, document["version"] if stored.live else 0, over)
    _check_owners(found, job)
    loaded = await _load(server, found, replace(stored, document=document), job)
    before = loaded.state
    if stored.document and not stored.live:
        removed_at, owner = document["deleted_at"] // MICRO, document["source"]
        before = restore(await _without_taken(server, before), removed_at, owner, second)
    missed = await _missed_ranges(server, before.reopened_by(job, second))
    state = before.redefine(job, source, second, missed)
    await _check_dependencies(server, scheduled(state))
    if stored.live and document["definition"] == digest_of(job) and not (state.changed or state.cancel_queued):
        return ()
    await commit_job(server, stored, replace(loaded, state=state), now, _job_fields(document, job, source, now))
    return tuple(state.schedules[name].schedule for name in state.changed)


def _job_fields(before: Document, job: JobDefinition, source: str, now: int) -> Document:
    return {
        "source": source, "definition": digest_of(job), "version": before.get("version", 0) + 1,
        "queue": job.queue, "priority": job.priority, "requires": requirements_of(job),
        "keep_days": job.keep.days, "keep_runs": job.keep.runs, "created_at": before.get("created_at", now),
        "updated_at": now, "deleted_at": None,
    }  # fmt: skip


async def _read_with_owners(server: RedisServer, job: JobDefinition) -> JobSnapshots:
    """A job, and the jobs that have or had schedules that it defines."""
    return await read_jobs(server, [job.name], [schedule.name for schedule in job.schedules], gone=True)


def _check_owners(found: JobSnapshots, job: JobDefinition) -> None:
    """A schedule belongs to one job (S26)."""
    for name in (schedule.name for schedule in job.schedules):
        owner = found.owners.get(name, job.name)
        if owner != job.name:
            raise ConflictError(
                f"{name} is a schedule of the job {owner}: give the one of {job.name} another name"
            )


async def _load(server: RedisServer, found: JobSnapshots, stored: JobSnapshot, job: JobDefinition) -> JobDocument:
    """A job, with schedules that other jobs have deleted and this one defines again: they may go on (S23)."""
    loaded = await load(server, [*found.jobs.values(), stored], found.pauses)
    own = loaded[job.name]
    for name in (schedule.name for schedule in job.schedules if schedule.name not in own.state.live):
        other = loaded.get(found.gone.get(name, job.name), own)
        if other is not own and _deleted_at(other.state, name) > _deleted_at(own.state, name):
            inherited = own.state.inherit([other.state.schedules[name]])
            own = replace(own, state=inherited, entries={**own.entries, name: other.entries[name]})
    return own


def _deleted_at(job: JobState, name: str) -> int:
    """When a schedule was deleted; the beginning of time if it was not, or never existed."""
    known = job.schedules.get(name)
    return -1 if known is None or known.schedule.deleted_at is None else known.schedule.deleted_at


async def _without_taken(server: RedisServer, job: JobState) -> JobState:
    """Without deleted schedules whose names other jobs have by now."""
    taken = (await read_jobs(server, schedules=job.schedules)).owners
    kept = {name: each for name, each in job.schedules.items() if taken.get(name, job.name) == job.name}
    return job._replace(schedules=kept)


async def _missed_ranges(server: RedisServer, needed: Mapping[str, int]) -> dict[str, list[tuple[int, int]]]:
    """Slots recorded as missed, by schedule, since a second."""
    return {
        name: [
            (row.first, row.last)
            for row in await decisions_of(server, name)
            if row.reason is Reason.MISSED and row.last >= since
        ]
        for name, since in needed.items()
    }


async def _check_dependencies(server: RedisServer, job: JobDefinition) -> None:
    """What `after` names must exist, and must not lead back (S35): followed as far as it goes."""
    known: dict[str, Sequence[str]] = {}
    own = {schedule.name for schedule in job.schedules}
    wanted = {need for schedule in job.schedules for need in needed_schedules(schedule)} - own
    while wanted:
        found = await read_jobs(server, schedules=sorted(wanted))
        others = await load(server, (each for name, each in found.jobs.items() if name != job.name), found.pauses)
        live = {
            name: each for other in others.values() for name, each in other.state.live.items() if name in wanted
        }
        for name, schedule in live.items():
            known[name] = needed_schedules(schedule.definition)
        if wanted - live.keys():
            known |= {name: () for name in await schedule_names(server) if name not in known}
        wanted = {need for name in live for need in known[name]} - known.keys() - own
    check_needs(job, known)


async def schedule_names(server: RedisServer) -> list[str]:
    """Names of schedules, to find the nearest to a wrong one."""
    return list(await server.command("ZRANGE", server.key("schedules"), 0, _MAX_NAMES - 1))


async def extend(server: RedisServer, extra: JobDefinition, source: str, over: int | None) -> tuple[Schedule, ...]:
    """Write the schedules that a source has added to a job of another."""
    await server.cache.keep(extra.schedules)
    return await persist(partial(_extend, server, extra, source, over))


async def _extend(
    server: RedisServer, extra: JobDefinition, source: str, over: int | None
) -> tuple[Schedule, ...]:
    found = await _read_with_owners(server, extra)
    stored, now = found.job(extra.name), found.now
    if stored.document is None or not stored.live:
        raise await no_such_job(server, extra.name)
    document = stored.document
    check_extension(extra.name, document["source"], source)
    check_version(extra.name, document["version"], over)
    _check_owners(found, extra)
    loaded = await _load(server, found, stored, extra)
    missed = await _missed_ranges(server, loaded.state.reopened_by(extra, now // MICRO))
    await server.cache.read([document["definition"]])
    enabled = replace(extra, enabled=server.cache.job(document["definition"], extra.name).enabled)
    state = job_sources.extend(loaded.state, enabled, source, now // MICRO, missed)
    await _check_dependencies(server, scheduled(state))
    if state.changed or state.cancel_queued:
        job_fields = {"version": document["version"] + 1, "updated_at": now}
        await commit_job(server, stored, replace(loaded, state=state), now, job_fields)
    return tuple(state.schedules[name].schedule for name in state.changed)


async def reassign(server: RedisServer, name: str, source: str, to: str) -> bool:
    """Give another source what a source has written of a job."""
    return await persist(partial(_reassign, server, name, source, to))


async def _reassign(server: RedisServer, name: str, source: str, to: str) -> bool:
    found = await read_jobs(server, [name])
    stored = found.job(name)
    if stored.document is None or not stored.live:
        return False
    document = stored.document
    loaded = (await load(server, [stored], found.pauses))[name]
    state = job_sources.reassign(loaded.state, source, to)
    if document["source"] != source and not state.changed:
        return False
    await server.cache.keep([state.schedules[each].schedule.definition for each in sorted(state.changed)])
    owner = to if document["source"] == source else document["source"]
    job_fields = {"source": owner, "version": document["version"] + 1, "updated_at": found.now}
    await commit_job(server, stored, replace(loaded, state=state), found.now, job_fields)
    return True


async def remove(server: RedisServer, name: str, source: str, over: int | None = None) -> None:
    """Delete a job with its schedules; one that is gone already is no error."""
    await persist(partial(_remove, server, name, source, over))
    while await server.command("HEXISTS", server.key("dropping"), name):
        await server.call("drop", name=name)


async def _remove(server: RedisServer, name: str, source: str, over: int | None) -> None:
    found = await read_jobs(server, [name])
    stored = found.job(name)
    if stored.document is None or not stored.live:
        return
    if stored.document["source"] != source:
        raise other_source(name, stored.document["source"], source)
    check_version(name, stored.document["version"], over)
    loaded = (await load(server, [stored], found.pauses))[name]
    removed = replace(loaded, state=loaded.state.remove(found.now // MICRO))
    await commit_job(server, stored, removed, found.now, {"deleted_at": found.now})


async def change(server: RedisServer, name: str, wanted: Change) -> Schedule:
    """Do what a person asks of one schedule."""
    return await persist(partial(_change, server, name, wanted))


async def _change(server: RedisServer, name: str, wanted: Change) -> Schedule:
    found = await read_jobs(server, schedules=[name])
    if name not in found.owners:
        raise no_such("schedule", name, await schedule_names(server))
    stored = found.jobs[found.owners[name]]
    job = (await load(server, [stored], found.pauses))[stored.name]
    if name in job.state.unreadable:
        raise ConflictError(f"{name} cannot be read: {job.state.unreadable[name].problem}")
    state = job.state.change(name, wanted, found.now // MICRO)
    await commit_job(server, stored, replace(job, state=state), found.now)
    return state.schedules[name].schedule
