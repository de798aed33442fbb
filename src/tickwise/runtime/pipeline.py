"""A graph of steps. Each step is a task that waits for those it depends on; independent ones run concurrently.

A step is skipped if a step that it depends on failed or was skipped, and that one does not say `continue_on`. A
failure with `continue_on` does not fail the run either. If a step signals Cancel or Snooze, running steps finish
and no others begin. Cancelling the pipeline ends all steps, and then raises CancelledError.

A pipeline of one step ends with that step's result. The only step of a job that is a function has no name.

What a step hands on is kept with its state when it has succeeded. So an attempt that does not repeat the step has
it again (S72). A step with `foreach` is executed once for each item. Each item has its own state, log and retries,
and those that have succeeded are not repeated either (S73). A step that waits for what others do ends the attempt
as `Waits` when no other step can go on. When the same attempt goes on, no step of it that has ended is repeated,
whatever its end was (S74).
"""

import asyncio
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from ..core.definition import ForEach, Step
from ..core.definition import Outcome as Tolerable
from ..core.errors import InputError, did_you_mean, nearest_word
from ..core.policy import retry_delay
from ..core.references import output_reference
from ..core.settle import Cancelled, Failed, Snoozed, Succeeded, Unmet, Waits
from ..core.step_outputs import MAX_RUN, checked_items, item_name, kept_outputs, returned_outputs, size_of
from ..core.step_waits import StepWait
from ..core.timeparse import format_duration
from .context import StepRecord, StepState
from .executors.log import OWN, StepLog
from .executors.result import AttemptResult, failed
from .executors.timeout import TimedOut, limited
from .step_context import Services, WaitingStep

T = TypeVar("T")
_STATES: dict[type, StepState] = {
    Succeeded: StepState.SUCCEEDED,
    Failed: StepState.FAILED,
    Unmet: StepState.SKIPPED,
    Cancelled: StepState.CANCELLED,
    Snoozed: StepState.WAITING,
    Waits: StepState.WAITING,
}
_TOLERABLE = {StepState.FAILED: Tolerable.FAILED, StepState.SKIPPED: Tolerable.SKIPPED}
Outputs: TypeAlias = Mapping[str, Any]
DoneSteps: TypeAlias = Mapping[str, Outputs]  # steps that succeeded in earlier attempts, with what they handed on
_NOTHING: Outputs = MappingProxyType({})
_NONE_DONE: DoneSteps = MappingProxyType({})


class StepInputs(NamedTuple):
    """What a step may refer to: what ended steps hand on, and the item of `foreach`; and how it can wait."""

    outputs: Mapping[str, Outputs] = _NONE_DONE
    item: Any = None
    waiting: WaitingStep | None = None


class EarlierStep(NamedTuple):
    """A step as it was when the run began to wait, or when an attempt before was stopped."""

    state: StepState
    error: str = ""
    tries: int = 1
    started_at: datetime | None = None
    wait: StepWait | None = None


class Earlier(NamedTuple):
    """Steps that have not succeeded: those that have ended, if the same attempt goes on, and those that wait."""

    goes_on: bool = False
    ended: Mapping[str, EarlierStep] = MappingProxyType({})
    waiting: Mapping[str, EarlierStep] = MappingProxyType({})


NOTHING_EARLIER = Earlier()


NO_INPUTS = StepInputs()


