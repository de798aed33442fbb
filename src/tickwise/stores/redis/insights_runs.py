"""Reads for people: runs, with what hangs on them. All runs are ordered by their ids, the newest first.

A filter reads from the smallest index that has all runs it may match. If that is short, it is sorted here; else
the runs of the job, or all runs, are read batch by batch until the page is full.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence

from ...core.definition import JobDefinition
from ...core.run_query import matches
from ...core.states import ACTIVE, FINAL, RunState
from ..filter_texts import has_words, is_part_of_name, run_number_in
from ..job_document import Document
from ..records import AttemptRow, LogPart, Page, RunFilter, RunRow, StepReport
from ..run_document import attempt_of, definition_of_run
from .base import RedisServer
from .runs import read_runs, run_rows

BATCH_SIZE, _MAX_SORTED = 500, 20_000


async def run(server: RedisServer, id_: int) -> RunRow | None:
    rows = await run_rows(server, await read_runs(server, [id_]))
    return rows[0] if rows else None


async def definition_of(server: RedisServer, id_: int) -> JobDefinition | None:
    return await definition_of_run(server.cache, await read_runs(server, [id_]))


async def runs(server: RedisServer, wanted: RunFilter, after: int | None, limit: int) -> Page[RunRow]:
    """The text of a filter may be the id of a run."""
    found: list[Document] = []
    async for batch in _candidates(server, wanted, after, limit):
        found += [run for run in await read_runs(server, batch) if _run_matches(run, wanted)]
        if len(found) > limit:
            break
    rows = await run_rows(server, found[:limit])
    return Page(tuple(rows), rows[-1].id if len(found) > limit else None)


async def _candidates(
    server: RedisServer, wanted: RunFilter, after: int | None, limit: int
) -> AsyncIterator[list[str]]:
    """Ids that may match, the newest first."""
    few = await _few_ids(server, wanted)
    if few is not None:
        ids = sorted((id_ for id_ in few if after is None or int(id_) < after), key=int, reverse=True)
        for first in range(0, len(ids), BATCH_SIZE):
            yield ids[first : first + BATCH_SIZE]
        return
    index = server.key("runs") if wanted.job is None else server.key("runs", wanted.job)
    size = limit + 1 if wanted == RunFilter(job=wanted.job) else BATCH_SIZE
    while True:
        last = "+inf" if after is None else f"({after}"
        ids = await server.command("ZRANGE", index, last, "-inf", "BYSCORE", "REV", "LIMIT", 0, size)
        if not ids:
            return
        yield ids
        after = int(ids[-1])


async def _few_ids(server: RedisServer, wanted: RunFilter) -> set[str] | None:
    """The shortest list of ids that has all runs a filter may match, if one is short."""
    if wanted.waits:
        return set(await server.command("SMEMBERS", server.key("begun")))
    indexes = []
    if wanted.schedule is not None:
        slots = (wanted.slot, wanted.slot) if wanted.slot is not None else ("-inf", "+inf")
        indexes.append([(server.key("slots", wanted.schedule), *slots)])
    if wanted.states:
        indexes.append([(_of_state(server, state), "-inf", "+inf") for state in wanted.states])
    if wanted.since is not None:
        indexes.append([(server.key("touched"), wanted.since, "+inf")])
    sizes = [(await _size(server, index), n) for n, index in enumerate(indexes)]
    size, shortest = min(sizes, default=(_MAX_SORTED + 1, 0))
    if size > _MAX_SORTED:
        return None
    found = set[str]()
    for key, first, last in indexes[shortest]:
        found.update(await server.command("ZRANGE", key, first, last, "BYSCORE"))
    return found


async def _size(server: RedisServer, index: Sequence[tuple[str, object, object]]) -> int:
    return sum([await server.command("ZCOUNT", key, first, last) for key, first, last in index])


def _of_state(server: RedisServer, state: RunState) -> str:
    if state in ACTIVE:
        return server.key("queued" if state is RunState.QUEUED else "leases")
    return server.key("finished", str(state))


def _run_matches(run: Document, wanted: RunFilter) -> bool:
    return (
        wanted.job in (None, run["job"])
        and wanted.schedule in (None, run.get("schedule"))
        and (not wanted.states or run["state"] in wanted.states)
        and (not wanted.triggers or run["trigger"] in wanted.triggers)
        and wanted.queue in (None, run["queue"])
        and wanted.key in (None, run.get("key"))
        and wanted.slot in (None, run.get("slot"))
        and (wanted.since is None or run["created_at"] >= wanted.since)
        and (wanted.until is None or run["created_at"] < wanted.until)
        and (wanted.text is None or _has_text(run, wanted))
        and (wanted.jobs is None or run["job"] in wanted.jobs)
        and (wanted.schedules is None or run.get("schedule") in wanted.schedules)
        and (wanted.error is None or matches(wanted.error, run.get("error", "")))
        and has_words(wanted.words, str(run["_id"]), run.get("error", ""), run["job"], run.get("schedule"))
        and (not wanted.waits or "waits_for" in run)
    )


def _has_text(run: Document, wanted: RunFilter) -> bool:
    return run["_id"] == run_number_in(wanted) or is_part_of_name(
        wanted.text or "", run["job"], run.get("schedule")
    )


async def attempts(server: RedisServer, id_: int) -> tuple[AttemptRow, ...]:
    """Those before the last, in order."""
    found = (json.loads(text) for text in await server.command("LRANGE", server.key("attempts", str(id_)), 0, -1))
    return tuple(attempt_of(_attempt(each)) for each in found)


def _attempt(kept: Mapping[str, str]) -> Document:
    started = kept.get("started_at")
    return {
        "number": int(kept["number"]), "event": kept["event"], "node": kept.get("node"), "error": kept["error"],
        "started_at": None if started is None else int(started), "finished_at": int(kept["finished_at"]),
    }  # fmt: skip


async def steps(server: RedisServer, id_: int) -> tuple[StepReport, ...]:
    """In the order in which they were first reported."""
    found: dict[str, str] = await server.command("HGETALL", server.key("steps", str(id_)))
    placed = sorted((text.split(" ", 1) for text in found.values()), key=lambda pair: int(pair[0]))
    return tuple(StepReport(**json.loads(report)) for _, report in placed)


async def log(server: RedisServer, id_: int, after: int | None, limit: int) -> Page[LogPart]:
    """In the order of the numbers of its parts."""
    found = await server.call("log", run=str(id_), after=after or 0, limit=limit + 1)
    parts = tuple(LogPart(part["step"], part["stream"], part["text"], int(part["at"])) for part in found[:limit])
    return Page(parts, found[limit - 1]["number"] if len(found) > limit else None)


async def timeline(server: RedisServer, start: int, end: int, limit: int) -> tuple[RunRow, ...]:
    """Of too many, those that are under way still, and those that ended last."""
    active = set(await server.command("ZRANGE", server.key("leases"), 0, -1))
    active.update(await server.command("SMEMBERS", server.key("begun")))
    live = [
        run for run in await read_in_batches(server, sorted(active, key=int)) if run.get("started_at", end) < end
    ]
    found = sorted(live, key=lambda run: (run["started_at"], run["_id"]))[-limit:]
    first = 0
    while len(found) < limit:
        ids = await server.command(
            "ZRANGE", server.key("touched"), "+inf", start, "BYSCORE", "REV", "LIMIT", first, BATCH_SIZE
        )
        touched = await read_runs(server, ids)
        ended = [run for run in touched if "finished_at" in run and run["finished_at"] >= start]
        found += [run for run in ended if run.get("started_at", end) < end][: limit - len(found)]
        first += len(ids)
        if not ids:
            break
    return tuple(await run_rows(server, sorted(found, key=lambda run: (run["started_at"], run["_id"]))))


async def ended(server: RedisServer, jobs: Sequence[str], since: int, limit: int) -> tuple[RunRow, ...]:
    found: list[Document] = []
    for state in sorted(FINAL):
        found += await _ended_as(server, state, set(jobs), since, limit)
    in_order = sorted(found, key=lambda run: (run["finished_at"], run["_id"]))
    return tuple(await run_rows(server, in_order[:limit]))


async def _ended_as(
    server: RedisServer, state: RunState, jobs: set[str], since: int, limit: int
) -> list[Document]:
    """The first so many of one state."""
    found: list[Document] = []
    first, key = 0, server.key("finished", str(state))
    while len(found) < limit:
        ids = await server.command("ZRANGE", key, since, "+inf", "BYSCORE", "LIMIT", first, BATCH_SIZE)
        found += [run for run in await read_runs(server, ids) if run["job"] in jobs and "finished_at" in run]
        first += len(ids)
        if not ids:
            break
    return found


async def read_in_batches(server: RedisServer, ids: Sequence[str]) -> list[Document]:
    found: list[Document] = []
    for first in range(0, len(ids), BATCH_SIZE):
        found += await read_runs(server, ids[first : first + BATCH_SIZE])
    return found
