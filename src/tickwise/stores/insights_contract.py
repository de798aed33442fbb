"""What a store shows to people: `Insights`, the read side of the contract.

Each read is a snapshot. A page is asked for by the key of the page before, which stays valid while rows come and
go. As in `Store`, a public method checks its arguments and calls a read, which has its name with an underscore.
What cannot be stored was never stored: a read by such a name or text finds nothing, and the store is not asked.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..core.definition import JobDefinition
from ..core.reasons import Reason
from ..core.slot_history import Bins
from . import pages, validation
from .records import (
    ALL_DECISIONS,
    ALL_RUNS,
    ALL_SCHEDULES,
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
from .run_groups import group_runs
from .statistics import Counts, HourlyStats, MinuteStats, RecentSlots, RunGroups, SlotCounts


class Insights(ABC):
    """Reads for people. Nothing here changes anything."""

    @abstractmethod
    async def next_due(self) -> int | None:
        """The earliest second at which a job must be looked at; none while everything is paused."""

    async def job(self, name: str) -> JobRow | None:
        """The job of a name."""
        return await self._job(name) if validation.can_exist(name) else None

    async def jobs(self, after: str | None = None, limit: int = 100) -> Page[JobRow]:
        """In order of their names."""
        pages.check_page_size(limit)
        return await self._jobs(after or "", limit) if validation.can_exist(after) else Page(())

    async def jobs_named(self, names: Sequence[str]) -> dict[str, JobRow]:
        """Those of some names that there are."""
        possible = [name for name in dict.fromkeys(names) if validation.can_exist(name)]
        return {row.definition.name: row for row in await self._jobs_named(possible)} if possible else {}

    async def as_written(self, jobs: Sequence[JobDefinition], source: str) -> frozenset[str]:
        """The names of those that `define` would leave as they are (S28). A store that cannot tell names none."""
        kept = validation.valid_jobs(jobs, source)
        return await self._as_written(kept, source) if kept else frozenset()

    async def schedule(self, name: str) -> ScheduleRow | None:
        """The schedule of a name."""
        return await self._schedule(name) if validation.can_exist(name) else None

    async def schedules(
        self, wanted: ScheduleFilter = ALL_SCHEDULES, after: str | None = None, limit: int = 100
    ) -> Page[ScheduleRow]:
        """In order of their names."""
        pages.check_page_size(limit)
        if wanted.names is not None:
            wanted = replace(wanted, names=frozenset(filter(validation.can_exist, wanted.names)))
        if not (validation.can_match_schedules(wanted) and validation.can_exist(after)):
            return Page(())
        return await self._schedules(wanted, after or "", limit)

    async def run(self, run: str) -> RunRow | None:
        """The run of an id."""
        return await self._run(validation.run_number(run))

    async def definition_of(self, run: str) -> JobDefinition | None:
        """The job as it was when the run was made (S23); none if there is no such run, or it cannot be read."""
        return await self._definition_of(validation.run_number(run))

    async def runs(self, wanted: RunFilter = ALL_RUNS, after: str | None = None, limit: int = 100) -> Page[RunRow]:
        """Newest first."""
        pages.check_page_size(limit)
        number = pages.page_number(after)
        return await self._runs(wanted, number, limit) if validation.can_match_runs(wanted) else Page(())

    async def run_groups(self, wanted: RunFilter = ALL_RUNS, limit: int = 10_000) -> RunGroups:
        """The newest so many runs that match, in groups by what they have in common."""
        pages.check_page_size(limit)
        return await self._run_groups(wanted, limit) if validation.can_match_runs(wanted) else RunGroups()

    async def attempts(self, run: str) -> tuple[AttemptRow, ...]:
        """The attempts before the last, in order."""
        return await self._attempts(validation.run_number(run))

    async def steps(self, run: str) -> tuple[StepReport, ...]:
        """How far the steps of a run are, in the order in which they were first reported."""
        return await self._steps(validation.run_number(run))

    async def log(self, run: str, after: str | None = None, limit: int = 1_000) -> Page[LogPart]:
        """What the run printed, in order."""
        pages.check_page_size(limit)
        return await self._log(validation.run_number(run), pages.page_number(after), limit)

    async def decisions(
        self, wanted: DecisionFilter = ALL_DECISIONS, after: str | None = None, limit: int = 100
    ) -> Page[DecisionRow]:
        """Newest slots first."""
        pages.check_page_size(limit)
        key = pages.decision_key(after)
        return await self._decisions(wanted, key, limit) if validation.can_match_decisions(wanted) else Page(())

    @abstractmethod
    async def nodes(self) -> tuple[Node, ...]:
        """Live ones and those last seen within a day."""

    @abstractmethod
    async def limits(self) -> tuple[QueueLimit, ...]:
        """The fleet's limits, in order of their queues."""

    @abstractmethod
    async def pauses(self) -> tuple[PauseInterval, ...]:
        """Pauses of everything, newest first."""

    @abstractmethod
    async def counts(self) -> Counts:
        """Counts of what is live, and of what ended in the last hour; the cost grows with these only."""

    async def minute_stats(self, minutes: int = 60, *, by_job: bool = False) -> tuple[MinuteStats, ...]:
        """What the last minutes were like, in order; a minute in which nothing happened has no row."""
        validation.check_span(minutes, "minutes")
        return await self._minute_stats(minutes, by_job=by_job)

    async def timeline(self, start: int, end: int, limit: int = 5_000) -> tuple[RunRow, ...]:
        """Runs that were under way between two instants (microseconds), in order of their start.

        Of too many, those that are under way still, and those that ended last.
        """
        pages.check_page_size(limit)
        validation.check_instant(start, "the start of a timeline")
        validation.check_instant(end, "the end of a timeline")
        return await self._timeline(start, end, limit)

    async def ended(self, jobs: frozenset[str], since: int, limit: int = 1_000) -> tuple[RunRow, ...]:
        """Runs of these jobs that have ended at or after an instant (microseconds), the oldest end first.

        As in `changes_since`, ends become visible slightly after their instant.
        """
        pages.check_page_size(limit)
        validation.check_instant(since, "the time since which runs have ended")
        names = sorted(filter(validation.can_exist, jobs))
        return await self._ended(names, since, limit) if names else ()

    async def recent(
        self, schedules: Sequence[str], limit: int = 12, before: int | None = None
    ) -> Mapping[str, RecentSlots]:
        """Of each of these schedules the newest so many runs of slots before an instant, and as many decisions."""
        pages.check_page_size(limit)
        validation.check_second(before or 0, "the slot before which slots are asked for")
        names = [name for name in schedules if validation.can_exist(name)]
        return await self._recent(names, limit, validation.MAX_SECOND if before is None else before)

    async def slot_counts(self, schedules: Sequence[str], bins: Bins) -> Mapping[str, SlotCounts]:
        """What became of the slots of each of these schedules, in bins."""
        validation.check_bins(bins)
        return await self._slot_counts([name for name in schedules if validation.can_exist(name)], bins)

    async def ailing(self, since: int, reasons: frozenset[Reason]) -> tuple[str, ...]:
        """Schedules whose newest slot with a run was not done, or of which slots since then were skipped so."""
        validation.check_second(since, "the slot since which slots are asked for")
        return await self._ailing(since, reasons)

    async def hourly_stats(self, hours: int = 24, schedule: str | None = None) -> tuple[HourlyStats, ...]:
        """What the last hours were like, by schedule and hour, from runs and decisions."""
        validation.check_span(hours, "hours")
        return await self._hourly_stats(hours, schedule) if validation.can_exist(schedule) else ()

    async def changes_since(self, since: int, limit: int = 1_000) -> Changes:
        """What is new since an instant (microseconds), at most so much of each kind; the cost grows with that.

        Rows become visible at commit, slightly after their timestamp. Poll with an overlap of a few seconds and
        skip rows you have already seen.
        """
        pages.check_page_size(limit)
        validation.check_instant(since, "the time since which something changed")
        return await self._changes_since(since, limit)

    # The reads, with checked arguments.

    @abstractmethod
    async def _job(self, name: str, /) -> JobRow | None: ...

    @abstractmethod
    async def _jobs(self, after: str, limit: int, /) -> Page[JobRow]: ...

    @abstractmethod
    async def _jobs_named(self, names: Sequence[str], /) -> list[JobRow]: ...

    async def _as_written(self, jobs: Sequence[JobDefinition], source: str, /) -> frozenset[str]:
        del jobs, source
        return frozenset()

    @abstractmethod
    async def _schedule(self, name: str, /) -> ScheduleRow | None: ...

    @abstractmethod
    async def _schedules(self, wanted: ScheduleFilter, after: str, limit: int, /) -> Page[ScheduleRow]: ...

    @abstractmethod
    async def _run(self, run: int, /) -> RunRow | None: ...

    @abstractmethod
    async def _definition_of(self, run: int, /) -> JobDefinition | None: ...

    @abstractmethod
    async def _runs(self, wanted: RunFilter, after: int | None, limit: int, /) -> Page[RunRow]: ...

    async def _run_groups(self, wanted: RunFilter, limit: int, /) -> RunGroups:
        return group_runs(await self._runs(wanted, None, limit))

    @abstractmethod
    async def _attempts(self, run: int, /) -> tuple[AttemptRow, ...]: ...

    @abstractmethod
    async def _steps(self, run: int, /) -> tuple[StepReport, ...]: ...

    @abstractmethod
    async def _log(self, run: int, after: int | None, limit: int, /) -> Page[LogPart]: ...

    @abstractmethod
    async def _decisions(
        self, wanted: DecisionFilter, after: DecisionKey | None, limit: int, /
    ) -> Page[DecisionRow]: ...

    @abstractmethod
    async def _minute_stats(self, minutes: int, /, *, by_job: bool) -> tuple[MinuteStats, ...]: ...

    @abstractmethod
    async def _timeline(self, start: int, end: int, limit: int, /) -> tuple[RunRow, ...]: ...

    @abstractmethod
    async def _ended(self, jobs: Sequence[str], since: int, limit: int, /) -> tuple[RunRow, ...]: ...

    @abstractmethod
    async def _recent(self, schedules: Sequence[str], limit: int, before: int, /) -> Mapping[str, RecentSlots]: ...

    @abstractmethod
    async def _slot_counts(self, schedules: Sequence[str], bins: Bins, /) -> Mapping[str, SlotCounts]: ...

    @abstractmethod
    async def _ailing(self, since: int, reasons: frozenset[Reason], /) -> tuple[str, ...]: ...

    @abstractmethod
    async def _hourly_stats(self, hours: int, schedule: str | None, /) -> tuple[HourlyStats, ...]: ...

    @abstractmethod
    async def _changes_since(self, since: int, limit: int, /) -> Changes: ...
