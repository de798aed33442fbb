"""Tokens, audit and claims of the memory store."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..contract import Access
from ..records import MICRO, AuditEntry, AuditRow, IdempotencyClaim, Page, Token
from ..validation import (
    FORGET_AT_ONCE,
    FORGOTTEN_AFTER,
    audit_number,
    check_answer,
    check_claim,
    checked_entry,
    checked_token,
    is_stale,
    no_token,
    taken,
)
from .atomic import LockedStore, OperationLock, atomic
from .insights import page_of


@dataclass(frozen=True, slots=True)
class _Claimed:
    """A claim, when it was made and how long it may stay unanswered."""

    claim: IdempotencyClaim
    at: int
    until: int


class MemoryAccess(LockedStore, Access):
    """Who may come in."""

    def __init__(self, gate: OperationLock) -> None:
        super().__init__(gate)
        self._tokens: dict[str, Token] = {}  # by digest
        self._audit: list[AuditRow] = []
        self._claims: dict[str, _Claimed] = {}  # the oldest first

    @atomic
    def issue(self, token: Token, digest: str) -> Token:
        new = checked_token(token, digest, self._memory.clock())
        for known, other in self._tokens.items():
            if (other.name == new.name and other.revoked_at is None) or other.id == new.id or known == digest:
                raise taken(new.name, other.name)
        self._tokens[digest] = new
        return new

    @atomic
    def token(self, digest: str) -> Token | None:
        found, now = self._tokens.get(digest), self._memory.clock()
        if found and is_stale(found, now):
            found = self._tokens[digest] = replace(found, used_at=now)
        return found

    @atomic
    def tokens(self) -> tuple[Token, ...]:
        return tuple(sorted(self._tokens.values(), key=lambda token: (token.created_at, token.id)))

    @atomic
    def revoke(self, token: str) -> Token:
        for digest, known in self._tokens.items():
            if known.id == token:
                if known.revoked_at is None:
                    self._tokens[digest] = replace(known, revoked_at=self._memory.clock())
                return self._tokens[digest]
        raise no_token(token)

    @atomic
    def record(self, entries: Sequence[AuditEntry]) -> None:
        kept, at = [checked_entry(entry) for entry in entries], self._memory.clock()
        self._audit += [
            AuditRow(str(number), at, *entry) for number, entry in enumerate(kept, len(self._audit) + 1)
        ]

    @atomic
    def audit(self, subject: str | None = None, after: str | None = None, limit: int = 100) -> Page[AuditRow]:
        newest = len(self._audit) if after is None else audit_number(after) - 1
        found = (row for row in reversed(self._audit[: max(0, newest)]) if subject in (None, row.subject))
        return page_of(found, limit, lambda row: row.id)

    @atomic
    def claim(self, key: str, mark: str, seconds: int) -> IdempotencyClaim | None:
        check_claim(key, mark, seconds)
        now = self._memory.clock()
        for old in list(islice(self._claims, FORGET_AT_ONCE)):
            if self._claims[old].at < now - FORGOTTEN_AFTER:
                del self._claims[old]
        known = self._claims.get(key)
        if known and (known.claim.answer is not None or known.until > now) and known.at >= now - FORGOTTEN_AFTER:
            return known.claim
        self._claims.pop(key, None)
        self._claims[key] = _Claimed(IdempotencyClaim(mark), now, now + seconds * MICRO)
        return None

    @atomic
    def answer(self, key: str, answer: str) -> None:
        check_answer(key, answer)
        known = self._claims.get(key)
        if known and known.claim.answer is None:
            self._claims[key] = replace(known, claim=known.claim._replace(answer=answer))
