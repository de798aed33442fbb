"""Hands attempts over to engines and watches them there: what a `Worker` has in place of an `Execution`.

The flow of one attempt is in the header of `core.handover`. A watcher only looks. So nothing is lost if it stops:
it hands nothing back, its lease runs out, and another watcher adopts the run with the same token (S54). For the
same reason no error of the store or of an engine ends a watch: after any doubt the watcher asks again.

    intend ─► submit ─► look ─┬─► look again              nothing new, or the engine is silent
                  ▲           ├─► submit again            it never heard of the reference
                  └───────────┤
                              ├─► end                     as the engine says, or because the work is dead
                              └─► cancel ─► look ─► kill  the run was asked to end, or its time is over
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import suppress
from secrets import token_urlsafe
from typing import Any, NamedTuple, TypeVar

from ...core.handover import (
    DEFAULT_PATIENCE,
    WORK_LEASE,
    Accepted,
    HandOver,
    HandOverChange,
    Intended,
    Judgement,
    LogRead,
    Sight,
    Silent,
    ToldToEnd,
    fingerprint_of,
    is_over,
    judged,
    reference_of,
)
from ...core.redaction import NO_SECRETS, Redactor
from ...core.requirements import Offers
from ...core.settle import Cancelled, Failed, Outcome
from ...core.states import ENDED_BY, Event, HandOverState, RunState
from ...core.timeparse import format_duration
from ...log import get_logger
from ...stores.contract import Store
from ...stores.records import MICRO, Finish, Lease, LogPart, RunRow
from ..executors.failure import failure_text
from ..executors.result import AttemptResult, failed
from .catalog import ConfiguredEngine
from .contract import Engine, Order, OrderRefusedError
from .looks import EngineLooks, Look, problem_text

T = TypeVar("T")
_log = get_logger()
LOOK_EVERY = 1.0  # seconds
CANCEL_WITHIN = 10 * MICRO  # microseconds between asking work to end and killing it
_KILL_EVERY = 10 * MICRO  # microseconds between kills of work that does not end
_REFRESH_EVERY = WORK_LEASE * MICRO  # microseconds
_RETRY_DELAY = 1.0  # seconds before the store is asked again
_CANCELLED = "it was asked to end"


class LeaseLostError(Exception):
    """The attempt is over, or another's."""


class EndOfAttempt(NamedTuple):
    """An end that this node did not store: the work has reported it."""

    lease: Lease
    event: Event
    state: RunState  # of the run, now
    error: str
    node: str | None  # its last watcher


class Watcher:
    """Watches runs on the engines that the settings name."""

    hands_over = True

    def __init__(
        self,
        store: Store,
        engines: Mapping[str, ConfiguredEngine],
        *,
        api_url: str,
        commands: Callable[[], Collection[str]] = frozenset,
        redactor: Redactor = NO_SECRETS,
        look_every: float = LOOK_EVERY,
        on_reported: Callable[[EndOfAttempt], None] | None = None,
    ) -> None:
        self._store = store
        self._configured = engines
        self._api_url = api_url
        self._commands = commands
        self._redactor = redactor
        self._look_every = look_every
        self._on_reported = on_reported
        self._open: dict[str, tuple[Engine, EngineLooks]] = {}
        self._watches: dict[str, _Watch] = {}
        self._forgets: set[asyncio.Task[None]] = set()

    @property
    def offers(self) -> Offers:
        """The engines that it has, and whose commands it may hand over (S46)."""
        return Offers.of_watcher(self._configured, self._commands())

    def run(self, lease: Lease) -> Coroutine[Any, Any, AttemptResult]:
        """Hand an attempt over, or go on with one that was, and wait for its end."""
        return self._run(lease)

    async def _run(self, lease: Lease) -> AttemptResult:
        try:
            engine, looks = self._engine(lease)
        except Exception as error:  # noqa: BLE001  (a library is missing, or a setting is wrong: nothing was sent)
            return failed(failure_text(error))
        watch = self._watches[lease.id] = _Watch(self._store, engine, looks, lease, self._api_url)
        try:
            return (await watch.run()).kept(self._redactor)
        except LeaseLostError:  # the heartbeat finds that out, too, and stops this run
            never: asyncio.Future[AttemptResult] = asyncio.get_running_loop().create_future()
            return await never

    def _engine(self, lease: Lease) -> tuple[Engine, EngineLooks]:
        use = lease.job.engine
        name = use.name if use else ""
        if name not in self._open:
            engine = self._configured[name].open()
            self._open[name] = engine, EngineLooks(engine, self._store.now, self._look_every)
        return self._open[name]

    def end(self, run: str) -> None:
        """Have the work of a run ended; its watch returns when that is certain."""
        if watch := self._watches.get(run):
            watch.cancelled.set()

    async def conclude_cancelled(self, lease: Lease, reason: str) -> None:
        """Handlers are executed by the work itself."""

    async def flush_turn(self) -> float:
        return _RETRY_DELAY

    async def flush(self, ended: Iterable[Finish]) -> None:
        """The work stores its own steps and logs; those that the engine keeps are stored when they are read."""

    def forget(self, run: str, *, stored: bool) -> None:
        """Let the engine forget a run that is over (S56)."""
        if watch := self._watches.pop(run, None):
            task = asyncio.create_task(self._conclude(watch, stored=stored))
            self._forgets.add(task)
            task.add_done_callback(self._forgets.discard)

    async def _conclude(self, watch: "_Watch", *, stored: bool) -> None:
        with suppress(Exception):
            end = await watch.conclude(stored=stored)
            if end and self._on_reported:
                self._on_reported(end)

    async def close(self) -> None:
        """Give the engines' connections back. The work goes on."""
        await asyncio.gather(*self._forgets, return_exceptions=True)
        for engine, looks in self._open.values():
            looks.close()
            with suppress(Exception):
                await engine.close()


