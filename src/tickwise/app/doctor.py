"""What is wrong, and the command that repairs it.

A snapshot of the store is read first (`doctor_snapshot`). Each check is a function of the snapshot
and reports at most `_MAX_FINDINGS`: repair those and ask again.
"""

import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from shlex import quote

from ..clock import microseconds
from ..core.attention import Severity
from ..core.blackout import rest_end
from ..core.cron.calendar_days import OnCalendar
from ..core.cron.day_set import day_number
from ..core.errors import TickwiseError
from ..core.event_inbox import MAX_SECONDS_AHEAD
from ..core.events import OnEvent, SettledFiles, Webhook, causes_of
from ..core.reasons import Reason
from ..core.requirements import requirements_of
from ..core.states import RunState
from ..core.timeparse import format_duration, iso
from ..sources.files import may_watch
from ..stores.contract import Store, StoreUnavailableError
from ..stores.records import MICRO, Role, RunFilter
from ..stores.url import hidden
from .calendars import is_stale
from .doctor_snapshot import MAX_OVERDUE, MAX_ROWS, StoreSnapshot, take_snapshot
from .explain_steps import by_whom
from .overview import unserved_queues
from .sources import FOLDER, orphaned
from .tickwise import AsyncTickwise
from .worker_advice import start_command, workers_without_room

_MAX_SKEW = 2 * MICRO
_MAX_AHEAD = 60  # seconds (S4)
_DAY, _CALENDAR_DAYS = 86_400, 366  # a calendar that ends so soon is reported
_MAX_FINDINGS, _MAX_NAMES = 20, 3
_MAX_OVERDUE_LEASE = 120 * MICRO  # a reaper would have found it long ago (S42)
_LONG_RUN, _TIMES_LONGER = 600 * MICRO, 5
_STORE_UPGRADE = "tickwise store upgrade"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong; the code is stable."""

    code: str
    severity: Severity
    what: str
    repair: str


async def doctor(tickwise: AsyncTickwise, clock: Callable[[], int] = microseconds) -> list[Finding]:
    """Everything that can be found from here; `clock` reads this machine's time."""
    try:
        store = await tickwise.store()
        found = [*await _schema(store), *await _losses(store), *await _skew(store, clock)]
        snapshot = await take_snapshot(store, tickwise)
        for check in _CHECKS:
            found += islice(check(snapshot), _MAX_FINDINGS)
        return [*found, *[note async for note in _long_runs(store, snapshot)]]
    except StoreUnavailableError as error:
        what = f"the store {hidden(tickwise.settings.store)} does not answer: {error}"
        repair = "start it, or name another: tickwise serve --store URL"
        return [Finding("store_unreachable", Severity.ERROR, what, repair)]
    except TickwiseError as error:
        return [Finding("store_unusable", Severity.ERROR, str(error), "tickwise store check")]


async def _schema(store: Store) -> list[Finding]:
    wrong = await store.schema.check(thorough=False)
    return [Finding("schema", Severity.ERROR, sentence, _repair_schema(sentence)) for sentence in wrong]


def _repair_schema(sentence: str) -> str:
    return _STORE_UPGRADE if _STORE_UPGRADE in sentence else "pip install --upgrade tickwise"


async def _losses(store: Store) -> list[Finding]:
    """What a crash of the store's server would take back."""
    set_to = await store.schema.durability()
    if set_to is None or not set_to.loss:
        return []
    what = f"{set_to.loss} ({set_to.settings})"
    return [Finding("durability", Severity.NOTE, what, "redis-cli CONFIG SET appendonly yes appendfsync always")]


async def _skew(store: Store, clock: Callable[[], int]) -> list[Finding]:
    """How far this clock is from the store's, beyond the time that the request took."""
    before, theirs, after = clock(), await store.now(), clock()
    skew = max(before - theirs, theirs - after)
    if skew <= _MAX_SKEW:
        return []
    side = "ahead of" if before > theirs else "behind"
    what = f"the clock of {socket.gethostname()} is {skew / MICRO:.0f} s {side} the store's"
    return [Finding("clock_skew", Severity.WARNING, what, "timedatectl set-ntp true")]


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMES]) + (" …" if len(names) > _MAX_NAMES else "")


