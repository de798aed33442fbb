"""Whether a world that has settled is whole: the history as it is written, against what really happened."""

from collections.abc import Callable, Iterable, Iterator

from tickwise.app.audit import audit, decisions_of, runs_of
from tickwise.core.audit import AuditFinding, DefinedSpan, Fault, ScheduleHistory, check, overlapping
from tickwise.core.definition import BlackoutMode, Catchup, Kind, Overlap, ScheduleDefinition
from tickwise.core.reasons import Reason
from tickwise.core.slots import due_at
from tickwise.core.states import ACTIVE, RunState
from tickwise.core.timeparse import iso
from tickwise.stores.pages import all_pages
from tickwise.stores.records import MICRO, DecisionFilter, DecisionRow, RunFilter, RunRow, ScheduleRow

from .events import EVENT_JOBS, broken_events
from .jobs import NARROW, ONCE_ONLY, PATIENCE
from .rules import RULE_JOBS, broken_rules
from .trouble import LIMIT
from .world import Pausing, World

_UNDECIDED = 150  # seconds that a slot may be due in a calm world and not be decided
_SOON, _AT_ONCE = 60 * MICRO, 10 * MICRO  # after so long a world is calm; what is done within this is done at once
_WAITS = (Reason.WAITS_FOR_RUN, Reason.WAITS_FOR_LANE)


async def judge(world: World) -> list[AuditFinding]:
    """All that is wrong."""
    insights, editions = world.store.insights, world.editions.items()
    schedules = (await insights.schedules()).items
    rows = await all_pages(lambda after: insights.runs(RunFilter(), after, 1_000))
    told = await all_pages(lambda after: insights.decisions(DecisionFilter(), after, 1_000))
    most = {
        job: max(each.policy.max_active_runs for one in both for each in one.schedules) for job, both in editions
    }
    world.truth.lost = {row.id for row in rows if row.state is RunState.LOST and row.hand_over}
    found = [*world.truth.findings, *world.truth.broken_laws(ONCE_ONLY, most)]
    for row in schedules:
        found += await _history(world, row) if row.schedule.name not in EVENT_JOBS else ()
        found += _undecided(world, row)
        found += _reasons(world, row, [one for one in told if one.schedule == row.schedule.name])
    for job in world.jobs:
        if not world.clock_set_back:  # else instants lie
            runs = await runs_of(insights, job, None)
            found += [*overlapping(runs, most[job]), *_waited(world, job, rows, told)]
    found += [finding for row in rows for finding in _run(world, row)]
    found += [finding for row in rows for finding in (*_unexplained_loss(world, row), *_no_work(world, row))]
    found += _limit(world)
    found += [finding for pausing in world.pauses for finding in _paused(rows, pausing)]
    rests = world.rests if not world.clock_set_back else []
    found += [finding for resting in rests for finding in _paused(rows, resting)]
    found += broken_rules(world, rows, told)
    found += broken_events(world, schedules, rows, told)
    found += (await audit(world.store)).findings if not world.clock_set_back else []
    return found


async def _history(world: World, row: ScheduleRow) -> Iterable[AuditFinding]:
    name, spans = row.schedule.name, world.spans[row.schedule.name]
    spans[-1] = spans[-1]._replace(until=max(spans[-1].after, row.schedule.cursor))
    whole = DefinedSpan(spans[0].after, spans[-1].until, spans[0].times)
    runs = [run for run in await runs_of(world.store.insights, row.schedule.job, None) if run.schedule == name]
    decisions = await decisions_of(world.store.insights, name, whole)
    moves = frozenset(world.truth.moves[name])
    return check(ScheduleHistory(name, tuple(spans), tuple(runs), decisions, moves)).findings


def _undecided(world: World, row: ScheduleRow) -> Iterator[AuditFinding]:
    """In a calm world everything that is due is decided, or waits for what has just been, or for a success."""
    slot, waits = row.next_slot, row.schedule.deferral
    paused = any(one.schedule == row.schedule.name and one.until is None for one in world.pauses)
    limited = waits is not None and row.schedule.definition.policy.max_starts is not None
    if paused or limited or (waits and waits.reason is Reason.WAITS_FOR_SUCCESS):
        return
    if slot is None and row.schedule.name in EVENT_JOBS:
        return  # none has come
    if slot is None or due_at(row.schedule, slot) < world.second - _UNDECIDED:
        text = f"{iso(slot) if slot else 'what comes next'} is still not decided ({waits}, wakes at {row.wake_at})"
        yield AuditFinding(Fault.MISSED, row.schedule.name, slot, text, "")