class _Watch:
    """The watch of one attempt."""

    def __init__(self, store: Store, engine: Engine, looks: EngineLooks, lease: Lease, api_url: str) -> None:
        self._store = store
        self._engine = engine
        self._looks = looks
        self._lease = lease
        self._api_url = api_url
        self._record: HandOver | None = lease.hand_over
        self._read_at = 0  # when the record was last read for its own sake
        self.cancelled = asyncio.Event()

    @property
    def record(self) -> HandOver:
        """The hand-over as this watcher knows it: the work may have changed it since."""
        if self._record is None:
            raise LeaseLostError
        return self._record

    async def run(self) -> AttemptResult:
        if self._record is None:
            await self._change(Intended(self._intent()))
        while True:
            if self.record.state is HandOverState.ENDING:
                return await self._end(Cancelled(), _CANCELLED)
            if self.record.state is HandOverState.INTENDED and (refusal := await self._submit()):
                return failed(refusal)
            look = await self._look()
            if look is None or self._is_timed_out(look.now):
                return await self._end(*self._reason_to_end())
            await self._read_log()
            judgement = await self._judged(look)
            if judgement.change:
                await self._change(judgement.change)
            if judgement.outcome:
                await self._read_log()
                return AttemptResult(judgement.outcome, error=judgement.error)

    # Handing over

    def _intent(self) -> HandOver:
        job, options = self._lease.job, self._options
        gated = self._engine.asks_gate(options)
        return HandOver(
            engine=job.engine.name if job.engine else "",
            reference=reference_of(self._lease.id, self._lease.attempt),
            fingerprint=fingerprint_of(job, self._lease.params, self._lease.token),
            token=self._lease.token,
            gated=gated,
            ticket=token_urlsafe(32) if gated else "",
            patience=job.timeout or DEFAULT_PATIENCE,
        )

    @property
    def _options(self) -> Mapping[str, Any]:
        return self._lease.job.engine.options if self._lease.job.engine else {}

    async def _submit(self) -> str:
        """Order the work, always under the same reference (S52); why the engine refuses it, if it does."""
        try:
            submitted = await self._engine.submit(self._order())
        except OrderRefusedError as refused:
            return str(refused)
        except Exception as error:  # noqa: BLE001  (it may have come through: it is looked for, and sent again)
            await self._change(Silent(problem_text(error)))
        else:
            await self._change(Accepted(submitted.address))
        return ""

    def _order(self) -> Order:
        record = self.record
        environment = {"TICKWISE_API": self._api_url, "TICKWISE_ATTEMPT": record.reference}
        return Order(
            reference=record.reference,
            fingerprint=record.fingerprint,
            job=self._lease.job.name,
            environment=environment | ({"TICKWISE_TICKET": record.ticket} if record.gated else {}),
            options=self._options,
            timeout=self._lease.job.timeout,
        )

    # Watching

    async def _look(self) -> Look | None:
        """The next look; none if the run was asked to end meanwhile."""
        looking = asyncio.ensure_future(self._looks.next(self.record.reference))
        ending = asyncio.ensure_future(self.cancelled.wait())
        try:
            await asyncio.wait((looking, ending), return_when=asyncio.FIRST_COMPLETED)
            return None if ending.done() else looking.result()
        finally:
            looking.cancel()
            ending.cancel()

    async def _judged(self, look: Look) -> Judgement:
        """What the look means. The work changes the record, too, so it is read again from time to time.

        That work is over is never said of a record that may be old: it may have given a sign of life since.
        """
        judgement = judged(self.record, *look)
        is_over = judgement.outcome is not None and self.record.gated
        if is_over or look.now - self._read_at >= _REFRESH_EVERY:
            self._read_at = look.now
            await self._refresh()
            judgement = judged(self.record, *look)
        return judgement

    def _is_timed_out(self, now: int) -> bool:
        """Whether work without a gate, which does not keep its time by itself, has run too long."""
        record, timeout = self.record, self._lease.job.timeout
        if record.gated or timeout is None or record.begun_at is None:
            return False
        return now - record.begun_at > timeout * MICRO

    def _reason_to_end(self) -> tuple[Outcome, str]:
        if self.cancelled.is_set():
            return Cancelled(), _CANCELLED
        return Failed(), f"the run took longer than {format_duration(self._lease.job.timeout or 0)}"

    async def _read_log(self) -> None:
        """Store what the engine keeps of the output of work that does not send its own."""
        if self.record.gated:
            return
        with suppress(Exception):  # it is read again at the next look
            chunk = await self._engine.log(self.record.reference, self.record.log_cursor)
            if chunk.text:
                part = LogPart("", "stdout", chunk.text, await self._store.now())
                await self._store.report(self._lease.id, self._lease.token, log=[part])
                await self._change(LogRead(chunk.cursor))

    # Ending

    async def _end(self, outcome: Outcome, error: str) -> AttemptResult:
        """Ask the engine to end the work, kill it later, and wait until it is certain that it has ended (S56)."""
        await self._change(ToldToEnd())
        asked_at, killed_at = await self._persist(self._store.now), None
        await self._try(self._engine.cancel)
        while True:
            seen, now, asked_since = await self._looks.next(self.record.reference)
            if seen.sight is Sight.SILENT:
                await self._change(Silent(seen.error, asked_since))
            await self._refresh()
            if is_over(self.record, seen, now):
                break
            if now - asked_at >= CANCEL_WITHIN and (killed_at is None or now - killed_at >= _KILL_EVERY):
                killed_at = now
                await self._try(self._engine.kill)
        await self._read_log()
        return AttemptResult(outcome, error=error)

    async def _try(self, ask: Callable[[str], Awaitable[None]]) -> None:
        try:
            await ask(self.record.reference)
        except Exception as error:  # noqa: BLE001  (looks say what became of it)
            _log.warning("the engine did not answer", run=self._lease.id, error=str(error))

    async def conclude(self, *, stored: bool) -> EndOfAttempt | None:
        """Let the engine forget an attempt that is over in the store (S56); its end, if the work stored it."""
        row = await self._store.insights.run(self._lease.id)
        if self._record is None or (row and _is_running(row, self._lease)):
            return None
        with suppress(Exception):
            await self._engine.forget(self._record.reference)
        return None if stored or row is None else await self._end_in(row)

    async def _end_in(self, row: RunRow) -> EndOfAttempt | None:
        lease = self._lease
        attempts = await self._store.insights.attempts(lease.id)
        before = next((attempt for attempt in attempts if attempt.number == lease.attempt), None)
        if before:
            return EndOfAttempt(lease, before.event, row.state, before.error, before.node)
        event = ENDED_BY.get(row.state)
        return EndOfAttempt(lease, event, row.state, row.error, row.node) if event else None

    # The store

    async def _change(self, change: HandOverChange) -> None:
        """Change the stored record; if that is refused, because the work was quicker, take over what is stored."""
        lease = self._lease
        changed = await self._persist(lambda: self._store.hand_over(lease.id, lease.token, change))
        if changed is None:
            await self._refresh()
        else:
            self._record = changed

    async def _refresh(self) -> None:
        row = await self._persist(lambda: self._store.insights.run(self._lease.id))
        record = row.hand_over if row and _is_running(row, self._lease) else None
        if record is None:
            raise LeaseLostError
        self._record = record

    async def _persist(self, move: Callable[[], Awaitable[T]]) -> T:
        """The answer of the store, however long it takes: all moves here may be made twice."""
        while True:
            try:
                return await move()
            except Exception as error:  # noqa: BLE001  (without an answer nobody knows whether it was made)
                _log.warning("the store did not answer", run=self._lease.id, error=str(error))
                await asyncio.sleep(_RETRY_DELAY)


def _is_running(row: RunRow, lease: Lease) -> bool:
    return (row.state, row.attempt) == (RunState.RUNNING, lease.attempt)
