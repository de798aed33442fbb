"""Tokens, audit log, idempotency claims and calendars of the memory store."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..access_contract import Access
from ..access_records import AuditEntry, AuditRow, CalendarRow, IdempotencyClaim, Token, VersionedText
from ..access_validation import CLAIM_LIFETIME, FORGET_BATCH_SIZE, is_use_due, token_conflict, unknown_token
from ..records import MICRO, Page
from .insights import page_of
from .moves import MemoryMoves, OperationLock, atomic


@dataclass(frozen=True, slots=True)
class _Claimed:
    """A claim, with when it was made and until when it may stay unanswered."""

    claim: IdempotencyClaim
    at: int
    until: int


class MemoryAccess(MemoryMoves, Access):
    """Tokens, audit, claims and calendars in dictionaries."""

    def __init__(self, lock: OperationLock) -> None:
        super().__init__(lock)
        self._issued: dict[str, Token] = {}  # by digest
        self._entries: list[AuditRow] = []
        self._claims: dict[str, _Claimed] = {}  # the oldest first
        self._texts: dict[str, VersionedText] = {}
        self._calendars: dict[str, CalendarRow] = {}

    @atomic
    def _issue(self, token: Token, digest: str, /) -> Token:
        new = replace(token, created_at=self._memory.clock())
        for known, other in self._issued.items():
            if (other.name == new.name and other.revoked_at is None) or other.id == new.id or known == digest:
                raise token_conflict(new.name, other.name)
        self._issued[digest] = new
        return new

    @atomic
    def _token(self, digest: str, /) -> Token | None:
        found, now = self._issued.get(digest), self._memory.clock()
        if found and is_use_due(found, now):
            found = self._issued[digest] = replace(found, used_at=now)
        return found

    @atomic
    def tokens(self) -> tuple[Token, ...]:
        return tuple(sorted(self._issued.values(), key=lambda token: (token.created_at, token.id)))

    @atomic
    def _revoke(self, token: str, /) -> Token:
        for digest, known in self._issued.items():
            if known.id == token:
                if known.revoked_at is None:
                    self._issued[digest] = replace(known, revoked_at=self._memory.clock())
                return self._issued[digest]
        raise unknown_token(token)

    @atomic
    def _record(self, entries: Sequence[AuditEntry], /) -> None:
        at = self._memory.clock()
        self._entries += [
            AuditRow(str(number), at, *entry) for number, entry in enumerate(entries, len(self._entries) + 1)
        ]

    @atomic
    def _audit(self, subject: str | None, after: int | None, limit: int, /) -> Page[AuditRow]:
        newest = len(self._entries) if after is None else after - 1
        found = (row for row in reversed(self._entries[: max(0, newest)]) if subject in (None, row.subject))
        return page_of(found, limit, lambda row: row.id)

    @atomic
    def _claim(self, key: str, mark: str, seconds: int, /) -> IdempotencyClaim | None:
        now = self._memory.clock()
        for old in list(islice(self._claims, FORGET_BATCH_SIZE)):
            if self._claims[old].at < now - CLAIM_LIFETIME:
                del self._claims[old]
        known = self._claims.get(key)
        if known and (known.claim.answer is not None or known.until > now) and known.at >= now - CLAIM_LIFETIME:
            return known.claim
        self._claims.pop(key, None)
        self._claims[key] = _Claimed(IdempotencyClaim(mark), now, now + seconds * MICRO)
        return None

    @atomic
    def _answer(self, key: str, answer: str, /) -> None:
        known = self._claims.get(key)
        if known and known.claim.answer is None:
            self._claims[key] = replace(known, claim=known.claim._replace(answer=answer))

    @atomic
    def _text(self, name: str, /) -> VersionedText | None:
        return self._texts.get(name)

    @atomic
    def _replace_text(self, name: str, text: str, over: int, /) -> bool:
        known = self._texts.get(name)
        if (known.version if known else 0) != over:
            return False
        self._texts[name] = VersionedText(over + 1, text)
        return True

    @atomic
    def calendars(self) -> tuple[CalendarRow, ...]:
        return tuple(sorted(self._calendars.values()))

    @atomic
    def _keep_calendar(self, name: str, text: str | None, over: int, /) -> bool:
        known = self._calendars.get(name)
        if (known.revision if known else 0) != over:
            return False
        self._calendars.pop(name, None)
        if text is not None:
            self._calendars[name] = CalendarRow(name, text, over + 1)
        return True
