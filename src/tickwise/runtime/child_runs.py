"""Steps that are runs of jobs (S74): a child is begun, and looked at whenever its parent goes on.

The key of the child is stored before the child is enqueued, and its run is found by that key. So it begins once
for each try of the step, whenever a worker dies. A step that goes on in a later attempt of its run adopts the
child that it has begun, unless that one has ended without a success: then a new one begins.

A step with a queue or an engine of its own is a child, too: of a job that is the step alone. That job is written
before its run is enqueued. Its runs take no lane, since the run that waits for them has one already.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..core.definition import JobCall, JobDefinition
from ..core.errors import ConflictError, InputError
from ..core.events import EVENTS_PARAM, STEP_PARAM
from ..core.model import Trigger
from ..core.payload import first_line
from ..core.references import fill_value
from ..core.settle import Failed, Succeeded, Unmet
from ..core.states import ACTIVE, RunState
from ..core.step_jobs import source_of_steps
from ..core.step_waits import MAX_DEPTH, ChildKey, StepWait
from ..core.timeparse import format_duration
from ..stores.contract import Store
from ..stores.records import MICRO, Enqueue, RunFilter, RunRow
from ..trace_context import current_traceparent
from .context import RunContext, as_text
from .executors.result import AttemptResult, failed
from .look import looked, still_waits
from .run_outputs import outputs_of
from .step_context import StepContext, WaitingStep


class ChildRuns:
    """The children of one run, in the store."""

    def __init__(self, store: Store, run: str, jobs: Sequence[str] = ()) -> None:
        self._store = store
        self._run = run
        self._jobs = jobs  # its own, and those of the runs above it

    def key(self, step: str, attempt: int, number: int) -> str:
        """The key of a new child: unlike that of any other try of any step."""
        return ChildKey(self._run, f"{attempt}.{number}.{step}").text

    def refusal(self, job: str) -> str:
        """Why no run of this job can be a child; empty if it can be one."""
        if job in self._jobs:
            return f"a run of {job} is above this one and waits for it: these jobs are steps of each other"
        deepest = f"{MAX_DEPTH} runs are above each other, which is the most there can be"
        return deepest if len(self._jobs) >= MAX_DEPTH else ""

    async def now(self) -> int:
        """The store's time (S5): another node may go on with the step."""
        return await self._store.now() // MICRO

    async def find(self, wait: StepWait) -> RunRow | None:
        if wait.run:
            return await self._store.insights.run(wait.run)
        found = await self._store.insights.runs(RunFilter(job=wait.job, key=wait.key), limit=1)
        return found.items[0] if found.items else None

    async def define(self, job: JobDefinition) -> None:
        """Write the job that a step has become; ConflictError if somebody else has one of that name."""
        await self._store.define(job, source_of_steps(self._jobs[0]))

    async def begin(self, wait: StepWait, params: Mapping[str, Any], *, takes_lane: bool) -> str:
        """ConflictError while its job has no free lane; InputError if it cannot be a run of that job."""
        asked = Enqueue(
            wait.job, Trigger.STEP, params, key=wait.key, by=f"run {self._run}", traceparent=current_traceparent(),
            allow_overlap=not takes_lane,
        )  # fmt: skip
        return (await self._store.enqueue([asked]))[0].id

    async def outputs(self, child: RunRow) -> Mapping[str, Any]:
        return await outputs_of(self._store, child)

    async def cancel(self, child: str) -> None:
        await self._store.cancel(child)


async def follow_child(call: JobCall, context: StepContext) -> AttemptResult:
    """Begin the child if it has not begun, and look how it is."""
    return await _follow(call, context, None)


async def follow_step_job(job: JobDefinition, context: StepContext) -> AttemptResult:
    """The same for the job that a step has become."""
    return await _follow(JobCall(job.name), context, job)


async def _follow(call: JobCall, context: StepContext, written: JobDefinition | None) -> AttemptResult:
    children, waiting = context.services.children, context.waiting
    if children is None or waiting is None:
        return failed("a step with job: needs a worker that can reach the store, and an engine has none")
    step = _ChildStep(call, context, children, waiting, written)
    return await looked(step.look, waiting, f"no run of {call.job}")


def _params_of_step(run: RunContext) -> dict[str, Any]:
    """What the run of a step is given: the params and events of the whole, and what the step knows of it."""
    facts: dict[str, Any] = {
        "outputs": {step: dict(values) for step, values in run.outputs.items()},
        "item": run.item,
        "schedule": run.schedule,
        "slot": run.slot,
        "previous_slot": run.previous_slot,
    }
    events = {EVENTS_PARAM: [dict(event) for event in run.events]} if run.events else {}
    return {
        **run.params,
        **events,
        STEP_PARAM: {name: value for name, value in facts.items() if value is not None},
    }


