"""What is not as it should be, and the command that mends it.

One look is taken at what there is, or at the first of very much; each check then is a function of what was seen.
Of each kind the first few are named: who has mended those looks again.
"""

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..clock import microseconds
from ..core.errors import TickwiseError
from ..core.reasons import Reason
from ..core.states import RunState
from ..core.timeparse import format_duration, iso
from ..stores.contract import Store, StoreUnavailableError
from ..stores.records import (
    MICRO,
    JobRow,
    Node,
    Page,
    PauseInterval,
    Role,
    RunFilter,
    RunRow,
    ScheduleFilter,
    ScheduleRow,
)
from ..stores.statistics import Counts
from ..stores.url import hidden
from .explain_steps import by_whom
from .overview import is_live, unserved
from .tickwise import AsyncTickwise

T = TypeVar("T")
_SKEW = 2 * MICRO
_AHEAD = 60  # seconds (S4)
_OVERDUE = 60  # seconds: a pending slot is looked at at least once a minute (S15)
_LEASE_OVER = 120 * MICRO  # a reaper would have found it long ago (S42)
_WAITS = 60 * MICRO
_LONG, _TIMES_LONGER = 600 * MICRO, 5
_PAGE, _PAGES, _SOME = 1_000, 20, 20
_QUEUED, _RUNNING = (RunFilter(states=frozenset({state})) for state in (RunState.QUEUED, RunState.RUNNING))
_FOLDER = "folder:"
_STORE_UPGRADE = "tickwise store upgrade"


class Severity(StrEnum):
    ERROR = "error"  # something does not run
    WARNING = "warning"  # something may not be meant so
    NOTE = "note"  # worth a look


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong; the code is stable."""

    code: str
    severity: Severity
    what: str
    repair: str


class _Sight(NamedTuple):
    """All that was seen."""

    now: int  # microseconds
    jobs: list[JobRow]
    schedules: list[ScheduleRow]
    due: Page[ScheduleRow]  # that should have been looked at
    queued: list[RunRow]  # the newest of them, and of those that run
    running: list[RunRow]
    counts: Counts
    nodes: list[Node]  # live ones
    pause: PauseInterval | None
    limited: frozenset[str]  # queues
    source: str  # of the app that asks
    declared: frozenset[str]  # its jobs

    @property
    def second(self) -> int:
        return self.now // MICRO

    def nodes_of(self, role: Role) -> list[Node]:
        return [node for node in self.nodes if role in node.roles]


async def doctor(tickwise: AsyncTickwise, machine: Callable[[], int] = microseconds) -> list[Finding]:
    """Everything that can be told from here; `machine` reads this machine's clock."""
    try:
        store = await tickwise.store()
        found = [*await _schema(store), *await _skew(store, machine)]
        sight = await _look(store, tickwise)
        for check in _CHECKS:
            found += islice(check(sight), _SOME)
        return [*found, *[note async for note in _long_runs(store, sight)]]
    except StoreUnavailableError as error:
        what = f"the store {hidden(tickwise.settings.store)} does not answer: {error}"
        repair = "start it, or name another: tickwise serve --store URL"
        return [Finding("store_unreachable", Severity.ERROR, what, repair)]
    except TickwiseError as error:
        return [Finding("store_unusable", Severity.ERROR, str(error), "tickwise store check")]


