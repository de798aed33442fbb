"""The other side of a hand-over: asks the gate, executes the attempt here, and reports (S53, S42, S56).

    execute_attempt(os.environ)

The attempt is executed by the code of a worker: steps, timeouts, retries of steps, handlers, logs and secrets are
the same. A job that is a function is imported (`module:name` of its definition) and called in this process. What
stops work from outside, and what is reported then:

| reason | the work | the report |
|---|---|---|
| a person cancelled the run | is asked to end, and waited for | cancelled, after the handlers |
| the engine ends this process (SIGTERM) | gets a few seconds | failed, or cancelled if that was why |
| it could not renew for two thirds of its lease | gets a few seconds | handed back, if it still is ours |
| the attempt is over, or another's | gets a few seconds | none |
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from enum import Enum
from secrets import token_urlsafe
from threading import Thread
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ..clock import monotonic
from ..core.definition import JobDefinition
from ..core.errors import InputError, TickwiseError
from ..core.handover import DEFAULT_PATIENCE
from ..core.redaction import redactor_of
from ..core.settle import Cancelled, Failed, HandedBack, Outcome
from ..log import get_logger
from ..runtime.attempt import conclude, execute
from ..runtime.execution import FLUSH_EVERY
from ..runtime.executors.child import find_function
from ..runtime.executors.failure import failure_text
from ..runtime.executors.function import FunctionPool
from ..runtime.executors.process import named_target
from ..runtime.executors.result import AttemptResult, failed
from ..runtime.private_values import PrivateValues, private_values, secret_names
from ..runtime.run_journal import RunJournal
from ..runtime.secret_providers import NO_PROVIDERS, SecretProviders
from ..runtime.secret_values import redactor_of_run, secrets_of_worker
from ..runtime.step_context import Services
from ..stores.records import LogPart, StepReport
from .attempt_client import (
    ApiUnreachableError,
    AttemptAccess,
    AttemptClient,
    AttemptRefusedError,
    BegunWork,
)
from .renewal import Renewal, RenewalCallbacks

T = TypeVar("T")
FunctionOf: TypeAlias = Callable[[JobDefinition], Callable[..., Any] | None]
_log = get_logger()
_REQUEST_TIMEOUT = 10.0  # seconds
_FIRST_DELAY, _MAX_DELAY = 0.5, 15.0  # seconds between two tries of a request
_STOP_GRACE = 1 / 4  # of a lease, for work that must end; its programs are killed after five seconds
_LOG_BATCH = 100_000  # characters in one report
_UNSTORED = "how it ended could not be stored"
_DEAD_EXIT = 70  # the exit code of a process that ends because its work does not


class WorkStop(Enum):
    """Why work is stopped from outside."""

    CANCELLED = "it was asked to end"
    ENGINE = "the engine ended the work"
    UNRENEWED = "its lease could not be renewed"
    REFUSED = "the attempt is not this work's any more"


_OUTCOMES: dict[WorkStop, Outcome] = {
    WorkStop.CANCELLED: Cancelled(),
    WorkStop.ENGINE: Failed(),
    WorkStop.UNRENEWED: HandedBack(),
}


def imported_function(job: JobDefinition) -> Callable[..., Any] | None:
    """The function that a job names for this side; none if it has steps. InputError if it cannot be imported."""
    if job.engine is None or not job.engine.target:
        return None
    module, name, _ = named_target(job.engine.target)
    return find_function(module, name)


def execute_attempt(
    environment: Mapping[str, str],
    *,
    function_of: FunctionOf = imported_function,
    own_process: bool = False,
    on_begin: Callable[[Callable[[], None]], None] | None = None,
) -> bool:
    """Execute the attempt that these variables name; false if the gate said no, and nothing was done.

    With `own_process` this process is for the attempt alone: SIGTERM ends the work, and work that does not end is
    ended with the process. `on_begin` is told how another thread can end the work, as SIGTERM does. InputError
    names a variable that is missing or wrong; `ApiUnreachableError` says that the gate could not be asked, or the
    end not be told.
    """
    access = AttemptAccess.from_environment(environment)
    return _run_in_new_loop(
        lambda: _execute_attempt(access, function_of, own_process=own_process, on_begin=on_begin)
    )


def _run_in_new_loop(start: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine to its end, whether or not this thread has a loop that runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(start())
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(asyncio.run(start()))
        except BaseException as error:  # noqa: BLE001  (it is raised where it belongs)
            errors.append(error)

    thread = Thread(target=run, name="tickwise-attempt")
    thread.start()
    thread.join()
    for error in errors:
        raise error
    return results[0]


async def _execute_attempt(
    access: AttemptAccess,
    function_of: FunctionOf,
    *,
    own_process: bool,
    on_begin: Callable[[Callable[[], None]], None] | None,
) -> bool:
    claim = token_urlsafe(32)
    try:
        begun, good_at = await _ask_gate(access, claim)
    except AttemptRefusedError as refusal:
        _log.info("nothing to do", attempt=access.reference, reason=str(refusal))
        return False
    attempt = RemoteAttempt(AttemptClient(access, claim), begun, {access.ticket, claim}, own_process=own_process)
    if own_process:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, attempt.stop, WorkStop.ENGINE)
    if on_begin:
        on_begin(attempt.stop_from_thread(WorkStop.ENGINE))
    await attempt.run(function_of, good_at)
    return True


async def _ask_gate(access: AttemptAccess, claim: str) -> tuple[BegunWork, float]:
    """Ask with the same claim until there is an answer: the one that was lost may have been a yes.

    Also when the attempt was last known to be alive: that is when the work that was let in has asked.
    """
    gate, work = AttemptClient(access, access.ticket), AttemptClient(access, claim)
    sent: list[float] = []

    def ask() -> tuple[BegunWork, float]:
        sent.append(monotonic())
        begun = gate.begin(claim, _REQUEST_TIMEOUT)
        if len(sent) == 1:
            return begun, sent[0]
        good_at = monotonic()
        work.alive(_REQUEST_TIMEOUT)
        return begun, good_at

    return await _persist(lambda: asyncio.to_thread(ask), access.reference)


async def _persist(
    request: Callable[[], Awaitable[T]], reference: str, is_over: Callable[[], bool] = lambda: False
) -> T:
    """Send a request again until the API answers; up to a time, or until it is over."""
    delay, until = _FIRST_DELAY, monotonic() + DEFAULT_PATIENCE
    while True:
        try:
            return await request()
        except ApiUnreachableError as error:
            if is_over() or monotonic() + delay > until:
                raise
            _log.warning("no answer", attempt=reference, error=str(error), again_in=f"{delay:g} s")
        await asyncio.sleep(delay)
        delay = min(2 * delay, _MAX_DELAY)


class _Executable(NamedTuple):
    """A job that was read, with what its execution needs."""

    job: JobDefinition
    functions: Mapping[str, Callable[..., Any]]
    services: Services


class RemoteAttempt:
    """One attempt that the gate has let in, while it is executed here."""

    def __init__(self, client: AttemptClient, begun: BegunWork, secrets: set[str], *, own_process: bool) -> None:
        self._client = client
        self._begun = begun
        self._secrets = secrets
        self._own_process = own_process
        self._reference = f"{begun.run.id}.{begun.run.attempt}"
        self._journal = RunJournal(begun.run.id)
        self._pool = FunctionPool()
        self._loop = asyncio.get_running_loop()
        self._reason: WorkStop | None = None
        self._stop_event = asyncio.Event()
        self._hurry_event = asyncio.Event()  # it must end soon: nobody waits for it any longer
        self._ended_event = asyncio.Event()
        self._concluding = False

    def stop(self, reason: WorkStop) -> None:
        """End the work. The first reason counts; but what is not ours any more, nobody wants to hear of."""
        if self._reason is None or reason is WorkStop.REFUSED:
            self._reason = reason
        self._stop_event.set()
        if reason is not WorkStop.CANCELLED:
            self._hurry_event.set()

    async def run(self, function_of: FunctionOf, good_at: float) -> None:
        """Execute it, renew meanwhile, and report its end."""
        work = asyncio.create_task(self._work(function_of))
        callbacks = RenewalCallbacks(
            on_cancel=self.stop_from_thread(WorkStop.CANCELLED),
            on_refused=self.stop_from_thread(WorkStop.REFUSED),
            on_late=self.stop_from_thread(WorkStop.UNRENEWED),
            on_dead=lambda: self._die_with(work),
        )
        try:
            with Renewal(self._client, callbacks, lease=self._begun.lease, good_at=good_at):
                storing = asyncio.create_task(self._store_log_regularly())
                await self._wait_for_end(work)
                self._ended_event.set()
                await storing
                ended = await self._end_of(work)
                if ended is not None:
                    await self._finish(ended)
        finally:
            self._die_with(work)
            self._pool.close()

    def stop_from_thread(self, reason: WorkStop) -> Callable[[], None]:
        """What another thread calls to end the work."""

        def stop() -> None:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.stop, reason)

        return stop

    def _die_with(self, work: "asyncio.Task[AttemptResult]") -> None:
        """End the process, and so its programs, if the work has not ended: others may soon execute the run."""
        if self._own_process and not work.done():
            os._exit(_DEAD_EXIT)

    # Executing

    async def _work(self, function_of: FunctionOf) -> AttemptResult:
        try:
            one = await self._executable(function_of)
        except InputError as error:
            return failed(str(error))
        except Exception as error:  # noqa: BLE001  (of `function_of`, which may be anybody's)
            return failed(failure_text(error))
        try:
            return await execute(
                one.job,
                self._begun.run,
                functions=one.functions,
                pool=self._pool,
                services=one.services,
                done=self._begun.done,
            )
        except asyncio.CancelledError:
            if self._reason is WorkStop.CANCELLED:
                self._concluding = True
                await conclude(one.job, self._begun.run, _stopped(self._reason), one.services)
            raise

    async def _executable(self, function_of: FunctionOf) -> _Executable:
        job = self._begun.job()
        function = function_of(job)
        own = redactor_of(secrets_of_worker(os.environ, {"secret": sorted(self._secrets)}))
        private = await _private_values(job)
        redactor = redactor_of_run(own, job, self._begun.run, private)
        services = self._journal.services(Services(), redactor, private, allow_commands=True)
        return _Executable(job, {} if function is None else {job.name: function}, services)

    async def _wait_for_end(self, work: "asyncio.Task[AttemptResult]") -> None:
        """Until the work has ended by itself, or was stopped and has ended; or is given up with the process."""
        await _wait_for(work, self._stop_event)
        if work.done():
            return
        work.cancel()
        await _wait_for(work, self._hurry_event)
        if self._concluding:
            work.cancel()
        await asyncio.wait({work}, timeout=self._begun.lease * _STOP_GRACE if self._own_process else None)

    async def _end_of(self, work: "asyncio.Task[AttemptResult]") -> AttemptResult | None:
        """What is reported; none if nobody wants to hear it."""
        if self._reason is WorkStop.REFUSED:
            return None
        if work.done() and not work.cancelled():
            error = work.exception()
            return work.result() if error is None else failed(failure_text(error))
        if self._reason is None:
            return failed("the function cancelled its own task")
        if self._reason is WorkStop.ENGINE and await self._is_cancelled():
            return _stopped(WorkStop.CANCELLED)
        return _stopped(self._reason)

    async def _is_cancelled(self) -> bool:
        """Whether the engine ends the work because the run was cancelled."""
        with suppress(TickwiseError):
            return await asyncio.to_thread(self._client.alive, _REQUEST_TIMEOUT)
        return False

    # Reporting

    async def _store_log_regularly(self) -> None:
        while not self._ended_event.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_EVERY):
                    await self._ended_event.wait()
            with suppress(TickwiseError):  # it is sent again; the renewal finds out what that means
                await self._store_log()

    async def _store_log(self) -> None:
        async def send(steps: list[StepReport], log: list[LogPart]) -> None:
            await asyncio.to_thread(self._client.report, steps, log, _REQUEST_TIMEOUT)

        await self._journal.store(send, _LOG_BATCH)

    async def _finish(self, ended: AttemptResult) -> None:
        """Report the end until the API answers. What it cannot keep is left out, or else reported as a failure."""
        lesser = [
            ended,
            AttemptResult(ended.outcome, error=f"{ended.error}\nthe result was not kept".lstrip()),
            AttemptResult(Failed(), error=_UNSTORED),
        ]
        for one in lesser:
            try:
                await self._persist_end(one)
            except InputError as error:
                _log.warning("end refused", attempt=self._reference, error=str(error))
            except AttemptRefusedError as refusal:
                _log.warning("late result refused", attempt=self._reference, error=str(refusal))
                return
            else:
                return

    async def _persist_end(self, ended: AttemptResult) -> None:
        async def finish() -> bool:
            with suppress(AttemptRefusedError):  # the end is answered all the same
                await self._store_log()
            end = (ended.outcome, ended.result, ended.error, _REQUEST_TIMEOUT)
            return await asyncio.to_thread(self._client.finish, *end)

        if not await _persist(finish, self._reference, lambda: self._reason is WorkStop.ENGINE):
            _log.info("the attempt was over already", attempt=self._reference)


async def _private_values(job: JobDefinition) -> PrivateValues:
    """The secrets that a job names are found by the settings on this side: they never travel (S76)."""
    if not secret_names(job):
        return await private_values(job, NO_PROVIDERS)
    from ..config import load  # noqa: PLC0415  (most work needs no settings)

    return await private_values(job, SecretProviders(load().secrets))


def _stopped(reason: WorkStop) -> AttemptResult:
    return AttemptResult(_OUTCOMES[reason], error=reason.value)


async def _wait_for(work: "asyncio.Task[Any]", event: asyncio.Event) -> None:
    """Until the work has ended or the event is set."""
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.wait({work, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
