"""`tw.schedules`, `tw.runs`, `tw.jobs`: the public operations on schedules, runs and jobs."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, TypeAlias, Unpack

from ..core.backfill import BackfillAsked, BackfillCancelled, backfill_slots
from ..core.change import Adopted, Change, Paused, Rescheduled, Reset, Resumed, SkipAsked, SkipTakenBack
from ..core.definition import ApprovalAnswer, Overlap, Ticking
from ..core.errors import ConflictError, InputError, no_such
from ..core.model import Schedule, ScheduleFacts, Trigger
from ..core.states import RunState
from ..core.step_graph import steps_from
from ..core.step_outputs import item_of
from ..core.timeparse import to_datetime
from ..runtime.child_runs import cancel_run
from ..sources.defaults import Defaults
from ..sources.spec import read_spec
from ..stores.contract import Store
from ..stores.pages import all_pages
from ..stores.records import MICRO, Enqueue, RunFilter, RunRow, ScheduleFilter
from ..trace_context import current_traceparent
from .approvals import AnsweredStep, answer_step
from .blackouts import refuse_in_blackout
from .calendars import bound_job, check_bound
from .definitions import API_SOURCE, check_of_api, edit_schedule, read_new, remove_schedule, stored_job, write_new
from .enqueue import enqueued
from .explain import schedule_row, waits
from .options import JobFields, When, as_job_fields
from .values import RunInfo, ScheduleInfo, as_second, as_word, is_due

OpenStore: TypeAlias = Callable[[], Awaitable[Store]]
_PAGE_SIZE = 1_000
_MAX_SLOTS = 10_000  # of a backfill that are listed
_MAX_COUNTED = 10_000  # runs and slots that its progress counts


@dataclass(frozen=True, slots=True)
class BackfillStatus:
    """In slots; counted up to ten thousand."""

    active: bool
    asked: int  # those with a run by now, and those left
    made: int
    left: int


@dataclass(frozen=True, slots=True)
class Adoption:
    """Where the slots of a schedule were found, `store` or `local`, and where they are found now."""

    schedule: str
    was: str
    now: str


class Schedules:
    """Schedules by name."""

    def __init__(self, store: OpenStore, defaults: Callable[[], Defaults], ticking: Callable[[], Ticking]) -> None:
        self._store = store
        self.defaults = defaults
        self._ticking = ticking  # of nodes, where neither a person nor the definition says more

    async def add(self, name: str, *, job: str | None = None, **fields: Unpack[JobFields]) -> ScheduleInfo:
        """Define a job with its schedule, by the fields of a job file; with `job`, a further schedule of a job."""
        store = await self._store()
        if job is None:
            return await self._define(store, name, fields, over=0)
        try:
            new = await read_new(store, {"name": name, "job": job, **as_job_fields(fields)}, self.defaults())
        except InputError as error:
            raise error.reworded(f"schedule {name}: {error}") from None
        await write_new(store, new)
        return await self.get(new.schedule)

    async def update(self, name: str, **fields: Unpack[JobFields]) -> ScheduleInfo:
        """Define it anew, with all its fields; refused for what another source has written (S50)."""
        return await self._define(await self._store(), name, fields)

    async def patch(self, name: str, **fields: Unpack[JobFields]) -> ScheduleInfo:
        """Change some fields of what the API has defined; none removes one (RFC 7396)."""
        store = await self._store()
        row = await schedule_row(store, name)
        stored = await stored_job(store, row.schedule.job)
        try:
            await edit_schedule(store, stored, name, as_job_fields(fields), self.defaults())
        except InputError as error:
            raise error.reworded(f"schedule {name}: {error}") from None
        return await self.get(name)

    async def _define(
        self, store: Store, name: str, fields: Mapping[str, Any], over: int | None = None
    ) -> ScheduleInfo:
        job = read_spec({"name": name, **as_job_fields(fields)}, f"schedule {name}", self.defaults())
        if not job.schedules:
            raise InputError(f"schedule {name}: schedule: is missing: say when {name} is to run")
        check_of_api(job)
        job = await bound_job(store, job)
        await store.define(job, API_SOURCE, over=over)
        await check_bound(store, [job])
        return await self.get(job.schedules[0].name)

    async def remove(self, name: str) -> None:
        """Delete what the API has defined."""
        store = await self._store()
        row = await store.insights.schedule(name)
        if row is not None and row.schedule.job != name:
            await remove_schedule(store, await stored_job(store, row.schedule.job), name)
            return
        if await store.insights.job(name) is None:
            known = await all_pages(lambda after: store.insights.jobs(after=after, limit=_PAGE_SIZE))
            raise no_such("job", name, [row.definition.name for row in known])
        await store.remove(name, API_SOURCE)

    async def list(
        self, *, job: str | None = None, text: str | None = None, paused: bool | None = None,
        due_before: When | None = None, label: str | None = None, source: str | None = None,
    ) -> list[ScheduleInfo]:  # fmt: skip
        """In order of their names; of all that is given, what fits: a label is `key` or `key=value`."""
        insights = (await self._store()).insights
        due = None if due_before is None else as_second(due_before, await self._now())
        filters = ScheduleFilter(job=job, text=text, paused=paused, due_before=due, label=label, source=source)
        rows = await all_pages(lambda after: insights.schedules(filters, after, _PAGE_SIZE))
        return [ScheduleInfo.of(row) for row in rows if due is None or is_due(row, due)]

    async def get(self, name: str) -> ScheduleInfo:
        return ScheduleInfo.of(await schedule_row(await self._store(), name))

    async def pause(self, name: str, *, until: When | None = None, reason: str = "", by: str = "") -> ScheduleInfo:
        """Decide no slot until it is resumed; with `until`, it resumes by itself then (S66)."""
        end = None if until is None else as_second(until, await self._now())
        return await self._change(name, Paused(by, reason, end))

    async def skip(self, name: str, slot: When, *, reason: str = "", by: str = "") -> ScheduleInfo:
        """Mark a slot to come, which is not to run (S66)."""
        return await self._change(name, SkipAsked(as_second(slot, await self._now()), by, reason))

    async def take_skip_back(self, name: str, slot: When) -> ScheduleInfo:
        """Let a marked slot run after all, as long as it has not come (S66)."""
        return await self._change(name, SkipTakenBack(as_second(slot, await self._now())))

    async def resume(self, name: str, *, run_missed: bool | None = None) -> ScheduleInfo:
        return await self._change(name, Resumed(run_missed))

    async def reschedule(self, name: str, to: When) -> ScheduleInfo:
        """Move the next fire, once."""
        return await self._change(name, Rescheduled(as_second(to, await self._now())))

    async def reset(self, name: str) -> ScheduleInfo:
        """Drop the backlog: go on from now."""
        return await self._change(name, Reset())

    async def adopt(self, name: str, ticking: str = "store", *, dry_run: bool = False) -> Adoption:
        """Have the store find its slots (`store`), or the nodes' own index (`local`); each still runs once."""
        to = as_word(Ticking, ticking, "ticking")
        store = await self._store()
        state = (await schedule_row(store, name)).schedule
        if not dry_run:
            await store.change(name, Adopted(to))
        return Adoption(name, str(self._ticking_of(state)), str(to))

    async def adoptable(self, ticking: str = "store") -> Sequence[ScheduleInfo]:
        """What `adopt` can move: all that nodes tick locally or, back to them, all that the store adopted."""
        to = as_word(Ticking, ticking, "ticking")
        insights = (await self._store()).insights
        rows = await all_pages(lambda after: insights.schedules(after=after, limit=_PAGE_SIZE))
        if to is Ticking.LOCAL:
            return [ScheduleInfo.of(row) for row in rows if row.schedule.ticking is Ticking.STORE]
        return [ScheduleInfo.of(row) for row in rows if self._ticking_of(row.schedule) is Ticking.LOCAL]

    def _ticking_of(self, state: Schedule) -> Ticking:
        return state.ticking or state.definition.policy.ticking or self._ticking()

    async def trigger(
        self, name: str, params: Mapping[str, Any] | None = None, *, allow_overlap: bool = False,
        in_blackout: bool = False, by: str = "",
    ) -> RunInfo:  # fmt: skip
        """Run the schedule's job now, by hand (S30); in a blackout only if that is asked for (S62)."""
        store = await self._store()
        row = await schedule_row(store, name)
        if not in_blackout:
            await refuse_in_blackout(store, row.schedule.job)
        request = Enqueue(
            row.schedule.job, Trigger.MANUAL, params, allow_overlap=allow_overlap, by=by,
            traceparent=current_traceparent(),
        )  # fmt: skip
        (made,) = await store.enqueue([request])
        return await enqueued(store, request, made)

    async def backfill(
        self, name: str, start: When, end: When, *, overlap: str = "queue", limit: int = 1_000,
        again: bool = False, dry_run: bool = False,
    ) -> Sequence[datetime]:  # fmt: skip
        """Enqueue the slots of a time that has passed and have no run; a dry run lists them only (S32)."""
        store, now = await self._store(), await self._now()
        rule = as_word(Overlap, overlap, "overlap")
        backfill = BackfillAsked(as_second(start, now), as_second(end, now), rule, limit, again=again)
        row = await schedule_row(store, name)
        known = await self._slots_with_run(store, name, backfill.start)
        slots: list[datetime] = []
        for slot in backfill_slots(row.schedule, ScheduleFacts(known), backfill.start, backfill.end):
            if len(slots) >= min(limit, _MAX_SLOTS):
                break
            slots.append(to_datetime(slot))
        if not dry_run:
            await store.change(name, backfill)
        return slots

    async def cancel_backfill(self, name: str) -> ScheduleInfo:
        return await self._change(name, BackfillCancelled())

    async def backfill_progress(self, name: str) -> BackfillStatus:
        """How far a backfill is."""
        return await backfill_status(await self._store(), name)

    async def _slots_with_run(self, store: Store, name: str, start: int) -> frozenset[int]:
        filters = RunFilter(schedule=name)
        rows = await all_pages(lambda after: store.insights.runs(filters, after=after, limit=_PAGE_SIZE))
        return frozenset(row.slot for row in rows if row.slot is not None and row.slot >= start)

    async def _change(self, name: str, change: Change) -> ScheduleInfo:
        await (await self._store()).change(name, change)
        return await self.get(name)

    async def _now(self) -> int:
        return await (await self._store()).now() // MICRO


