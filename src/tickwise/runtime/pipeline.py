"""A graph of steps. Each step is a task that waits for those it depends on; independent ones run concurrently.

A step is skipped if a step that it depends on failed or was skipped, and that one does not say `continue_on`. A
failure with `continue_on` does not fail the run either. If a step signals Cancel or Snooze, running steps finish
and no others begin. Cancelling the pipeline ends all steps, and then raises CancelledError.

A pipeline of one step ends with that step's result. The only step of a job that is a function has no name.

What a step hands on is kept with its state when it has succeeded. So an attempt that does not repeat the step has
it again (S72). A step with `foreach` is executed once for each item. Each item has its own state, log and retries,
and those that have succeeded are not repeated either (S73). A step that waits for what others do ends the attempt
as `Waits` when no other step can go on; until then it looks now and then. When the same attempt goes on, no step
of it that has ended is repeated, whatever its end was (S74).
"""

import asyncio
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any, TypeAlias

from ..core.definition import ForEach, Step
from ..core.definition import Outcome as Tolerable
from ..core.errors import InputError, did_you_mean, nearest_word
from ..core.references import output_reference
from ..core.settle import Cancelled, Failed, Snoozed, Succeeded, Unmet, Waits
from ..core.step_outputs import MAX_RUN, checked_items, item_name, kept_outputs, returned_outputs, size_of
from .context import StepRecord, StepState
from .executors.log import OWN, StepLog
from .executors.result import AttemptResult, failed
from .step_context import Services
from .step_tries import NOTHING, NOTHING_EARLIER, Actions, Earlier, EarlierStep, Outputs, StepInputs, StepTries

_STATES: dict[type, StepState] = {
    Succeeded: StepState.SUCCEEDED,
    Failed: StepState.FAILED,
    Unmet: StepState.SKIPPED,
    Cancelled: StepState.CANCELLED,
    Snoozed: StepState.WAITING,
    Waits: StepState.WAITING,
}
_TOLERABLE = {StepState.FAILED: Tolerable.FAILED, StepState.SKIPPED: Tolerable.SKIPPED}
DoneSteps: TypeAlias = Mapping[str, Outputs]  # steps that succeeded in earlier attempts, with what they handed on
_NONE_DONE: DoneSteps = MappingProxyType({})
_LOOK_BESIDE = 5  # seconds between two looks, at most, while other steps are executed


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
        params: Outputs = NOTHING,
    ) -> None:
        self.warnings: list[str] = []  # of all steps
        self._steps = _sort_steps(steps)
        self._actions = actions
        self._services = services
        self._key = key
        self._done = done
        self._earlier = earlier
        self._params = params  # over which `foreach` may go
        self._begun: set[str] = set()  # in this part of the attempt
        self._places: dict[str, int] = {}  # of the items of a step that are executed now, or wait
        self._idle = Counter[str]()  # of these, those that wait; of a step without items, itself
        self._change = asyncio.Event()  # of what is executed; a new one for each change
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
                self._tasks[name] = task = group.create_task(self._run_step(step))
                task.add_done_callback(self._tell_change)
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
                self._ended[step.name] = _known_failure(known)
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

    async def _try_step(self, step: Step, item: Any = None, whole: str = "") -> AttemptResult:
        """`whole`: the step with `foreach` of which this is one item."""
        inputs = StepInputs(self._outputs, item)
        tries = StepTries(
            step, self._actions, self._services, f"{self._key}/{step.name}", inputs,
            self._earlier.waiting.get(step.name),
        )  # fmt: skip
        outputs: Outputs = NOTHING
        try:
            ended = await self._run_tries(tries, whole or step.name)
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

    # Steps that wait for what others do

    async def _run_tries(self, tries: StepTries, step: str) -> AttemptResult:
        """A step that waits looks again while other steps are executed; then the whole run waits."""
        ended = await tries.run()
        while isinstance(ended.outcome, Waits) and await self._others_work(step, ended.outcome.seconds):
            ended = await tries.run()
        return ended

    async def _others_work(self, step: str, seconds: int) -> bool:
        """Wait until it is time for the next look; false as soon as no other step is executed."""
        timer = asyncio.ensure_future(self._services.sleep(min(seconds, _LOOK_BESIDE)))
        self._idle[step] += 1
        self._tell_change()
        try:
            while self._is_working and not timer.done():
                change = asyncio.ensure_future(self._change.wait())
                await asyncio.wait((timer, change), return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
            return self._is_working
        finally:
            self._idle[step] -= 1
            timer.cancel()

    @property
    def _is_working(self) -> bool:
        """Whether a step is executed or about to begin, other than those that wait, directly or not."""
        return not self._is_stopped and any(
            not self._has_ended(name)
            and all(map(self._has_ended, step.depends))
            and self._idle[name] < self._places.get(name, 1)
            for name, step in self._steps.items()
        )

    def _has_ended(self, step: str) -> bool:
        return step in self._tasks and self._tasks[step].done()

    def _tell_change(self, _task: object = None) -> None:
        self._change.set()
        self._change = asyncio.Event()

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
        outputs: Outputs = NOTHING
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
                results[one.name] = ended = await self._try_step(one, item, step.name)
                if isinstance(ended.outcome, Waits):
                    break
            self._places[step.name] -= 1
            self._tell_change()

        self._places[step.name] = min(most, len(left))
        async with asyncio.TaskGroup() as group:
            for _ in range(self._places[step.name]):
                group.create_task(fill_place())
        self._places[step.name] = 1  # its end is still to be reported
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
                    results[one.name] = _known_failure(known)
            else:
                left.append((one, item))
        return sorted(left, key=lambda each: each[0].name not in self._earlier.waiting)

    def _items(self, each: ForEach) -> Sequence[Any]:
        if not each.reference:
            return each.items
        if found := output_reference(each.reference):
            value = self._outputs.get(found[0], NOTHING).get(found[1])
        else:
            value = self._params.get(each.reference.removeprefix("params."))
        return checked_items(value, f"${{{each.reference}}}")

    def _gathered(self, step: Step, count: int) -> Outputs:
        """What all items hand on: for each name the list of their values, in the order of the items."""
        parts = [self._outputs.pop(item_name(step.name, number), NOTHING) for number in range(count)]
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


def _known_failure(known: EarlierStep) -> AttemptResult:
    """How a step failed before the run began to wait."""
    return AttemptResult(Failed(by_person=bool(known.wait and known.wait.role)), error=known.error)


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
    failures = [one for one in outcomes if isinstance(one, Failed)]
    if not failures:
        return AttemptResult(outcomes[0], error=error)
    waits = [one.retry_after for one in failures if one.retry_after is not None]
    return AttemptResult(Failed(max(waits, default=None), any(one.by_person for one in failures)), error=error)


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
