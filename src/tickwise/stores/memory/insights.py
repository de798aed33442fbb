"""Reads for people from the memory store. Each is one snapshot, taken under the store's lock."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from statistics import fmean
from typing import TypeVar

from ...core.definition import JobDefinition
from ...core.model import Trigger
from ...core.reasons import Reason
from ...core.run_query import matches
from ...core.slot_history import Bins, SlotRun
from ...core.states import FAILURES, FINAL, RunState
from ...core.upcoming import next_wanted_slot
from ..decision_order import decision_matches, decision_place
from ..filter_texts import has_label, has_words, is_part_of_name
from ..insights_contract import Insights
from ..pages import decision_page
from ..records import (
    MICRO,
    AttemptRow,
    Changes,
    DecisionFilter,
    DecisionKey,
    DecisionRow,
    JobRow,
    LogPart,
    Node,
    Page,
    PauseInterval,
    QueueLimit,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
    StepReport,
)
from ..slot_rows import recent_slots, slot_counts
from ..statistics import (
    AILING,
    ERROR_LENGTH,
    LATELY,
    NOT_RUN,
    Counts,
    HourlyStats,
    MinuteStats,
    RecentSlots,
    SlotCounts,
)
from .entries import JobEntry, RunEntry, ScheduleEntry
from .moves import MemoryMoves, atomic

_T = TypeVar("_T")
_DAY, _HOUR = 86_400, 3_600


class MemoryInsights(MemoryMoves, Insights):
    """Reads of the dictionaries."""

    @atomic
    def next_due(self) -> int | None:
        return self._memory.next_due

    @atomic
    def _job(self, name: str, /) -> JobRow | None:
        found = self._memory.jobs.get(name)
        return None if found is None or found.deleted_at is not None else _job_row(found)

    @atomic
    def _jobs(self, after: str, limit: int, /) -> Page[JobRow]:
        found = sorted(job.name for job in self._memory.live_jobs() if job.name > after)
        return page_of(
            (_job_row(self._memory.jobs[name]) for name in found), limit, lambda row: row.definition.name
        )

    @atomic
    def _jobs_named(self, names: Sequence[str], /) -> list[JobRow]:
        known = [self._memory.jobs[name] for name in names if name in self._memory.jobs]
        return [_job_row(each) for each in known if each.deleted_at is None]

    @atomic
    def _schedule(self, name: str, /) -> ScheduleRow | None:
        found = self._memory.schedules.get(name)
        return None if found is None or not found.live else self._schedule_row(found)

    @atomic
    def _schedules(self, wanted: ScheduleFilter, after: str, limit: int, /) -> Page[ScheduleRow]:
        memory = self._memory
        found = sorted(
            name for name, entry in memory.schedules.items()
            if entry.live and name > after and _schedule_matches(entry, memory.jobs[entry.state.job], wanted)
        )  # fmt: skip
        rows = (self._schedule_row(self._memory.schedules[name]) for name in found)
        return page_of(rows, limit, lambda row: row.schedule.name)

    def _schedule_row(self, entry: ScheduleEntry) -> ScheduleRow:
        job = self._memory.load(self._memory.jobs[entry.state.job])
        state = job.schedules[entry.state.name].schedule
        last, slot = entry.last_run, None if self._memory.paused else next_wanted_slot(state)
        return ScheduleRow(
            schedule=state, next_slot=slot, wake_at=entry.wake_at,
            created_at=entry.created_at, updated_at=entry.updated_at,
            last_run_id=last.id if last else None, last_run_at=last.started_at if last else None,
            last_enqueued_at=last.created_at if last else None, last_state=last.state if last else None,
        )  # fmt: skip

    @atomic
    def _run(self, run: int, /) -> RunRow | None:
        found = self._memory.runs.get(str(run))
        return None if found is None else _run_row(found)

    @atomic
    def _runs(self, wanted: RunFilter, after: int | None, limit: int, /) -> Page[RunRow]:
        newest_first = reversed(self._memory.runs.values())
        found = (
            run for run in newest_first if (after is None or run.number < after) and _run_matches(run, wanted)
        )
        return page_of(map(_run_row, found), limit, lambda row: row.id)

    @atomic
    def _definition_of(self, run: int, /) -> JobDefinition | None:
        found = self._memory.runs.get(str(run))
        return found.definition if found else None

    @atomic
    def _attempts(self, run: int, /) -> tuple[AttemptRow, ...]:
        found = self._memory.runs.get(str(run))
        return tuple(found.attempts) if found else ()

    @atomic
    def _steps(self, run: int, /) -> tuple[StepReport, ...]:
        found = self._memory.runs.get(str(run))
        return tuple(found.steps.values()) if found else ()

    @atomic
    def _log(self, run: int, after: int | None, limit: int, /) -> Page[LogPart]:
        found, last = self._memory.runs.get(str(run)), after or 0
        parts = ((number, part) for number, (_, part) in found.log.items() if number > last) if found else ()
        page = page_of(parts, limit, lambda item: str(item[0]))
        return Page(tuple(part for _, part in page.items), page.after)

    @atomic
    def _decisions(self, wanted: DecisionFilter, after: DecisionKey | None, limit: int, /) -> Page[DecisionRow]:
        found = [row for row in self._memory.decisions.values() if decision_matches(row, wanted)]
        rows = sorted(found, key=decision_place)
        if after is not None:
            rows = [row for row in rows if decision_place(row) > (-after.first, after.schedule, after.reason)]
        return page_of(rows, limit, _decision_page)

    @atomic
    def nodes(self) -> tuple[Node, ...]:
        since = self._memory.clock() - _DAY * MICRO
        return tuple(node for _, node in sorted(self._memory.nodes.items()) if node.seen_at > since)

    @atomic
    def limits(self) -> tuple[QueueLimit, ...]:
        return tuple(limit for _, limit in sorted(self._memory.limits.items()))

    @atomic
    def pauses(self) -> tuple[PauseInterval, ...]:
        return tuple(reversed(self._memory.pauses))

    @atomic
    def counts(self) -> Counts:
        memory, now = self._memory, self._memory.clock()
        jobs = list(memory.live_jobs())
        schedules = [entry for job in jobs for entry in job.live_schedules]
        queued = [run for run in memory.active.values() if run.state is RunState.QUEUED]
        since = now - LATELY * MICRO
        lately = [run for run in memory.runs.values() if run.state in FINAL and (run.finished_at or 0) >= since]
        return Counts(
            jobs=len(jobs),
            schedules=len(schedules),
            paused=sum(entry.state.paused is not None for entry in schedules),
            runs=dict(Counter(run.state for run in (*memory.active.values(), *lately))),
            waiting=dict(Counter(run.queue for run in queued)),
            unserved=dict(Counter((job.definition.queue, job.requires) for job in jobs if _is_held(job))),
            oldest_due=min((run.due_at for run in queued if run.due_at <= now), default=None),
            overdue=sum(job.wake_at is not None and job.wake_at < now // MICRO for job in jobs),
            nodes=sum(1 for _ in memory.live_nodes(now)),
        )

    @atomic
    def _minute_stats(self, minutes: int, /, *, by_job: bool) -> tuple[MinuteStats, ...]:
        memory = self._memory
        since = (memory.clock() // MICRO // 60 - minutes + 1) * 60
        moves = [
            *(("fired", run.created_at, run.job, 1) for run in memory.runs.values()),
            *(("failed", run.finished_at, run.job, 1) for run in memory.runs.values() if run.state in FAILURES),
            *(("skipped", row.extended_at, memory.schedules[row.schedule].state.job, row.count)
              for row in memory.decisions.values() if row.reason in NOT_RUN),
        ]  # fmt: skip
        sums: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
        for kind, at, job, count in moves:
            if (minute := (at or 0) // MICRO // 60 * 60) >= since:
                sums[minute, job if by_job else ""][kind] += count
        return tuple(
            MinuteStats(*key, *(sums[key][kind] for kind in MinuteStats._fields[2:])) for key in sorted(sums)
        )

    @atomic
    def _timeline(self, start: int, end: int, limit: int, /) -> tuple[RunRow, ...]:
        found = [
            run for run in self._memory.runs.values() if run.started_at is not None and run.started_at < end
            and (run.finished_at is None or run.finished_at >= start)
        ]  # fmt: skip
        last = sorted(found, key=lambda run: (run.finished_at is None, _touched_at(run), run.number))[-limit:]
        return tuple(_run_row(run) for run in sorted(last, key=lambda run: (run.started_at, run.number)))

    @atomic
    def _ended(self, jobs: Sequence[str], since: int, limit: int, /) -> tuple[RunRow, ...]:
        ends = sorted(
            (run.finished_at, run.number) for run in self._memory.runs.values()
            if run.job in jobs and run.finished_at is not None and run.finished_at >= since
        )  # fmt: skip
        return tuple(_run_row(self._memory.runs[str(number)]) for _, number in ends[:limit])

    @atomic
    def _recent(self, schedules: Sequence[str], limit: int, before: int, /) -> Mapping[str, RecentSlots]:
        found = {
            name: recent_slots([run for run, _ in _slot_runs(entry)], self._decisions_of(name), limit, before)
            for name, entry in self._live(schedules)
        }  # fmt: skip
        return {name: slots for name, slots in found.items() if any(slots)}

    @atomic
    def _slot_counts(self, schedules: Sequence[str], bins: Bins, /) -> Mapping[str, SlotCounts]:
        found = {
            name: slot_counts(_slot_runs(entry), self._decisions_of(name), bins)
            for name, entry in self._live(schedules)
        }  # fmt: skip
        return {name: counts for name, counts in found.items() if any(counts)}

    @atomic
    def _ailing(self, since: int, reasons: frozenset[Reason], /) -> tuple[str, ...]:
        memory = self._memory
        skipped = {
            row.schedule for row in memory.decisions.values() if row.last >= since and row.reason in reasons
        }  # fmt: skip
        return tuple(sorted(
            name for name, entry in memory.schedules.items()
            if entry.live and (name in skipped or _newest_state(entry) in AILING)
        ))  # fmt: skip

    def _live(self, schedules: Sequence[str]) -> Iterator[tuple[str, ScheduleEntry]]:
        for name in schedules:
            entry = self._memory.schedules.get(name)
            if entry is not None and entry.live:
                yield name, entry

    def _decisions_of(self, schedule: str) -> list[DecisionRow]:
        return [row for row in self._memory.decisions.values() if row.schedule == schedule]

    @atomic
    def _hourly_stats(self, hours: int, schedule: str | None, /) -> tuple[HourlyStats, ...]:
        since = (self._memory.clock() // MICRO // _HOUR - hours + 1) * _HOUR
        runs: dict[tuple[str, int], list[RunEntry]] = defaultdict(list)
        for run in self._memory.runs.values():
            if run.schedule and run.slot is not None and run.slot >= since and schedule in (None, run.schedule):
                runs[run.schedule, _hour(run.slot)].append(run)
        decided: dict[tuple[str, int], Counter[Reason]] = defaultdict(Counter)
        for row in self._memory.decisions.values():
            if row.last >= since and schedule in (None, row.schedule):
                decided[row.schedule, _hour(row.first)][row.reason] += row.count
        return tuple(_hour_row(*key, runs[key], decided[key]) for key in sorted({*runs, *decided}))

    @atomic
    def _changes_since(self, since: int, limit: int, /) -> Changes:
        memory = self._memory
        runs = sorted((at, run.number) for run in memory.runs.values() if (at := _touched_at(run)) >= since)
        decisions = [row for row in memory.decisions.values() if row.extended_at >= since]
        schedules = sorted(
            (at, name) for name, each in memory.schedules.items() if (at := each.updated_at) >= since
        )
        return Changes(
            tuple(_run_row(memory.runs[str(number)]) for _, number in runs[:limit]),
            tuple(sorted(decisions, key=lambda row: (row.extended_at, decision_place(row)))[:limit]),
            tuple(name for _, name in schedules[:limit]),
        )


def page_of(rows: Iterable[_T], limit: int, key: Callable[[_T], str]) -> Page[_T]:
    found = tuple(islice(rows, limit + 1))
    return Page(found[:limit], key(found[limit - 1]) if len(found) > limit else None)


def _decision_page(row: DecisionRow) -> str:
    return decision_page(DecisionKey(row.first, row.schedule, row.reason.code))


def _job_row(job: JobEntry) -> JobRow:
    names = tuple(sorted(entry.state.name for entry in job.live_schedules))
    return JobRow(
        definition=job.definition, version=job.version, source=job.source, schedules=names,
        created_at=job.created_at, updated_at=job.updated_at, history_from=job.history_from,
    )  # fmt: skip


def _run_row(run: RunEntry) -> RunRow:
    label = run.times.label if run.times else ""
    return RunRow(
        id=run.id, job=run.job, schedule=run.schedule, slot=run.slot, trigger=run.trigger, label=label,
        state=run.state, queue=run.queue, priority=run.priority, attempt=run.attempt,
        created_at=run.created_at, due_at=run.due_at, started_at=run.started_at, finished_at=run.finished_at,
        node=run.node, claimed_by=run.claimed_by, lane=run.lane, key=run.key, params=run.params,
        result=run.result, error=run.error, cancelling=run.cancelling, failures=run.failures, losses=run.losses,
        lease_until=run.lease_until, expires_at=run.expires_at, by=run.by, requires=run.requires,
        hand_over=run.hand_over, waits_for=run.waits_for, traceparent=run.traceparent,
    )  # fmt: skip


def _run_matches(run: RunEntry, wanted: RunFilter) -> bool:
    return (
        wanted.job in (None, run.job)
        and wanted.schedule in (None, run.schedule)
        and (not wanted.states or run.state in wanted.states)
        and (not wanted.triggers or run.trigger in wanted.triggers)
        and wanted.queue in (None, run.queue)
        and wanted.key in (None, run.key)
        and wanted.slot in (None, run.slot)
        and (wanted.since is None or run.created_at >= wanted.since)
        and (wanted.until is None or run.created_at < wanted.until)
        and (wanted.text is None or run.id == wanted.text or is_part_of_name(wanted.text, run.job, run.schedule))
        and (wanted.jobs is None or run.job in wanted.jobs)
        and (wanted.schedules is None or run.schedule in wanted.schedules)
        and (wanted.error is None or matches(wanted.error, run.error))
        and has_words(wanted.words, run.id, run.error, run.job, run.schedule)
        and (not wanted.waits or bool(run.waits_for))
    )


def _schedule_matches(entry: ScheduleEntry, job: JobEntry, wanted: ScheduleFilter) -> bool:
    return (
        wanted.job in (None, job.name)
        and (wanted.names is None or entry.state.name in wanted.names)
        and wanted.source in (None, entry.state.definition.source)
        and wanted.paused in (None, entry.state.paused is not None)
        and (wanted.text is None or is_part_of_name(wanted.text, entry.state.name, job.name))
        and (wanted.due_before is None or (entry.wake_at is not None and entry.wake_at < wanted.due_before))
        and (wanted.label is None or has_label(job.definition.labels, wanted.label))
        and (not wanted.local or job.local)
        and (not wanted.deadline or entry.state.deadlines is not None)
    )


def _slot_runs(entry: ScheduleEntry) -> list[tuple[SlotRun, Trigger]]:
    """In order of the slots."""
    return [
        (SlotRun(slot, run.id, run.state, run.attempt, run.due_at, run.started_at, run.finished_at,
                 run.error[:ERROR_LENGTH]), run.trigger)
        for slot, run in sorted(entry.runs.items())
    ]  # fmt: skip


def _newest_state(entry: ScheduleEntry) -> RunState | None:
    run = None if entry.last_slot is None else entry.runs.get(entry.last_slot)
    return run.state if run else None


def _is_held(job: JobEntry) -> bool:
    return any(entry.state.held_for_worker for entry in job.live_schedules)


def _touched_at(run: RunEntry) -> int:
    """When a run was last created, started or finished."""
    return run.finished_at or run.started_at or run.created_at


def _hour(slot: int) -> int:
    return slot // _HOUR * _HOUR


def _hour_row(schedule: str, hour: int, runs: list[RunEntry], decided: Counter[Reason]) -> HourlyStats:
    started = [(run, run.started_at) for run in runs if run.started_at is not None]
    return HourlyStats(
        schedule=schedule,
        hour=hour,
        runs=dict(Counter(run.state for run in runs)),
        claim_ms=_mean(run.created_at - run.due_at for run in runs),
        late_ms=_mean(at - run.due_at for run, at in started),
        run_ms=_mean(run.finished_at - at for run, at in started if run.finished_at is not None),
        decided=dict(decided),
        triggers=dict(Counter(run.trigger for run in runs)),
    )


def _mean(microseconds: Iterable[int]) -> float | None:
    """In milliseconds; none if there is nothing."""
    found = list(microseconds)
    return fmean(found) / 1_000 if found else None
