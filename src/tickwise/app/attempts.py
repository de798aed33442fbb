"""Attempts that engines execute, as their work sees them: begin, stay alive, report, finish (S53, S56).

The work has no token of a person. It shows two secrets of its attempt, and has no right to anything else: the
ticket, which came with the order, opens the gate; the claim, which the work has made up and told at the gate, is
for all that follows. A reference that is unknown and a secret that is wrong get the same answer.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from hmac import compare_digest
from operator import attrgetter
from typing import Any

from ..core.codec import encode_job
from ..core.errors import ConflictError, InputError, NotFoundError
from ..core.handover import WORK_LEASE, Alive, Began, HandOver, digest
from ..core.settle import Outcome
from ..core.states import HandOverState, RunState
from ..runtime.context import RunContext
from ..runtime.execution import context_of
from ..runtime.run_outputs import done_steps
from ..stores.contract import Store
from ..stores.records import Finish, LogPart, RunRow, StepReport

_NO_DIGEST = "0" * len(digest(""))  # of no secret: compared instead of one, so that both cases take as long


class AttemptSecret(StrEnum):
    """What the work of an attempt shows, instead of a token of a person."""

    TICKET = "ticket"
    CLAIM = "claim"


_DIGEST_OF: dict[AttemptSecret, Callable[[HandOver], str]] = {
    AttemptSecret.TICKET: attrgetter("ticket_digest"),
    AttemptSecret.CLAIM: attrgetter("claim"),
}


@dataclass(frozen=True, slots=True)
class BegunAttempt:
    """What the work must know to go on."""

    run: RunContext
    definition: str  # of the job when the run was enqueued, as `core.codec` writes it
    done: Mapping[str, Mapping[str, Any]]  # steps that succeeded in earlier attempts, with what they handed on
    lease: int = WORK_LEASE  # seconds; work that cannot say for so long that it is alive counts as dead


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """What became of the run, and whether it was by this report."""

    state: RunState | None  # none: the run is not kept any longer
    accepted: bool


class HandedAttempt:
    """One attempt, opened by a secret of it."""

    def __init__(self, store: Store, row: RunRow, record: HandOver, secret: str) -> None:
        self._store = store
        self._row = row
        self._record = record
        self._secret = secret

    async def begin(self, claim: str) -> BegunAttempt:
        """Ask the gate (S53): the first claim is let in, and may ask again; `ConflictError` to all others."""
        began = Began(self._secret, claim)
        record = await self._store.hand_over(self._row.id, self._record.token, began)
        attempt = None if record is None else await self._store.attempt(self._row.id)
        if attempt is None or attempt.token != self._record.token:
            raise ConflictError(await self._why_refused())
        steps = await self._store.insights.steps(attempt.id)
        return BegunAttempt(
            run=context_of(attempt),
            definition=encode_job(attempt.job),
            done=done_steps(steps),
        )

    async def alive(self) -> bool:
        """Say that the work goes on; whether it was asked to end."""
        record = await self._store.hand_over(self._row.id, self._record.token, Alive(self._secret))
        if record is None:
            raise ConflictError(self._over)
        return self._row.cancelling or record.state is HandOverState.ENDING

    async def report(self, steps: Sequence[StepReport], log: Sequence[LogPart]) -> None:
        if not await self._store.report(self._row.id, self._record.token, steps, log):
            raise ConflictError(self._over)

    async def finish(self, outcome: Outcome, result: Any, error: str) -> EndedAttempt:
        """End the attempt, once (S56). Work that lost the answer reports again, and learns how the run stands."""
        (settled,) = await self._store.finish(
            [Finish(self._row.id, self._record.token, outcome, result=result, error=error)]
        )
        if settled is not None:
            return EndedAttempt(settled.state, accepted=True)
        row = await self._store.insights.run(self._row.id)
        return EndedAttempt(row.state if row else None, accepted=False)

    @property
    def _over(self) -> str:
        return f"{self._record.reference} is over: what its work says now changes nothing"

    async def _why_refused(self) -> str:
        row, reference = await self._store.insights.run(self._row.id), self._record.reference
        record = row.hand_over if row else None
        if row is None or record is None or row.state is not RunState.RUNNING or record.reference != reference:
            return f"{reference} is over: leave it"
        if record.state is HandOverState.BEGUN:
            return f"{reference} has begun already, elsewhere: leave it"
        return f"{reference} was cancelled before it began: leave it"


async def open_attempt(store: Store, reference: str, kind: AttemptSecret, secret: str) -> HandedAttempt:
    """The attempt of a reference, for work that knows its secret; `NotFoundError` for anybody else."""
    row: RunRow | None = None
    with suppress(InputError):  # it cannot be a reference of this store
        row = await store.insights.run(reference.rpartition(".")[0])
    record = row.hand_over if row else None
    known = _NO_DIGEST if record is None or record.reference != reference else _DIGEST_OF[kind](record)
    if not compare_digest(known or _NO_DIGEST, digest(secret)) or row is None or record is None:
        raise NotFoundError(
            f"no attempt {reference[:100]!r} has this {kind}: it is over, or was never handed over"
        )
    return HandedAttempt(store, row, record, secret)
