"""Jobs: read by scripts, made to `JobState`s, and moved by one script that compares and sets (`lua/commit.lua`).

A job's document is JSON (`job_document`). Beside it scripts keep what they write themselves: the lanes that are
held, when it is due, its newest success. `job_move` makes of a job before and after a change what `commit`
needs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ...core.errors import InputError
from ...core.facts_needed import failures_needed, progress_needed, successes_needed
from ...core.jobstate import EndedPause, facts_of
from ...core.model import Facts, Holder, RunProgress, Trigger
from ...core.requirements import LiveWorkers
from ..compare_and_set import LostRaceError
from ..job_document import Document, JobDocument, fields, present, read_state, recorded
from ..records import MICRO
from ..run_document import progress_of
from .base import RedisServer
from .plain_jobs import PlainJob, apply_moved, plain_job
from .runs import run_of

Write: TypeAlias = list[Any]  # a command, the key behind the store's prefix, and its arguments
_MAX_BYTES = 2_000_000  # of a job's document
_BY_SCRIPTS = ("last_success", "last_manual", "history_from", "wake_at")


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """A job as a script has read it: its document with what scripts have added, and who holds its lanes."""

    name: str
    seq: int = 0
    document: Document | None = None  # none: there never was one
    holders: tuple[Holder, ...] = ()

    @property
    def live(self) -> bool:
        return self.document is not None and "deleted_at" not in self.document


class JobSnapshots:
    """What one reading script has found."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.now: int = answer["now"]
        self.paused: bool = answer["paused"]
        self.pauses: int = answer["pauses"]  # that have ended
        self.jobs = {job["name"]: _stored(job) for job in answer["jobs"]}
        self.owners: Mapping[str, str] = answer.get("owners", {})  # jobs by their schedules
        self.gone: Mapping[str, str] = answer.get("gone", {})  # jobs that have deleted a schedule last

    def job(self, name: str) -> JobSnapshot:
        return self.jobs.get(name) or JobSnapshot(name)


def _stored(found: Mapping[str, str]) -> JobSnapshot:
    document: Document = json.loads(found["doc"])
    for name in _BY_SCRIPTS:
        if name in found:
            document[name] = int(found[name])
    if "moved" in found:
        apply_moved(document, found["moved"])
    return JobSnapshot(found["name"], int(found["seq"]), document, tuple(_holders(found)))


def _holders(found: Mapping[str, str]) -> Iterator[Holder]:
    lanes = sorted((int(field[5:]), value.split()) for field, value in found.items() if field[:5] == "lane:")
    for lane, (run, trigger, *asked) in lanes:
        yield Holder(run, lane, Trigger.of(trigger), bool(asked))


async def read_jobs(
    server: RedisServer, names: Iterable[str] = (), schedules: Iterable[str] = (), *, gone: bool = False
) -> JobSnapshots:
    """Jobs by name, and those that have these schedules, or have deleted them."""
    return JobSnapshots(await server.call("jobs_of", names=list(names), schedules=list(schedules), gone=gone))


async def load(server: RedisServer, jobs: Iterable[JobSnapshot], pauses: int) -> dict[str, JobDocument]:
    """Jobs with their states. Ends of pauses of everything reach their schedules here (S29)."""
    found = [(job.name, job.document) for job in jobs if job.document is not None]
    await server.cache.read(entry["definition"] for _, document in found for entry in document["schedules"])
    ended = await _ended_pauses(server, pauses)
    return {
        name: JobDocument(
            document,
            read_state(server.cache, name, document).end_pauses(ended[document["pause_seen"] :]),
            {entry["name"]: entry for entry in document["schedules"]},
        )
        for name, document in found
    }


async def _ended_pauses(server: RedisServer, count: int) -> list[EndedPause]:
    """All that have ended, in order; each is read once."""
    known = server.pauses
    if len(known) < count:
        for text in await server.command("LRANGE", server.key("pauses"), len(known), count - 1):
            at, _, _, until = json.loads(text)
            known.append(EndedPause(len(known) + 1, int(at), int(until)))
    return known[:count]


async def read_facts(
    server: RedisServer, jobs: Mapping[str, JobDocument], claimed: JobSnapshots, workers: LiveWorkers
) -> Facts:
    """What the verdicts of a pass depend on; mostly nothing more has to be read."""
    states = [job.state for job in jobs.values()]
    slots = {name: since for state in states for name, since in state.slots_needed().items()}
    needed = successes_needed(states)
    failing = {name: since * MICRO for state in states for name, since in failures_needed(state).items()}
    second = claimed.now // MICRO
    judged = {name: slots for state in states for name, slots in progress_needed(state, second).items()}
    found: dict[str, Any] = {"slots": {}, "successes": {}, "failures": {}, "progress": {}}
    if slots or needed or failing or judged:
        wanted = {"schedules": needed.schedules, "since": needed.since} if needed else {}
        found = await server.call("facts", slots=slots, failing=failing, judged=judged, **wanted)
    return facts_of(
        states,
        {name: job.holders for name, job in claimed.jobs.items()},
        workers,
        {name: frozenset(map(int, each)) for name, each in found["slots"].items()},
        {name: [int(each) for each in successes] for name, successes in found["successes"].items()},
        found["failures"],
        {name: _progress(runs) for name, runs in found["progress"].items()},
    )


