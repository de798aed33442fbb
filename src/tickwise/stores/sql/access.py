"""Tokens, audit log, idempotency claims and calendars over SQL."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...core.payload import decode, encode
from ..access_contract import Access
from ..access_records import AccessRole, AuditEntry, AuditRow, CalendarRow, IdempotencyClaim, Token, VersionedText
from ..access_validation import CLAIM_LIFETIME, FORGET_BATCH_SIZE, is_use_due, token_conflict, unknown_token
from ..records import MICRO, Page
from .driver import Pool
from .fleet import clock
from .moves import SqlMoves, move
from .statement import Compound, Delete, Procedure, Statement

_COLUMNS = "id, name, role, scopes, created_at, expires_at, revoked_at, used_at"
_TAKEN = Statement("""
    SELECT name FROM tickwise_tokens
    WHERE (name = :name AND revoked_at IS NULL) OR id = :id OR digest = :digest LIMIT 1
""")
_ISSUE = Statement("""
    INSERT INTO tickwise_tokens (id, name, role, digest, scopes, created_at, expires_at)
    VALUES (:id, :name, :role, :digest, :scopes, :now, :expires_at)
""")
_TOKEN = Statement(f"SELECT {_COLUMNS}, {{now}} FROM tickwise_tokens WHERE digest = :digest", alone=True)
_USED = Statement("UPDATE tickwise_tokens SET used_at = :now WHERE id = :id AND coalesce(used_at, 0) < :now")
_TOKENS = Statement(f"SELECT {_COLUMNS} FROM tickwise_tokens ORDER BY created_at, id")
_REVOKE = Statement("UPDATE tickwise_tokens SET revoked_at = coalesce(revoked_at, :now) WHERE id = :id")
_REVOKED = Statement(f"SELECT {_COLUMNS} FROM tickwise_tokens WHERE id = :id")
_RECORD = Statement(
    """
    INSERT INTO tickwise_audit (at, who, action, subject, detail)
    SELECT (SELECT {now}), who, action, subject, detail
    FROM :rows[place bigint, who text, action text, subject text, detail text] AS v WHERE TRUE ORDER BY place
    """,
    alone=True,
)
_AUDIT = Statement("""
    SELECT id, at, who, action, subject, detail FROM tickwise_audit
    WHERE id < :before AND (CAST(:subject AS {text}) IS NULL OR subject = :subject) ORDER BY id DESC LIMIT :most
""")
_FORGET = Compound(
    Statement("""
        SELECT claim_key FROM tickwise_claims WHERE claimed_at < :forgotten
        ORDER BY claimed_at LIMIT :most {lock_free}
    """),
    Delete("tickwise_claims", ":made[claim_key text] AS old", {"claim_key": "old.claim_key"}),
)
_CLAIMED = Statement("""
    SELECT mark, answer, claimed_at < :forgotten OR (answer IS NULL AND until <= :now) FROM tickwise_claims
    WHERE claim_key = :key {lock}
""")
_CLAIM = Statement("""
    INSERT INTO tickwise_claims (claim_key, mark, claimed_at, until) VALUES (:key, :mark, :now, :until)
""")
_CLAIM_AGAIN = Statement("""
    UPDATE tickwise_claims SET mark = :mark, answer = NULL, claimed_at = :now, until = :until
    WHERE claim_key = :key
""")
_ANSWER = Statement("UPDATE tickwise_claims SET answer = :answer WHERE claim_key = :key AND answer IS NULL")
_TEXT = Statement("SELECT version, body FROM tickwise_texts WHERE name = :name", alone=True)
_TEXT_VERSION = Statement("SELECT version FROM tickwise_texts WHERE name = :name {lock}")
_ADD_TEXT = Statement("INSERT INTO tickwise_texts (name, version, body) VALUES (:name, 1, :text)")
_UPDATE_TEXT = Statement("UPDATE tickwise_texts SET version = version + 1, body = :text WHERE name = :name")
_CALENDARS = Statement("SELECT name, body, revision FROM tickwise_calendars ORDER BY name", alone=True)
_REVISION = Statement("SELECT revision FROM tickwise_calendars WHERE name = :name {lock}")
_ADD_CALENDAR = Statement("INSERT INTO tickwise_calendars (name, body, revision) VALUES (:name, :text, 1)")
_WRITE_CALENDAR = Statement("""
    UPDATE tickwise_calendars SET body = :text, revision = :revision WHERE name = :name
