"""Runs that people and code ask for; and what people ask of one run: to end it, or to run it again."""

from collections.abc import Sequence
from contextlib import suppress

from ...core.errors import ConflictError, InputError, TickwiseError, no_such
from ...core.payload import UnreadableText, encode
from ...core.states import RunState
from ..job_document import Document, present
from ..records import MICRO, Enqueue, Enqueued
from .base import RedisServer
from .jobs import JobSnapshot, read_jobs

_BATCH_NAMES = 1_000  # names of jobs that are searched for the nearest


async def enqueue(server: RedisServer, asked: Sequence[Enqueue]) -> tuple[Enqueued, ...]:
    """All of them or none; a key that is taken gives the run that has it (S48)."""
    runs = await new_runs(server, asked)
    if not runs:
        return ()
    answer = await server.call("enqueue", runs=runs)
    if "gone" in answer:
        raise await no_such_job(server, answer["gone"])
    if "active" in answer:
        raise _is_active(answer)
    now = int(answer["now"])
    return tuple(
        Enqueued(id_, True, now, run["queue"], run["priority"]) if new else Enqueued(id_, new)
        for (id_, new), run in zip(answer["runs"], runs, strict=True)
    )


async def new_runs(server: RedisServer, asked: Sequence[Enqueue]) -> list[Document]:
    """The runs to insert; refused if a job is not there, or does not take its params."""
    jobs = (await read_jobs(server, {one.job for one in asked})).jobs if asked else {}
    for one in asked:
        if one.job not in jobs or not jobs[one.job].live:
            raise await no_such_job(server, one.job)
    await server.cache.read(_document(job)["definition"] for job in jobs.values())
    for one in asked:
        with suppress(UnreadableText):  # then nobody knows what it takes
            server.cache.job(_document(jobs[one.job])["definition"], one.job).check_params(one.params or {})
    return [_new_run(one, _document(jobs[one.job])) for one in asked]


def _document(job: JobSnapshot) -> Document:
    return job.document or {}


async def no_such_job(server: RedisServer, name: str) -> InputError:
    known = await server.command("ZRANGE", server.key("jobs"), 0, _BATCH_NAMES - 1)
    return no_such("job", name, known, ": define it first")


def _is_active(answer: Document) -> ConflictError:
    others = f"run {answer['holders']}" if answer["holders"] else "another that you ask for"
    return ConflictError(
        f"{answer['active']} is active: {others} is in the way; wait for it, cancel it, or ask to run beside it"
    )


def _new_run(one: Enqueue, job: Document) -> Document:
    by_hand = one.trigger.takes_lane and not one.allow_overlap
    return present({
        "job": one.job, "trigger": str(one.trigger), "definition": job["definition"],
        "queue": one.queue or job["queue"], "priority": job["priority"] if one.priority is None else one.priority,
        "requires": job["requires"], "key": one.key, "key_ttl": one.key_ttl,
        "params": None if one.params is None else encode(dict(one.params), "params"),
        "not_before": None if one.at is None else one.at * MICRO, "by": one.by or None,
        "auto_remove": 1 if one.auto_remove else None, "by_hand": by_hand or None,
        "traceparent": one.traceparent or None,
    })  # fmt: skip


async def cancel(server: RedisServer, run: int) -> RunState:
    """A queued run ends at once, a running one is asked to."""
    answer = await server.call("cancel", run=run)
    if "state" not in answer:
        raise _no_such_run(run)
    return RunState(answer["state"])


async def wake(server: RedisServer, run: int) -> None:
    await server.call("wake_run", run=run)


def _no_such_run(run: int) -> InputError:
    return InputError(f"there is no run {run}: it was never made, or is not kept any longer")


async def retry(server: RedisServer, run: int, again: Sequence[str]) -> None:
    """Queue a failed, lost or cancelled run again, on a lane unless code had enqueued it (S41)."""
    answer = await server.call("retry", run=run, again=list(again))
    if "retried" not in answer:
        raise _refusal_of_retry(run, answer)


def _refusal_of_retry(run: int, answer: Document) -> TickwiseError:
    if "active" in answer:
        return _is_active(answer)
    if "holder" in answer:
        return ConflictError(f"run {answer['holder']} has the key {answer['key']!r} meanwhile")
    if not answer["state"]:
        return _no_such_run(run)
    return ConflictError(f"run {run} is {answer['state']}: only a failed, lost or cancelled run can be put back")