async def _look(store: Store, tickwise: AsyncTickwise) -> _Sight:
    insights, now = store.insights, await store.now()
    pauses = await insights.pauses()
    source, declared = tickwise.declared
    return _Sight(
        now,
        await _first(lambda after: insights.jobs(after, _PAGE)),
        await _first(lambda after: insights.schedules(after=after, limit=_PAGE)),
        await insights.schedules(ScheduleFilter(due_before=now // MICRO - _OVERDUE), limit=_PAGE),
        await _first(lambda after: insights.runs(_QUEUED, after, _PAGE)),
        await _first(lambda after: insights.runs(_RUNNING, after, _PAGE)),
        await insights.counts(),
        [node for node in await insights.nodes() if is_live(node, now)],
        next((pause for pause in pauses if pause.until is None), None),
        frozenset(limit.queue for limit in await insights.limits()),
        source,
        declared,
    )


async def _first(read: Callable[[str | None], Awaitable[Page[T]]]) -> list[T]:
    found: list[T] = []
    after: str | None = None
    for _ in range(_PAGES):
        page = await read(after)
        found, after = [*found, *page.items], page.after
        if after is None:
            break
    return found


async def _schema(store: Store) -> list[Finding]:
    wrong = await store.schema.check(thorough=False)
    return [Finding("schema", Severity.ERROR, sentence, _upgrade(sentence)) for sentence in wrong]


def _upgrade(sentence: str) -> str:
    return _STORE_UPGRADE if _STORE_UPGRADE in sentence else "pip install --upgrade tickwise"


async def _skew(store: Store, machine: Callable[[], int]) -> list[Finding]:
    """Beyond what the way to the store and back can explain."""
    before, theirs, after = machine(), await store.now(), machine()
    skew = max(before - theirs, theirs - after)
    if skew <= _SKEW:
        return []
    side = "ahead of" if before > theirs else "behind"
    what = f"the clock of {socket.gethostname()} is {skew / MICRO:.0f} s {side} the store's"
    return [Finding("clock_skew", Severity.WARNING, what, "timedatectl set-ntp true")]


def _unwatched(sight: _Sight) -> Iterator[Finding]:
    due = sight.due.items
    number = f"{len(due)}{' or more' if sight.due.after else ''}"
    names = ", ".join(row.schedule.name for row in due[:3]) + (" …" if len(due) > 3 else "")
    if sight.pause is not None:
        what = f"everything is paused since {iso(sight.pause.at)}{by_whom(sight.pause)}"
        overdue = f"; overdue: {number}" if due else ""
        yield Finding("everything_paused", Severity.WARNING, what + overdue, "tickwise resume")
    elif due and not sight.nodes_of(Role.TICKER):
        what = f"schedules overdue: {number} ({names}), and no ticker is alive"
        yield Finding("nobody_ticks", Severity.ERROR, what, "tickwise serve")
    elif due:
        what = f"schedules overdue: {number} ({names}), although a ticker is alive"
        yield Finding("overdue", Severity.ERROR, what, f"tickwise why {due[0].schedule.name}")


def _cursors_ahead(sight: _Sight) -> Iterator[Finding]:
    for row in sight.schedules:
        if row.schedule.cursor > sight.second + _AHEAD:
            name, cursor = row.schedule.name, iso(row.schedule.cursor)
            what = f"{name} has been decided up to {cursor}, which is to come: a clock was wrong"
            yield Finding("cursor_ahead", Severity.ERROR, what, f"tickwise schedules reset {name}")


def _unserved_queues(sight: _Sight) -> Iterator[Finding]:
    for queue, what, slots_held in unserved(sight.counts, sight.nodes_of(Role.WORKER)):
        code = "slots_held" if slots_held else "queue_unserved"
        yield Finding(code, Severity.ERROR, what, f"tickwise worker --queues {queue}")


def _leases_over(sight: _Sight) -> Iterator[Finding]:
    for run in sight.running:
        if run.lease_until is not None and run.lease_until < sight.now - _LEASE_OVER:
            what = f"run {run.id} of {run.job} is held by {run.node}, whose lease was over at "
            repair = f"tickwise runs cancel {run.id}" if sight.nodes else f"tickwise worker --queues {run.queue}"
            yield Finding("lease_over", Severity.ERROR, what + iso(run.lease_until // MICRO), repair)


def _unknown_functions(sight: _Sight) -> Iterator[Finding]:
    """What waits although there is room: nobody who has it knows the job."""
    sources = {row.definition.name: row.source for row in sight.jobs if not row.definition.steps}
    roomy = {q for node in sight.nodes_of(Role.WORKER) if node.busy < node.capacity for q in node.queues}
    waiting = [run for run in sight.queued if run.due_at < sight.now - _WAITS and run.job in sources]
    for queue, job in sorted({(run.queue, run.job) for run in waiting if run.queue in roomy - sight.limited}):
        what = f"runs of {job} wait in the queue {queue}, and no worker there seems to know its function"
        repair = f"tickwise worker MODULE:APP --queues {queue} (with the app of {sources[job]})"
        yield Finding("unknown_function", Severity.ERROR, what, repair)


def _orphans(sight: _Sight) -> Iterator[Finding]:
    """Jobs of this app that its code has no more, and of folders that are gone from the only machine (S50)."""
    only_here = {node.host for node in sight.nodes} <= {socket.gethostname()}
    for row in sight.jobs:
        name, folder = row.definition.name, row.source.removeprefix(_FOLDER)
        forgotten = bool(sight.declared) and row.source == sight.source and name not in sight.declared
        if forgotten or (row.source != folder and only_here and not Path(folder).exists()):
            what = f"{name} was written by {row.source}, which does not have it any more"
            repair = f"tickwise schedules pause {row.schedules[0] if row.schedules else name}"
            yield Finding("orphaned", Severity.WARNING, what, repair)


def _bad_files(sight: _Sight) -> Iterator[Finding]:
    for node in sight.nodes:
        for problem in node.problems:
            file = problem.partition(":")[0]
            repair = f"tickwise validate {file}" if file.endswith((".yaml", ".yml")) else "mend the definition"
            yield Finding("bad_definition", Severity.ERROR, f"{node.host}: {problem}", repair)


def _unreadable(sight: _Sight) -> Iterator[Finding]:
    readable = {row.schedule.name: row.schedule for row in sight.schedules}
    for row in sight.jobs:
        lost = [f"its schedule {name} cannot be read" for name in row.schedules if name not in readable]
        waits = [readable[name].deferral for name in row.schedules if name in readable]
        broken = [wait.detail for wait in waits if wait and wait.reason is Reason.BROKEN]
        for why in [*([row.unreadable] if row.unreadable else lost), *broken]:
            repair = f"write {row.definition.name} again, as its source ({row.source}) has it"
            yield Finding("unreadable", Severity.ERROR, f"{row.definition.name}: {why}", repair)


_CHECKS = (
    _unwatched, _cursors_ahead, _unserved_queues, _leases_over, _unknown_functions, _orphans, _bad_files,
    _unreadable,
)  # fmt: skip


async def _long_runs(store: Store, sight: _Sight) -> AsyncIterator[Finding]:
    """Runs that take much longer than those before them did."""
    long = [run for run in sight.running if run.started_at and run.started_at < sight.now - _LONG]
    for run in long[:_SOME]:
        wanted = RunFilter(job=run.job, states=frozenset({RunState.SUCCEEDED}))
        rows = (await store.insights.runs(wanted, limit=_SOME)).items
        took = [(row.finished_at or 0) - row.started_at for row in rows if row.started_at]
        lasts = sight.now - (run.started_at or 0)
        if took and lasts > _TIMES_LONGER * max(took):
            what = f"run {run.id} of {run.job} is under way for {_span(lasts)}; before, it took {_span(max(took))}"
            yield Finding("long_run", Severity.NOTE, what, f"tickwise runs logs {run.id}")


def _span(micro: int) -> str:
    return format_duration(max(1, round(micro / MICRO)))
