"""Steps as a graph: each is a task that waits for those it depends on, so what can go side by side does.

A step is held up, and skipped, if one that it depends on failed or was skipped without saying `continue_on`. A
failure that is continued on does not fail the run either. A step that asks for Cancel or Snooze lets running ones
finish and no others begin. Cancelling the pipeline ends all steps, and then goes on as CancelledError.

A pipeline of one step ends as that does, with its result; the only step of a job that is a function has no name.
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
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Actions(Protocol):
    """What the graph is made of."""

    async def check(self, step: Step, log: StepLog) -> AttemptResult | None:
        """How the step ends because its preconditions are not met; none if they are."""

    async def act(self, step: Step, log: StepLog) -> AttemptResult:
        """Do it, once."""


class Pipeline:
    """One execution of a graph of steps. `key` spreads the waits between tries; steps `done` are not repeated."""

    def __init__(
        self,
        steps: Sequence[Step],
        actions: Actions,
        tools: Services,
        *,
        key: str,
        done: Mapping[str, StepState] = _NOTHING,
    ) -> None:
        self.cautions: list[str] = []  # of all steps
        self._steps = _in_order(steps)
        self._actions = actions
        self._tools = tools
        self._key = key
        self._done = done
        self._tasks: dict[str, asyncio.Task[StepState | None]] = {}
        self._ended: dict[str, AttemptResult] = {}

    async def run(self) -> AttemptResult:
        if len(self._steps) == 1:
            await self._step(*self._steps.values())
            return next(iter(self._ended.values()), AttemptResult(Succeeded()))
        async with asyncio.TaskGroup() as group:
            for name, step in self._steps.items():
                self._tasks[name] = group.create_task(self._step(step))
        return self._together()

    async def _step(self, step: Step) -> StepState | None:
        """The state it comes to; none if it has not begun, because another stopped the run."""
        if self._done.get(step.name) is StepState.SUCCEEDED:
            return StepState.SUCCEEDED
        obstacles = [
            name for name in step.depends if not _clears_the_way(self._steps[name], await self._tasks[name])
        ]
        if any(isinstance(ended.outcome, Cancelled | Snoozed) for ended in self._ended.values()):
            return None
        if obstacles:
            why = f"it depends on {', '.join(obstacles)}, which did not succeed"
            await self._tools.report(StepRecord(step.name, StepState.SKIPPED, error=why))
            return StepState.SKIPPED
        return await self._run(step)

    async def _run(self, step: Step) -> StepState:
        tries = _Tries(step, self._actions, self._tools, f"{self._key}/{step.name}")
        try:
            ended = await tries.run()
        except asyncio.CancelledError:
            with suppress(Exception):  # it is being ended, by somebody who may have lost the right to report
                await tries.tell(StepState.CANCELLED)
            raise
        finally:
            tries.log.close()
            self.cautions += tries.log.cautions
        state = _STATES[type(ended.outcome)]
        self._ended[step.name] = ended
        await tries.tell(state, ended.error)
        return state

    def _together(self) -> AttemptResult:
        """The gravest of what the steps came to."""
        for kind in (Cancelled, Failed, Snoozed):
            found = {name: one for name, one in self._ended.items() if isinstance(one.outcome, kind)}
            if kind is Failed:
                found = {name: one for name, one in found.items() if not _tolerated(self._steps[name])}
            if found:
                return _joined(found)
        return AttemptResult(Succeeded())


def _tolerated(step: Step) -> bool:
    return Tolerable.FAILED in step.continue_on


def _joined(found: Mapping[str, AttemptResult]) -> AttemptResult:
    """The ends of several steps as one."""
    error = "\n".join(f"step {name}: {ended.error}" for name, ended in found.items())
    outcomes = [ended.outcome for ended in found.values()]
    waits = [one.retry_after for one in outcomes if isinstance(one, Failed) and one.retry_after is not None]
    return AttemptResult(Failed(max(waits)) if waits else outcomes[0], error=error)


class _Tries:
    """One step, tried until it succeeds or its tries are used up."""

    def __init__(self, step: Step, actions: Actions, tools: Services, key: str) -> None:
        self.log = StepLog(partial(tools.log, step.name))
        self._step = step
        self._actions = actions
        self._tools = tools
        self._key = key
        self._started = tools.clock()
        self._number = 1

    async def run(self) -> AttemptResult:
        step, log = self._step, self.log
        await self.tell(StepState.RUNNING)
        ended = await self._in_time(self._actions.check(step, log)) if step.preconditions else None
        while ended is None:
            ended = await self._in_time(self._actions.act(step, log))
            if isinstance(ended.outcome, Failed) and self._number <= step.retry.limit:
                await self._wait(ended.outcome, ended.error)
                ended = None
        return ended

    async def tell(self, state: StepState, error: str = "") -> None:
        over = state not in (StepState.RUNNING, StepState.WAITING)
        finished = self._tools.clock() if over else None
        await self._tools.report(StepRecord(self._step.name, state, self._started, finished, self._number, error))

    async def _wait(self, failure: Failed, error: str) -> None:
        policy, seconds = self._step.retry, failure.retry_after
        if seconds is None:
            seconds = retry_delay(policy, self._number, self._key)
        self.log.say(
            f"try {self._number} of {policy.limit + 1} failed, the next comes in {format_duration(seconds)}"
        )
        await self.tell(StepState.WAITING, error)
        await self._tools.sleep(seconds)
        self._number += 1
        await self.tell(StepState.RUNNING)

    async def _in_time(self, work: Coroutine[Any, Any, T]) -> T | AttemptResult:
        try:
            return await limited(work, self._step.timeout, self._tools.sleep)
        except TimedOut:
            return timed_out(self._step.timeout, "the step", self.log.cautions)


def timed_out(seconds: int | None, what: str, warnings: Sequence[str]) -> AttemptResult:
    return failed("\n".join([f"{what} timed out after {format_duration(seconds or 0)}", *warnings]))


def _clears_the_way(step: Step, state: StepState | None) -> bool:
    """Whether what depends on a step may begin, now that it has come to this."""
    return state is StepState.SUCCEEDED or (state in _TOLERABLE and _TOLERABLE[state] in step.continue_on)


def _in_order(steps: Sequence[Step]) -> dict[str, Step]:
    """Each after those it depends on; InputError if that cannot be."""
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
