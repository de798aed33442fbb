"""Audit of a store: whether every slot of every schedule has exactly one run or one reason.

It reads one job at a time, page by page, through the public contract, so its memory grows with the largest job and
not with the store. It does not judge what the contract does not keep:

- how a job was defined before its newest edit: earlier slots are only checked for doubles and order;
- runs that retention has removed (S51), and schedules that are deleted (S23);
- where a person moved a fire to (S31), unless slots were passed over for it;
- by whom a run was cancelled, and whether a manual run took a lane or overlapped.

The store changes meanwhile. A schedule is read before its runs and decisions, so later decisions lie behind the
cursor that was read; and a finding counts only if every one of a few checks has it.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from ..core.audit import AuditedRun, AuditFinding, Checked, DefinedSpan, ScheduleHistory, check, overlapping
from ..core.blackout import rest_end
from ..core.events import EventSlots, OnEvent
from ..core.model import Decision, Schedule
from ..core.reasons import Reason
from ..core.slots import due_at
from ..stores.contract import Store
from ..stores.insights_contract import Insights
from ..stores.pages import all_pages
from ..stores.records import (
    MICRO,
    DecisionFilter,
    JobRow,
    PauseInterval,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
)

_PAGE_SIZE = 1_000
_MAX_CHECKS = 3


@dataclass(slots=True)
class Audit:
    """How much was checked, and what was wrong."""

    schedules: int = 0
    slots: int = 0  # expected
    runs: int = 0  # matched
    reasons: int = 0  # matched, each slot of a range counted
    findings: list[AuditFinding] = field(default_factory=list)


async def audit(store: Store, since: int | None = None, until: int | None = None) -> Audit:
    """Check the slots of [since, until), or all that there is."""
    total = Audit()
    async for job in _jobs(store.insights):
        found = await _check_job(store, job, since, until)
        for _ in range(_MAX_CHECKS - 1):
            if not any(checked.findings for checked in found):
                break
            found = _found_again(found, await _check_job(store, job, since, until))
        total.schedules += len(job.schedules)
        for checked in found:
            total.slots += checked.slots
            total.runs += checked.runs
            total.reasons += checked.reasons
            total.findings += checked.findings
    return total


def _found_again(before: Sequence[Checked], now: Sequence[Checked]) -> list[Checked]:
    """What is as wrong as it was."""
    known = {finding[:3] for checked in before for finding in checked.findings}
    return [one._replace(findings=tuple(each for each in one.findings if each[:3] in known)) for one in now]


async def _jobs(insights: Insights) -> AsyncIterator[JobRow]:
    after: str | None = None
    while True:
        page = await insights.jobs(after, _PAGE_SIZE)
        for job in page.items:
            yield job
        if page.after is None:
            return
        after = page.after


async def _check_job(store: Store, job: JobRow, since: int | None, until: int | None) -> list[Checked]:
    """One look at a job: its schedules first, then what was decided about them."""
    insights, name, now = store.insights, job.definition.name, await store.now() // MICRO
    pauses = await insights.pauses()
    listed = await all_pages(lambda after: insights.schedules(ScheduleFilter(job=name), after, _PAGE_SIZE))
    rows = [row for row in listed if not row.unreadable]  # what they have decided cannot be judged
    later, job = await store.now() // MICRO, await insights.job(name) or job
    runs = await runs_of(insights, name, since)
    by_schedule: dict[str, list[AuditedRun]] = defaultdict(list)
    for run in runs:
        by_schedule[run.schedule].append(run)
    found = []
    for row in rows:
        own = row.schedule.name
        span = _span(job, row, pauses, by_schedule[own], since, until)
        decisions = await decisions_of(insights, own, span)
        pending = _pending(row, now)
        history = ScheduleHistory(
            schedule=own, spans=(span,), runs=tuple(by_schedule[own]), decisions=decisions, pending=pending,
            wake_at=row.wake_at, now=later,
        )  # fmt: skip
        found.append(check(history))
    limit = max((row.schedule.definition.policy.max_active_runs for row in rows), default=0)
    comparable = [run for run in runs if run.made_at > job.updated_at] if limit else []
    return [*found, Checked(0, 0, 0, tuple(overlapping(comparable, limit)))]


def _span(
    job: JobRow,
    row: ScheduleRow,
    pauses: Sequence[PauseInterval],
    runs: Sequence[AuditedRun],
    since: int | None,
    until: int | None,
) -> DefinedSpan:
    """What its times as they are now have named, as far as it is decided and its runs are kept."""
    state, policy = row.schedule, row.schedule.definition.policy
    if isinstance(state.definition.times, OnEvent):
        return _span_of_events(state)
    kept, defined = (job.history_from or 0) - 1, job.updated_at // MICRO
    begin = max(state.first_seen, state.edited_at, defined, kept, (since or 0) - 1)
    ends = [state.cursor, *(pause.at for pause in pauses if _is_pending_end(pause, row))]
    ends += [end for end in (policy.until, until and until - 1) if end is not None]
    if state.finished:  # it has no slots after its last run (S34)
        ends.append(max((run.slot for run in runs), default=begin))
    return DefinedSpan(begin, max(begin, min(ends)), state.definition.times)


def _span_of_events(state: Schedule) -> DefinedSpan:
    """The slots of the events that are remembered as decided (S71)."""
    slots = EventSlots(sorted({event.slot for event in state.inbox.decided}))
    begin = slots.slots[0] - 1 if slots.slots else state.cursor
    return DefinedSpan(begin, max(begin, state.cursor), slots)


def _is_pending_end(pause: PauseInterval, row: ScheduleRow) -> bool:
    """Whether the end of a pause of everything has still to reach a schedule: it is shown as it will be then."""
    since = row.schedule.paused.at if row.schedule.paused else row.wake_at
    return pause.until is not None and since is not None and since <= pause.until


def _pending(row: ScheduleRow, now: int) -> int | None:
    """The slot that should have been looked at by now; one that cannot be planned backs off for longer (S20)."""
    slot, state = row.next_slot, row.schedule
    broken = state.deferral is not None and state.deferral.reason is Reason.BROKEN
    resting = broken or rest_end(state.blackouts, now) is not None
    return None if slot is None or resting or due_at(state, slot) > now else slot


async def decisions_of(insights: Insights, schedule: str, span: DefinedSpan) -> tuple[Decision, ...]:
    """What was decided about the slots of a span."""
    filters = DecisionFilter(schedule=schedule, since=span.after + 1, until=span.until + 1)
    rows = await all_pages(lambda after: insights.decisions(filters, after, _PAGE_SIZE))
    return tuple(Decision(row.schedule, row.reason, row.first, row.last, row.count) for row in rows)


async def runs_of(insights: Insights, job: str, since: int | None) -> list[AuditedRun]:
    """The runs of its slots, in the order in which they were made: none is made before its time."""
    filters, found = RunFilter(job=job, since=None if since is None else since * MICRO), list[AuditedRun]()
    after: str | None = None
    while True:
        page = await insights.runs(filters, after, _PAGE_SIZE)
        found += [await _audited_run(insights, row) for row in page.items if row.schedule and row.slot is not None]
        if page.after is None:
            return found[::-1]
        after = page.after


async def _audited_run(insights: Insights, row: RunRow) -> AuditedRun:
    attempts = await insights.attempts(row.id) if row.attempt > 1 else ()
    return AuditedRun(
        id=row.id, schedule=row.schedule or "", slot=row.slot or 0, trigger=row.trigger, state=row.state,
        attempt=row.attempt, made_at=row.created_at, due_at=row.due_at, started_at=row.started_at,
        finished_at=row.finished_at, lease_until=row.lease_until, expires_at=row.expires_at,
        failures=row.failures, ended=frozenset(each.number for each in attempts),
    )  # fmt: skip
