"""Values of the public API: what it takes, and what it returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Self, TypeVar

from ..core.cron.zone import zone
from ..core.errors import InputError, did_you_mean, nearest_word
from ..core.events import OnEvent, events_of_params, own_params
from ..core.handover import HandOver
from ..core.model import Pause, Schedule, Shadow
from ..core.timeparse import ceil_second, parse_duration, read_moment, to_datetime
from ..core.timeparse import instant as moment_instant
from ..stores.records import MICRO, Role, RunRow, ScheduleRow

EVERY_ROLE = (Role.TICKER, Role.WORKER)

Word = TypeVar("Word", bound=StrEnum)


def as_second(when: Any, now: int) -> int:
    """An instant as people give it: an aware datetime, a text with a date, a timedelta or duration from now."""
    match when:
        case timedelta():
            return now + max(0, round(when.total_seconds()))
        case datetime():
            return ceil_second(when)
        case str() if _begins_like_a_date(when):
            return moment_instant(read_moment(when), zone("UTC"))
        case str():
            return now + parse_duration(when)
    raise InputError(
        f"{when!r} is no time: give an aware datetime, a text such as 2026-03-29T02:30, or a duration"
    )


def _begins_like_a_date(text: str) -> bool:
    return text.strip()[4:5] == "-"


def as_word(kind: type[Word], given: str, what: str) -> Word:
    """A word as a member of its enumeration."""
    if given not in tuple(kind):
        near = nearest_word(str(given), kind)
        words = f"{given!r} is no {what}{did_you_mean(near)}: write {', '.join(kind)}"
        raise InputError(words, nearest=near)
    return kind(given)


def moment(micro: int | None) -> datetime | None:
    return None if micro is None else datetime.fromtimestamp(micro / MICRO, UTC)


def instant(second: int | None) -> datetime | None:
    return None if second is None else to_datetime(second)


def is_due(row: ScheduleRow, before: int) -> bool:
    """Whether it runs before a second: a store's filter also gives new schedules, which a pass looks at early."""
    return row.next_slot is not None and row.next_slot < before


def pause_fields(pause: Pause) -> dict[str, Any]:
    """A pause, with times as datetimes."""
    return {"at": instant(pause.at), "by": pause.by, "reason": pause.reason, "until": instant(pause.until)}