_POSSIBLE: dict[Reason, Callable[[ScheduleDefinition], bool]] = {
    Reason.MISSED: lambda one: one.kind is not Kind.START or one.policy.catchup is Catchup.SKIP,
    Reason.STOPPED_SINCE: lambda one: one.kind is Kind.START,
    Reason.COALESCED: lambda one: one.policy.catchup is Catchup.ONCE,
    Reason.TOO_OLD: lambda one: one.policy.catchup is Catchup.ALL,
    Reason.OVERLAP: lambda one: one.policy.overlap is Overlap.SKIP,
    Reason.LANES_FULL: lambda one: one.policy.overlap is Overlap.ALLOW,
    Reason.BUDGET: lambda one: one.policy.max_starts is not None,
    Reason.BLACKOUT: lambda one: one.policy.blackout is BlackoutMode.SKIP or one.policy.catchup is not Catchup.ALL,
    Reason.SUPERSEDED: lambda one: (
        one.kind is Kind.RESTART or one.policy.overlap in (Overlap.LATEST, Overlap.REPLACE)
    ),
}


def _anybody(_definition: ScheduleDefinition) -> bool:
    return True


def _reasons(world: World, row: ScheduleRow, told: Iterable[DecisionRow]) -> Iterator[AuditFinding]:
    """A reason is one that a definition of the schedule can give, and what is too old is older than any window."""
    defined = [s for one in world.editions[row.schedule.job] for s in one.schedules if s.name == row.schedule.name]
    for one in told:
        giving = [each.policy for each in defined if _POSSIBLE.get(one.reason, _anybody)(each)]
        late = one.extended_at // MICRO - one.last
        young = one.reason is Reason.TOO_OLD and late <= min((each.catchup_window for each in giving), default=0)
        if not giving or young:
            text = f"{one.reason.code} is no reason for {iso(one.last)}"
            yield AuditFinding(Fault.UNEXPLAINED, one.schedule, one.last, text, "")


def _waited(world: World, job: str, rows: Iterable[RunRow], told: Iterable[DecisionRow]) -> Iterator[AuditFinding]:
    """In a calm world a slot that waited for a run is looked at when that ends, not a minute later (S15)."""
    own = [row for row in rows if row.job == job]
    if any(one.policy.max_starts for both in world.editions[job] for one in both.schedules):
        return  # it waits for room besides
    begun = {row.created_at: row for row in own if row.slot is not None and row.created_at > world.calm_at + _SOON}
    for at, row in begun.items():
        freed = max(
            (other.finished_at for other in own if other.finished_at and other.finished_at <= at), default=at
        )
        waits = [
            one for one in told
            if one.schedule == row.schedule and one.reason in _WAITS and one.first <= (row.slot or 0) <= one.last
        ]  # fmt: skip
        if waits and waits[0].made_at < freed < at - _AT_ONCE:
            text = f"run {row.id} of {job} began {(at - freed) / MICRO:.0f} s after nothing was in its way"
            yield AuditFinding(Fault.UNEXPLAINED, row.schedule or "", row.slot, text, "")


def _run(world: World, row: RunRow) -> Iterator[AuditFinding]:
    """Nothing is left behind, and retries were made."""
    since = max(row.due_at, row.created_at) if row.job in RULE_JOBS | EVENT_JOBS else row.due_at
    if row.state in ACTIVE and since < world.now() - 2 * 60 * MICRO:
        text = f"run {row.id} of {row.job} is still {row.state}"
        yield AuditFinding(Fault.UNEXPLAINED, row.schedule or "", row.slot, text, "")
    least = min(one.retry.limit for one in world.editions[row.job])
    if row.state == "failed" and row.failures <= least:
        yield AuditFinding(
            Fault.UNEXPLAINED, row.schedule or "", row.slot, f"run {row.id} was not tried again", ""
        )


def _unexplained_loss(world: World, row: RunRow) -> Iterator[AuditFinding]:
    """An engine that has not answered for the patience has lost its runs; one that knows none has not (S55)."""
    if row.state is not RunState.LOST or row.hand_over is None or world.clock_set:
        return
    outage = world.engines[row.hand_over.engine].longest_outage
    if "has forgotten" in row.error or ("has not answered" in row.error and outage < PATIENCE):
        yield AuditFinding(Fault.UNEXPLAINED, row.schedule or "", row.slot, f"run {row.id}: {row.error}", "")


def _no_work(world: World, row: RunRow) -> Iterator[AuditFinding]:
    """What has succeeded has begun."""
    begun = {(one.run, one.attempt) for one in world.truth.executions}
    if row.state is RunState.SUCCEEDED and (row.id, row.attempt) not in begun:
        text = f"run {row.id} has succeeded, and attempt {row.attempt} never began"
        yield AuditFinding(Fault.UNEXPLAINED, row.schedule or "", row.slot, text, "")


def _limit(world: World) -> Iterator[AuditFinding]:
    """No more runs of the narrow queue at once than may be, as far as the store knew of them."""
    if world.truth.most_narrow > LIMIT:
        yield AuditFinding(
            Fault.OVERLAP, "", None, f"{world.truth.most_narrow} runs of the queue {NARROW} at once", ""
        )


def _paused(rows: Iterable[RunRow], pausing: Pausing) -> Iterator[AuditFinding]:
    """No slot becomes a run in a pause."""
    for row in rows:
        meant = row.schedule is not None and pausing.schedule in (None, row.schedule)
        if meant and pausing.after < int(row.id) <= (pausing.until or 0):
            yield AuditFinding(Fault.EXTRA, row.schedule or "", row.slot, f"run {row.id} was made in a pause", "")