def _unwatched(snapshot: StoreSnapshot) -> Iterator[Finding]:
    due = snapshot.due.items
    number = f"{len(due)}{' or more' if snapshot.due.after else ''}"
    names = _first_names([row.schedule.name for row in due])
    if snapshot.pause is not None:
        what = f"everything is paused since {iso(snapshot.pause.at)}{by_whom(snapshot.pause)}"
        overdue = f"; overdue: {number}" if due else ""
        yield Finding("everything_paused", Severity.WARNING, what + overdue, "tickwise resume")
    elif due and not snapshot.nodes_of(Role.TICKER):
        what = f"schedules overdue: {number} ({names}), and no ticker is alive"
        yield Finding("nobody_ticks", Severity.ERROR, what, "tickwise serve")
    elif due:
        what = f"schedules overdue: {number} ({names}), although a ticker is alive"
        yield Finding("overdue", Severity.ERROR, what, f"tickwise why {due[0].schedule.name}")


def _failing_claims(snapshot: StoreSnapshot) -> Iterator[Finding]:
    for node in snapshot.nodes_of(Role.TICKER):
        if node.claims_fail:
            what = f"{node.host}: claims fail ({node.claims_fail}); due jobs are found in its own index meanwhile"
            yield Finding("claims_fail", Severity.ERROR, what, "tickwise store check")


