"""A past with another definition beside what happened: slot by slot, and in sum."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..core.errors import InputError
from ..core.model import Schedule
from ..core.reasons import Reason
from ..core.simulation.past import Past, circumstances_of
from ..core.simulation.replay import Replay, SlotKey, replay
from ..core.simulation.simulate import SlotReport
from ..core.slot_history import SlotRecord, SlotState
from ..core.slots import due_at
from ..core.timeparse import iso, to_datetime
from ..sources.defaults import Defaults
from ..stores.contract import Store
from ..stores.records import MICRO
from ..stores.statistics import RecentSlots
from .calendars import bound_job
from .definitions import StoredJob, with_schedule_fields
from .past import MAX_SLOTS, read_past
from .slots import SlotReader

_YEAR = 366 * 86_400


@dataclass(frozen=True, slots=True)
class SlotFate:
    """What became of a slot, or would have: `ran`, `skipped`, `waiting`, or `none` if it was no slot."""

    state: str
    reason: str | None = None
    text: str = ""
    began: datetime | None = None  # when its run was made
    late: int = 0  # seconds after it was due


@dataclass(frozen=True, slots=True)
class ReplayedSlot:
    """One slot in both."""

    schedule: str
    slot: datetime
    was: SlotFate
    would: SlotFate
    estimated: bool  # it had no run then: its run time is the median of the others


@dataclass(frozen=True, slots=True)
class ReplaySum:
    """All slots of one side, counted."""

    ran: int
    skipped: int
    waiting: int
    reasons: Mapping[str, int]  # of those without a run
    longest_wait: int  # seconds from when a slot was due to its run
    most_at_once: int  # runs under way


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedPast:
    """How it went, and how it would have gone."""

    schedule: str
    start: datetime
    end: datetime
    changes: Mapping[str, Any]
    was: ReplaySum
    would: ReplaySum
    gained: int  # slots that would have run and did not
    lost: int  # slots that ran and would not have
    slots: tuple[ReplayedSlot, ...]
    notes: tuple[str, ...]


async def replay_schedule(
    store: Store,
    stored: StoredJob,
    name: str,
    start: int,
    end: int,
    changes: Mapping[str, Any],
    defaults: Defaults,
) -> ReplayedPast:
    """Play the planner over a past of a job, one schedule of which has other fields."""
    now = await store.now() // MICRO
    if not start < end <= now + 1:
        raise InputError(f"to: a past goes from one time to a later one up to now, not {iso(start)} to {iso(end)}")
    if end - start > _YEAR:
        raise InputError("to: a replay covers at most a year: bring from and to closer together")
    changed = await bound_job(store, with_schedule_fields(stored, name, changes, defaults))
    past = await read_past(store, stored, start, end)
    was = await _fates(store, stored, past)
    circumstances = circumstances_of(past)
    would = await asyncio.to_thread(replay, past, changed, circumstances)
    unchanged = await asyncio.to_thread(replay, past, past.job, circumstances)
    return _compared(name, past, changes, was, would, _notes(past, was, would, unchanged))


async def _fates(store: Store, stored: StoredJob, past: Past) -> dict[SlotKey, SlotFate]:
    """What became of each slot, as the store has it."""
    reader = SlotReader(await store.now() // MICRO, await store.insights.pauses())
    made = {(run.schedule or "", run.slot or 0): run.created_at for run in past.runs}
    found: dict[SlotKey, SlotFate] = {}
    for row in stored.schedules:
        name = row.schedule.name
        recent = (await store.insights.recent([name], MAX_SLOTS, past.end)).get(name, RecentSlots())
        for record in reader.newest(row, recent, past.start, past.end, MAX_SLOTS):
            found[name, record.slot] = _fate_then(record, made.get((name, record.slot)), row.schedule)
    return found


def _fate_then(record: SlotRecord, made: int | None, schedule: Schedule) -> SlotFate:
    if record.run is not None:
        if made is None:  # after the end of the time that is looked at
            return SlotFate("waiting", record.reason)
        return SlotFate("ran", None, "", to_datetime(made), max(0, made - due_at(schedule, record.slot)))
    if record.state is SlotState.WAITING:
        return SlotFate("waiting", record.reason)
    reason = record.reason or ""
    state = "ran" if record.state is SlotState.RAN else "skipped"
    return SlotFate(state, record.reason, Reason.of(reason).explain(record.detail))


def _fate_now(report: SlotReport, schedule: Schedule | None) -> SlotFate:
    run = report.run
    if run is not None and run.started_at is not None:
        due = due_at(schedule, report.slot) if schedule else report.slot
        return SlotFate("ran", None, "", to_datetime(run.started_at), max(0, run.started_at - due))
    state = "ran" if report.reason is Reason.STOPPED else "skipped" if report.verdict.is_final else "waiting"
    return SlotFate(state, report.reason.code, report.detail)


_NONE = SlotFate("none")


def _compared(
    name: str, past: Past, changes: Mapping[str, Any], was: Mapping[SlotKey, SlotFate], played: Replay,
    notes: tuple[str, ...],
) -> ReplayedPast:  # fmt: skip
    would = {key: _fate_now(report, past.schedules.get(key[0])) for key, report in played.slots.items()}
    keys = sorted(was.keys() | would.keys(), key=lambda key: (key[1], key[0]))
    slots = tuple(
        ReplayedSlot(
            key[0], to_datetime(key[1]), was.get(key, _NONE), would.get(key, _NONE), key in played.estimated
        )
        for key in keys
    )
    then = [(run.created_at, run.finished_at or past.end) for run in past.runs if run.slot is not None]
    now = [
        (report.run.started_at, report.run.finished_at or past.end)
        for report in played.slots.values()
        if report.run and report.run.started_at is not None
    ]
    return ReplayedPast(
        schedule=name, start=to_datetime(past.start), end=to_datetime(past.end), changes=changes,
        was=_summed(was.values(), then), would=_summed(would.values(), now),
        gained=sum(each.would.state == "ran" and each.was.state != "ran" for each in slots),
        lost=sum(each.was.state == "ran" and each.would.state != "ran" for each in slots),
        slots=slots, notes=notes,
    )  # fmt: skip


def _summed(fates: Iterable[SlotFate], runs: Iterable[tuple[int, int]]) -> ReplaySum:
    told = list(fates)
    states = Counter(fate.state for fate in told)
    reasons = Counter(fate.reason for fate in told if fate.reason and fate.state != "ran")
    return ReplaySum(
        states["ran"], states["skipped"], states["waiting"], dict(reasons),
        max((fate.late for fate in told), default=0), _most_at_once(runs),
    )  # fmt: skip


def _most_at_once(runs: Iterable[tuple[int, int]]) -> int:
    """Of runs that end in the second in which others begin, only those others count."""
    moves = sorted(move for begin, end in runs for move in ((begin, 1), (max(begin + 1, end), -1)))
    most = level = 0
    for _, step in moves:
        level += step
        most = max(most, level)
    return most


def _notes(
    past: Past, was: Mapping[SlotKey, SlotFate], would: Replay, unchanged: Replay
) -> tuple[str, ...]:  # fmt: skip
    """What a reader must know of the answer to judge it."""
    notes = []
    if would.estimated:
        notes.append(
            f"{len(would.estimated):,} slots had no run then: theirs lasts as long as the median of the others."
        )
    if would.refused:
        notes.append(f"{would.refused:,} runs by hand or of a backfill would have found no free lane.")
    differing = sum(fate.state != _state_of(unchanged.slots.get(key)) for key, fate in was.items())
    if differing:
        notes.append(
            f"{differing:,} of {len(was):,} slots went otherwise than today's definition and the stored facts "
            "say: the definition was another, or the facts are not complete."
        )
    for name, schedule in past.schedules.items():
        if schedule.edited_at > past.start and schedule.edited_at > schedule.first_seen:
            notes.append(f"The times of {name} were edited at {iso(schedule.edited_at)}: today's are played.")
    return tuple(notes)


def _state_of(report: SlotReport | None) -> str:
    return _fate_now(report, None).state if report else "none"