class _ChildStep:
    """One look at the child of a step."""

    def __init__(
        self,
        call: JobCall,
        context: StepContext,
        children: ChildRuns,
        waiting: WaitingStep,
        written: JobDefinition | None,
    ) -> None:
        self._call = call
        self._written = written  # the job that the step has become; none: somebody else defines it
        self._context = context
        self._children = children
        self._waiting = waiting
        self._now = 0  # the store's second

    async def look(self) -> AttemptResult:
        self._now = await self._children.now()
        wait, child = await self._known()
        if wait is None:
            if refusal := self._children.refusal(self._call.job):
                return failed(f"no run of {self._call.job}: {refusal}")
            wait = StepWait(self._context.run.attempt, self._now, self._call.job, self._new_key)
            await self._waiting.keep(wait)
        if child is None and wait.run:
            return failed(f"run {wait.run} of {wait.job} is not kept any longer: how it ended is not known")
        if child is None:
            return await self._begin(wait)
        wait = wait._replace(run=child.id)
        if child.state in ACTIVE:
            return await self._wait_for(wait)
        return await self._ended(wait, child)

    async def _known(self) -> tuple[StepWait | None, RunRow | None]:
        """What the step waits for already. What ended badly before this attempt is not waited for again."""
        wait = self._waiting.wait
        if wait is None:
            return None, None
        child = await self._children.find(wait)
        if wait.attempt == self._context.run.attempt:
            return wait, child
        is_of_use = child is not None and (child.state in ACTIVE or child.state is RunState.SUCCEEDED)
        if not is_of_use and (child is not None or wait.run):
            return None, None
        wait = wait._replace(attempt=self._context.run.attempt)
        return wait, child

    @property
    def _new_key(self) -> str:
        return self._children.key(self._waiting.name, self._context.run.attempt, self._waiting.number)

    async def _begin(self, wait: StepWait) -> AttemptResult:
        try:
            params = await self._params()
            run = await self._children.begin(wait, params, takes_lane=self._written is None)
        except ConflictError as error:
            return await self._wait_for(wait, f"a free lane of {wait.job} ({error})")
        except InputError as error:
            return failed(f"no run of {wait.job}: {error}")
        self._context.log.write_note(f"waits for run {run} of {wait.job}")
        return await self._wait_for(wait._replace(run=run))

    async def _params(self) -> Mapping[str, Any]:
        if self._written is None:
            return dict(fill_value(self._call.params, self._context.run.values(), as_text))
        try:
            await self._children.define(self._written)
        except ConflictError as error:
            raise InputError(str(error)) from None
        return _params_of_step(self._context.run)

    async def _wait_for(self, wait: StepWait, what: str = "") -> AttemptResult:
        timeout = self._context.timeout
        until = None if timeout is None else wait.since + timeout
        if until is not None and until <= self._now:
            if wait.run:
                await self._children.cancel(wait.run)
            error = f"the step timed out after {format_duration(timeout or 0)}"
            return AttemptResult(Failed(), error=error, wait=wait)
        return still_waits(wait, self._now, until, what or f"run {wait.run} of {wait.job}")

    async def _ended(self, wait: StepWait, child: RunRow) -> AttemptResult:
        if child.state is RunState.SUCCEEDED:
            return AttemptResult(Succeeded(), await self._children.outputs(child), wait=wait)
        why = f": {first_line(child.error)}" if child.error else ""
        error = f"run {child.id} of {child.job} is {child.state}{why}"
        outcome = Unmet() if child.state is RunState.SKIPPED else Failed()
        return AttemptResult(outcome, error=error, wait=wait)


def parent_of(row: RunRow | None) -> str | None:
    """Whose child a run is; none if it is nobody's."""
    key = ChildKey.of(row.key) if row and row.trigger is Trigger.STEP else None
    return key.parent if key else None


async def runs_above(store: Store, run: str) -> list[RunRow]:
    """The parent of a run, the parent of that, and so on; as far as they are kept."""
    found: list[RunRow] = []
    row = await store.insights.run(run)
    while len(found) < MAX_DEPTH and (parent := parent_of(row)) and (row := await store.insights.run(parent)):
        found.append(row)
    return found


async def active_children(store: Store, run: str) -> list[RunRow]:
    """The children of a run that have not ended."""
    waits = [StepWait.of(step.waits_for) for step in await store.insights.steps(run)]
    found = [await ChildRuns(store, run).find(wait) for wait in waits if wait and wait.job]
    return [child for child in found if child and child.state in ACTIVE]


async def cancel_children(store: Store, run: str) -> None:
    """A cancel goes down (S74)."""
    for child in await active_children(store, run):
        await cancel_run(store, child.id)


async def cancel_run(store: Store, run: str) -> RunState:
    """End a queued run and its children, or ask a running one to end, whose worker ends its children.

    No worker hears of the end of a queued run, so its parent is woken here.
    """
    state = await store.cancel(run)
    if state is RunState.CANCELLED:
        await cancel_children(store, run)
        if parent := parent_of(await store.insights.run(run)):
            await store.wake(parent)
    return state
