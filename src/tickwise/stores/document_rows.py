"""Jobs and schedules as people see them, from the documents of stores without tables."""

from typing import Any

from ..core.definition import JobDefinition
from ..core.payload import UnreadableText
from ..core.states import RunState
from ..core.upcoming import next_wanted_slot
from .digest_cache import DigestCache
from .job_document import Document, JobDocument
from .records import JobRow, ScheduleRow
from .unreadable import unreadable_row


def job_row(cache: DigestCache, name: str, job: Document) -> JobRow:
    """A job from its document; the text of its definition has been read."""
    problem = ""
    try:
        definition = cache.job(job["definition"], name)
    except UnreadableText as error:
        definition, problem = JobDefinition(name), str(error)
    return JobRow(
        definition=definition, version=job["version"], source=job["source"],
        schedules=tuple(job.get("names", ())), created_at=job["created_at"], updated_at=job["updated_at"],
        history_from=job.get("history_from"), unreadable=problem,
    )  # fmt: skip


def wake_at_of(job: JobDocument, name: str) -> int | None:
    """When a schedule must be looked at. If no pass will look at its job, it has no wake-up."""
    wake_at: int | None = job.entries[name].get("wake_at") if "wake_at" in job.document else None
    return wake_at


def schedule_row(name: str, job: JobDocument, last: Document | None, *, paused: bool) -> ScheduleRow:
    """A schedule as the next pass will find it, with the document of its last run."""
    entry, wake_at = job.entries[name], wake_at_of(job, name)
    if name in job.state.unreadable:
        return unreadable_row(
            name, job.name, job.state.unreadable[name].problem, source=job.document["source"], wake_at=wake_at,
            created_at=entry["created_at"], updated_at=entry["updated_at"],
        )  # fmt: skip
    state = job.state.schedules[name].schedule
    run: dict[str, Any] = {}
    if last:
        run = {
            "last_run_id": str(last["_id"]), "last_run_at": last.get("started_at"),
            "last_enqueued_at": last["created_at"], "last_state": RunState(last["state"]),
        }  # fmt: skip
    return ScheduleRow(
        schedule=state, next_slot=None if paused else next_wanted_slot(state), wake_at=wake_at,
        created_at=entry["created_at"], updated_at=entry["updated_at"], **run,
    )  # fmt: skip
