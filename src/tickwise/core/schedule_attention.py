"""What needs a person in a schedule: one rule for each cause, a function of facts that were read before.

A schedule has at most one cause, that of the first rule which finds one. A rule says nothing about what is as it
should be: a definition with `enabled: false`, a slot that waits for its turn, a failure that the next slot will
mend in a moment.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise, takewhile
from statistics import median
from typing import NamedTuple

from .attention import Attention, Cause, Remedy, Severity, Subject, short_time
from .cron.zone import Zone
from .model import Schedule
from .parity import parity_at_a_glance
from .payload import error_line, first_line
from .reasons import Reason
from .slot_history import SlotRecord, SlotState
from .states import FAILURES, RunState
from .timeparse import format_duration, to_datetime

MICRO = 1_000_000
SOON = 600  # seconds within which a next slot may mend a failure, or a wait may end by itself
OVERDUE = 60  # a pending slot is looked at at least once a minute (S15)
_IN_A_ROW = 3  # runs that end alike before it is no accident
_SILENT_SLOTS = 10
_DAY = 86_400
_RUN_IN_THE_WAY = frozenset({Reason.OVERLAP.code, Reason.LANES_FULL.code})
WITHOUT_RUN = frozenset({
    Reason.OVERLAP, Reason.LANES_FULL, Reason.DEPENDENCY_MISSING, Reason.MISSED, Reason.TOO_OLD, Reason.TOO_MANY,
})  # fmt: skip
"""Reasons for which a slot was skipped although somebody may have wanted its run."""
SHADOWED = frozenset({Reason.SHADOW, Reason.SEEN})
"""What is recorded of schedules that another scheduler starts."""
_WITHOUT_RUN = frozenset(reason.code for reason in WITHOUT_RUN)
_TIMEOUT = re.compile(r"timed out after (\w+)")
_OPEN = frozenset({SlotState.TO_COME, SlotState.WAITING})
_DONE = frozenset({SlotState.RAN, SlotState.RAN_AFTER_RETRIES})


class LateSlot(NamedTuple):
    """A slot that missed a deadline (S65)."""

    slot: int
    text: str


@dataclass(frozen=True, slots=True)
class ScheduleHealth:
    """What the rules look at: a schedule and its newest slots, the newest first."""

    schedule: Schedule
    slots: tuple[SlotRecord, ...]
    now: int
    next_slot: int | None
    everything_paused: bool = False
    unreadable: str = ""
    late: LateSlot | None = None  # the newest
    zone: Zone | None = None  # in which times are told; None: in its own

    @property
    def met(self) -> list[SlotRecord]:
        """The slots that were decided."""
        return [record for record in self.slots if record.state not in _OPEN]

    @property
    def pending(self) -> list[SlotRecord]:
        """The slots that are due and have neither a run nor a verdict."""
        return [record for record in self.slots if record.state is SlotState.WAITING and record.run is None]

    def needs(self, kind: Cause, severity: Severity, text: str, **more: object) -> Attention:
        subject = Subject("schedule", self.schedule.name, self.schedule.job)
        return Attention(kind=kind, severity=severity, subject=subject, text=text, **more)  # type: ignore[arg-type]

    def at(self, slot: int) -> str:
        return short_time(slot, self.zone or self.schedule.definition.times.zone)

    def why(self, slot: int | None = None) -> Remedy:
        return Remedy(do="why", label="Why?", schedule=self.schedule.name, slot=slot)

    def edit(self, field_: str, label: str) -> Remedy:
        return Remedy(do="edit", label=label, schedule=self.schedule.name, field=field_)


def broken_schedule(health: ScheduleHealth) -> Attention | None:
    """The store has a schedule that cannot be read or planned."""
    deferral, problem = health.schedule.deferral, health.unreadable
    if deferral and deferral.reason in {Reason.BROKEN, Reason.UNREADABLE}:
        problem = deferral.detail
    if not problem:
        return None
    return health.needs(
        Cause.BROKEN_SCHEDULE, Severity.ERROR, "cannot be planned", detail=first_line(problem),
        since=deferral.since if deferral else None, remedies=(health.edit("schedule", "Mend the definition"),),
    )  # fmt: skip


def missed_while_paused(health: ScheduleHealth) -> Attention | None:
    """A slot passed while a person's pause holds the schedule."""
    pause, pending = health.schedule.manual_pause, health.pending
    if pause is None or not pending or health.everything_paused:
        return None
    name, newest = health.schedule.name, pending[0].slot
    one = f"did not run at {health.at(newest)}"
    text = one if len(pending) == 1 else f"{one}, nor at {_slots(len(pending) - 1)} before"
    return health.needs(
        Cause.MISSED_WHILE_PAUSED, Severity.WARNING, f"{text}: paused{f' by {pause.by}' if pause.by else ''}",
        detail=pause.reason, since=pause.at, counts={"missed": len(pending)},
        remedies=(
            Remedy(do="resume", label="Resume", schedule=name), Remedy(do="run", label="Run now", schedule=name),
        ),
    )  # fmt: skip


