"""Proposals: what an agent asks for and a person decides, kept as entries of the audit log (ADR 84).

An entry says that a proposal was made, another how it was decided. Of two who decide at once one has the claim of
the proposal, so it is carried out once. It expires within a day, which is as long as a claim is kept.
"""

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from ..core.errors import ConflictError, InputError, NotFoundError
from ..core.mask import masked
from ..core.proposal import ProposalState, ProposedAct
from ..core.timeparse import format_duration, to_datetime
from ..stores.access_contract import Access
from ..stores.access_records import AuditEntry, AuditRow
from ..stores.records import MICRO

SUBJECT = "proposals"  # of their entries
MAX_LIFE = 86_400  # seconds
_MAX_OPEN = 100
_MAX_ENTRIES = 1_000  # that are read
_MADE = "proposal.create"
_DECIDED = {
    "proposal.approve": ProposalState.APPROVED,
    "proposal.reject": ProposalState.REJECTED,
    "proposal.fail": ProposalState.FAILED,
}
_ACTION_OF = {state: action for action, state in _DECIDED.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What somebody asks for, what that would do, and what became of it."""

    id: str
    act: ProposedAct
    target: str  # a schedule or a run
    job: str
    arguments: Mapping[str, Any]
    reason: str
    effect: Mapping[str, Any]
    by: str
    created_at: datetime
    expires_at: datetime
    state: ProposalState = ProposalState.OPEN
    decided_by: str | None = None
    decided_at: datetime | None = None
    note: str = ""


class NewProposal(NamedTuple):
    """What is proposed, and for how many seconds it may be decided about."""

    act: ProposedAct
    target: str
    job: str
    arguments: Mapping[str, Any]
    reason: str
    effect: Mapping[str, Any]
    life: int


class ProposalBook:
    """The proposals in a store's audit log."""

    def __init__(self, access: Access, now: int) -> None:
        self._access, self._now = access, now  # in seconds

    async def list(self) -> list[Proposal]:
        """Those of the newest entries, the newest first."""
        page = await self._access.audit(SUBJECT, limit=_MAX_ENTRIES)
        return _proposals(page.items, self._now)

    async def get(self, proposal: str) -> Proposal:
        found = next((one for one in await self.list() if one.id == proposal), None)
        if found is None:
            raise NotFoundError(f"there is no proposal {proposal[:60]!r}: see tickwise proposals list --all")
        return found

    async def add(self, by: str, new: NewProposal) -> Proposal:
        """Keep a new proposal. What an audit log must not hold cannot be proposed."""
        if not 0 < new.life <= MAX_LIFE:
            longest = format_duration(MAX_LIFE)
            raise InputError(f"expires: a proposal waits at most {longest}, not {new.life:,} s", field="expires")
        if masked(new.arguments) != new.arguments:
            raise InputError("arguments: a proposal cannot hold secrets: ask a person to do it", field="arguments")
        if sum(one.state is ProposalState.OPEN for one in await self.list()) >= _MAX_OPEN:
            raise ConflictError(f"{_MAX_OPEN} proposals are open: decide about some of them first")
        proposal = secrets.token_hex(5)
        made = {
            "id": proposal, "act": str(new.act), "target": new.target, "job": new.job, "arguments": new.arguments,
            "reason": new.reason, "effect": new.effect, "expires_at": self._now + new.life,
        }  # fmt: skip
        await self._access.record([AuditEntry(by, _MADE, SUBJECT, None, made)])
        return await self.get(proposal)

    async def take(self, proposal: Proposal, by: str) -> None:
        """Decide about it: whoever comes second is told who was first."""
        if proposal.state is not ProposalState.OPEN:
            raise ConflictError(f"the proposal {proposal.id} is {_told_state(proposal)}")
        first = await self._access.claim(f"proposal:{proposal.id}", by, MAX_LIFE)
        if first is not None:
            raise ConflictError(f"{first.mark} has just decided about the proposal {proposal.id}")

    async def close(self, proposal: Proposal, by: str, state: ProposalState, note: str = "") -> Proposal:
        """Record how it was decided."""
        after = {"id": proposal.id, "note": note[:1_000]}
        await self._access.record([AuditEntry(by, _ACTION_OF[state], SUBJECT, None, after)])
        return replace(proposal, state=state, decided_by=by, decided_at=to_datetime(self._now), note=after["note"])


async def open_proposals(access: Access, now: int, sees: Callable[[str], bool] | None = None) -> list[Proposal]:
    """Those that wait for a decision, about jobs that the caller sees; the newest first."""
    found = await ProposalBook(access, now).list()
    return [one for one in found if one.state is ProposalState.OPEN and (sees is None or sees(one.job))]


def _told_state(proposal: Proposal) -> str:
    return str(proposal.state) + (f" by {proposal.decided_by}" if proposal.decided_by else "")


def _proposals(rows: Iterable[AuditRow], now: int) -> list[Proposal]:
    decided: dict[str, AuditRow] = {}
    found = []
    for row in rows:
        if row.action in _DECIDED:
            decided.setdefault(row.after["id"], row)
        elif row.action == _MADE and isinstance(row.after, Mapping):
            found.append(_read_entry(row, decided.get(row.after["id"]), now))
    return found


def _read_entry(row: AuditRow, decided: AuditRow | None, now: int) -> Proposal:
    made = row.after
    open_proposal = Proposal(
        id=made["id"], act=ProposedAct(made["act"]), target=made["target"], job=made["job"],
        arguments=made["arguments"], reason=made["reason"], effect=made["effect"], by=row.who,
        created_at=to_datetime(row.at // MICRO), expires_at=to_datetime(made["expires_at"]),
        state=ProposalState.OPEN if now < made["expires_at"] else ProposalState.EXPIRED,
    )  # fmt: skip
    if decided is None:
        return open_proposal
    return replace(
        open_proposal, state=_DECIDED[decided.action], decided_by=decided.who,
        decided_at=to_datetime(decided.at // MICRO), note=decided.after["note"],
    )  # fmt: skip
