"""A graph of steps. Each step is a task that waits for those it depends on; independent ones run concurrently.

A step is skipped if a step that it depends on failed or was skipped, and that one does not say `continue_on`. A
failure with `continue_on` does not fail the run either. If a step signals Cancel or Snooze, running steps finish
and no others begin. Cancelling the pipeline ends all steps, and then raises CancelledError.

A pipeline of one step ends with that step's result. The only step of a job that is a function has no name.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from ..core.definition import Outcome as Tolerable
from ..core.definition import Step
from ..core.errors import InputError, did_you_mean, nearest_word
from ..core.policy import retry_delay
from ..core.settle import Cancelled, Failed, Snoozed, Succeeded, Unmet
from ..core.timeparse import format_duration
from .context import StepRecord, StepState
from .executors.log import StepLog
from .executors.result import AttemptResult, failed
from .executors.timeout import TimedOut, limited
from .step_context import Services

T = TypeVar("T")
_STATES: dict[type, StepState] = {
    Succeeded: StepState.SUCCEEDED,
    Failed: StepState.FAILED,
    Unmet: StepState.SKIPPED,
    Cancelled: StepState.CANCELLED,
    Snoozed: StepState.WAITING,
}
_TOLERABLE = {StepState.FAILED: Tolerable.FAILED, StepState.SKIPPED: Tolerable.SKIPPED}
_NONE_DONE: Mapping[str, Any] = MappingProxyType({})


class Actions(Protocol):
    """How steps are checked and executed."""

    async def check(self, step: Step, log: StepLog) -> AttemptResult | None:
        """The result of a step whose preconditions are not met; none if they are."""

    async def act(self, step: Step, log: StepLog) -> AttemptResult:
        """Execute the step once."""


class Pipeline:
    """One execution of a graph of steps. `key` seeds the jitter of retries; steps in `done` are not repeated."""

    def __init__(
        self,
        steps: Sequence[Step],
        actions: Actions,
        services: Services,
        *,
        key: str,
        done: Mapping[str, StepState] = _NONE_DONE,
    ) -> None:
        self.warnings: list[str] = []  # of all steps
        self._steps = _sort_steps(steps)
        self._actions = actions
        self._services = services
        self._key = key
        self._done = done
        self._tasks: dict[str, asyncio.Task[StepState | None]] = {}
        self._ended: dict[str, AttemptResult] = {}

    async def run(self) -> AttemptResult:
        if len(self._steps) == 1:
            await self._run_step(*self._steps.values())
            return next(iter(self._ended.values()), AttemptResult(Succeeded()))
        async with asyncio.TaskGroup() as group:
            for name, step in self._steps.items():
                self._tasks[name] = group.create_task(self._run_step(step))
        return self._combined_result()

    async def _run_step(self, step: Step) -> StepState | None:
        """The final state of the step; none if it did not begin, because another one stopped the run."""
        if self._done.get(step.name) is StepState.SUCCEEDED:
            return StepState.SUCCEEDED
        blockers = [name for name in step.depends if not _allows_next(self._steps[name], await self._tasks[name])]
        if any(isinstance(ended.outcome, Cancelled | Snoozed) for ended in self._ended.values()):
            return None
        if blockers:
            why = f"it depends on {', '.join(blockers)}, which did not succeed"
            await self._services.report(StepRecord(step.name, StepState.SKIPPED, error=why))
            return StepState.SKIPPED
        return await self._try_step(step)

    async def _try_step(self, step: Step) -> StepState:
        tries = _Tries(step, self._actions, self._services, f"{self._key}/{step.name}")
        try:
            ended = await tries.run()
        except asyncio.CancelledError:
            with suppress(Exception):  # the lease may be lost, and with it the right to report
                await tries.report(StepState.CANCELLED)
            raise
        finally:
            tries.log.close()
            self.warnings += tries.log.warnings
        state = _STATES[type(ended.outcome)]
        self._ended[step.name] = ended
        await tries.report(state, ended.error)
        return state

    def _combined_result(self) -> AttemptResult:
        """The gravest result of all steps."""
        for kind in (Cancelled, Failed, Snoozed):
            ended = {name: one for name, one in self._ended.items() if isinstance(one.outcome, kind)}
            if kind is Failed:
                ended = {name: one for name, one in ended.items() if not _is_tolerated(self._steps[name])}
            if ended:
                return _join_results(ended)
        return AttemptResult(Succeeded())


def _is_tolerated(step: Step) -> bool:
    return Tolerable.FAILED in step.continue_on


def _join_results(results: Mapping[str, AttemptResult]) -> AttemptResult:
    """The results of several steps as one."""
    error = "\n".join(f"step {name}: {ended.error}" for name, ended in results.items())
    outcomes = [ended.outcome for ended in results.values()]
    waits = [one.retry_after for one in outcomes if isinstance(one, Failed) and one.retry_after is not None]
    return AttemptResult(Failed(max(waits)) if waits else outcomes[0], error=error)


class _Tries:
    """One step, tried until it succeeds or no tries are left."""

    def __init__(self, step: Step, actions: Actions, services: Services, key: str) -> None:
        self.log = StepLog(partial(services.log, step.name), services.redactor)
        self._step = step
        self._actions = actions
        self._services = services
        self._key = key
        self._started_at = services.clock()
        self._number = 1

    async def run(self) -> AttemptResult:
        step, log = self._step, self.log
        await self.report(StepState.RUNNING)
        ended = await self._limited(self._actions.check(step, log)) if step.preconditions else None
        while ended is None:
            ended = await self._limited(self._actions.act(step, log))
            if isinstance(ended.outcome, Failed) and self._number <= step.retry.limit:
                await self._wait(ended.outcome, ended.error)
                ended = None
        return ended

    async def report(self, state: StepState, error: str = "") -> None:
        is_over = state not in (StepState.RUNNING, StepState.WAITING)
        finished_at = self._services.clock() if is_over else None
        record = StepRecord(
            name=self._step.name,
            state=state,
            started_at=self._started_at,
            finished_at=finished_at,
            attempt=self._number,
            error=error,
        )
        await self._services.report(record)

    async def _wait(self, failure: Failed, error: str) -> None:
        policy, seconds = self._step.retry, failure.retry_after
        if seconds is None:
            seconds = retry_delay(policy, self._number, self._key)
        self.log.write_note(
            f"try {self._number} of {policy.limit + 1} failed, the next comes in {format_duration(seconds)}"
        )
        await self.report(StepState.WAITING, error)
        await self._services.sleep(seconds)
        self._number += 1
        await self.report(StepState.RUNNING)

    async def _limited(self, work: Coroutine[Any, Any, T]) -> T | AttemptResult:
        try:
            return await limited(work, self._step.timeout, self._services.sleep)
        except TimedOut:
            return timed_out(self._step.timeout, "the step", self.log.warnings)


def timed_out(seconds: int | None, what: str, warnings: Sequence[str]) -> AttemptResult:
    return failed("\n".join([f"{what} timed out after {format_duration(seconds or 0)}", *warnings]))


def _allows_next(step: Step, state: StepState | None) -> bool:
    """Whether the steps that depend on this one may begin, now that it is in this state."""
    return state is StepState.SUCCEEDED or (state in _TOLERABLE and _TOLERABLE[state] in step.continue_on)


def _sort_steps(steps: Sequence[Step]) -> dict[str, Step]:
    """Each step after those it depends on; InputError if that is impossible."""
    if len(steps) == 1 and not steps[0].depends:
        return {steps[0].name: steps[0]}
    by_name = {step.name: step for step in steps}
    for step in steps:
        for name in step.depends:
            if name not in by_name:
                near = did_you_mean(nearest_word(name, by_name))
                raise InputError(f"step {step.name} depends on {name}, which does not exist{near}")
    try:
        names = list(TopologicalSorter({step.name: step.depends for step in steps}).static_order())
    except CycleError as error:
        raise InputError(f"the steps wait for each other: {' → '.join(error.args[1])}") from None
    return {name: by_name[name] for name in names}
