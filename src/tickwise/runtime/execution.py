"""Executes the runs of a worker, and stores their steps and logs on the way."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any

from ..clock import microseconds
from ..core.errors import InputError
from ..core.payload import clip
from ..core.redaction import Redactor, redactor_of
from ..core.requirements import Offers
from ..core.settle import Cancelled
from ..log import get_logger
from ..stores.contract import StatementError, Store
from ..stores.records import Finish, Lease, LogPart, StepReport
from .attempt import conclude, execute
from .context import RunContext, StepRecord, StepState
from .executors.arguments import params_of
from .executors.failure import MAX_ERROR_LENGTH
from .executors.function import FunctionPool, call_directly, can_call_directly
from .executors.log import StepLog
from .executors.result import AttemptResult
from .secret_values import may_have_secrets, secrets_of
from .step_context import Services

_log = get_logger()
_FLUSH_EVERY = 0.5  # seconds
_MAX_PARTS = 1_000  # of a log that wait to be stored; if a run prints faster, further ones are joined


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
    ) -> None:
        self._store = store
        self._functions = functions
        self._commands = commands
        self._offered: tuple[int, Collection[str]] = len(functions), commands()
        self._offers = Offers.of(functions, self._offered[1])
        self._services = services or Services()
        self._pool = FunctionPool()
        self._journals: dict[str, _RunJournal] = {}

    @property
    def offers(self) -> Offers:
        """What it may execute (S46). Functions and definitions may be added later."""
        now = len(self._functions), self._commands()
        if now != self._offered:
            self._offered, self._offers = now, Offers.of(self._functions, now[1])
        return self._offers

    def run(self, lease: Lease) -> Coroutine[Any, Any, AttemptResult]:
        """Execute an attempt. Cancelling the coroutine ends it."""
        function = self._functions.get(lease.job.name)
        if function is not None and can_call_directly(lease.job, function):
            return call_directly(
                function,
                params_of(lease.job, lease.params or {}),
                partial(self._log_of, lease),
                partial(self._redactor_of, lease),
            )
        return self._execute(lease)

    async def _execute(self, lease: Lease) -> AttemptResult:
        services = self._services_for(lease)
        done = await self._done_steps(lease) if lease.attempt > 1 and lease.job.steps else {}
        run = context_of(lease)
        return await execute(
            lease.job, run, functions=self._functions, pool=self._pool, services=services, done=done
        )

    def end(self, run: str) -> None:
        """Nothing is handed over: cancelling the coroutine of a run ends it."""

    async def conclude_cancelled(self, lease: Lease, reason: str) -> None:
        """Execute the handlers of a run that a person cancelled."""
        ended = AttemptResult(Cancelled(), error=reason)
        await conclude(lease.job, context_of(lease), ended, self._services_for(lease))

    def _journal_of(self, lease: Lease) -> "_RunJournal":
        return self._journals.setdefault(lease.id, _RunJournal(lease))

    def _log_of(self, lease: Lease) -> StepLog:
        """The log of a function that is called directly."""
        return StepLog(partial(self._journal_of(lease).line, ""), self._redactor_of(lease))

    def _redactor_of(self, lease: Lease) -> Redactor:
        if not lease.params and not may_have_secrets(lease.job):
            return self._services.redactor
        run = replace(context_of(lease), params=params_of(lease.job, lease.params or {}))
        return redactor_of(self._services.redactor.texts | secrets_of(lease.job, run))

    def _services_for(self, lease: Lease) -> Services:
        journal, redactor = self._journal_of(lease), self._redactor_of(lease)
        return replace(
            self._services,
            report=partial(_report, journal, redactor),
            log=journal.line,
            redactor=redactor,
            allow_commands=self.offers.allow_commands_of(lease.job),
        )

    async def _done_steps(self, lease: Lease) -> dict[str, StepState]:
        """Steps that succeeded in earlier attempts and are not repeated."""
        steps = await self._store.insights.steps(lease.id)
        return {step.name: StepState.SUCCEEDED for step in steps if step.state == StepState.SUCCEEDED}

    async def flush_turn(self) -> float:
        """Store the steps and logs of active runs."""
        for journal in list(self._journals.values()):
            await self._store_journal(journal)
        return _FLUSH_EVERY

    async def flush(self, ended: Iterable[Finish]) -> None:
        """Store those of ended runs, before their ends are stored: after that their tokens are old."""
        for finish in ended:
            if journal := self._journals.get(finish.run):
                await self._store_journal(journal)

    def forget(self, run: str) -> None:
        """Drop what is kept of a run that this worker no longer holds."""
        self._journals.pop(run, None)

    async def _store_journal(self, journal: "_RunJournal") -> None:
        """One report at a time, so that none is under way when the end of the run is stored."""
        async with journal.lock:
            steps, log = journal.drain()
            if not steps and not log:
                return
            try:
                await self._store.report(journal.lease.id, journal.lease.token, steps, log)
            except (InputError, StatementError) as error:
                _log.warning("log not stored", run=journal.lease.id, error=str(error))
            except Exception:
                journal.restore(steps, log)
                raise

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


async def _report(journal: "_RunJournal", redactor: Redactor, record: StepRecord) -> None:
    if record.error:
        record = record._replace(error=clip(redactor.text(record.error), MAX_ERROR_LENGTH))
    await journal.step(record)


class _RunJournal:
    """The steps and log of one run that are not stored yet. Threads of a function write to the log."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.lock = asyncio.Lock()
        self._steps: dict[str, StepReport] = {}
        self._log: list[LogPart] = []
        self._log_lock = Lock()

    async def step(self, record: StepRecord) -> None:
        if record.name:
            self._steps[record.name] = StepReport(
                name=record.name,
                state=str(record.state),
                started_at=_microseconds(record.started_at),
                finished_at=_microseconds(record.finished_at),
                attempt=record.attempt,
                error=record.error,
            )

    def line(self, step: str, stream: str, text: str) -> None:
        with self._log_lock:
            last = self._log[-1] if self._log else None
            if last and len(self._log) >= _MAX_PARTS and (last.step, last.stream) == (step, stream):
                self._log[-1] = last._replace(text=f"{last.text}{text}\n")
            else:
                self._log.append(LogPart(step, stream, f"{text}\n", microseconds()))

    def drain(self) -> tuple[list[StepReport], list[LogPart]]:
        with self._log_lock:
            steps, log = list(self._steps.values()), self._log
            self._steps, self._log = {}, []
        return steps, log

    def restore(self, steps: list[StepReport], log: list[LogPart]) -> None:
        with self._log_lock:
            self._steps = {step.name: step for step in steps} | self._steps
            self._log = log + self._log


def _microseconds(instant: datetime | None) -> int | None:
    return None if instant is None else round(instant.timestamp() * 1_000_000)