def _progress(runs: Iterable[Mapping[str, str]]) -> dict[int, RunProgress]:
    """How far the runs of slots have come (S65)."""
    return {run["slot"]: progress_of(run) for run in map(run_of, runs)}


class JobMove(NamedTuple):
    """What `commit` needs to make a job as it is now, and what a node may remember of it then."""

    order: Document
    plain: PlainJob | None


def job_move(
    server: RedisServer, before: JobSnapshot, job: JobDocument, now: int, job_fields: Document | None = None
) -> JobMove:
    """A job as it is now, if it still is as it was read."""
    state, old = job.state, before.document or {}
    kept = {name: value for name, value in old.items() if name not in _BY_SCRIPTS}
    new = present({**kept, **(job_fields or {}), **fields(job, now)})
    live, names = "deleted_at" not in new, new.get("names", [])
    is_free = all(holder.lane == 0 for holder in before.holders)  # but for a lane that it has always
    plain = plain_job(server.cache, job, new, before.seq + 1) if is_free else None
    order = present({
        "name": before.name, "seq": before.seq, "doc": _text_of(before.name, new), "live": int(live),
        "plain": int(plain is not None), "local": int(new["local"]), "waiting": int(new["waiting"]),
        "lanes": new["lanes"], "names": " ".join(names),
        "wake_at": state.wake_at(now // MICRO) if live else None,
        "claims": sorted(set(names) - set(old.get("names", ()))) or None,
        "begins_to_wait": True if "held" in new and "held" not in old else None,
        "writes": list(_index_writes(before, new, live=live)) or None,
        "decisions": [list(decision.values()) for decision in recorded(state)] or None,
        "changed": sorted(state.changed) or None,
        "cancel_queued": sorted(state.cancel_queued) or None,
    })  # fmt: skip
    return JobMove(order, plain)


def _text_of(name: str, document: Document) -> str:
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    if len(text) > _MAX_BYTES:
        raise InputError(f"job {name} with all its schedules is too large: divide it into several jobs")
    return text


def _index_writes(before: JobSnapshot, new: Document, *, live: bool) -> Iterator[Write]:
    """What finds the job and its schedules, as far as that changes."""
    name, old = before.name, before.document or {}
    if live != before.live:
        yield ["ZADD", "jobs", 0, name] if live else ["ZREM", "jobs", name]
    if old.get("definition") != new["definition"]:
        yield ["ZADD", "prune", 0, name]
    was, now = set(old.get("names", ())), set(new.get("names", ()))
    for added in sorted(now - was):
        yield from (["HSET", "owner", added, name], ["ZADD", "schedules", 0, added], ["HDEL", "gone", added])
    for removed in sorted(was - now):
        yield from (["HDEL", "owner", removed], ["ZREM", "schedules", removed], ["HSET", "gone", removed, name])
    needed, needs = set(old.get("after", ())), set(new.get("after", ()))
    yield from (["SADD", f"after:{each}", name] for each in sorted(needs - needed))
    yield from (["SREM", f"after:{each}", name] for each in sorted(needed - needs))
    paused, pauses = _paused(old), _paused(new)
    yield from (["SADD", "paused", each] for each in sorted(pauses - paused))
    yield from (["SREM", "paused", each] for each in sorted(paused - pauses))
    if bool(old.get("waiting")) != new["waiting"]:
        yield ["SADD" if new["waiting"] else "SREM", "waiting_jobs", name]
    held, holds = _held(old), _held(new)
    if held != holds:
        yield ["HSET", "held_jobs", name, holds] if holds else ["HDEL", "held_jobs", name]


def _paused(document: Document) -> set[str]:
    if not document.get("paused"):
        return set()
    entries = (entry for entry in document["schedules"] if "deleted_at" not in entry)
    return {entry["name"] for entry in entries if entry.get("paused")}


def _held(document: Document) -> str:
    return f"{document['queue']} {document['requires']}" if document.get("held") else ""


async def commit_job(
    server: RedisServer, before: JobSnapshot, job: JobDocument, now: int, job_fields: Document | None = None
) -> None:
    """Move one job, or lose the race."""
    move = job_move(server, before, job, now, job_fields)
    answer = await server.call("commit", jobs=[move.order])
    if not answer["won"]:
        raise LostRaceError
    server.plain_jobs.remember({before.name: move.plain})