class Runs:
    """Runs by id."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    async def list(
        self, *, job: str | None = None, schedule: str | None = None, state: str | None = None, limit: int = 100
    ) -> list[RunInfo]:
        """The newest first."""
        states = frozenset({as_word(RunState, state, "state of a run")}) if state else frozenset[RunState]()
        filters = RunFilter(job=job, schedule=schedule, states=states)
        page = await (await self._store()).insights.runs(filters, limit=limit)
        return [RunInfo.of(row) for row in page.items]

    async def get(self, run: str) -> RunInfo:
        """A run; one that is queued says why it waits."""
        store = await self._store()
        row = await _run_row(store, run)
        return RunInfo.of(row, tuple([reason async for reason in waits(store, row)]))

    async def cancel(self, run: str) -> str:
        """End a queued run, or ask a running one to end; the state it was found in, or has now."""
        return str(await cancel_run(await self._store(), run))

    async def cancel_all(self, job: str, *, queued: bool = False) -> Sequence[str]:
        """Ask all running runs of a job to end, and end the queued ones if asked; the ids, newest first."""
        store, states = await self._store(), {RunState.RUNNING} | ({RunState.QUEUED} if queued else set())
        filters = RunFilter(job=job, states=frozenset(states))
        rows = await all_pages(lambda after: store.insights.runs(filters, after, _PAGE_SIZE))
        return [
            row.id for row in rows if await cancel_run(store, row.id) in (RunState.RUNNING, RunState.CANCELLED)
        ]

    async def retry(self, run: str, from_step: str | None = None) -> RunInfo:
        """Put a failed, lost or cancelled run back; steps that succeeded are not repeated.

        With `from_step`, that step is repeated, and all that depend on it.
        """
        store = await self._store()
        await store.retry(run, await _repeated_steps(store, run, from_step) if from_step is not None else ())
        return RunInfo.of(await _run_row(store, run))

    async def approve(self, run: str, step: str | None = None, *, by: str, reason: str = "") -> AnsweredStep:
        """Approve what a step waits for (S75); without its name, the only one that waits."""
        return await answer_step(await self._store(), run, step, ApprovalAnswer.APPROVE, by=by, reason=reason)

    async def reject(self, run: str, step: str | None = None, *, by: str, reason: str = "") -> AnsweredStep:
        """Reject what a step waits for (S75): the step fails, and is not tried again by itself."""
        return await answer_step(await self._store(), run, step, ApprovalAnswer.REJECT, by=by, reason=reason)

    async def logs(self, run: str) -> str:
        """What the run printed."""
        insights = (await self._store()).insights
        parts = await all_pages(lambda after: insights.log(run, after=after, limit=_PAGE_SIZE))
        return "".join(part.text for part in parts)


async def _repeated_steps(store: Store, run: str, from_step: str) -> frozenset[str]:
    """By the job as it was when the run was made, since that is executed again."""
    definition = await store.insights.definition_of(run)
    if definition is None:
        await _run_row(store, run)
        raise ConflictError(f"the definition of run {run} cannot be read: start a new run")
    if definition.at_most_once:
        raise ConflictError(f"{definition.name} has at_most_once: no step that has begun is repeated (S43)")
    steps = steps_from(definition.steps, from_step)
    items = [(report.name, item_of(report.name)) for report in await store.insights.steps(run)]
    return steps | {name for name, item in items if item and item[0] in steps}  # of `foreach` (S73)


class Jobs:
    """Jobs by name."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    async def list(self) -> list[str]:
        insights = (await self._store()).insights
        rows = await all_pages(lambda after: insights.jobs(after=after, limit=_PAGE_SIZE))
        return [row.definition.name for row in rows]


