"""One run in a worker: from its lease to how it ended, with its steps and log told to the store on the way."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..clock import microseconds
from ..core.definition import JobDefinition
from ..core.errors import TickwiseError
from ..core.settle import Cancelled
from ..log import get_logger
from ..stores.contract import Store, StoreUnavailableError
from ..stores.records import Finish, Lease, LogPart, StepReport
from .attempt import conclude, execute
from .context import RunContext, StepRecord, StepState
from .executors.arguments import params_of
from .executors.function import FunctionPool, call_plain, is_plain
from .executors.result import AttemptResult
from .step_context import Services

_log = get_logger()
_FLUSH_EVERY = 0.5
_MOST_PARTS = 1_000  # of a log that wait to be stored; a run that prints faster has them joined


class Execution:
    """What a worker can do: functions it knows, and commands of definitions that it may trust."""

    def __init__(
        self,
        store: Store,
        functions: Mapping[str, Callable[..., Any]],
        *,
        may_run: Callable[[JobDefinition], bool] = lambda _job: False,
        tools: Services | None = None,
    ) -> None:
        self._store = store
        self._functions = functions
        self._known = frozenset(functions)
        self._may_run = may_run
        self._tools = tools or Services()
        self._pool = FunctionPool()
        self._journals: dict[str, _Journal] = {}

    @property
    def known(self) -> frozenset[str]:
        """The names of its functions; there may be more of them than at first."""
        if len(self._known) != len(self._functions):
            self._known = frozenset(self._functions)
        return self._known

    @property
    def stuck(self) -> int:
        return self._pool.stuck

    def run(self, lease: Lease) -> Coroutine[Any, Any, AttemptResult]:
        """Execute an attempt. Cancelling this ends it."""
        function = self._functions.get(lease.job.name)
        if function is not None and is_plain(lease.job, function):
            return call_plain(function, params_of(lease.job, lease.params or {}))
        return self._execute(lease)

    async def _execute(self, lease: Lease) -> AttemptResult:
        tools = self._tools_for(lease)
        done = await self._done(lease) if lease.attempt > 1 and lease.job.steps else {}
        context = context_of(lease)
        return await execute(
            lease.job, context, functions=self._functions, pool=self._pool, tools=tools, done=done
        )

    async def conclude_cancelled(self, lease: Lease, reason: str) -> None:
        """Do what the job wants done after a run that a person ended."""
        ended = AttemptResult(Cancelled(), error=reason)
        await conclude(lease.job, context_of(lease), ended, self._tools_for(lease))

    def _tools_for(self, lease: Lease) -> Services:
        journal = self._journals.setdefault(lease.id, _Journal(lease))
        return replace(self._tools, report=journal.step, log=journal.line, allow_commands=self._may_run(lease.job))

    async def _done(self, lease: Lease) -> dict[str, StepState]:
        """Steps of earlier attempts that need not be repeated."""
        steps = await self._store.insights.steps(lease.id)
        return {step.name: StepState.SUCCEEDED for step in steps if step.state == StepState.SUCCEEDED}

    async def flush_turn(self) -> float:
        """Tell the store what runs under way have printed and done."""
        for journal in list(self._journals.values()):
            await self._tell(journal)
        return _FLUSH_EVERY

    async def flush(self, ended: Iterable[Finish]) -> None:
        """The same for runs that have ended, before that is stored: afterwards their token is old."""
        for finish in ended:
            if journal := self._journals.get(finish.run):
                await self._tell(journal)

    def forget(self, run: str) -> None:
        """The run is over here; if it comes again, it is another attempt."""
        self._journals.pop(run, None)

    async def _tell(self, journal: "_Journal") -> None:
        """One at a time, so that nothing is under way when the end of the run is stored."""
        async with journal.lock:
            steps, log = journal.drain()
            if not steps and not log:
                return
            try:
                await self._store.report(journal.lease.id, journal.lease.token, steps, log)
            except StoreUnavailableError:
                journal.put_back(steps, log)
                raise
            except TickwiseError as error:
                _log.warning("log not stored", run=journal.lease.id, error=str(error))

    async def close(self) -> None:
        self._pool.close()


def context_of(lease: Lease) -> RunContext:
    label = f"{lease.trigger}:{lease.label}" if lease.label else str(lease.trigger)
    return RunContext(
        id=lease.id,
        job=lease.job.name,
        schedule=lease.schedule,
        slot=lease.slot,
        previous_slot=lease.previous_slot,
        trigger=lease.trigger,
        trigger_label=label,
        attempt=lease.attempt,
        failures=lease.failures,
        params=lease.params or {},
    )


class _Journal:
    """What one run has to tell."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.lock = asyncio.Lock()
        self._steps: dict[str, StepReport] = {}
        self._log: list[LogPart] = []

    async def step(self, record: StepRecord) -> None:
        if record.name:
            self._steps[record.name] = StepReport(
                record.name, str(record.state), _micro(record.started_at), _micro(record.finished_at),
                record.attempt, record.error,
            )  # fmt: skip

    def line(self, step: str, stream: str, text: str) -> None:
        last = self._log[-1] if self._log else None
        if last and len(self._log) >= _MOST_PARTS and (last.step, last.stream) == (step, stream):
            self._log[-1] = last._replace(text=f"{last.text}{text}\n")
        else:
            self._log.append(LogPart(step, stream, f"{text}\n", microseconds()))

    def drain(self) -> tuple[list[StepReport], list[LogPart]]:
        steps, log = list(self._steps.values()), self._log
        self._steps, self._log = {}, []
        return steps, log

    def put_back(self, steps: list[StepReport], log: list[LogPart]) -> None:
        self._steps = {step.name: step for step in steps} | self._steps
        self._log = log + self._log


def _micro(instant: Any) -> int | None:
    return None if instant is None else round(instant.timestamp() * 1_000_000)
