"""Executes the runs of a worker, and stores their steps and logs on the way."""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from ..core.definition import may_wait
from ..core.errors import InputError, TickwiseError
from ..core.events import events_of_params, own_params
from ..core.model import Trigger
from ..core.redaction import Redactor
from ..core.requirements import Offers
from ..core.settle import Cancelled, Failed
from ..core.states import FINAL
from ..log import get_logger
from ..stores.contract import Store, StoreUnavailableError
from ..stores.records import Finish, Lease, LogPart, StepReport
from .approvals import AnswersOfRun
from .attempt import conclude, execute
from .child_runs import ChildRuns, cancel_children, runs_above
from .context import RunContext, StepRecord
from .executors.arguments import params_of
from .executors.function import FunctionPool, call_directly, can_call_directly
from .executors.log import StepLog
from .executors.middleware import Middleware
from .executors.result import AttemptResult, failed
from .private_values import NO_PRIVATE_VALUES, PrivateValues, private_values
from .run_journal import RunJournal, earlier_steps
from .run_outputs import done_steps
from .secret_values import may_have_secrets, redactor_of_run
from .step_context import Services
from .telemetry import Telemetry

_log = get_logger()
FLUSH_EVERY = 0.5  # seconds


class Execution:
    """What a worker can execute: the functions it knows, and commands of definitions that it trusts.

    `commands` returns the digests of these definitions, or `*` for all: the same collection until it changes.
    """

    hands_over = False

    def __init__(
        self,
        store: Store,
        functions: Mapping[str, Callable[..., Any]],
        *,
        commands: Callable[[], Collection[str]] = frozenset,
        services: Services | None = None,
        middleware: Sequence[Middleware] = (),
        telemetry: Telemetry | None = None,
    ) -> None:
        self._store = store
        self._functions = functions
        self._commands = commands
        self._offered: tuple[int, Collection[str]] = len(functions), commands()
        self._offers = Offers.of(functions, self._offered[1])
        self._services = services or Services()
        self._middleware = middleware
        self._telemetry = telemetry
        self._pool = FunctionPool(middleware)
        self._journals: dict[str, tuple[Lease, RunJournal]] = {}

    @property
    def offers(self) -> Offers:
        """What it may execute (S46). Functions and definitions may be added later."""
        now = len(self._functions), self._commands()
        if now != self._offered:
            self._offered, self._offers = now, Offers.of(self._functions, now[1])
        return self._offers

    def run(self, lease: Lease) -> Coroutine[Any, Any, AttemptResult]:
        """Execute an attempt. Cancelling the coroutine ends it."""
        return self._run(lease) if self._telemetry is None else self._run_watched(lease, self._telemetry)

    async def _run_watched(self, lease: Lease, telemetry: Telemetry) -> AttemptResult:
        with telemetry.attempt(lease, await self._caller_of(lease)) as watch:
            ended = await self._run(lease)
            watch.end(ended)
            return ended

    async def _caller_of(self, lease: Lease) -> str:
        """The trace that asked for a run. Only who traces reads it, so no lease carries it."""
        with suppress(TickwiseError):
            row = await self._store.insights.run(lease.id) if lease.slot is None else None
            return row.traceparent if row else ""
        return ""

    def _run(self, lease: Lease) -> Coroutine[Any, Any, AttemptResult]:
        function = self._functions.get(lease.job.name)
        if function is not None and not self._middleware and can_call_directly(lease.job, function):
            return call_directly(
                function,
                params_of(lease.job, lease.params or {}),
                partial(self._log_of, lease),
                partial(self._redactor_of, lease),
            )
        return self._execute(lease)

    async def _execute(self, lease: Lease) -> AttemptResult:
        try:
            services = await self._services_for(lease)
        except InputError as error:
            return failed(str(error))
        above = await runs_above(self._store, lease.id) if lease.trigger is Trigger.STEP else ()
        if lease.trigger is Trigger.STEP and (not above or above[0].state in FINAL):
            return AttemptResult(Cancelled(), error="the run that waited for it is over")
        if may_wait(lease.job):
            services = self._with_waits(services, lease, [lease.job.name, *(row.job for row in above)])
        steps = await self._earlier_steps(lease)
        return await execute(
            lease.job, context_of(lease), functions=self._functions, pool=self._pool, services=services,
            done=done_steps(steps), earlier=earlier_steps(steps, lease.attempt),
        )  # fmt: skip

    def end(self, run: str) -> None:
        """Nothing is handed over: cancelling the coroutine of a run ends it."""

    async def conclude_cancelled(self, lease: Lease, reason: str) -> None:
        """Execute the handlers of a run that was asked to end; as failed, if its deadline is why (S65)."""
        overdue = ""
        with suppress(StoreUnavailableError):  # then it ends as one that was cancelled; the store knows better
            row = await self._store.insights.run(lease.id)
            overdue = row.error if row else ""
        ended = AttemptResult(Failed() if overdue else Cancelled(), error=overdue or reason)
        if may_wait(lease.job):
            await cancel_children(self._store, lease.id)
        try:
            services = await self._services_for(lease)
        except InputError as error:
            _log.warning("handlers not executed", run=lease.id, error=str(error))
        else:
            await conclude(lease.job, context_of(lease), ended, services)

    def _journal_of(self, lease: Lease) -> RunJournal:
        return self._journals.setdefault(lease.id, (lease, RunJournal(lease.id)))[1]

    def _log_of(self, lease: Lease) -> StepLog:
        """The log of a function that is called directly."""
        return StepLog(partial(self._journal_of(lease).line, ""), self._redactor_of(lease))

    def _redactor_of(self, lease: Lease, private: PrivateValues = NO_PRIVATE_VALUES) -> Redactor:
        if not lease.params and not may_have_secrets(lease.job):
            return self._services.redactor
        return redactor_of_run(self._services.redactor, lease.job, context_of(lease), private)

    async def _services_for(self, lease: Lease) -> Services:
        """InputError if a secret or a file is not to be had that the definition names."""
        may = self.offers.allow_commands_of(lease.job)
        private = await private_values(lease.job, self._services.providers) if may else NO_PRIVATE_VALUES
        redactor = self._redactor_of(lease, private)
        services = self._journal_of(lease).services(self._services, redactor, private, allow_commands=may)
        return services if self._telemetry is None else _telling(self._telemetry, services)

    async def _earlier_steps(self, lease: Lease) -> Sequence[StepReport]:
        """The steps of earlier attempts, and of this one if it has waited."""
        if not lease.job.steps or (lease.attempt == 1 and not may_wait(lease.job)):
            return ()
        return await self._store.insights.steps(lease.id)

    def _with_waits(self, services: Services, lease: Lease, jobs: Sequence[str]) -> Services:
        """The services with what steps need that wait for what others do."""
        children, answers = ChildRuns(self._store, lease.id, jobs), AnswersOfRun(self._store, lease.id)
        return replace(services, flush=partial(self._flush_run, lease), children=children, answers=answers)

    async def _flush_run(self, lease: Lease) -> None:
        """Store the steps of a run now; TickwiseError if it is another worker's by now."""

        async def send(steps: list[StepReport], log: list[LogPart]) -> None:
            if not await self._store.report(lease.id, lease.token, steps, log):
                raise TickwiseError("the run belongs to another worker by now")

        await self._journal_of(lease).store(send)

    async def flush_turn(self) -> float:
        """Store the steps and logs of active runs."""
        for lease, journal in list(self._journals.values()):
            await journal.store(partial(self._store.report, lease.id, lease.token))
        return FLUSH_EVERY

    async def flush(self, ended: Iterable[Finish]) -> None:
        """Store those of ended runs, before their ends are stored: after that their tokens are old."""
        for finish in ended:
            if known := self._journals.get(finish.run):
                lease, journal = known
                await journal.store(partial(self._store.report, lease.id, lease.token))

    def forget(self, run: str, *, stored: bool) -> None:  # noqa: ARG002  (it concerns those who hand over)
        """Drop what is kept of a run that this worker no longer holds."""
        self._journals.pop(run, None)

    async def close(self) -> None:
        self._pool.close()


def _telling(telemetry: Telemetry, services: Services) -> Services:
    """The services, with the telemetry told of each step, and programs of the trace."""

    async def report(record: StepRecord) -> None:
        telemetry.step(record)
        await services.report(record)

    return replace(services, report=report, trace=telemetry.variables)


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
        params=own_params(lease.params or {}),
        events=events_of_params(lease.params or {}),
    )