def silent_ticker(health: ScheduleHealth) -> Attention | None:
    """Slots are due, and nothing has decided them for more than a minute."""
    late = [record for record in health.pending if record.reason == "not_decided"]
    if not late or late[-1].slot + OVERDUE >= health.now or health.everything_paused:
        return None
    oldest = late[-1].slot
    return health.needs(
        Cause.SILENT, Severity.ERROR, f"is overdue: nothing has decided {_slots(len(late))}", since=oldest,
        counts={"overdue": len(late)}, remedies=(health.why(oldest),),
    )  # fmt: skip


def failing(health: ScheduleHealth) -> Attention | None:
    """The newest runs failed: three in a row, or fewer if the next slot does not come soon after the first."""
    ended = [record for record in health.met if record.run and record.run.state in FAILURES | {RunState.SUCCEEDED}]
    streak = [
        record.run for record in takewhile(lambda record: record.state is SlotState.FAILED, ended) if record.run
    ]
    if not streak or not _lasts(len(streak), streak[-1].slot, health.next_slot):
        return None
    newest, failed = streak[0], sum(record.state is SlotState.FAILED for record in ended)
    more = {
        "since": (streak[-1].finished_at or streak[-1].due_at) // MICRO, "detail": error_line(newest.error),
        "remedies": (
            Remedy(do="retry", label="Retry last", run=newest.run),
            Remedy(do="log", label="Open log", run=newest.run),
        ),
    }  # fmt: skip
    limits = {found[1] for run in streak if (found := _TIMEOUT.search(run.error))}
    if len(streak) >= _IN_A_ROW and len(limits) == 1 and all(_TIMEOUT.search(run.error) for run in streak):
        text = f"{len(streak)} runs in a row hit the timeout of {limits.pop()}"
        return health.needs(Cause.TIMEOUTS, Severity.ERROR, text, counts={"timeouts": len(streak)}, **more)
    text = "its last run failed" if len(ended) == 1 else f"{failed} of its last {len(ended)} runs failed"
    return health.needs(Cause.FAILING, Severity.ERROR, text, counts={"failed": failed, "of": len(ended)}, **more)


def _lasts(length: int, first: int, next_slot: int | None) -> bool:
    return length >= _IN_A_ROW or next_slot is None or next_slot - first >= SOON


def late(health: ScheduleHealth) -> Attention | None:
    """A slot missed its deadline, and no newer one has been done since."""
    missed = health.late
    if missed is None or any(record.slot > missed.slot and record.state in _DONE for record in health.met):
        return None
    return health.needs(
        Cause.LATE, Severity.WARNING, f"missed its deadline for {health.at(missed.slot)}", detail=missed.text,
        since=missed.slot, remedies=(health.why(missed.slot), health.edit("deadline", "Change deadline")),
    )  # fmt: skip


def unmet(health: ScheduleHealth) -> Attention | None:
    """The newest runs were all skipped by a precondition."""
    runs = [record for record in health.met if record.run]
    skipped = list(takewhile(lambda record: record.reason == "precondition", runs))
    newest = skipped[0].run if len(skipped) >= _IN_A_ROW else None
    if newest is None:
        return None
    all_of = "all of its" if len(skipped) == len(runs) else "the"
    return health.needs(
        Cause.UNMET, Severity.WARNING, f"has skipped {all_of} last {len(skipped)} runs",
        detail=error_line(newest.error), since=skipped[-1].slot, counts={"skipped": len(skipped), "of": len(runs)},
        remedies=(health.why(newest.slot), Remedy(do="log", label="Open log", run=newest.run)),
    )  # fmt: skip


def outlasted(health: ScheduleHealth) -> Attention | None:
    """Half of the newest slots or more were skipped, because a run was in the way."""
    met = health.met
    skipped = [record for record in met if record.reason in _RUN_IN_THE_WAY]
    number, of = _slot_count(skipped), _slot_count(met)
    if number < _IN_A_ROW or number * 2 < of:
        return None
    takes = median(_lengths(met, health.now) or [0])
    rate = f"a run takes {_span(takes)}, a slot comes every {_span(median(_gaps(met)))}"
    return health.needs(
        Cause.OUTLASTED, Severity.WARNING,
        f"skips {number} of its last {of} slots" + (f": {rate}" if takes else ""),
        detail=f"overlap: {health.schedule.definition.policy.overlap}", since=skipped[-1].slot,
        counts={"skipped": number, "of": of, "run_seconds": round(takes)},
        remedies=(health.edit("overlap", "Change overlap"), health.why(skipped[0].slot)),
    )  # fmt: skip


def _lengths(met: Iterable[SlotRecord], now: int) -> list[float]:
    """How long the runs took, or have taken so far, in seconds."""
    runs = [record.run for record in met if record.run and record.run.started_at]
    return [((run.finished_at or now * MICRO) - (run.started_at or 0)) / MICRO for run in runs]


def _gaps(met: list[SlotRecord]) -> list[int]:
    return [newer.slot - older.slot for newer, older in pairwise(met)] or [0]


