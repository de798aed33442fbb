"""Retention: runs that their job does not keep any longer go, with all that hangs on them (S51)."""

from collections.abc import AsyncIterator

from ...core.definition import Keep
from ..job_document import Document, JobDocument
from ..records import MICRO
from .base import RedisServer
from .jobs import JobSnapshot, load, read_jobs
from .runs import read_runs

_HOUR = 3_600 * MICRO
_DAY = 24 * _HOUR
_JOBS_PER_PASS, _BATCH_SIZE = 50, 500


async def prune(server: RedisServer, most: int, keep: Keep) -> int:
    """Look at jobs whose turn it is, and remove at most so many runs."""
    now, removed = await server.now(), 0
    names = await server.command("ZRANGE", server.key("prune"), "-inf", now, "BYSCORE", "LIMIT", 0, _JOBS_PER_PASS)
    found = await read_jobs(server, names)
    loaded = await load(server, found.jobs.values(), found.pauses)
    for name in names:
        if removed >= most:
            break
        document = loaded[name].document
        own = Keep(document.get("keep_days"), document.get("keep_runs"))
        every = _HOUR if own else _DAY
        removed += await _prune_job(
            server, found.jobs[name], loaded[name], own or keep, most - removed, now, every
        )
    return removed


async def _prune_job(
    server: RedisServer, stored: JobSnapshot, job: JobDocument, keep: Keep, most: int, now: int, every: int
) -> int:
    """Remove runs of a job, and note when to look at it again."""
    before = now - max(keep.days or 1, 1) * _DAY
    unwanted = await _unwanted(server, job, keep, most, before) if keep else []
    again = now if len(unwanted) >= most else now + every
    done = await server.call("forget", job=job.name, seq=stored.seq, runs=unwanted, before=before, again=again)
    return int(done["removed"])


async def _unwanted(server: RedisServer, job: JobDocument, keep: Keep, most: int, before: int) -> list[str]:
    """Finished runs that are too old or too many, the oldest first; some of each schedule stay."""
    index, unwanted, spared = server.key("runs", job.name), list[str](), _SparedRuns(server, job)
    latest = await _newest_beyond(server, index, keep.runs) if keep.runs else None
    async for run in _runs_of(server, index):
        if run["created_at"] >= before or (latest is not None and run["_id"] > latest) or len(unwanted) == most:
            break
        if run.get("finished_at", before) < before and not await spared.has(run):
            unwanted.append(str(run["_id"]))
    return unwanted


async def _newest_beyond(server: RedisServer, index: str, count: int) -> int:
    """The id of the newest finished run that is beyond so many; 0 if there is none."""
    async for run in _runs_of(server, index, newest_first=True):
        count -= "finished_at" in run
        if count < 0:
            return int(run["_id"])
    return 0


async def _runs_of(server: RedisServer, index: str, *, newest_first: bool = False) -> AsyncIterator[Document]:
    first = 0
    while True:
        order = ["REV"] if newest_first else []
        ids = await server.command("ZRANGE", index, first, first + _BATCH_SIZE - 1, *order)
        for run in await read_runs(server, ids):
            yield run
        first += len(ids)
        if len(ids) < _BATCH_SIZE:
            return


class _SparedRuns:
    """The newest run and the newest success of each schedule, and whatever may be pending again."""

    def __init__(self, server: RedisServer, job: JobDocument) -> None:
        self._server = server
        self._job = job
        self._passed = {name: each.undecided_from for name, each in job.state.schedules.items()}
        self._newest: dict[str, set[int]] = {}

    async def has(self, run: Document) -> bool:
        if "slot" not in run:
            return False
        name = run["schedule"]
        if name not in self._newest:
            self._newest[name] = await self._newest_slots(name)
        return run["slot"] in self._newest[name] or run["slot"] > self._passed.get(name, run["slot"])

    async def _newest_slots(self, name: str) -> set[int]:
        last = await self._server.command("ZRANGE", self._server.key("slots", name), 0, 0, "REV", "WITHSCORES")
        found = await self._server.call("last_success", job=self._job.name, schedule=name)
        return {int(float(slot)) for _, slot in last} | ({int(found)} if found is not None else set())
