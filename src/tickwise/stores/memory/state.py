"""All that the memory store holds, and the moves that all operations share.

A run is in `active` while it is queued or running. Unique keys are kept by their owners: slots by the schedule,
lanes and keys by the job. `load` makes a `JobState` of a job and `save` keeps it. `wake` makes a schedule due
sooner, and sets `news`, which ends waiting for a notification.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...core.definition import successes_of_job
from ...core.jobstate import EndedPause, JobState, ScheduleState
from ...core.model import Decision, Trigger
from ...core.payload import clip
from ...core.reasons import Reason
from ...core.requirements import LiveWorkers
from ...core.settle import Cancelled, EndingRun, Outcome, Settled, settle
from ...core.states import Event, RunState
from ..records import MICRO, AttemptRow, DecisionRow, Lease, Node, PauseInterval, QueueLimit, Role
from ..validation import LONGEST_ERROR
from .entries import JobEntry, RunEntry, ScheduleEntry

_ENDED_BY = {RunState.FAILED: Event.FAILURE, RunState.LOST: Event.LOSS, RunState.CANCELLED: Event.CANCEL}


class MemoryState:
    """All that the store holds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.jobs: dict[str, JobEntry] = {}
        self.schedules: dict[str, ScheduleEntry] = {}
        self.runs: dict[str, RunEntry] = {}
        self.active: dict[str, RunEntry] = {}
        self.decisions: dict[tuple[str, Reason, int], DecisionRow] = {}
        self.nodes: dict[str, Node] = {}
        self.limits: dict[str, QueueLimit] = {}
        self.credits: dict[str, tuple[float, int]] = {}  # starts that a queue may make at once, and since when
        self.pauses: list[PauseInterval] = []
        self.needed_by: dict[str, set[str]] = defaultdict(set)  # schedules that name a schedule in `after`
        self.news = False
        self._numbers = 0

    @property
    def paused(self) -> bool:
        return bool(self.pauses) and self.pauses[-1].until is None

    @property
    def pauses_ended(self) -> int:
        return len(self.pauses) - self.paused

    @property
    def next_due(self) -> int | None:
        wakes = (job.wake_at for job in self.live_jobs() if not job.local)
        return None if self.paused else min((wake for wake in wakes if wake is not None), default=None)

    def live_jobs(self) -> Iterator[JobEntry]:
        return (job for job in self.jobs.values() if job.deleted_at is None)

    def live_nodes(self, now: int) -> Iterator[Node]:
        return (node for node in self.nodes.values() if now - node.seen_at < node.seconds * MICRO)

    def live_workers(self, now: int) -> LiveWorkers:
        nodes = (node for node in self.live_nodes(now) if Role.WORKER in node.roles)
        return LiveWorkers((node.queues, node.offers) for node in nodes)

    def load(self, entry: JobEntry) -> JobState:
        """A job as the pauses of everything that have ended since leave it (S29)."""
        job = JobState(
            entry.name,
            entry.definition.queue,
            entry.requires,
            {
                name: ScheduleState(each.state, each.wake_at, each.last_slot)
                for name, each in entry.schedules.items()
            },
            pauses_seen=entry.pauses_seen,
            last_manual_start=entry.last_manual_start,
            last_success=entry.last_success,
            history_from=entry.history_from,
        )
        ended = (
            EndedPause(number, pause.at, pause.until)
            for number, pause in enumerate(self.pauses, 1)
            if pause.until is not None
        )
        return job.end_pauses(ended)

    def save(self, entry: JobEntry, job: JobState, now: int) -> None:
        """Keep a job with what was decided about it."""
        entry.pauses_seen, entry.lane_count, entry.local = job.pauses_seen, job.lanes, job.is_local
        for name, each in job.schedules.items():
            entry.schedules[name].state, entry.schedules[name].wake_at = each.schedule, each.wake_at
        self.record(job.recorded, now)

    def record(self, decisions: Iterable[Decision], now: int) -> None:
        """Keep decisions; one with the identity of another extends it (S7)."""
        for made in decisions:
            known = self.decisions.get(made.identity)
            self.decisions[made.identity] = DecisionRow(
                made.schedule, made.reason, made.first, made.last, made.count, clip(made.detail, LONGEST_ERROR),
                known.made_at if known else now, now,
            )  # fmt: skip

    def wake(self, entry: ScheduleEntry, second: int) -> None:
        if entry.live:
            entry.wake_at = second if entry.wake_at is None else min(entry.wake_at, second)
            self.news = True

    def need(self, name: str, needed: Iterable[str]) -> None:
        """Keep whose successes a schedule waits for."""
        for waiting in self.needed_by.values():
            waiting.discard(name)
        for other in needed:
            self.needed_by[other].add(name)

    def skip_numbers(self) -> int:
        """Go on with numbers that no run can have had."""
        first = self.clock() // 1_000
        self._numbers = first - 1
        return first

    def add(self, run: RunEntry) -> RunEntry:
        """Add a new run, whose keys the caller has found free."""
        self._numbers = run.number = self._numbers + 1
        self.runs[run.id] = run
        self._activate(run)
        if run.times and run.slot is not None:
            entry = self.schedules[run.times.name]
            entry.runs[run.slot] = entry.last_run = run
            entry.last_slot = max(run.slot, entry.last_slot or run.slot)
        return run

    def retry(self, run: RunEntry, lane: int | None, now: int) -> None:
        """Queue a run again that was over (S41), whose keys the caller has found free."""
        if run.attempt and run.attempt not in {known.number for known in run.attempts}:
            ended, at = _ENDED_BY[run.state], run.finished_at or now
            run.attempts.append(AttemptRow(run.attempt, ended, run.started_at, at, run.node, run.error))
        run.state, run.lane, run.due_at, run.finished_at = RunState.QUEUED, lane, now, None
        run.failures, run.losses, run.cancelling = 0, 0, False
        run.token, run.expires_at, run.error, run.waits_for = None, None, "", ""
        self._activate(run)
        self.news = True

    def _activate(self, run: RunEntry) -> None:
        job = self.jobs[run.job]
        self.active[run.id] = run
        if run.lane is not None:
            job.lanes[run.lane] = run
        if run.key is not None:
            job.keys[run.key] = run

    def forget(self, run: RunEntry) -> None:
        """Remove a run with all that hangs on it; what guards need to know of it stays (S51)."""
        job = self.jobs[run.job]
        del self.runs[run.id]
        self.active.pop(run.id, None)
        if run.lane is not None:
            del job.lanes[run.lane]
        if run.key is not None and job.keys.get(run.key) is run:
            del job.keys[run.key]
        if run.times and run.slot is not None:
            entry = self.schedules[run.times.name]
            del entry.runs[run.slot]
            entry.last_run = max(entry.runs.values(), key=lambda other: other.number, default=None)
        if run.state is RunState.SUCCEEDED:
            job.successes[run.schedule].remove(_reference(run))

    def end(self, run: RunEntry, outcome: Outcome, now: int, result: Any = None, error: str = "") -> Settled:
        """End an attempt, or a run that will not begin: it goes where `settle` says."""
        definition = run.definition
        known = EndingRun(
            run.id, run.state, run.failures, run.losses, definition.retry, definition.at_most_once,
            run.cancelling, run.error if run.cancelling else "",
        )  # fmt: skip
        settled = settle(known, outcome, now // MICRO)
        run.state, run.failures, run.losses = settled.state, settled.failures, settled.losses
        run.result, run.error, run.lease_until, run.waits_for = result, settled.error or error, None, ""
        if settled.state is RunState.QUEUED:
            if settled.event is Event.WAIT:
                run.waits_for, run.error = error, ""
            else:
                run.attempts.append(AttemptRow(run.attempt, settled.event, run.started_at, now, run.node, error))
            run.token = None
            run.due_at = run.due_at if settled.not_before is None else settled.not_before * MICRO
            self.news = True
        else:
            self._over(run, now)
        return settled

    def _over(self, run: RunEntry, now: int) -> None:
        """Free the lane of a run that has ended, and wake what waits for it (S15) or for its success (S35)."""
        job, second = self.jobs[run.job], now // MICRO
        run.finished_at = now
        del self.active[run.id]
        if run.lane is not None:
            del job.lanes[run.lane]
            run.lane = None
        for entry in job.schedules.values():
            policy = entry.state.definition.policy
            if entry.state.deferral or entry.state.backfill or policy.pause_after is not None:
                self.wake(entry, second)
        if run.state is RunState.SUCCEEDED:
            job.successes[run.schedule].append(_reference(run))
            job.last_success = max(_reference(run), job.last_success or 0)
            needed_names = (*job.schedules, successes_of_job(job.name))
            for name in {name for needed in needed_names for name in self.needed_by[needed]}:
                self.wake(self.schedules[name], second)
            if run.auto_remove:
                self.forget(run)

    def cancel(self, run: RunEntry, now: int, failure: str = "") -> None:
        """A queued run ends at once; a running one is asked to, and has failed then if there is a reason."""
        if run.state is RunState.QUEUED:
            self.end(run, Cancelled(), now)
        elif run.state is RunState.RUNNING and not run.cancelling:
            run.cancelling, run.error, self.news = True, failure, True

    def take(self, run: RunEntry, node: str, seconds: int, now: int) -> Lease:
        """Hand a queued run to a worker."""
        if run.waits_for and run.started_at is not None:  # the attempt goes on that it is in (S74)
            run.due_at = run.started_at
        else:
            run.attempt, run.started_at = run.attempt + 1, now
        run.state, run.node, run.waits_for = RunState.RUNNING, node, ""
        run.token, run.lease_until = f"{node}/{run.attempt}", now + seconds * MICRO
        run.error, run.hand_over = "", None
        if run.trigger is Trigger.MANUAL:
            self.jobs[run.job].last_manual_start = now // MICRO
        return run.lease

    def held(self, run: str, token: str) -> RunEntry | None:
        """The running attempt that has this token; an old one has nothing (S42)."""
        found = self.active.get(run)
        return found if found and found.state is RunState.RUNNING and found.token == token else None


def _reference(run: RunEntry) -> int:
    """The instant that a success counts for: its slot, or its start if it has none."""
    return (run.started_at or 0) // MICRO if run.slot is None else run.slot
