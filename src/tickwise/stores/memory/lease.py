"""Which queued runs a worker gets from the memory store, within the fleet's limits; and which runs are kept."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import nsmallest

from ...core.definition import Keep
from ...core.model import Pause
from ...core.states import RunState
from ..records import LOG_HEAD, LOG_TAIL, MICRO, Lease, LeaseRequest, LogPart, QueueLimit
from .entries import JobEntry, RunEntry
from .state import MemoryState

_DAY = 86_400 * MICRO


def waits(run: RunEntry, now: int) -> bool:
    """Whether a run could be started now."""
    return run.state is RunState.QUEUED and run.due_at <= now and not run.expired(now)


def hand_out(memory: MemoryState, wanted: LeaseRequest, runs: Iterable[RunEntry], now: int) -> tuple[Lease, ...]:
    """Lease what waits: queue by queue as asked; in each by priority, then age (S46: only what it may execute)."""
    by_queue: dict[str, list[RunEntry]] = defaultdict(list)
    for run in runs:
        if waits(run, now) and wanted.offers.allow(run.requires):
            by_queue[run.queue].append(run)
    leases: list[Lease] = []
    for queue in dict.fromkeys(wanted.queues):
        room = min(wanted.capacity - len(leases), _allowed(memory, queue, now))
        chosen = nsmallest(room, by_queue[queue], key=lambda run: (-run.priority, run.due_at, run.number))
        leases += [memory.take(run, wanted.node, wanted.seconds, now) for run in chosen]
        if chosen and queue in memory.credits:
            memory.credits[queue] = (_credit(memory, queue, now) - len(chosen), now)
    return tuple(leases)


def adopt(memory: MemoryState, wanted: LeaseRequest, now: int) -> tuple[Lease, ...]:
    """Give handed-over runs that nobody watches to a watcher, those first that have waited longest (S54)."""
    unwatched = [
        run for run in memory.active.values()
        if run.hand_over and run.lease_until is not None and run.lease_until < now
        and run.queue in wanted.queues and wanted.offers.allow(run.requires)
    ]  # fmt: skip
    chosen = nsmallest(wanted.capacity, unwatched, key=lambda run: (run.lease_until, run.number))
    for run in chosen:
        run.node, run.lease_until = wanted.node, now + wanted.seconds * MICRO
    return tuple(run.lease for run in chosen)


def unwatch(memory: MemoryState, node: str, now: int) -> None:
    """End the leases that a node has of handed-over runs."""
    for run in memory.active.values():
        if run.hand_over and run.node == node and run.lease_until is not None:
            run.lease_until = min(run.lease_until, now)


def _allowed(memory: MemoryState, queue: str, now: int) -> int:
    """How many runs of a queue may start now, in the whole fleet."""
    limit = memory.limits.get(queue, QueueLimit(queue))
    if limit.paused_at(now // MICRO):
        return 0
    room = len(memory.active)
    if limit.concurrency is not None:
        running = sum(run.state is RunState.RUNNING and run.queue == queue for run in memory.active.values())
        room = max(0, limit.concurrency - running)
    return room if limit.starts_per_second is None else min(room, int(_credit(memory, queue, now)))


def _credit(memory: MemoryState, queue: str, now: int) -> float:
    """A bucket that time fills: it holds the starts of a second, and one at least."""
    credit, since = memory.credits[queue]
    rate = memory.limits[queue].starts_per_second or 0.0
    return min(max(1.0, rate), credit + rate * max(0, now - since) / MICRO)


def set_limit(memory: MemoryState, limit: QueueLimit, now: int) -> None:
    """Begin with a full bucket; a pause of the queue stays."""
    known = memory.limits.get(limit.queue, QueueLimit(limit.queue))
    _keep_limit(memory, limit._replace(pause=known.pause))
    memory.credits.pop(limit.queue, None)
    if limit.starts_per_second is not None:
        memory.credits[limit.queue] = (max(1.0, limit.starts_per_second), now)


def pause_queue(memory: MemoryState, queue: str, pause: Pause | None, second: int) -> None:
    """Pause or resume a queue; its limits stay."""
    known = memory.limits.get(queue, QueueLimit(queue))
    _keep_limit(memory, known._replace(pause=pause and replace(pause, at=second)))


def _keep_limit(memory: MemoryState, limit: QueueLimit) -> None:
    """A limit of nothing is none."""
    memory.limits.pop(limit.queue, None)
    if limit != QueueLimit(limit.queue):
        memory.limits[limit.queue] = limit


def keep_log(run: RunEntry, part: LogPart) -> None:
    """Add to what a step printed; of very much, whole parts between its head and its tail go."""
    run.parts += 1
    place = run.log_ends.get(part.step, 0)
    run.log[run.parts] = (place, part)
    end = run.log_ends[part.step] = place + len(part.text)
    if end > LOG_HEAD + LOG_TAIL:
        middle = [
            number for number, (start, kept) in run.log.items()
            if kept.step == part.step and start >= LOG_HEAD and start + len(kept.text) <= end - LOG_TAIL
        ]  # fmt: skip
        for number in middle:
            del run.log[number]


def unwanted(
    memory: MemoryState, job: JobEntry, finished: list[RunEntry], keep: Keep, now: int
) -> Iterator[RunEntry]:
    """Finished runs that a job does not keep any longer (S51), of all that it has, in the order they were made."""
    keep = job.definition.keep or keep
    if not keep:
        return
    before = now - max(keep.days or 1, 1) * _DAY
    beyond = finished[: max(0, len(finished) - keep.runs)] if keep.runs else finished
    spared = {
        run.number for name in {run.schedule for run in beyond if run.schedule} for run in _spared(memory, name)
    }
    for run in beyond:
        if run.finished_at is not None and run.finished_at < before and run.number not in spared:
            yield run


def _spared(memory: MemoryState, schedule: str) -> Iterator[RunEntry]:
    """The newest run and success of a schedule stay, and whatever its cursor has not passed."""
    entry = memory.schedules[schedule]
    succeeded = [slot for slot, run in entry.runs.items() if run.state is RunState.SUCCEEDED]
    newest = {max(entry.runs, default=None), max(succeeded, default=None)}
    return (run for slot, run in entry.runs.items() if slot in newest or slot > entry.state.cursor)
