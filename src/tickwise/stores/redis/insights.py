"""Reads for people: jobs and schedules. A page is asked for by the last name seen."""

from collections.abc import AsyncIterator, Sequence

from ...core.payload import UnreadableText
from ..document_rows import job_row, schedule_row, wake_at_of
from ..filter_texts import has_label, is_part_of_name
from ..job_document import Document, JobDocument
from ..records import JobRow, Page, ScheduleFilter, ScheduleRow
from .base import RedisServer
from .jobs import load, read_jobs
from .runs import read_runs

_BATCH_SIZE = 1_000  # names that are read at a time


async def next_due(server: RedisServer) -> int | None:
    """None while everything is paused."""
    found = await server.call("claim", limit=0)
    due: int | None = None if found["paused"] else found["next_due"]
    return due


async def job(server: RedisServer, name: str) -> JobRow | None:
    rows = await _job_rows(server, [name])
    return rows[0] if rows else None


async def jobs(server: RedisServer, after: str, limit: int) -> Page[JobRow]:
    names = await _names(server, "jobs", after, limit + 1)
    return Page(tuple(await _job_rows(server, names[:limit])), names[limit - 1] if len(names) > limit else None)


async def jobs_named(server: RedisServer, names: Sequence[str]) -> list[JobRow]:
    return await _job_rows(server, names)


async def _names(server: RedisServer, index: str, after: str, count: int) -> list[str]:
    """Names behind another, in order."""
    first = f"({after}" if after else "-"
    return list(await server.command("ZRANGE", server.key(index), first, "+", "BYLEX", "LIMIT", 0, count))


async def _job_rows(server: RedisServer, names: Sequence[str]) -> list[JobRow]:
    found = [each for each in (await read_jobs(server, names)).jobs.values() if each.live]
    documents = {each.name: each.document or {} for each in found}
    await server.cache.read(document["definition"] for document in documents.values())
    return [job_row(server.cache, name, document) for name, document in documents.items()]


async def schedule(server: RedisServer, name: str) -> ScheduleRow | None:
    rows = [row async for row in _schedule_rows(server, [name], ScheduleFilter())]
    return rows[0] if rows else None


async def schedules(server: RedisServer, wanted: ScheduleFilter, after: str, limit: int) -> Page[ScheduleRow]:
    rows: list[ScheduleRow] = []
    async for names in _candidates(server, wanted, after, limit):
        rows += [row async for row in _schedule_rows(server, names, wanted)]
        if len(rows) > limit:
            break
    return Page(tuple(rows[:limit]), rows[limit - 1].schedule.name if len(rows) > limit else None)


async def _candidates(
    server: RedisServer, wanted: ScheduleFilter, after: str, limit: int
) -> AsyncIterator[list[str]]:
    """Names that may match, in order: from the smallest index that has all of them."""
    few = await _few_names(server, wanted)
    if few is not None:
        names = sorted(name for name in few if name > after)
        for first in range(0, len(names), _BATCH_SIZE):
            yield names[first : first + _BATCH_SIZE]
        return
    is_whole = wanted == ScheduleFilter()
    batch_size = min(limit + 1, _BATCH_SIZE) if is_whole else _BATCH_SIZE
    while names := await _names(server, "schedules", after, batch_size):
        yield names
        after = names[-1]


async def _few_names(server: RedisServer, wanted: ScheduleFilter) -> list[str] | None:
    """Names of schedules of one job, of paused ones, or of jobs that are due; none without such a filter."""
    if wanted.names is not None:
        return sorted(wanted.names)
    if wanted.job is not None:
        found = (await read_jobs(server, [wanted.job])).jobs.get(wanted.job)
        return list((found.document or {}).get("names", ())) if found else []
    if wanted.paused:
        return list(await server.command("SMEMBERS", server.key("paused")))
    if wanted.due_before is not None or wanted.local:
        latest = "+inf" if wanted.due_before is None else f"({wanted.due_before}"
        indexes = ["due_local"] if wanted.local else ["due", "due_local"]
        return list(await server.call("due_names", indexes=indexes, latest=latest))
    return None


async def _schedule_rows(
    server: RedisServer, names: Sequence[str], wanted: ScheduleFilter
) -> AsyncIterator[ScheduleRow]:
    """The rows of these schedules that match, in order."""
    found = await read_jobs(server, schedules=names)
    loaded = await load(server, found.jobs.values(), found.pauses)
    if wanted.label is not None:
        await server.cache.read(job.document["definition"] for job in loaded.values())
    kept = [
        (name, job)
        for name in names
        if (job := loaded.get(found.owners.get(name, ""))) and _schedule_matches(server, name, job, wanted)
    ]
    runs = await _last_runs(server, [name for name, _ in kept])
    for name, job in kept:
        yield schedule_row(name, job, runs.get(name), paused=found.paused)


async def _last_runs(server: RedisServer, names: Sequence[str]) -> dict[str, Document]:
    if not names:
        return {}
    ids = dict(zip(names, await server.command("HMGET", server.key("last_runs"), *names), strict=True))
    runs = {str(run["_id"]): run for run in await read_runs(server, [each for each in ids.values() if each])}
    return {name: runs[each] for name, each in ids.items() if each in runs}


def _schedule_matches(server: RedisServer, name: str, job: JobDocument, wanted: ScheduleFilter) -> bool:
    entry = job.entries[name]
    wake_at = wake_at_of(job, name)
    return (
        wanted.job in (None, job.name)
        and wanted.paused in (None, bool(entry.get("paused")))
        and (wanted.text is None or is_part_of_name(wanted.text, name, job.name))
        and (wanted.due_before is None or (wake_at is not None and wake_at < wanted.due_before))
        and (not wanted.local or bool(job.document["local"]))
        and (not wanted.deadline or '"deadlines":' in (entry.get("rest") or ""))
        and _matches_definition(server, name, job, wanted)
    )


def _matches_definition(server: RedisServer, name: str, job: JobDocument, wanted: ScheduleFilter) -> bool:
    """Labels and sources are in the definitions; of one that cannot be read they are not known."""
    try:
        if wanted.source is not None:
            definition = server.cache.schedule(job.entries[name]["definition"], name, job.name)
            if definition.source != wanted.source:
                return False
        return wanted.label is None or has_label(
            server.cache.job(job.document["definition"], job.name).labels, wanted.label
        )
    except UnreadableText:
        return False