def waits_for(health: ScheduleHealth) -> Attention | None:
    """The newest slot was skipped, or waits for long, for want of a success of another schedule."""
    met, deferral = health.met, health.schedule.deferral
    missing = [record for record in met if record.reason == Reason.DEPENDENCY_MISSING.code]
    is_held = bool(
        deferral and deferral.reason is Reason.WAITS_FOR_SUCCESS and health.now - deferral.since >= SOON
    )
    if not is_held and met[:1] != missing[:1]:
        return None
    if not is_held and not missing:
        return None
    other = deferral.detail if is_held and deferral else missing[0].detail
    of, number = _slot_count(met), _slot_count(missing)
    text = f"skipped {number} of its last {of} slots: waits for {other}" if missing else f"waits for {other}"
    return health.needs(
        Cause.WAITS_FOR, Severity.WARNING, text, detail=f"it goes on when {other} succeeds",
        since=deferral.since if is_held and deferral else missing[-1].slot, counts={"skipped": number, "of": of},
        remedies=(
            Remedy(do="schedule", label="See cause", schedule=other.partition(",")[0].split()[0]), health.why(),
        ),
    )  # fmt: skip


def silent(health: ScheduleHealth) -> Attention | None:
    """The newest slots have no run, for whatever reason that somebody may not have meant."""
    without = list(takewhile(lambda record: record.reason in _WITHOUT_RUN and record.run is None, health.met))
    if _slot_count(without) < _SILENT_SLOTS:
        return None
    reason = Reason.of(without[0].reason or "")
    return health.needs(
        Cause.SILENT, Severity.WARNING, f"made no run for its last {_slots(_slot_count(without))}",
        detail=reason.explain(without[0].detail), since=without[-1].slot, counts={"skipped": _slot_count(without)},
        remedies=(health.why(without[0].slot),),
    )  # fmt: skip


def in_shadow(health: ScheduleHealth) -> Attention | None:
    """The schedule is in shadow: whether its fires agree, so that it can be adopted (S80)."""
    schedule, shadow = health.schedule, health.schedule.shadow
    found = parity_at_a_glance(schedule, health.now)
    if not schedule.in_shadow or shadow is None or not (found.ours or found.fires >= _IN_A_ROW):
        return None
    since = f"is in shadow since {to_datetime(shadow.since):%Y-%m-%d}"
    counts = {"both": found.both, "theirs": found.theirs, "ours": found.ours}
    report = Remedy(do="command", label="Compare", command=f"tickwise shadow report {schedule.name}")
    if not found.fires:
        text = f"{since}, and no fire of the other scheduler was heard"
        return health.needs(
            Cause.IN_SHADOW, Severity.NOTE, text, since=shadow.since, counts=counts, remedies=(report,)
        )
    if not found.agrees:
        text = f"{since}: {found.both} of {found.fires} fires agree"
        text += f", {_slots(found.ours)} without a fire" if found.ours else ""
        return health.needs(
            Cause.IN_SHADOW, Severity.WARNING, text, since=shadow.since, counts=counts, remedies=(report,)
        )
    adopt = Remedy(do="command", label="Adopt", command=f"tickwise shadow adopt {schedule.name}")
    text = f"{since}; {found.both} of {found.fires} fires agree: adopt it"
    return health.needs(
        Cause.IN_SHADOW, Severity.NOTE, text, since=shadow.since, counts=counts, remedies=(adopt, report)
    )


def started_twice(health: ScheduleHealth) -> Attention | None:
    """Tickwise starts the job, and another scheduler still does, too (S80)."""
    schedule, shadow = health.schedule, health.schedule.shadow
    if schedule.in_shadow or shadow is None or shadow.adopted_at is None:
        return None
    fires = [fire for fire in shadow.fires if fire.at > (shadow.adopted_at or 0)]
    if not fires or fires[-1].at + _DAY < health.now:
        return None
    times = "once" if len(fires) == 1 else f"{len(fires)} times"
    return health.needs(
        Cause.STARTED_TWICE, Severity.WARNING, f"is also started by another scheduler, {times} since its adoption",
        detail="remove it there", since=fires[0].at, counts={"fires": len(fires)}, remedies=(health.why(),),
    )  # fmt: skip


_RULES: tuple[Callable[[ScheduleHealth], Attention | None], ...] = (
    broken_schedule, missed_while_paused, silent_ticker, failing, late, unmet, outlasted, waits_for, silent,
    in_shadow, started_twice,
)  # fmt: skip


def cause(health: ScheduleHealth) -> Attention | None:
    """Why a schedule needs a person, if it does."""
    return next((found for rule in _RULES if (found := rule(health))), None)


def _slot_count(records: Iterable[SlotRecord]) -> int:
    return sum(record.slots for record in records)


def _slots(number: int) -> str:
    return "1 slot" if number == 1 else f"{number:,} slots"


def _span(seconds: float) -> str:
    return format_duration(max(1, round(seconds)))
