"""The steps and the log of one run that are not stored yet, and the services that write them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

from ..clock import from_microseconds, microseconds
from ..core.errors import InputError
from ..core.payload import clip, to_json
from ..core.redaction import Redactor
from ..core.step_waits import StepWait
from ..log import get_logger
from ..stores.contract import StatementError
from ..stores.records import LogPart, StepReport
from .context import StepRecord, StepState
from .executors.failure import MAX_ERROR_LENGTH
from .private_values import PrivateValues
from .step_context import Services
from .step_tries import Earlier, EarlierStep

_log = get_logger()
_ENDED = frozenset({StepState.FAILED, StepState.SKIPPED})
_NOT_DONE = frozenset(StepState) - {StepState.SUCCEEDED}
_MAX_PARTS = 1_000  # of a log that wait to be stored; if a run prints faster, further ones are joined
Send: TypeAlias = Callable[[list[StepReport], list[LogPart]], Awaitable[Any]]


def earlier_steps(reports: Iterable[StepReport], attempt: int) -> Earlier:
    """How the other steps stand. Their ends count only if this attempt has waited, and goes on now (S74)."""
    steps = {report.name: _earlier_step(report) for report in reports if report.state in _NOT_DONE}
    waits = {name: step for name, step in steps.items() if step.wait and step.state not in _ENDED}
    goes_on = any(
        step.state is StepState.WAITING and step.wait.attempt == attempt for step in waits.values() if step.wait
    )
    if not goes_on:
        return Earlier(waiting=waits)
    waits |= {
        name: step for name, step in steps.items() if step.state is StepState.WAITING
    }  # those of `foreach` too
    return Earlier(True, {name: step for name, step in steps.items() if step.state in _ENDED}, waits)


def _earlier_step(report: StepReport) -> EarlierStep:
    return EarlierStep(
        state=StepState(report.state),
        error=report.error,
        tries=report.attempt,
        started_at=None if report.started_at is None else from_microseconds(report.started_at),
        wait=StepWait.of(report.waits_for),
    )


class RunJournal:
    """What a run has reported and printed. Threads of a function write to the log."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._steps: dict[str, StepReport] = {}
        self._log: list[LogPart] = []
        self._log_lock = Lock()
        self._sending = asyncio.Lock()

    def services(
        self, worker: Services, redactor: Redactor, private: PrivateValues, *, allow_commands: bool
    ) -> Services:
        """The services of a worker for this run."""
        return replace(
            worker,
            report=partial(self._report, redactor),
            log=self.line,
            redactor=redactor,
            private=private,
            allow_commands=allow_commands,
        )

    def line(self, step: str, stream: str, text: str) -> None:
        with self._log_lock:
            last = self._log[-1] if self._log else None
            if last and len(self._log) >= _MAX_PARTS and (last.step, last.stream) == (step, stream):
                self._log[-1] = last._replace(text=f"{last.text}{text}\n")
            else:
                self._log.append(LogPart(step, stream, f"{text}\n", microseconds()))

    async def store(self, send: Send, most: int | None = None) -> None:
        """Send all that has come, at most so many characters of the log at once. What failed is kept for later.

        One report at a time, so that none is under way when the end of the run is stored.
        """
        async with self._sending:
            is_more = True
            while is_more:
                steps, log, is_more = self._drain(most)
                if not steps and not log:
                    return
                try:
                    await send(steps, log)
                except (InputError, StatementError) as error:
                    _log.warning("log not stored", run=self._run, error=str(error))
                except Exception:
                    self._restore(steps, log)
                    raise

    async def _report(self, redactor: Redactor, record: StepRecord) -> None:
        if record.name:
            self._steps[record.name] = StepReport(
                name=record.name,
                state=str(record.state),
                started_at=_microseconds(record.started_at),
                finished_at=_microseconds(record.finished_at),
                attempt=record.attempt,
                error=clip(redactor.text(record.error), MAX_ERROR_LENGTH) if record.error else "",
                outputs=to_json(record.outputs) if record.outputs else "",
                waits_for=record.wait.text if record.wait else "",
            )

    def _drain(self, most: int | None) -> tuple[list[StepReport], list[LogPart], bool]:
        with self._log_lock:
            steps, log = list(self._steps.values()), self._log
            log, rest = (log, []) if most is None else _split(log, most)
            self._steps, self._log = {}, rest
        return steps, log, bool(rest)

    def _restore(self, steps: list[StepReport], log: list[LogPart]) -> None:
        with self._log_lock:
            self._steps = {step.name: step for step in steps} | self._steps
            self._log = log + self._log


def _split(log: list[LogPart], most: int) -> tuple[list[LogPart], list[LogPart]]:
    """The first parts, with so many characters together, and the others; a part that is too long is cut."""
    for number, part in enumerate(log):
        if len(part.text) > most:
            head, tail = part._replace(text=part.text[:most]), part._replace(text=part.text[most:])
            return [*log[:number], head], [tail, *log[number + 1 :]]
        most -= len(part.text)
    return log, []


def _microseconds(instant: datetime | None) -> int | None:
    return None if instant is None else round(instant.timestamp() * 1_000_000)
