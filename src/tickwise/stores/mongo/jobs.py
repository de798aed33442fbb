"""A job and its schedules: one document, read whole and written back whole."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.change import TOMBSTONE_SECONDS, Resumed, apply_change
from ...core.codec import decode_rest, encode_rest
from ...core.model import Decision, Schedule
from ...core.payload import UnreadableText, clip
from ...core.reasons import Reason
from ..validation import LONGEST_ERROR
from .base import Document, Mongo, present
from .fleet import ended_pauses

UNREADABLE_SECONDS = 60  # after which a schedule that cannot be read is looked at again
_NUMBERS = ("cursor", "last_seen_slot", "last_missed_slot", "edited_at", "first_seen", "runs_made")
_REMEMBERED = 50  # schedules that were deleted


@dataclass(slots=True)
class ScheduleDocument:
    """A schedule in hand."""

    state: Schedule
    digest: str  # of its definition
    created_at: int
    updated_at: int
    last_slot: int | None = None  # the newest that has a run, whatever retention has removed
    last_run: int | None = None  # the newest made
    wake_at: int | None = None

    @property
    def live(self) -> bool:
        return self.state.deleted_at is None


@dataclass(slots=True)
class JobDocument:
    """A job in hand: its document as read, and its schedules by name."""

    document: Document
    pause_seen: int  # the last pause of everything whose end has reached its schedules
    schedules: dict[str, ScheduleDocument] = field(default_factory=dict)
    unreadable: dict[str, Document] = field(default_factory=dict)  # schedules as they stand there
    problems: dict[str, str] = field(default_factory=dict)  # what is wrong with those
    decisions: list[Decision] = field(default_factory=list)  # made on the way
    least_seq: int = 0  # that its document is to have: beyond that of the job which had its schedules before

    @property
    def name(self) -> str:
        return str(self.document["_id"])

    @property
    def live(self) -> list[ScheduleDocument]:
        return [held for held in self.schedules.values() if held.live]

    @property
    def states(self) -> Iterator[Schedule]:
        return (held.state for held in self.live)

    def wake_at(self, second: int) -> int | None:
        """The least of its schedules'."""
        wakes = [held.wake_at for held in self.live if held.wake_at is not None]
        if any("deleted_at" not in each for each in self.unreadable.values()):
            wakes.append(second + UNREADABLE_SECONDS)
        return min(wakes, default=None)

    def fields(self, second: int) -> Document:
        """What its document has to say of its schedules."""
        live, gone = self.live, self._gone(second)
        names = [held.state.name for held in live]
        names += [name for name, each in self.unreadable.items() if "deleted_at" not in each]
        return {
            "schedules": [*map(_entry, [*live, *gone]), *self.unreadable.values()],
            "names": sorted(names) or None,
            "gone": sorted(held.state.name for held in gone) or None,
            "after": sorted({after.schedule for s in self.states for after in s.definition.policy.after}) or None,
            "lanes": max((state.definition.policy.max_active_runs for state in self.states), default=1),
            "paused": sum(state.paused is not None for state in self.states),
            "waiting": any(state.deferral or state.backfill for state in self.states),
            "local": bool(live) and all(state.ticked_locally for state in self.states),
            "pause_seen": self.pause_seen,
        }

    def _gone(self, second: int) -> list[ScheduleDocument]:
        """Deleted schedules that are still remembered: for a while (S23), and some for longer."""
        gone = [(held.state.deleted_at, held) for held in self.schedules.values()]
        dated = sorted(((at, held) for at, held in gone if at is not None), key=lambda each: -each[0])
        young = (held for at, held in dated[_REMEMBERED:] if second - at <= TOMBSTONE_SECONDS)
        return [*(held for _, held in dated[:_REMEMBERED]), *young]


def _entry(held: ScheduleDocument) -> Document:
    state = held.state
    return present({
        "name": state.name, "definition": held.digest, "cursor": state.cursor,
        "last_seen_slot": state.last_seen_slot, "last_missed_slot": state.last_missed_slot,
        "edited_at": state.edited_at, "first_seen": state.first_seen, "runs_made": state.runs_made,
        "deleted_at": state.deleted_at, "rest": encode_rest(state),
        "last_slot": held.last_slot, "last_run": held.last_run, "wake_at": held.wake_at,
        "created_at": held.created_at, "updated_at": held.updated_at,
    })  # fmt: skip


async def load(mongo: Mongo, documents: Iterable[Document]) -> list[JobDocument]:
    """Jobs from their documents. Ends of pauses of everything reach their schedules here (S29)."""
    jobs = [JobDocument(document, document["pause_seen"]) for document in documents]
    if not jobs:
        return []
    await mongo.book.read(entry["definition"] for job in jobs for entry in job.document["schedules"])
    for job in jobs:
        for entry in job.document["schedules"]:
            put(mongo, job, entry)
    pauses = await ended_pauses(mongo, min(job.pause_seen for job in jobs))
    for job in jobs:
        _end_pauses(job, pauses)
    return jobs


def put(mongo: Mongo, job: JobDocument, entry: Document) -> None:
    """Take a schedule in hand, if this version can read it."""
    name = entry["name"]
    try:
        definition = mongo.book.schedule(entry["definition"], name, job.name)
        others = decode_rest(entry.get("rest"))
        numbers: dict[str, Any] = {field: _whole(entry, field) for field in _NUMBERS}
    except UnreadableText as error:
        job.unreadable[name], job.problems[name] = entry, str(error)
        return
    state = Schedule(definition, **numbers, deleted_at=entry.get("deleted_at"), **others)
    job.schedules[name] = ScheduleDocument(
        state, entry["definition"], entry["created_at"], entry["updated_at"], entry.get("last_slot"),
        entry.get("last_run"), entry.get("wake_at"),
    )  # fmt: skip


def _whole(entry: Document, field: str) -> int:
    if isinstance(number := entry.get(field), int):
        return number
    raise UnreadableText(f"the schedule {entry['name']} cannot be read: its {field} is no whole number")


def _end_pauses(job: JobDocument, pauses: Sequence[Document]) -> None:
    for pause in pauses:
        if pause["_id"] <= job.pause_seen:
            continue
        job.pause_seen = pause["_id"]
        for held in job.live:
            since = max(pause["at"], held.state.first_seen)
            if since < pause["until"]:
                changed = apply_change(held.state, Resumed(since=since), pause["until"])
                held.state = changed.schedules[0]
                job.decisions += changed.decisions


def recorded(job: JobDocument, decisions: Iterable[Decision]) -> list[Document]:
    """Decisions as a plan carries them; of those with one identity the last (S7)."""
    broken = (Decision(name, Reason.BROKEN, 0, 0, 1, problem) for name, problem in job.problems.items())
    rows: dict[Any, Decision] = {each.identity: each for each in (*broken, *job.decisions, *decisions)}
    return [
        {"schedule": made.schedule, "reason": made.reason.code, "first": made.first, "last": made.last,
         "count": made.count, "detail": clip(made.detail, LONGEST_ERROR)}
        for made in rows.values()
    ]  # fmt: skip