def shadow_fields(state: Schedule) -> dict[str, Any]:
    """Whether it is in shadow, since when, and when another scheduler was last heard."""
    shadow = state.shadow or Shadow(state.first_seen)
    last = shadow.fires[-1].at if shadow.fires else None
    return {
        "in_shadow": state.in_shadow, "since": to_datetime(shadow.since), "adopted_at": instant(shadow.adopted_at),
        "adopted_by": shadow.adopted_by, "last_fire": instant(last),
    }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleInfo:
    """A schedule, with times as datetimes."""

    name: str
    job: str
    kind: str
    times: str  # as written
    timezone: str
    means: str
    source: str
    paused: Mapping[str, Any] | None
    cursor: datetime
    next_run_at: datetime | None
    last_run_at: datetime | None
    last_run_id: str | None
    last_state: str | None = None  # of its last run
    last_enqueued_at: datetime | None
    created_at: datetime
    updated_at: datetime
    finished: bool = False
    waits_for_events: bool = False  # it runs on events, so no time is its next (S71)
    waits: str = ""  # what its oldest pending slot waits for
    moved_to: datetime | None = None  # where the next fire was moved by hand (S31)
    skips: tuple[Mapping[str, Any], ...] = ()  # slots to come that a person does not want (S66)
    blackouts: tuple[str, ...] = ()  # those that are for its job, and not over (S62)
    backfilling: bool = False
    ticking: str | None = None  # what finds its slots, store or local; none: as the nodes are set
    adopted: bool = False  # a person has said so, and not its definition
    shadow: Mapping[str, Any] | None = None  # what is known of another scheduler that starts the job (S80)
    unreadable: str = ""  # why it cannot be read, if so: then its times and state are not known

    @classmethod
    def of(cls, row: ScheduleRow, **more: Any) -> Self:
        state, definition = row.schedule, row.schedule.definition
        pause, ticking = state.paused, state.ticking or definition.policy.ticking
        waits_for_events = isinstance(definition.times, OnEvent)
        return cls(
            name=state.name, job=state.job, kind=str(definition.kind), times=definition.label,
            timezone=definition.times.zone.name, source=definition.source,
            means="cannot be read" if row.unreadable else definition.times.explain(),
            paused=pause_fields(pause) if pause else None,
            cursor=to_datetime(state.cursor), next_run_at=instant(row.next_slot),
            last_run_at=moment(row.last_run_at),
            last_run_id=row.last_run_id, last_enqueued_at=moment(row.last_enqueued_at),
            created_at=_sure(row.created_at), updated_at=_sure(row.updated_at),
            finished=row.next_slot is None
            and not (pause or state.blackouts or row.unreadable or waits_for_events),
            waits_for_events=waits_for_events,
            waits="" if state.deferral is None else state.deferral.reason.explain(state.deferral.detail),
            last_state=None if row.last_state is None else str(row.last_state),
            moved_to=None if state.moved is None else instant(state.moved.to),
            skips=tuple({"slot": to_datetime(s.slot), "by": s.by, "reason": s.reason} for s in state.skips),
            blackouts=tuple(each.name for each in state.blackouts),
            backfilling=state.backfill is not None,
            ticking=None if ticking is None else str(ticking), adopted=state.ticking is not None,
            shadow=None if state.shadow is None else shadow_fields(state), unreadable=row.unreadable, **more,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleItem(ScheduleInfo):
    """A schedule in a list, with how its last runs went."""

    recent: tuple[str, ...]  # states of the runs of its newest slots, the oldest first
    slots: tuple[Any, ...]  # what became of its newest slots (`SlotMark`), the oldest first
    late_ms: float | None  # how long after its time the last of them began


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDetail(ScheduleInfo):
    """A schedule with its definition, as the fields of a job file."""

    definition: Mapping[str, Any]
    warnings: tuple[str, ...]  # what may not have been meant so


def _sure(micro: int) -> datetime:
    return datetime.fromtimestamp(micro / MICRO, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run, with times as datetimes."""

    id: str
    job: str
    schedule: str | None
    slot: datetime | None
    trigger: str
    trigger_label: str
    state: str
    queue: str
    priority: int = 0
    attempt: int
    created_at: datetime
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    worker: str | None
    params: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Mapping[str, Any], ...] = ()  # that it runs for (S71)
    result: Any = None
    error: str = ""
    key: str | None = None
    cancelling: bool = False  # it was cancelled, and has not ended yet
    by: str = ""  # the person or token that made it
    waits: tuple[str, ...] = ()  # why a queued run has not started, in sentences; only from `runs.get`
    waits_for: str = ""  # what its steps wait for, while it is queued and needs no worker (S74)
    traceparent: str = ""  # of the caller that asked for it (W3C Trace Context)
    hand_over: "HandOverInfo | None" = None  # of its last attempt, if an engine executes it

    @classmethod
    def of(cls, row: RunRow, waits: tuple[str, ...] = ()) -> "RunInfo":
        return cls(
            id=row.id, job=row.job, schedule=row.schedule, slot=instant(row.slot), trigger=str(row.trigger),
            trigger_label=f"{row.trigger}:{row.label}" if row.label else str(row.trigger), state=str(row.state),
            queue=row.queue, attempt=row.attempt, created_at=_sure(row.created_at), due_at=_sure(row.due_at),
            started_at=moment(row.started_at), finished_at=moment(row.finished_at), worker=row.node,
            params=own_params(row.params or {}), events=events_of_params(row.params or {}),
            result=row.result, error=row.error, key=row.key, waits=waits,
            priority=row.priority, cancelling=row.cancelling, by=row.by, waits_for=row.waits_for,
            traceparent=row.traceparent,
            hand_over=None if row.hand_over is None else HandOverInfo.of(row.hand_over),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOverInfo:
    """Where an attempt is that an engine executes, without its secrets."""

    engine: str
    reference: str  # the engine's own id
    state: str  # intended, accepted, begun, ending
    address: str = ""  # where the engine shows it
    accepted_at: datetime | None = None  # when the engine said that it has it
    unheard_at: datetime | None = None  # when it said that it never heard of it: then it is sent again
    begun_at: datetime | None = None
    alive_at: datetime | None = None  # the last sign of life of the work
    silent_since: datetime | None = None  # since when the engine does not answer
    silence: str = ""  # its last words, or the lack of them

    @classmethod
    def of(cls, record: HandOver) -> "HandOverInfo":
        return cls(
            engine=record.engine, reference=record.reference, state=str(record.state), address=record.address,
            accepted_at=moment(record.accepted_at), unheard_at=moment(record.unheard_at),
            begun_at=moment(record.begun_at), alive_at=moment(record.alive_at),
            silent_since=moment(record.silent_since), silence=record.silence,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class UpcomingRun:
    """A run to come."""

    at: datetime
    schedule: str
    job: str
    slot: datetime
    kind: str = "start"
    timezone: str = "UTC"  # the schedule's
