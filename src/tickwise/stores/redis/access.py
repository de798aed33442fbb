"""Tokens, audit log, idempotency claims and calendars over Redis.

Each move is a script, so of two callers one is first.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...core.payload import decode, encode
from ..access_contract import Access
from ..access_records import AccessRole, AuditEntry, AuditRow, CalendarRow, IdempotencyClaim, Token, VersionedText
from ..access_validation import CLAIM_LIFETIME, FORGET_BATCH_SIZE, is_use_due, token_conflict, unknown_token
from ..job_document import present
from ..records import MICRO, Page
from .base import RedisServer
from .moves import RedisMoves, move


async def _issue_token(server: RedisServer, token: Token, digest: str) -> Token:
    kept = present({
        "id": token.id, "name": token.name, "role": str(token.role), "scopes": list(token.scopes),
        "expires_at": token.expires_at,
    })  # fmt: skip
    answer = await server.call("issue", id=token.id, name=token.name, digest=digest, doc=json.dumps(kept))
    if "taken" in answer:
        raise token_conflict(token.name, answer["taken"])
    return replace(token, created_at=int(answer["created_at"]))


def _token_of(kept: Mapping[str, str]) -> Token:
    document = json.loads(kept["doc"])
    times = {name: int(kept[name]) for name in ("created_at", "revoked_at", "used_at") if name in kept}
    return Token(
        id=document["id"], name=document["name"], role=AccessRole(document["role"]),
        scopes=tuple(document["scopes"]), expires_at=document.get("expires_at"), **times,
    )  # fmt: skip


async def _token_by_digest(server: RedisServer, digest: str) -> Token | None:
    id_ = await server.command("HGET", server.key("digests"), digest)
    if id_ is None:
        return None
    token, now = _token_of(await server.command("HGETALL", server.key("token", id_))), await server.now()
    if not is_use_due(token, now):
        return token
    await server.command("HSET", server.key("token", id_), "used_at", now)
    return replace(token, used_at=now)


async def _list_tokens(server: RedisServer) -> tuple[Token, ...]:
    found = [_token_of(kept) for kept in await server.call("tokens")]
    return tuple(sorted(found, key=lambda token: (token.created_at, token.id)))


async def _revoke_token(server: RedisServer, id_: str) -> Token:
    answer = await server.call("revoke", id=id_)
    if not answer:
        raise unknown_token(id_)
    return _token_of(answer)


async def _record_audit(server: RedisServer, entries: Sequence[AuditEntry]) -> None:
    texts = [
        {
            "subject": entry.subject,
            "text": json.dumps({
                "who": entry.who, "action": entry.action, "subject": entry.subject,
                "detail": encode({"before": entry.before, "after": entry.after}, "the values"),
            }),
        }
        for entry in entries
    ]  # fmt: skip
    await server.call("audit", entries=texts)


async def _read_audit(server: RedisServer, subject: str | None, after: int | None, limit: int) -> Page[AuditRow]:
    index = server.key("audit") if subject is None else server.key("audit_of", subject)
    last = "+inf" if after is None else f"({after}"
    ids = await server.command("ZRANGE", index, last, "-inf", "BYSCORE", "REV", "LIMIT", 0, limit + 1)
    shown = ids[:limit]
    texts = await server.command("HMGET", server.key("entries"), *shown) if shown else []
    rows = tuple(_audit_row(id_, text) for id_, text in zip(shown, texts, strict=True))
    return Page(rows, rows[-1].id if len(ids) > limit else None)


def _audit_row(id_: str, text: str) -> AuditRow:
    at, entry = text.split(" ", 1)
    kept = json.loads(entry)
    return AuditRow(
        id=id_, at=int(at), who=kept["who"], action=kept["action"], subject=kept["subject"],
        **decode(kept["detail"]),
    )  # fmt: skip


async def _claim_key(server: RedisServer, key: str, mark: str, seconds: int) -> IdempotencyClaim | None:
    answer = await server.call(
        "claim_key", key=key, mark=mark, duration=seconds * MICRO, lifetime=CLAIM_LIFETIME, batch=FORGET_BATCH_SIZE
    )
    return IdempotencyClaim(answer["mark"], answer.get("answer")) if answer else None


async def _answer_claim(server: RedisServer, key: str, answer: str) -> None:
    await server.call("answer", key=key, answer=answer)


async def _find_text(server: RedisServer, name: str) -> VersionedText | None:
    version, text = await server.command("HMGET", server.key("text", name), "version", "text")
    return None if version is None else VersionedText(int(version), text)


async def _replace_text(server: RedisServer, name: str, text: str, over: int) -> bool:
    answer = await server.call("replace_text", name=name, text=text, over=over)
    return "version" in answer


async def _list_calendars(server: RedisServer) -> tuple[CalendarRow, ...]:
    found = await server.command("HGETALL", server.key("calendars"))
    rows = ((name, *kept.split(" ", 1)) for name, kept in found.items())
    return tuple(sorted(CalendarRow(name, text, int(revision)) for name, revision, text in rows))


async def _keep_calendar_text(server: RedisServer, name: str, text: str | None, over: int) -> bool:
    answer = await server.call("keep_calendar", name=name, over=over, **present({"text": text}))
    return bool(answer["kept"])


class RedisAccess(RedisMoves, Access):
    """Tokens, audit, claims and calendars over Redis."""

    _issue = move(_issue_token)
    _token = move(_token_by_digest)
    tokens = move(_list_tokens)
    _revoke = move(_revoke_token)
    _record = move(_record_audit)
    _audit = move(_read_audit)
    _claim = move(_claim_key)
    _answer = move(_answer_claim)
    _text = move(_find_text)
    _replace_text = move(_replace_text)
    calendars = move(_list_calendars)
    _keep_calendar = move(_keep_calendar_text)