class Actions(Protocol):
    """How steps are checked and executed."""

    async def check(self, step: Step, log: StepLog, inputs: StepInputs) -> AttemptResult | None:
        """The result of a step whose preconditions are not met; none if they are."""

    async def act(self, step: Step, log: StepLog, inputs: StepInputs) -> AttemptResult:
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
        done: DoneSteps = _NONE_DONE,
        earlier: Earlier = NOTHING_EARLIER,
    ) -> None:
        self.warnings: list[str] = []  # of all steps
        self._steps = _sort_steps(steps)
        self._actions = actions
        self._services = services
        self._key = key
        self._done = done
        self._earlier = earlier
        self._begun: set[str] = set()  # in this part of the attempt
        self._outputs: dict[str, Outputs] = {name: done[name] for name in self._steps if name in done}
        self._room = MAX_RUN - sum(map(size_of, self._outputs.values()))
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
        if step.name in self._done:
            return StepState.SUCCEEDED
        before = {name: await self._tasks[name] for name in step.depends}
        if self._is_stopped or any(state in (None, StepState.WAITING) for state in before.values()):
            return None
        if (known := self._earlier.ended.get(step.name)) and self._begun.isdisjoint(step.depends):
            if known.state is StepState.FAILED:
                self._ended[step.name] = failed(known.error)
            return known.state
        self._begun.add(step.name)
        blockers = [name for name, state in before.items() if not _allows_next(self._steps[name], state)]
        if blockers:
            why = f"it depends on {', '.join(blockers)}, which did not succeed"
            await self._services.report(StepRecord(step.name, StepState.SKIPPED, error=why))
            return StepState.SKIPPED
        ended = await (self._try_step(step) if step.foreach is None else self._try_items(step, step.foreach))
        self._ended[step.name] = ended
        return _STATES[type(ended.outcome)]

    @property
    def _is_stopped(self) -> bool:
        return any(map(_stops_others, self._ended.values()))

    async def _try_step(self, step: Step, item: Any = None) -> AttemptResult:
        inputs = StepInputs(self._outputs, item)
        tries = _Tries(
            step, self._actions, self._services, f"{self._key}/{step.name}", inputs,
            self._earlier.waiting.get(step.name),
        )  # fmt: skip
        outputs: Outputs = _NOTHING
        try:
            ended = await tries.run()
            if ended.succeeded:
                outputs = self._kept_outputs(step, returned_outputs(ended.result), tries.log)
        except asyncio.CancelledError:
            with suppress(Exception):  # the lease may be lost, and with it the right to report
                await tries.report(StepState.CANCELLED)
            raise
        finally:
            tries.log.close()
            self.warnings += tries.log.warnings
        if isinstance(ended.outcome, Waits):
            await tries.report(StepState.WAITING)
        else:
            await tries.report(_STATES[type(ended.outcome)], ended.error, outputs)
        return ended

    def _kept_outputs(self, step: Step, outputs: Outputs, log: StepLog) -> Outputs:
        """What the step hands on, from now on. Secrets in it are hidden, as they would be after a retry."""
        kept, problems = kept_outputs(self._services.redactor.value(outputs), self._room)
        for problem in problems:
            log.write_note(problem)
        self._room -= size_of(kept)
        self._outputs[step.name] = kept
        return kept

    # Steps with `foreach`

    async def _try_items(self, step: Step, each: ForEach) -> AttemptResult:
        """One execution of the step for each item, named `step[0]`, `step[1]` …; so many at the same time."""
        earlier = self._earlier.waiting.get(step.name)
        started_at = (earlier and earlier.started_at) or self._services.clock()
        record = StepRecord(step.name, StepState.RUNNING, started_at)
        if earlier is None:
            await self._services.report(record)
        try:
            items = self._items(each)
        except InputError as error:
            ended = failed(str(error))
        else:
            ended = await self._try_all(step, items, each.max_parallel)
        outputs: Outputs = _NOTHING
        if ended.succeeded:
            outputs, problems = kept_outputs(self._gathered(step, len(items)))
            for problem in problems:
                self._services.log(step.name, OWN, problem)
            self._outputs[step.name] = outputs
        state = _STATES[type(ended.outcome)]
        finished_at = None if state is StepState.WAITING else self._services.clock()
        await self._services.report(
            record._replace(
                state=state,
                finished_at=finished_at,
                error="" if isinstance(ended.outcome, Waits) else ended.error,
                outputs=outputs,
            )
        )
        return ended

    async def _try_all(self, step: Step, items: Sequence[Any], most: int) -> AttemptResult:
        """Items that wait keep their places: those that began before go first, and others once one is free."""
        results: dict[str, AttemptResult] = {}
        left = deque(self._items_left(step, items, results))

        async def fill_place() -> None:
            while left and not self._is_stopped and not any(map(_stops_others, results.values())):
                one, item = left.popleft()
                results[one.name] = ended = await self._try_step(one, item)
                if isinstance(ended.outcome, Waits):
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(min(most, len(left))):
                group.create_task(fill_place())
        return _gravest_result(results)

    def _items_left(
        self, step: Step, items: Sequence[Any], results: dict[str, AttemptResult]
    ) -> list[tuple[Step, Any]]:
        """The executions that are to begin or to go on; the results of those that have failed are known."""
        left: list[tuple[Step, Any]] = []
        for number, item in enumerate(items):
            one = replace(step, name=item_name(step.name, number), foreach=None)
            if one.name in self._done:
                self._outputs[one.name] = self._done[one.name]
            elif (known := self._earlier.ended.get(one.name)) and step.name in self._earlier.waiting:
                if known.state is StepState.FAILED:
                    results[one.name] = failed(known.error)
            else:
                left.append((one, item))
        return sorted(left, key=lambda each: each[0].name not in self._earlier.waiting)

    def _items(self, each: ForEach) -> Sequence[Any]:
        if not each.reference:
            return each.items
        step, name = output_reference(each.reference) or ("", "")
        return checked_items(self._outputs.get(step, _NOTHING).get(name), f"${{{each.reference}}}")

    def _gathered(self, step: Step, count: int) -> Outputs:
        """What all items hand on: for each name the list of their values, in the order of the items."""
        parts = [self._outputs.pop(item_name(step.name, number), _NOTHING) for number in range(count)]
        names = dict.fromkeys(name for part in parts for name in part)
        return {name: [part.get(name) for part in parts] for name in names}

    def _combined_result(self) -> AttemptResult:
        """The gravest result of all steps."""
        return _gravest_result(
            {
                name: ended
                for name, ended in self._ended.items()
                if not (isinstance(ended.outcome, Failed) and _is_tolerated(self._steps[name]))
            }
        )