async def _run_row(store: Store, run: str) -> RunRow:
    row = await store.insights.run(run)
    if row is None:
        raise InputError(f"there is no run {run!r}: it was never made, or is not kept any longer")
    return row


async def backfill_status(store: Store, name: str, since: int = 0) -> BackfillStatus:
    """Counts the runs that backfills of the schedule have made; those made since an instant (microseconds)."""
    schedule = (await schedule_row(store, name)).schedule
    runs = await _newest_runs(store, name)
    made = sum(run.trigger is Trigger.BACKFILL and run.created_at >= since for run in runs)
    known = {run.slot for run in runs if run.slot is not None}
    rest = schedule.backfill
    if rest is None:
        return BackfillStatus(active=False, asked=made, made=made, left=0)
    slots = backfill_slots(schedule, ScheduleFacts(frozenset(known)), rest.cursor + 1, rest.end)
    left = sum(1 for _ in islice(slots, min(rest.most, _MAX_COUNTED)))
    return BackfillStatus(active=True, asked=made + left, made=made, left=left)


async def _newest_runs(store: Store, name: str) -> list[RunRow]:
    found: list[RunRow] = []
    after: str | None = None
    while len(found) < _MAX_COUNTED:
        page = await store.insights.runs(RunFilter(schedule=name), after, _PAGE_SIZE)
        found += page.items
        after = page.after
        if after is None:
            break
    return found
