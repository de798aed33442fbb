"""One step of a pipeline, tried until it succeeds or no tries are left."""

from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from ..core.definition import Step
from ..core.policy import retry_delay
from ..core.settle import Failed
from ..core.step_waits import StepWait
from ..core.timeparse import format_duration
from .context import StepRecord, StepState
from .executors.log import StepLog
from .executors.result import AttemptResult, failed
from .executors.timeout import TimedOut, limited
from .step_context import Services, WaitingStep

T = TypeVar("T")
Outputs: TypeAlias = Mapping[str, Any]
NOTHING: Outputs = MappingProxyType({})


class StepInputs(NamedTuple):
    """What a step may refer to: what ended steps hand on, and the item of `foreach`; and how it can wait."""

    outputs: Mapping[str, Outputs] = MappingProxyType({})
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


class StepTries:
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
            inputs = self._inputs._replace(waiting=WaitingStep(step.name, self._number, self._wait, self._keep))
            ended = await self._limited(self._actions.act(step, log, inputs))
            self._wait = ended.wait
            if isinstance(ended.outcome, Failed) and self._number <= step.retry.limit:
                self._wait = None
                await self._wait_for_retry(ended.outcome, ended.error)
                ended = None
        return ended

    async def report(self, state: StepState, error: str = "", outputs: Outputs = NOTHING) -> None:
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