def _stops_others(ended: AttemptResult) -> bool:
    return isinstance(ended.outcome, Cancelled | Snoozed)


def _gravest_result(results: Mapping[str, AttemptResult]) -> AttemptResult:
    """What others do is waited for before a failure counts: a run that is over has no step that waits."""
    for kind in (Cancelled, Waits, Failed, Snoozed):
        if ended := {name: one for name, one in results.items() if isinstance(one.outcome, kind)}:
            return _join_results(ended)
    return AttemptResult(Succeeded())


def _is_tolerated(step: Step) -> bool:
    return Tolerable.FAILED in step.continue_on


def _join_results(results: Mapping[str, AttemptResult]) -> AttemptResult:
    """The results of several steps as one."""
    error = "\n".join(f"step {name}: {ended.error}" for name, ended in results.items())
    outcomes = [ended.outcome for ended in results.values()]
    looks = [one.seconds for one in outcomes if isinstance(one, Waits)]
    if looks:
        return AttemptResult(Waits(min(looks)), error=error)
    waits = [one.retry_after for one in outcomes if isinstance(one, Failed) and one.retry_after is not None]
    return AttemptResult(Failed(max(waits)) if waits else outcomes[0], error=error)


class _Tries:
    """One step, tried until it succeeds or no tries are left."""

    def __init__(
        self,
        step: Step,
        actions: Actions,
        services: Services,
        key: str,
        inputs: StepInputs,
        earlier: EarlierStep | None,
    ) -> None:
        self.log = StepLog(partial(services.log, step.name), services.redactor)
        self._step = step
        self._actions = actions
        self._services = services
        self._key = key
        self._inputs = inputs
        self._started_at = (earlier and earlier.started_at) or services.clock()
        self._number = earlier.tries if earlier else 1
        self._wait = earlier.wait if earlier else None

    async def run(self) -> AttemptResult:
        step, log, ended = self._step, self.log, None
        if self._wait is None:
            await self.report(StepState.RUNNING)
            check = self._actions.check(step, log, self._inputs) if step.preconditions else None
            ended = await self._limited(check) if check else None
        while ended is None:
            inputs = self._inputs._replace(waiting=WaitingStep(step.name, self._wait, self._number, self._keep))
            ended = await self._limited(self._actions.act(step, log, inputs))
            self._wait = ended.wait
            if isinstance(ended.outcome, Failed) and self._number <= step.retry.limit:
                self._wait = None
                await self._wait_for_retry(ended.outcome, ended.error)
                ended = None
        return ended

    async def report(self, state: StepState, error: str = "", outputs: Outputs = _NOTHING) -> None:
        is_over = state not in (StepState.RUNNING, StepState.WAITING)
        finished_at = self._services.clock() if is_over else None
        record = StepRecord(
            name=self._step.name,
            state=state,
            started_at=self._started_at,
            finished_at=finished_at,
            attempt=self._number,
            error=error,
            outputs=outputs,
            wait=self._wait,
        )
        await self._services.report(record)

    async def _keep(self, wait: StepWait) -> None:
        """Keep what the step waits for in the store, before it is asked for."""
        self._wait = wait
        await self.report(StepState.WAITING)
        await self._services.flush()

    async def _wait_for_retry(self, failure: Failed, error: str) -> None:
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
