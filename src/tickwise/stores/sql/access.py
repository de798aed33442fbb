"""Tokens, audit and claims over SQL."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ...core.payload import decode, encode
from .. import validation
from ..contract import Access
from ..records import MICRO, AccessRole, AuditEntry, AuditRow, IdempotencyClaim, Page, Token
from ..validation import page_size
from .driver import Driver, Pool
from .fleet import clock
from .statement import Procedure, Statement

T = TypeVar("T")
_COLUMNS = "id, name, role, scopes, created_at, expires_at, revoked_at, used_at"
_TAKEN = Statement("""
    SELECT name FROM tickwise_tokens
    WHERE (name = :name AND revoked_at IS NULL) OR id = :id OR digest = :digest LIMIT 1
""")
_ISSUE = Statement("""
    INSERT INTO tickwise_tokens (id, name, role, digest, scopes, created_at, expires_at)
    VALUES (:id, :name, :role, :digest, :scopes, :now, :expires_at)
""")
_TOKEN = Statement(f"SELECT {_COLUMNS} FROM tickwise_tokens WHERE digest = :digest")
_USED = Statement("UPDATE tickwise_tokens SET used_at = :now WHERE id = :id AND coalesce(used_at, 0) < :now")
_TOKENS = Statement(f"SELECT {_COLUMNS} FROM tickwise_tokens ORDER BY created_at, id")
_REVOKE = Statement(f"""
    UPDATE tickwise_tokens SET revoked_at = coalesce(revoked_at, :now) WHERE id = :id RETURNING {_COLUMNS}
""")
_RECORD = Statement("""
    INSERT INTO tickwise_audit (at, who, action, subject, detail)
    SELECT CAST(:now AS bigint), who, action, subject, detail
    FROM :rows[place bigint, who text, action text, subject text, detail text] AS v WHERE TRUE ORDER BY place
""")
_AUDIT = Statement("""
    SELECT id, at, who, action, subject, detail FROM tickwise_audit
    WHERE id < :before AND (CAST(:subject AS text) IS NULL OR subject = :subject) ORDER BY id DESC LIMIT :most
""")
_FORGET = Statement("""
    DELETE FROM tickwise_claims WHERE claim_key IN (
        SELECT claim_key FROM tickwise_claims WHERE claimed_at < :forgotten
        ORDER BY claimed_at LIMIT :most {lock_free})
""")
_CLAIM = Statement("""
    INSERT INTO tickwise_claims AS known (claim_key, mark, claimed_at, until) VALUES (:key, :mark, :now, :until)
    ON CONFLICT (claim_key) DO UPDATE
    SET mark = excluded.mark, answer = NULL, claimed_at = excluded.claimed_at, until = excluded.until
    WHERE known.claimed_at < :forgotten OR (known.answer IS NULL AND known.until <= excluded.claimed_at)
    RETURNING claim_key
""")
_CLAIMED = Statement("SELECT mark, answer FROM tickwise_claims WHERE claim_key = :key")
_ANSWER = Statement("UPDATE tickwise_claims SET answer = :answer WHERE claim_key = :key AND answer IS NULL")
_NEWEST = (1 << 63) - 1


class SqlAccess(Access):
    """Who may come in."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def _move(self, lane: Pool, protocol: Callable[..., Procedure[T]], *arguments: Any) -> T:
        return await self._driver.run(lambda: protocol(*arguments), lane)

    async def issue(self, token: Token, digest: str) -> Token:
        return await self._move(Pool.OTHER, _issue, token, digest)

    async def token(self, digest: str) -> Token | None:
        """Most of the time nothing is written, so nothing waits for who writes."""
        if not validation.askable(digest):
            return None
        found, now = await self._move(Pool.READ, _token, digest)
        if found is None or not validation.is_stale(found, now):
            return found
        await self._move(Pool.OTHER, _used, found.id, now)
        return replace(found, used_at=now)

    async def tokens(self) -> tuple[Token, ...]:
        return await self._move(Pool.READ, _tokens)

    async def revoke(self, token: str) -> Token:
        if not validation.askable(token):
            raise validation.no_token(token)
        return await self._move(Pool.OTHER, _revoke, token)

    async def record(self, entries: Sequence[AuditEntry]) -> None:
        await self._move(Pool.OTHER, _record, [validation.checked_entry(entry) for entry in entries])

    async def audit(
        self, subject: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[AuditRow]:
        before = _NEWEST if after is None else validation.audit_number(after)
        return (
            await self._move(Pool.READ, _audit, subject, before, page_size(limit))
            if validation.askable(subject)
            else Page(())
        )

    async def claim(self, key: str, mark: str, seconds: int) -> IdempotencyClaim | None:
        validation.check_claim(key, mark, seconds)
        return await self._move(Pool.OTHER, _claim, key, mark, seconds)

    async def answer(self, key: str, answer: str) -> None:
        validation.check_answer(key, answer)
        await self._move(Pool.OTHER, _answer, key, answer)


def _issue(token: Token, digest: str) -> Procedure[Token]:
    now = yield from clock()
    new = validation.checked_token(token, digest, now)
    if known := (yield _TAKEN(name=new.name, id=new.id, digest=digest)):
        raise validation.taken(new.name, known[0][0])
    yield _ISSUE(
        id=new.id, name=new.name, role=str(new.role), digest=digest, scopes=json.dumps(new.scopes), now=now,
        expires_at=new.expires_at,
    )  # fmt: skip
    return new


def _token_of(row: Sequence[Any]) -> Token:
    id_, name, role, scopes, *times = row
    return Token(id_, name, AccessRole(role), tuple(json.loads(scopes)), *times)


def _token(digest: str) -> Procedure[tuple[Token | None, int]]:
    rows = yield _TOKEN(digest=digest)
    return (_token_of(rows[0]) if rows else None), (yield from clock())


def _used(id_: str, now: int) -> Procedure[None]:
    yield _USED(id=id_, now=now)


def _tokens() -> Procedure[tuple[Token, ...]]:
    return tuple(map(_token_of, (yield _TOKENS())))


def _revoke(id_: str) -> Procedure[Token]:
    now = yield from clock()
    rows = yield _REVOKE(id=id_, now=now)
    if not rows:
        raise validation.no_token(id_)
    return _token_of(rows[0])


def _record(entries: Sequence[AuditEntry]) -> Procedure[None]:
    now = yield from clock()
    yield _RECORD(
        now=now,
        rows=[
            (place, *entry[:3], encode({"before": entry.before, "after": entry.after}, "the values"))
            for place, entry in enumerate(entries)
        ],
    )


def _audit(subject: str | None, before: int, most: int) -> Procedure[Page[AuditRow]]:
    rows = yield _AUDIT(subject=subject, before=before, most=most + 1)
    found = [AuditRow(str(id_), *others, **decode(detail)) for id_, *others, detail in rows[:most]]
    return Page(tuple(found), found[-1].id if len(rows) > most else None)


def _claim(key: str, mark: str, seconds: int) -> Procedure[IdempotencyClaim | None]:
    now = yield from clock()
    forgotten = now - validation.FORGOTTEN_AFTER
    yield _FORGET(forgotten=forgotten, most=validation.FORGET_AT_ONCE)
    asked = _CLAIM(key=key, mark=mark, now=now, until=now + seconds * MICRO, forgotten=forgotten)
    while not (yield asked):
        if known := (yield _CLAIMED(key=key)):  # unless it was forgotten at this very moment
            return IdempotencyClaim(*known[0])
    return None


def _answer(key: str, answer: str) -> Procedure[None]:
    yield _ANSWER(key=key, answer=answer)