""")
_DROP_CALENDAR = Statement("DELETE FROM tickwise_calendars WHERE name = :name")
_NEWEST = (1 << 63) - 1


def _token_of(row: Sequence[Any]) -> Token:
    id_, name, role, scopes, created_at, expires_at, revoked_at, used_at = row
    return Token(
        id=id_, name=name, role=AccessRole(role), scopes=tuple(json.loads(scopes)), created_at=created_at,
        expires_at=expires_at, revoked_at=revoked_at, used_at=used_at,
    )  # fmt: skip


def _issue_token(token: Token, digest: str) -> Procedure[Token]:
    now = yield from clock()
    if known := (yield _TAKEN(name=token.name, id=token.id, digest=digest)):
        raise token_conflict(token.name, known[0][0])
    yield _ISSUE(
        id=token.id, name=token.name, role=str(token.role), digest=digest, scopes=json.dumps(token.scopes),
        now=now, expires_at=token.expires_at,
    )  # fmt: skip
    return replace(token, created_at=now)


def _find_token(digest: str) -> Procedure[tuple[Token, int] | None]:
    """The token, and the store's time."""
    rows = yield _TOKEN(digest=digest)
    return (_token_of(rows[0][:-1]), int(rows[0][-1])) if rows else None


def _note_use(id_: str, now: int) -> Procedure[None]:
    yield _USED(id=id_, now=now)


def _list_tokens() -> Procedure[tuple[Token, ...]]:
    return tuple(map(_token_of, (yield _TOKENS())))


def _revoke_token(id_: str) -> Procedure[Token]:
    now = yield from clock()
    yield _REVOKE(id=id_, now=now)
    rows = yield _REVOKED(id=id_)
    if not rows:
        raise unknown_token(id_)
    return _token_of(rows[0])


def _record_audit(entries: Sequence[AuditEntry]) -> Procedure[None]:
    yield _RECORD(
        rows=[
            (place, *entry[:3], encode({"before": entry.before, "after": entry.after}, "the values"))
            for place, entry in enumerate(entries)
        ],
    )


def _read_audit(subject: str | None, after: int | None, limit: int) -> Procedure[Page[AuditRow]]:
    rows = yield _AUDIT(subject=subject, before=_NEWEST if after is None else after, most=limit + 1)
    found = [AuditRow(str(id_), *others, **decode(detail)) for id_, *others, detail in rows[:limit]]
    return Page(tuple(found), found[-1].id if len(rows) > limit else None)


def _claim_key(key: str, mark: str, seconds: int) -> Procedure[IdempotencyClaim | None]:
    now = yield from clock()
    forgotten = now - CLAIM_LIFETIME
    yield _FORGET(forgotten=forgotten, most=FORGET_BATCH_SIZE)
    known = yield _CLAIMED(key=key, now=now, forgotten=forgotten)
    if known and not known[0][2]:
        return IdempotencyClaim(*known[0][:2])
    claim = _CLAIM_AGAIN if known else _CLAIM  # if another was first, the database refuses it: look again
    yield claim(key=key, mark=mark, now=now, until=now + seconds * MICRO)
    return None


def _answer_claim(key: str, answer: str) -> Procedure[None]:
    yield _ANSWER(key=key, answer=answer)


def _find_text(name: str) -> Procedure[VersionedText | None]:
    rows = yield _TEXT(name=name)
    return VersionedText(*rows[0]) if rows else None


def _replace_text(name: str, text: str, over: int) -> Procedure[bool]:
    known = yield _TEXT_VERSION(name=name)
    if (known[0][0] if known else 0) != over:
        return False
    write = _UPDATE_TEXT if known else _ADD_TEXT  # if another was first, the database refuses it: look again
    yield write(name=name, text=text)
    return True


def _list_calendars() -> Procedure[tuple[CalendarRow, ...]]:
    return tuple(CalendarRow(*row) for row in (yield _CALENDARS()))


def _keep_calendar_text(name: str, text: str | None, over: int) -> Procedure[bool]:
    """If two add a calendar at once, the database refuses the second, which looks again."""
    known = yield _REVISION(name=name)
    if (known[0][0] if known else 0) != over:
        return False
    if text is None:
        yield _DROP_CALENDAR(name=name)
    elif known:
        yield _WRITE_CALENDAR(name=name, text=text, revision=over + 1)
    else:
        yield _ADD_CALENDAR(name=name, text=text)
    return True


class SqlAccess(SqlMoves, Access):
    """Tokens, audit, claims and calendars over SQL."""

    _issue = move(Pool.OTHER, _issue_token)
    tokens = move(Pool.READ, _list_tokens)
    _revoke = move(Pool.OTHER, _revoke_token)
    _record = move(Pool.OTHER, _record_audit)
    _audit = move(Pool.READ, _read_audit)
    _claim = move(Pool.OTHER, _claim_key)
    _answer = move(Pool.OTHER, _answer_claim)
    _text = move(Pool.READ, _find_text)
    _replace_text = move(Pool.OTHER, _replace_text)
    calendars = move(Pool.READ, _list_calendars)
    _keep_calendar = move(Pool.OTHER, _keep_calendar_text)

    async def _token(self, digest: str, /) -> Token | None:
        """Usually nothing is written, so a read does not wait for the writer."""
        found = await self.execute(Pool.READ, _find_token, digest)
        if found is None:
            return None
        token, now = found
        if not is_use_due(token, now):
            return token
        await self.execute(Pool.OTHER, _note_use, token.id, now)
        return replace(token, used_at=now)
