"""A job and its schedules as one document, which stores without tables read whole and write back whole.

`read_state` makes a `JobState` of a document, and `fields` makes the fields of a document of one. Fields that have
no value may be left out. The definitions are kept elsewhere, by the digest of their text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..core.change import TOMBSTONE_SECONDS
from ..core.codec import decode_rest, encode_rest
from ..core.definition import DEFAULT_QUEUE
from ..core.jobstate import JobState, ScheduleState, UnreadableSchedule
from ..core.model import Schedule
from ..core.payload import UnreadableText, clip
from .digest_cache import DigestCache, digest_of
from .records import MICRO
from .unreadable import log_unreadable
from .validation import LONGEST_ERROR

Document: TypeAlias = dict[str, Any]
NUMBERS = ("cursor", "last_seen_slot", "last_missed_slot", "edited_at", "first_seen", "runs_made")
_MAX_REMEMBERED = 50  # schedules that were deleted


def present(fields: Document) -> Document:
    """The fields that have a value: what is left out takes no room, and no index covers it."""
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True)
class JobDocument:
    """A job's document as it was read, and its state, which changes until it is written."""

    document: Document
    state: JobState
    entries: Mapping[str, Document] = field(default_factory=dict)  # its schedules as they were read
    least_seq: int = 0  # that its document is to have: beyond that of a job whose schedules it takes over

    @property
    def name(self) -> str:
        return self.state.name


def read_state(cache: DigestCache, name: str, document: Document) -> JobState:
    """A job from its document; the texts of its definitions have been read."""
    schedules: dict[str, ScheduleState] = {}
    unreadable: dict[str, UnreadableSchedule] = {}
    for entry in document["schedules"]:
        last_slot = entry.get("last_slot")
        try:
            schedule = _schedule_from_entry(cache, name, entry)
        except UnreadableText as error:
            unreadable[entry["name"]] = UnreadableSchedule(str(error), last_slot, "deleted_at" not in entry)
            if "deleted_at" not in entry:
                log_unreadable(entry["name"], str(error))
        else:
            schedules[schedule.name] = ScheduleState(schedule, entry.get("wake_at"), last_slot)
    return JobState(
        name=name,
        queue=document.get("queue", DEFAULT_QUEUE),
        requires=document.get("requires", ""),
        schedules=schedules,
        unreadable=unreadable,
        pauses_seen=document["pause_seen"],
        woken_at=document.get("wake_at"),
        last_manual_start=document.get("last_manual"),
        last_success=document.get("last_success"),
        history_from=document.get("history_from"),
    )


def _schedule_from_entry(cache: DigestCache, job: str, entry: Document) -> Schedule:
    definition = cache.schedule(entry["definition"], entry["name"], job)
    others = decode_rest(entry.get("rest"))
    numbers: dict[str, Any] = {name: _whole(entry, name) for name in NUMBERS}
    return Schedule(definition, **numbers, deleted_at=entry.get("deleted_at"), **others)


def _whole(entry: Document, name: str) -> int:
    if isinstance(number := entry.get(name), int):
        return number
    raise UnreadableText(f"the schedule {entry['name']} cannot be read: its {name} is no whole number")


def fields(job: JobDocument, now: int, last_runs: Mapping[str, int] | None = None) -> Document:
    """What a job's document says of its schedules; `last_runs` are new ones, the newest of each schedule."""
    state, runs = job.state, last_runs or {}
    live, gone = state.live, _remembered(state, now // MICRO)
    names = [*live, *(name for name, each in state.unreadable.items() if each.live)]
    entries = [_entry(job, name, runs.get(name), now) for name in (*live, *gone)]
    return {
        "schedules": [*entries, *(job.entries[name] for name in state.unreadable)],
        "names": sorted(names) or None,
        "gone": sorted(gone) or None,
        "after": state.needs or None,
        "lanes": state.lanes,
        "paused": sum(schedule.paused is not None for schedule in live.values()),
        "waiting": state.waiting,
        "held": True if state.held else None,
        "local": state.is_local,
        "pause_seen": state.pauses_seen,
    }


def _remembered(job: JobState, second: int) -> list[str]:
    """Deleted schedules whose state is kept: for a while (S23), and some for longer."""
    found = [(at, name) for name, each in job.schedules.items() if (at := each.schedule.deleted_at) is not None]
    newest = sorted(found, key=lambda one: -one[0])
    young = (name for at, name in newest[_MAX_REMEMBERED:] if second - at <= TOMBSTONE_SECONDS)
    return [*(name for _, name in newest[:_MAX_REMEMBERED]), *young]


def _entry(job: JobDocument, name: str, last_run: int | None, now: int) -> Document:
    schedule, wake_at, last_slot = job.state.schedules[name]
    before = job.entries.get(name, {"created_at": now})
    if name in job.state.changed:
        before = {**before, "definition": digest_of(schedule.definition), "updated_at": now}
    return present({
        "name": name, "definition": before["definition"], "cursor": schedule.cursor,
        "last_seen_slot": schedule.last_seen_slot, "last_missed_slot": schedule.last_missed_slot,
        "edited_at": schedule.edited_at, "first_seen": schedule.first_seen, "runs_made": schedule.runs_made,
        "deleted_at": schedule.deleted_at, "paused": True if schedule.paused else None,
        "rest": encode_rest(schedule), "last_slot": last_slot, "last_run": last_run or before.get("last_run"),
        "wake_at": wake_at, "created_at": before["created_at"], "updated_at": before["updated_at"],
    })  # fmt: skip


def recorded(job: JobState) -> list[Document]:
    """Decisions as a document carries them."""
    return [
        {"schedule": made.schedule, "reason": made.reason.code, "first": made.first, "last": made.last,
         "count": made.count, "detail": clip(made.detail, LONGEST_ERROR)}
        for made in job.recorded
    ]  # fmt: skip