def _set_back(snapshot: StoreSnapshot) -> Iterator[Finding]:
    """A failover that lost commits, or a backup that was restored while nodes lived (S78)."""
    for each in snapshot.set_backs:
        since = iso(each.since // MICRO) if each.since else f"before {each.host} started"
        what = (
            f"the store has forgotten what it confirmed to {each.host} from {since} to {iso(each.until // MICRO)}:"
            " slots of that time are decided again, and may run twice"
        )
        yield Finding("set_back", Severity.WARNING, what, each.repair)


def _cursors_ahead(snapshot: StoreSnapshot) -> Iterator[Finding]:
    for row in snapshot.schedules:
        ahead = MAX_SECONDS_AHEAD if isinstance(row.schedule.definition.times, OnEvent) else _MAX_AHEAD
        if row.schedule.cursor > snapshot.second + ahead:
            name, cursor = row.schedule.name, iso(row.schedule.cursor)
            what = f"{name} has been decided up to {cursor}, which is to come: a clock was wrong"
            yield Finding("cursor_ahead", Severity.ERROR, what, f"tickwise schedules reset {name}")


def _hooks_without_secret(snapshot: StoreSnapshot) -> Iterator[Finding]:
    """Hooks whose calls nobody can sign: each of them is turned away (S70)."""
    for row in snapshot.schedules:
        times = row.schedule.definition.times
        hook = times.source if isinstance(times, OnEvent) else None
        name = hook.secret if isinstance(hook, Webhook) else ""
        if name and name not in snapshot.secrets:
            what = (
                f"the hook {row.schedule.name} is signed with {name}, and the settings have no secret of that name"
            )
            repair = f'add to [secrets] in tickwise.toml: {name} = "env:{name.upper().replace("-", "_")}"'
            yield Finding("hook_without_secret", Severity.ERROR, what, repair)


def _events_that_never_come(snapshot: StoreSnapshot) -> Iterator[Finding]:
    """Files that no node with these settings looks for, and ends of jobs that are not there (S70)."""
    jobs = {row.definition.name for row in snapshot.jobs}
    for row in snapshot.schedules:
        name, times = row.schedule.name, row.schedule.definition.times
        source = times.source if isinstance(times, OnEvent) else None
        if isinstance(source, SettledFiles) and not may_watch(source, snapshot.event_folders):
            what = f"{name} waits for files in {source.directory}, which is in none of the event_folders"
            repair = f'add to tickwise.toml where a ticker sees it: event_folders = ["{source.directory}"]'
            yield Finding("files_not_watched", Severity.WARNING, what, repair)
        for job in sorted({*causes_of(times)} - jobs) if len(jobs) < MAX_ROWS else ():
            what = f"{name} runs when {job} ends, and there is no such job"
            yield Finding(
                "unknown_cause", Severity.WARNING, what, f"define {job}, or correct the on_event of {name}"
            )


def _lost_wakeups(snapshot: StoreSnapshot) -> Iterator[Finding]:
    """Schedules at which no pass would look in time (S15)."""
    for row in snapshot.schedules:
        slot, wake_at, name = row.next_slot, row.wake_at, row.schedule.name
        if slot is None or row.schedule.finished or rest_end(row.schedule.blackouts, snapshot.second):
            continue
        if wake_at is None or (slot <= snapshot.second and wake_at > snapshot.second + MAX_OVERDUE):
            until = "for ever" if wake_at is None else f"until {iso(wake_at)}"
            what = f"{name} sleeps {until}, although its next slot is {iso(slot)}: its wake-up was lost"
            yield Finding(
                "wakeup_lost", Severity.ERROR, what, "tickwise serve (a ticker finds it in half a minute)"
            )


def _unserved_queues(snapshot: StoreSnapshot) -> Iterator[Finding]:
    for queue, number in unserved_queues(snapshot.counts, snapshot.nodes_of(Role.WORKER)):
        what = f"no live worker serves the queue {queue}, where runs wait: {number}"
        yield Finding("queue_unserved", Severity.ERROR, what, start_command(queue))


def _held_slots(snapshot: StoreSnapshot) -> Iterator[Finding]:
    """Jobs whose slots are held (S47): those together that lack the same worker."""
    workers, found = snapshot.workers, defaultdict[tuple[str, str], list[str]](list)
    waiting = {row.schedule.job for row in snapshot.schedules if row.schedule.held_for_worker}
    for row in snapshot.jobs:
        job, requires = row.definition, requirements_of(row.definition)
        missing = workers.missing(job.queue, requires)
        if missing and job.name in waiting:
            found[missing.text, start_command(job.queue, requires, row.source)].append(job.name)
    for (what, repair), names in found.items():
        held = f"no live worker {what}: the slots of {_first_names(names)} are held"
        yield Finding("slots_held", Severity.ERROR, held, repair)


def _no_room(snapshot: StoreSnapshot) -> Iterator[Finding]:
    for _, problem in workers_without_room(snapshot.nodes):
        yield Finding("no_room", Severity.WARNING, problem, "tickwise runs list --state running")


def _leases_over(snapshot: StoreSnapshot) -> Iterator[Finding]:
    for run in snapshot.running:
        if run.lease_until is not None and run.lease_until < snapshot.now - _MAX_OVERDUE_LEASE:
            what = f"run {run.id} of {run.job} is held by {run.node}, whose lease was over at "
            repair = (
                f"tickwise runs cancel {run.id}" if snapshot.nodes else f"tickwise worker --queues {run.queue}"
            )
            yield Finding("lease_over", Severity.ERROR, what + iso(run.lease_until // MICRO), repair)


def _unserved_runs(snapshot: StoreSnapshot) -> Iterator[Finding]:
    """Queued runs that no worker of their queue may execute (S46), those of one job together."""
    workers, sources = snapshot.workers, {row.definition.name: row.source for row in snapshot.jobs}
    waiting = {(run.job, run.queue, run.requires) for run in snapshot.queued if run.due_at <= snapshot.now}
    for job, queue, requires in sorted(waiting):
        missing = workers.missing(queue, requires)
        if missing and missing.kind:
            what = f"runs of {job} wait in the queue {queue}, and no live worker {missing.text}"
            repair = start_command(queue, requires, sources.get(job, "another version"))
            yield Finding(f"unknown_{missing.kind}", Severity.ERROR, what, repair)


def _orphans(snapshot: StoreSnapshot) -> Iterator[Finding]:
    """Jobs that the code of their app no longer declares, and jobs of folders that no longer exist here (S50)."""
    for row in orphaned(snapshot.jobs, snapshot.nodes, snapshot.own):
        what = f"no code declares {row.definition.name} any more: it was written by {row.source}"
        yield Finding("orphaned", Severity.WARNING, what, "tickwise schedules remove --orphaned")
    served = {source for node in snapshot.nodes for source in node.sources}
    if {node.host for node in snapshot.nodes} <= {socket.gethostname()}:
        for source in sorted({row.source for row in snapshot.jobs} - served):
            folder = source.removeprefix(FOLDER)
            if folder != source and folder.startswith("/") and not Path(folder).exists():
                names = sorted(row.definition.name for row in snapshot.jobs if row.source == source)
                what = f"{_first_names(names)}: written by {source}, which is gone"
                yield Finding("orphaned", Severity.WARNING, what, f"tickwise sources remove {quote(source)}")


def _bad_files(snapshot: StoreSnapshot) -> Iterator[Finding]:
    for node in snapshot.nodes:
        for problem in node.problems:
            file = problem.partition(":")[0]
            own = f"look at {file} on {node.host}" if file.startswith("/") else "mend the definition"
            repair = f"tickwise validate {file}" if file.endswith((".yaml", ".yml")) else own
            yield Finding("bad_definition", Severity.ERROR, f"{node.host}: {problem}", repair)


def _adopted(snapshot: StoreSnapshot) -> Iterator[Finding]:
    """Schedules whose slots are found elsewhere than their definitions say, because a person said so."""
    names = [row.schedule.name for row in snapshot.schedules if row.schedule.ticking is not None]
    if names:
        what = f"a person has said what finds their slots, and not their definitions: {_first_names(names)}"
        yield Finding("adopted", Severity.NOTE, what, f"tickwise schedules show {names[0]}")


def _undelivered(snapshot: StoreSnapshot) -> Iterator[Finding]:
    for node in snapshot.nodes:
        for problem in node.undelivered:
            channel = problem.partition(":")[0]
            what = f"{node.host}: the last notification did not arrive over {problem}"
            yield Finding("undelivered", Severity.ERROR, what, f"tickwise notify test {channel}")


def _unreadable(snapshot: StoreSnapshot) -> Iterator[Finding]:
    readable = {row.schedule.name: row.schedule for row in snapshot.schedules if not row.unreadable}
    for row in snapshot.jobs:
        lost = [f"its schedule {name} cannot be read" for name in row.schedules if name not in readable]
        waits = [readable[name].deferral for name in row.schedules if name in readable]
        broken = [wait.detail for wait in waits if wait and wait.reason is Reason.BROKEN]
        for why in [*([row.unreadable] if row.unreadable else lost), *broken]:
            repair = f"write {row.definition.name} again, as its source ({row.source}) has it"
            yield Finding("unreadable", Severity.ERROR, f"{row.definition.name}: {why}", repair)


def _calendars(snapshot: StoreSnapshot) -> Iterator[Finding]:
    """Calendars that end within a year, and schedules that have other days than their calendar (S60)."""
    for one in snapshot.calendars.values():
        left = day_number(one.ends) - snapshot.second // _DAY
        if left <= _CALENDAR_DAYS:
            what = f"the calendar {one.name} ends on {one.ends}: after that its schedules have no slot"
            severity = Severity.WARNING if left > 0 else Severity.ERROR
            yield Finding("calendar_ends", severity, what, f"tickwise calendars expand {one.name}")
    for row in snapshot.schedules:
        times = row.schedule.definition.times
        if isinstance(times, OnCalendar) and is_stale(row.schedule.definition, snapshot.calendars):
            what = f"{row.schedule.name} has older days of the calendar {times.calendar}"
            yield Finding("calendar_stale", Severity.WARNING, what, f"tickwise calendars expand {times.calendar}")


_CHECKS = (
    _unwatched, _set_back, _failing_claims, _cursors_ahead, _hooks_without_secret, _events_that_never_come,
    _lost_wakeups, _unserved_queues, _held_slots, _no_room, _leases_over, _unserved_runs, _orphans, _bad_files,
    _undelivered, _adopted, _unreadable, _calendars,
)  # fmt: skip


async def _long_runs(store: Store, snapshot: StoreSnapshot) -> AsyncIterator[Finding]:
    """Runs that take much longer than earlier runs of the same job."""
    long = [run for run in snapshot.running if run.started_at and run.started_at < snapshot.now - _LONG_RUN]
    for run in long[:_MAX_FINDINGS]:
        filters = RunFilter(job=run.job, states=frozenset({RunState.SUCCEEDED}))
        rows = (await store.insights.runs(filters, limit=_MAX_FINDINGS)).items
        took = [(row.finished_at or 0) - row.started_at for row in rows if row.started_at]
        lasts = snapshot.now - (run.started_at or 0)
        if took and lasts > _TIMES_LONGER * max(took):
            what = f"run {run.id} of {run.job} is under way for {_span(lasts)}; before, it took {_span(max(took))}"
            yield Finding("long_run", Severity.NOTE, what, f"tickwise runs logs {run.id}")


def _span(micro: int) -> str:
    return format_duration(max(1, round(micro / MICRO)))
