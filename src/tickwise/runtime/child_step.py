"""Steps that are runs of other jobs (S74): a child is begun, and looked at whenever its parent goes on.

The key of the child is stored before the child is enqueued, and its run is found by that key. So it begins once
for each try of the step, whenever a worker dies. A step that goes on in a later attempt of its run adopts the
child that it has begun, unless that one has ended without a success: then a new one begins.
"""

from ..core.definition import JobCall
from ..core.errors import ConflictError, InputError
from ..core.payload import first_line
from ..core.references import fill_value
from ..core.settle import Failed, Succeeded, Unmet
from ..core.states import ACTIVE, RunState
from ..core.step_waits import StepWait
from ..core.timeparse import format_duration
from ..stores.records import RunRow
from .child_runs import ChildRuns
from .context import as_text
from .executors.result import AttemptResult, failed
from .look import looked, still_waits
from .step_context import StepContext, WaitingStep


async def follow_child(call: JobCall, context: StepContext) -> AttemptResult:
    """Begin the child if it has not begun, and look how it is."""
    children, waiting = context.services.children, context.waiting
    if children is None or waiting is None:
        return failed("a step with job: needs a worker that can reach the store, and an engine has none")
    return await looked(_ChildStep(call, context, children, waiting).look, waiting, f"no run of {call.job}")


class _ChildStep:
    """One look at the child of a step."""

    def __init__(self, call: JobCall, context: StepContext, children: ChildRuns, waiting: WaitingStep) -> None:
        self._call = call
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
        params = fill_value(self._call.params, self._context.run.values(), as_text)
        try:
            run = await self._children.begin(wait, params)
        except ConflictError as error:
            return await self._wait_for(wait, f"a free lane of {wait.job} ({error})")
        except InputError as error:
            return failed(f"no run of {wait.job}: {error}")
        self._context.log.write_note(f"waits for run {run} of {wait.job}")
        return await self._wait_for(wait._replace(run=run))

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
